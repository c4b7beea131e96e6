/* Reals as text with '.' as the decimal point, whatever LC_NUMERIC is.
 *
 * A program that calls setlocale() in a German or Pashto environment would otherwise write "0,5"
 * into its CSV and stop reading numbers of other programs at the '.'. */
#pragma once

#include <stdint.h>

#include "base/status.h"

enum { CS_REAL_TEXT = 40 }; /* bytes for any double with up to 17 digits, and the NUL */

/* Writes x with `digits` significant digits (1..17; 17 read back as the same double), or NaN, inf,
 * -inf. */
void cs_real_format(double x, int digits, char out[CS_REAL_TEXT]);

/* The same with the fewest digits, at least 15, that read back as x. */
void cs_real_shortest(double x, char out[CS_REAL_TEXT]);

/* Reads a decimal real, "inf", "-inf" or "nan" that is the whole text. False for anything else
 * (empty, trailing characters, hexadecimal, beyond the range of double; a value that underflows is
 * rounded). */
bool cs_real_scan(const char *text, double *out);

/* The same for text that must be a number: CS_ERR_INPUT names it. */
cs_status cs_real_parse(const char *text, double *out) CS_MUST_CHECK;

/* The same for a decimal 64-bit integer; the second function reports the fault in the text. */
bool cs_int_scan(const char *text, int64_t *out);
cs_status cs_int_parse(const char *text, int64_t *out) CS_MUST_CHECK;

/* Sets the C locale for this thread and returns the previous one, which the leave call restores.
 * For libraries that format numbers. */
void *cs_locale_enter(void);
void cs_locale_leave(void *before);
