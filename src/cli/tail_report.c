/* Intervals and tails in JSON and in tables. */
#include "cli/tail_report.h"

#include <math.h>

#include "base/mem.h"
#include "cli/output.h"
#include "io/json.h"

json_t *cs_interval_json(const cs_interval *x)
{
    return json_pack("{s:o, s:o, s:o}", "value", cs_json_number(x->value), "low",
                     cs_json_number(x->low), "high", cs_json_number(x->high));
}

cs_status cs_interval_cells(cs_table *table, const char *name, const cs_interval *x)
{
    static const char *const ends[] = {"", "_low", "_high"};
    const double value[] = {x->value, x->low, x->high};
    cs_status status = CS_OK;
    for (int i = 0; i < 3 && status == CS_OK; ++i) {
        char *column = cs_format("%s%s", name, ends[i]);
        status = column ? cs_table_real(table, column, value[i]) : CS_ERR_MEMORY;
        cs_free(column);
    }
    return status;
}

json_t *cs_tails_json(int64_t k, const cs_interval *tail, const double *exact)
{
    json_t *tails = json_array();
    bool whole = tails != NULL;
    for (int64_t t = 0; t <= k && whole; ++t) {
        json_t *row = cs_interval_json(&tail[t]);
        whole = cs_json_set(row, "t", json_integer(t)) == CS_OK &&
                cs_json_set(row, "exact", cs_json_number(exact ? exact[t] : NAN)) == CS_OK &&
                json_array_append(tails, row) == 0;
        json_decref(row);
    }
    if (!whole) {
        json_decref(tails);
        tails = NULL;
    }
    return tails;
}

cs_status cs_tails_write(cs_args *args, int64_t k, const cs_interval *tail, const double *exact)
{
    cs_table table = {0};
    char *path = NULL;
    cs_status status = cs_table_init(&table, "t,tail,tail_low,tail_high,exact");
    for (int64_t t = 0; t <= k && status == CS_OK; ++t) {
        if ((status = cs_table_row(&table)) == CS_OK &&
            (status = cs_table_int(&table, "t", t)) == CS_OK &&
            (status = cs_interval_cells(&table, "tail", &tail[t])) == CS_OK) {
            status = cs_table_real(&table, "exact", exact ? exact[t] : NAN);
        }
    }
    if (status == CS_OK) {
        status = cs_output_path(args, "tail.csv", &path);
    }
    if (status == CS_OK) {
        status = cs_table_write_csv(&table, path);
    }
    cs_free(path);
    cs_table_free(&table);
    return status;
}

static cs_status sum4_json(json_t *object, const cs_sum4 *sum)
{
    const struct {
        const char *key;
        json_t *value;
    } member[] = {
        {"sum_sigma4_method", json_string(sum->out_of_range   ? "out of range"
                                          : isnan(sum->value) ? "none"
                                          : sum->samples > 0  ? "hutch++"
                                                              : "exact")},
        {"sum_sigma4_low", cs_json_number(sum->low)},
        {"sum_sigma4_high", cs_json_number(sum->high)},
        {"sum_sigma4_level", cs_json_number(sum->level)},
        {"sum_sigma4_samples", json_integer(sum->samples)},
        {"sum_sigma4_known", json_integer(sum->known)},
        {"sum_sigma4_sketched", json_integer(sum->sketch)},
        {"sum_sigma4_spent", cs_json_number(sum->spent)},
    };
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof member / sizeof *member; ++i) {
        cs_status now = cs_json_set(object, member[i].key, member[i].value);
        status = status == CS_OK ? now : status;
    }
    return status;
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
                       "sum sigma^4 %.8g in [%.8g, %.8g] at %g%%, estimated from %lld samples with "
                       "%lld vectors taken out exactly",
                       sum->value, sum->low, sum->high, 100 * sum->level, (long long)sum->samples,
                       (long long)sum->known + sum->sketch);
    }
}

cs_status cs_sum4_report(cs_args *args, const cs_spectrum *s, json_t *object)
{
    cs_interval *tail = cs_alloc(s->k + 1, sizeof *tail);
    double *exact = cs_alloc(s->k + 1, sizeof *exact);
    bool known = false;
    cs_status status = tail && exact ? sum4_json(object, &s->sum4) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_spectrum_tails(s, 0, tail);
        bool sampled = s->sum4.samples > 0 && s->rank != s->k; /* else all values are known */
        for (int64_t t = 0; t <= s->k; ++t) {
            exact[t] = sampled ? (double)NAN : tail[t].value;
        }
        cs_sum4_note(args, &s->sum4);
        known = !isnan(tail[0].value);
        status =
            cs_json_set(object, "tail", known ? cs_tails_json(s->k, tail, exact) : json_null());
    }
    if (status == CS_OK && cs_args_given(args, "output") && known) {
        status = cs_tails_write(args, s->k, tail, exact);
    } else if (status == CS_OK && cs_args_given(args, "output")) {
        cs_output_note(args, "no tail.csv: tails need sum sigma^4 or every singular value, within "
                             "the range of doubles");
    }
    cs_free(tail);
    cs_free(exact);
    return status;
}
