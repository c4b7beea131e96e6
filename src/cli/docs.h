/* Text built from the option tables, private to opt_help.c and opt_docs.c. */
#ifndef CS_CLI_DOCS_H
#define CS_CLI_DOCS_H

#include <stdio.h>

#include "cli/opt.h"

/* Writes one command, or a NULL-terminated list of them, to a stream. */
typedef cs_status (*cs_docs_writer)(const void *commands, FILE *out);

/* The text that `write` makes, in fresh memory from malloc; *out stays when anything failed. */
cs_status cs_docs_text(cs_docs_writer write, const void *commands, char **out) CS_MUST_CHECK;

/* The argument as the texts show it: a long list of choices is NAME, and stands in the help. */
const char *cs_docs_argument(const cs_opt *opt);

/* "-k, --rank N" */
void cs_docs_option_form(const cs_opt *opt, char *form, size_t size);

/* The help, with the choices when the form does not show them. */
void cs_docs_option_help(const cs_opt *opt, char *text, size_t size);

/* The first block of a description at or after `text`: a paragraph, or lines set as they stand.
 * NULL at the end. */
const char *cs_docs_block(const char *text, size_t *length, bool *verbatim);

#endif
