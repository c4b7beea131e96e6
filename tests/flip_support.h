/* Configurations with one key changed: what the tests that no key is passed over share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether a key cannot affect states: names, training, generation, heads of tasks, how they are
 * computed. */
bool flip_is_free(const char *key);

/* Another value of the same type. */
json_t *flip_of(const char *key, const json_t *value);
