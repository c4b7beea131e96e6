/* Text of data as a person may read it. Labels, tokens and names of files come from anywhere; their
 * control bytes would command the terminal, and marks of direction would turn its lines around.
 * Every text that is printed for reading passes here: tables, notes, reasons of failures, progress,
 * and data where standard output is a terminal. Files and pipes get data as it is. */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { CS_VISIBLE_TEXT = 8 }; /* bytes for a character and the end of its text */

/* The character at `at`, with at most `size` > 0 bytes: `text` receives it as it is shown, and the
 * result is its bytes. Control characters (C0, DEL, C1) and marks of direction are shown as
 * \u001b, bytes that are no UTF-8 as \xff. */
size_t cs_visible_char(const char *at, size_t size, char text[CS_VISIBLE_TEXT]);

/* Writes text to read. The characters `kept` (line breaks, tabs) stay as they are. */
void cs_visible_write(FILE *out, const char *text, size_t size, const char *kept);

/* Copies text to read into `to`, cut after its last whole character that fits. */
void cs_visible_copy(char *to, size_t capacity, const char *text, const char *kept);
