/* Shared by the tests of statements. */
#pragma once

#include "analysis/theorems/statement.h"
#include "test.h"

/* The statement of the list, or the nth of those (0: the first); fails the test where there is
 * none. */
const cs_statement *statement_of(const cs_statements *list, const char *id, cs_statement_form form);
const cs_statement *nth_statement_of(const cs_statements *list, const char *id,
                                     cs_statement_form form, int nth);
bool has_statement(const cs_statements *list, const char *id, cs_statement_form form);

/* A number of its details. */
/* The array "rows" of a record, made; the rows that it has. */
cs_item *rows_of(cs_result *result);
int64_t rows_in(const cs_result *result);

double detail_of(const cs_statement *s, const char *key);
