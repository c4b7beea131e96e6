/* Shared by the tests of src/io: a fresh directory for each test, failures with their reasons, a
 * full disk, a locale with a decimal comma, every allocation failed in turn. */
#pragma once

#include "test.h"

/* A test that runs in its own empty directory, removed afterwards. */
#define TEST_IN_DIR(name) TEST_WITH(name, io_dir_make, io_dir_remove)

int io_dir_make(void **state);
int io_dir_remove(void **state);

/* "<directory of the test>/name", valid until the eighth next call. */
const char *in_dir(void **state, const char *name);

/* Writes a text / makes a directory there; the path as from in_dir(). */
const char *put(void **state, const char *name, const char *content);
const char *put_dir(void **state, const char *name);

/* Number of files in the directory of the test. */
int entries(void **state);

/* Asserts the bytes of a text file. */
void assert_content(const char *path, const char *text);

/* The status of fn(path) in a child process that may write no more than 1000 bytes to a file, or -1
 * when its reason lacks `part`. */
int on_full_disk(cs_status (*fn)(const char *path), const char *path, const char *part);

/* The same without the limit: for what must not touch this process (the interrupt flag). */
int in_child(cs_status (*fn)(const char *path), const char *path, const char *part);

/* Sets a numeric locale with a decimal comma, made in the directory of the test by localedef (part
 * of glibc); false when that fails. Undo by setlocale(LC_NUMERIC, "C"). */
bool comma_locale(void **state);

/* Calls fn with the 1st, 2nd, ... allocation failing, until none fails; each failure must be
 * CS_ERR_MEMORY with a reason. */
void fail_each_allocation(cs_status (*fn)(const char *path), const char *path);

/* The same where some allocations are not needed: an array stays larger than its items, a regular
 * expression is interpreted, a text for JSON is copied again. Then fn may succeed. */
void fail_or_spare_each_allocation(cs_status (*fn)(const char *path), const char *path);

/* Deflates the members of an archive, as other programs write them. */
void deflate_archive(const char *path);

/* The BF16 of a float, rounded towards zero. */
static inline uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}
