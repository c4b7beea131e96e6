/* Pieces of a report's HTML that its files share. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analysis/study/claims.h"

/* Escapes text for HTML. */
void cs_html_text(FILE *out, const char *text);

/* A piece of HTML in which every % is replaced by the next text, escaped. */
void cs_html_put(FILE *out, const char *html, ...);

/* A table: how many claims of each paper have each verdict. */
void cs_html_tally(FILE *out, const cs_claims *claims);

/* The claims whose name starts with the prefix, family by family, a line each that unfolds; of all of
 * them ("") with buttons that filter by verdict, by style sheet alone. Returns their number. */
int64_t cs_html_claims(FILE *out, const cs_claims *claims, const char *prefix);

/* {{standings PREFIX FIRST}}: the claims of such names, a line for each source, a column for each label;
 * FIRST is the head of the column that says who is. */
void cs_html_standings(FILE *out, const cs_claims *claims, const char *prefix, const char *first);
