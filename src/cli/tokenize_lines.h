/* `cospec tokenize encode` and `decode`. */
#ifndef CS_CLI_TOKENIZE_LINES_H
#define CS_CLI_TOKENIZE_LINES_H

#include "base/status.h"
#include "cli/opt.h"
#include "text/tokenizer.h"

/* The ids of each line of the file named third on the command line, or of standard input; a line
 * ends at LF and a CR before it is text. CS_ERR_INPUT names the line. */
cs_status cs_tokenize_encode(cs_args *args, const cs_tokenizer *t) CS_MUST_CHECK;

/* The text of each line of ids, which blanks part. */
cs_status cs_tokenize_decode(cs_args *args, const cs_tokenizer *t) CS_MUST_CHECK;

#endif
