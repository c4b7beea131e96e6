/* Completion of command lines for shells. */
#pragma once

#include <stdio.h>

#include "cli/commands.h"

/* Prints the completions of the last of these words of a command line, without the name of the
 * program: a candidate a line, followed by a tab and its description; ":files" if a file is
 * possible too. The array may be rewritten. */
void cs_complete(int words, char **word, FILE *out);

/* The scripts that call `cospec --complete`. */
cs_opt_writer cs_completion_bash, cs_completion_zsh, cs_completion_fish;
