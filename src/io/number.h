/* Reals as text with '.' as the decimal point, whatever LC_NUMERIC says.
 *
 * A program that calls setlocale() in a German or Pashto environment would otherwise write "0,5"
 * into its CSV and stop reading at the '.' of others.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

enum { CS_REAL_TEXT = 40 }; /* bytes that hold any double at up to 17 digits, with its NUL */

/* Writes x with `digits` significant digits (1..17; 17 reads back as the same double). NaN, inf and
 * -inf are written so. */
void cs_real_format(double x, int digits, char out[CS_REAL_TEXT]);

/* The same with the fewest digits, 15 at least, that read back as x. */
void cs_real_shortest(double x, char out[CS_REAL_TEXT]);

/* Reads a decimal real, "inf", "-inf" or "nan" that fills the whole text. False when it is
 * something else (empty, trailing characters, hexadecimal, beyond the range of a double; what
 * underflows is rounded). */
bool cs_real_scan(const char *text, double *out);

/* The same for a text that must be a number: CS_ERR_INPUT names it. */
cs_status cs_real_parse(const char *text, double *out) CS_MUST_CHECK;

/* The same for a decimal integer of 64 bits; the second says what is wrong with the text. */
bool cs_int_scan(const char *text, int64_t *out);
cs_status cs_int_parse(const char *text, int64_t *out) CS_MUST_CHECK;

/* Makes the C locale this thread's own and returns the one before; the leave call restores it. For
 * libraries that format numbers themselves. */
void *cs_locale_enter(void);
void cs_locale_leave(void *before);
