/* Thread-local reason of the first failure; fixed buffer, so that reporting an out-of-memory never
 * allocates. */
#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/visible.h"

enum { REASON_SIZE = 4096 };

static _Thread_local char reason[REASON_SIZE];

static void set_reason(const char *text, const char *kept)
{
    cs_visible_copy(reason, sizeof reason, text, kept);
}

#undef cs_fail /* the forms for the static analyser */
#undef cs_blame
#undef cs_fail_lines

cs_status cs_fail(cs_status code, const char *format, ...)
{
    assert(code != CS_OK);
    if (reason[0] == '\0') {
        char text[REASON_SIZE];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        set_reason(text, "\t"); /* a line break is of an argument, and would forge a line */
        cs_plural_agree(reason);
    }
    return code;
}

cs_status cs_fail_lines(cs_status code, const char *text)
{
    assert(code != CS_OK);
    if (reason[0] == '\0') set_reason(text, "\n\t");
    return code;
}

cs_status cs_blame(cs_status code, const char *format, ...)
{
    if (code != CS_OK) {
        char held[REASON_SIZE], text[REASON_SIZE];
        memcpy(held, reason, sizeof held);
        va_list args;
        va_start(args, format);
        const bool whole = vsnprintf(text, sizeof text, format, args) < REASON_SIZE;
        va_end(args);
        set_reason(text, "\t");
        const int used = whole ? (int)strlen(reason) : REASON_SIZE;
        /* "text: ...", or a place within it: "text:3: ..." */
        bool known =
            used < REASON_SIZE && strncmp(held, reason, (size_t)used) == 0 && held[used] == ':';
        if (known) {
            memcpy(reason, held, sizeof reason);
        } else if (used < REASON_SIZE) {
            /* A reason that does not fit is cut at the end. */
            (void)snprintf(reason + used, sizeof reason - (size_t)used, ": %.*s",
                           REASON_SIZE - used, held);
        }
        cs_plural_agree(reason);
    }
    return code;
}

const char *cs_reason(void)
{
    return reason;
}

void cs_reason_clear(void)
{
    reason[0] = '\0';
}
