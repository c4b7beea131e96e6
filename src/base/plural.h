/** \file
 * English of messages with counts: "1 rows are" becomes "1 row is".
 */
#pragma once

/** Puts the noun behind each count of 1 into the singular, in place, and its verb where the count
 * begins the clause. The tables of plural.c have the nouns, adjectives and verbs; other text is left
 * as it is. Messages, notes and progress go through this, so their formats just have the plural.
 */
void cs_plural_agree(char *text);
