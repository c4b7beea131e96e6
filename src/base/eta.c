/* The rest of a stage takes what its items have taken on average, those before a resumed run's
 * first report left out. */
#include "base/eta.h"

#include <math.h>
#include <stdio.h>

bool cs_eta_report(cs_eta *pace, int64_t done, int64_t total, double now, double period)
{
    if (!pace->running || total != pace->total || done < pace->last) {
        *pace = (cs_eta){.first = done,
                         .total = total,
                         .begun = now,
                         .shown = pace->running ? pace->shown : now,
                         .running = true};
    }
    pace->last = done;
    if (now - pace->shown < period) {
        return false;
    }
    pace->shown = now;
    return true;
}

void cs_eta_seconds(double seconds, char out[CS_ETA_LEFT])
{
    const double size = seconds < 90 ? 1 : seconds < 5400 ? 60 : 3600;
    out[0] = '\0';
    if (!isnan(seconds))
        (void)snprintf(out, CS_ETA_LEFT, ", about %.0f %s left", seconds / size,
                       size < 2      ? "s"
                       : size < 3600 ? "min"
                                     : "h");
}

static void eta_left(const cs_eta *pace, double now, char out[CS_ETA_LEFT])
{
    out[0] = '\0';
    double spent = now - pace->begun, done = (double)(pace->last - pace->first);
    if (pace->total > 0 && done > 0 && spent >= 1) {
        double rest = spent * (double)(pace->total - pace->last) / done;
        cs_eta_seconds(rest, out);
    }
}

void cs_eta_text(const cs_eta *pace, const char *stage, double now, char *out, size_t size)
{
    char left[CS_ETA_LEFT];
    eta_left(pace, now, left);
    if (pace->total > 0) {
        (void)snprintf(out, size, "%lld/%lld %s%s", (long long)pace->last, (long long)pace->total,
                       stage, left);
    } else {
        (void)snprintf(out, size, "%lld %s", (long long)pace->last, stage);
    }
}
