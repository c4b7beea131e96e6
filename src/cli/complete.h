/* Completion of command lines for shells. */
#pragma once

#include <stdio.h>

#include "cli/commands.h"

/* Prints what the last of these words of a command line, without the program's name, may become: a
 * candidate a line, and behind a tab its description; ":files" where a file may be named too. The
 * array may be rewritten. */
void cs_complete(int words, char **word, FILE *out);

/* The scripts that ask `cospec --complete`. */
cs_opt_writer cs_completion_bash, cs_completion_zsh, cs_completion_fish;
