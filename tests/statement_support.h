/* What the tests of statements share. Include after cmocka.h. */
#ifndef CS_TESTS_STATEMENT_SUPPORT_H
#define CS_TESTS_STATEMENT_SUPPORT_H

#include "analysis/statement.h"

/* The statement of the list, or the nth of those (0: the first); fails the test where there is
 * none. */
const cs_statement *statement_of(const cs_statements *list, const char *id, cs_statement_form form);
const cs_statement *nth_statement_of(const cs_statements *list, const char *id,
                                     cs_statement_form form, int nth);
bool has_statement(const cs_statements *list, const char *id, cs_statement_form form);

/* A number of its details. */
double detail_of(const cs_statement *s, const char *key);

#endif
