/* Intervals and tails in JSON and in tables. */
#include "cli/tail_report.h"

#include <math.h>

#include "cli/output.h"

cs_status cs_tails_write(cs_args *args)
{
    static const cs_view view = {"tail[]", "t tail=value tail_low=low tail_high=high exact"};
    return cs_output_csv(args, "tail.csv", &view);
}

void cs_sum4_note(const cs_args *args, const cs_sum4 *sum)
{
    if (sum->out_of_range) {
        cs_output_note(args, "sum sigma^4 is out of the range of doubles");
    } else if (isnan(sum->value)) {
        cs_output_note(args, "sum sigma^4 was not computed");
    } else if (sum->samples == 0) {
        cs_output_note(args, "sum sigma^4 %.12g, exact", sum->value);
    } else {
        cs_output_note(args,
                       "sum sigma^4 %.8g in [%.8g, %.8g] at %g%%, estimated from %lld samples "
                       "after %lld vectors were deflated exactly",
                       sum->value, sum->low, sum->high, 100 * sum->level, (long long)sum->samples,
                       (long long)sum->known + sum->sketch);
    }
}
