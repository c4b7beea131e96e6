/* Numbers as text. Reals with '.' as the decimal point, whatever LC_NUMERIC is.
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

/* --- numbers and lists written by a person: on the command line, or in the value of an option --- */

/* Ends of the range of a real: all above 0, all below 1; messages print "(0, " and ", 1)". */
#define CS_ABOVE_0 0x1p-1074
#define CS_BELOW_1 (1 - 0x1p-53)

/* Numbers of the command line: the whole text, decimal, independent of the locale, finite, low <= x
 * <= high. `what` names the option in the message. Lists are "N1,N2,...", in fresh memory; blanks
 * around a number are allowed. */
cs_status cs_parse_int(const char *text, const char *what, int64_t low, int64_t high,
                       int64_t *out) CS_MUST_CHECK;
cs_status cs_parse_real(const char *text, const char *what, double low, double high,
                        double *out) CS_MUST_CHECK;

/* The number before the sign of a text "15%"; 0 of another. A number without the sign as a percentage
 * where a share is expected: 0 below 10, which may be anything. The suggestion for a percentage,
 * "; did you mean 0.15?", "" where that is not in (0, 1). */
double cs_percent(const char *text);
double cs_percent_of(double value);
const char *cs_share_hint(double percent, char hint[64]);

cs_status cs_parse_size(const char *text, const char *what, int64_t *out) CS_MUST_CHECK;
cs_status cs_parse_int_list(const char *text, const char *what, int64_t low, int64_t high,
                            int64_t *count, int64_t **out) CS_MUST_CHECK;
cs_status cs_parse_real_list(const char *text, const char *what, double low, double high,
                             int64_t *count, double **out) CS_MUST_CHECK;

/* The text without the blanks around it, in place. */
char *cs_trim(char *text);

/* Passes the items of a list, separated by commas, to `take` one by one until the first failure,
 * without the blanks around them. */
cs_status cs_parse_each(const char *list, cs_status (*take)(void *to, const char *part),
                        void *to) CS_MUST_CHECK;
