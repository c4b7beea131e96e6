/* Records of connectivity: metrics by name, so that a reader of the JSON needs no table. */
#include "cli/connectivity_record.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

/* What is reported of one matrix; those with an interval are jackknifed over documents (a count is
 * not: its leave-one-out values say nothing of a spread). */
enum {
    ROWS,
    COLS,
    NONZEROS,
    COMPONENTS,
    GIANT_MASS,
    GAP,
    SIGMA2,
    CHEEGER_LOWER,
    SWEEP_CUT,
    SWEEP_VOLUME,
    CHEEGER_UPPER,
    SUM_SIGMA2,
    SUM_SIGMA4,
    SUM_SIGMA4_ERROR,
    SUM_SIGMA4_LOW,
    SUM_SIGMA4_HIGH,
    SUM_SIGMA4_SAMPLES,
    LARGEST_RESIDUAL,
    METRICS,
};

static const struct {
    const char *name, *definition;
    bool interval;
} metric[METRICS] = {
    [ROWS] = {"rows", "conditional texts with mass", false},
    [COLS] = {"cols", "target tokens with mass", false},
    [NONZEROS] = {"nnz", "pairs (X, X+) that occur", false},
    [COMPONENTS] = {"components", "connected components = multiplicity of sigma = 1", false},
    [GIANT_MASS] = {"giant_mass", "share of mass of the heaviest component", true},
    [GAP] = {"gap", "1 - largest sigma that is not a component's 1", true},
    [SIGMA2] = {"sigma2", "second sigma of the heaviest component", true},
    [CHEEGER_LOWER] = {"cheeger_lower", "(1 - sigma2)/2 <= h", true},
    [SWEEP_CUT] = {"sweep_cut", "cut / min(vol; 2 - vol) of the sweep in the heaviest component",
                   true},
    [SWEEP_VOLUME] = {"sweep_volume", "volume of the smaller side of the sweep cut, of 2", false},
    [CHEEGER_UPPER] = {"cheeger_upper", "sqrt(1 - sigma2^2) >= h", true},
    [SUM_SIGMA2] = {"sum_sigma2", "||Abar||_F^2", true},
    [SUM_SIGMA4] = {"sum_sigma4", "||Abar^T Abar||_F^2", true},
    [SUM_SIGMA4_ERROR] = {"sum_sigma4_error", "standard error of an estimate; 0: exact", false},
    [SUM_SIGMA4_LOW] = {"sum_sigma4_low", "95% interval of an estimate", false},
    [SUM_SIGMA4_HIGH] = {"sum_sigma4_high", "95% interval of an estimate", false},
    [SUM_SIGMA4_SAMPLES] = {"sum_sigma4_samples", "random vectors of an estimate; 0: exact", false},
    [LARGEST_RESIDUAL] = {"largest_residual", "of the singular triplets, through Abar", false},
};

_Static_assert(METRICS + CS_RECORD_SIGMAS == CS_RECORD_VALUES,
               "the jackknife measures all of them");

void cs_record_values(const cs_connectivity *c, double values[CS_RECORD_VALUES], bool resampled)
{
    const cs_spectrum *p = &c->spectrum;
    double residual = 0.0;
    for (int64_t j = 0; j < p->k; ++j) {
        residual = fmax(residual, p->residual[j]);
    }
    const double taken[METRICS] = {
        [ROWS] = (double)(p->rows - p->zero_rows),
        [COLS] = (double)(p->cols - p->zero_cols),
        [NONZEROS] = (double)p->nnz,
        [COMPONENTS] = (double)p->components,
        [GIANT_MASS] = c->giant_mass,
        [GAP] = c->gap,
        [SIGMA2] = c->cut.sigma2,
        [CHEEGER_LOWER] = c->cut.lower,
        [SWEEP_CUT] = c->cut.sweep,
        [SWEEP_VOLUME] = c->cut.sweep_volume,
        [CHEEGER_UPPER] = c->cut.upper,
        [SUM_SIGMA2] = p->sum_sigma2,
        [SUM_SIGMA4] = resampled && p->sum4.samples > 0 ? (double)NAN : p->sum_sigma4,
        [SUM_SIGMA4_ERROR] = p->sum_sigma4_error,
        [SUM_SIGMA4_LOW] = p->sum4.low,
        [SUM_SIGMA4_HIGH] = p->sum4.high,
        [SUM_SIGMA4_SAMPLES] = (double)p->sum4.samples,
        [LARGEST_RESIDUAL] = residual,
    };
    memcpy(values, taken, sizeof taken);
    for (int64_t j = 0; j < CS_RECORD_SIGMAS; ++j) {
        int64_t index = p->components + j;
        values[METRICS + j] = index < p->k ? p->sigma[index] : NAN;
    }
}

json_t *cs_record_of(const char *series, const char *position, const char *context,
                     const cs_connectivity *c, const double *se)
{
    const cs_spectrum *p = &c->spectrum;
    double value[CS_RECORD_VALUES];
    cs_record_values(c, value, false);
    json_t *record = json_pack("{s:s, s:s, s:s}", "series", series, "target_position", position,
                               "context", context);
    double *sigma_se = cs_alloc(p->k, sizeof *sigma_se);
    cs_status status = record && sigma_se ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < METRICS && status == CS_OK; ++i) {
        double error = se && metric[i].interval ? se[i] : NAN;
        status = cs_json_set(record, metric[i].name,
                             json_pack("{s:o, s:o}", "value", cs_json_number(value[i]), "se",
                                       cs_json_number(error)));
    }
    for (int64_t j = 0; j < p->k && status == CS_OK; ++j) {
        int64_t below = j - p->components;
        sigma_se[j] = se && below >= 0 && below < CS_RECORD_SIGMAS ? se[METRICS + below] : NAN;
    }
    if (status != CS_OK || cs_json_set(record, "sigma", cs_json_numbers(p->k, p->sigma)) != CS_OK ||
        cs_json_set(record, "sigma_se", cs_json_numbers(p->k, sigma_se)) != CS_OK ||
        cs_json_set(record, "residual", cs_json_numbers(p->k, p->residual)) != CS_OK) {
        json_decref(record);
        record = NULL;
    }
    cs_free(sigma_se);
    return record;
}

cs_status cs_record_tables(cs_table *metrics, cs_table *spectrum)
{
    cs_status status = cs_table_init(
        metrics, "series,target_position,context,metric,definition,value,se,blocks,seed");
    return status == CS_OK
               ? cs_table_init(spectrum, "series,target_position,index,sigma,se,residual")
               : status;
}

/* A number of a record, NaN for null. */
static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static cs_status metric_row(const json_t *record, int which, int64_t blocks, uint64_t seed,
                            cs_table *m)
{
    const json_t *pair = json_object_get(record, metric[which].name);
    double se = number(json_object_get(pair, "se"));
    cs_status status;
    if ((status = cs_table_row(m)) != CS_OK ||
        (status = cs_table_text(m, "series",
                                json_string_value(json_object_get(record, "series")))) != CS_OK ||
        (status = cs_table_text(m, "target_position",
                                json_string_value(json_object_get(record, "target_position")))) !=
            CS_OK ||
        (status = cs_table_text(m, "context",
                                json_string_value(json_object_get(record, "context")))) != CS_OK ||
        (status = cs_table_text(m, "metric", metric[which].name)) != CS_OK ||
        (status = cs_table_text(m, "definition", metric[which].definition)) != CS_OK ||
        (status = cs_table_real(m, "value", number(json_object_get(pair, "value")))) != CS_OK ||
        (status = cs_table_real(m, "se", se)) != CS_OK ||
        (status = cs_table_int(m, "blocks", isnan(se) ? 0 : blocks)) != CS_OK) {
        return status;
    }
    return cs_table_int(m, "seed", (int64_t)seed);
}

static cs_status sigma_row(const json_t *record, const char *series, size_t j, cs_table *m)
{
    cs_status status;
    if ((status = cs_table_row(m)) != CS_OK ||
        (status = cs_table_text(m, "series", series)) != CS_OK ||
        (status = cs_table_text(m, "target_position",
                                json_string_value(json_object_get(record, "target_position")))) !=
            CS_OK ||
        (status = cs_table_int(m, "index", (int64_t)j + 1)) != CS_OK ||
        (status = cs_table_real(
             m, "sigma", number(json_array_get(json_object_get(record, "sigma"), j)))) != CS_OK ||
        (status = cs_table_real(
             m, "se", number(json_array_get(json_object_get(record, "sigma_se"), j)))) != CS_OK) {
        return status;
    }
    return cs_table_real(m, "residual",
                         number(json_array_get(json_object_get(record, "residual"), j)));
}

/* A record from a file may have been edited: every member that a row needs must be there. */
static cs_status check_record(const json_t *record)
{
    static const char *const texts[] = {"series", "target_position", "context"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (!json_is_string(json_object_get(record, texts[i]))) {
            return cs_fail(CS_ERR_INPUT, "a record lacks %s", texts[i]);
        }
    }
    for (int i = 0; i < METRICS; ++i) {
        if (!json_is_object(json_object_get(record, metric[i].name))) {
            return cs_fail(CS_ERR_INPUT, "a record lacks %s", metric[i].name);
        }
    }
    return json_is_array(json_object_get(record, "sigma"))
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "a record lacks sigma");
}

cs_status cs_record_rows(const json_t *record, int64_t blocks, uint64_t seed, cs_table *metrics,
                         cs_table *spectrum)
{
    cs_status status = check_record(record);
    for (int i = 0; i < METRICS && status == CS_OK; ++i) {
        status = metric_row(record, i, blocks, seed, metrics);
    }
    if (status != CS_OK) {
        return status;
    }
    const char *name = json_string_value(json_object_get(record, "series"));
    const char *position = json_string_value(json_object_get(record, "target_position"));
    char *series = *position ? cs_format("%s %s", name, position) : cs_strdup(name);
    status = series ? CS_OK : CS_ERR_MEMORY;
    for (size_t j = 0; j < json_array_size(json_object_get(record, "sigma")) && status == CS_OK;
         ++j) {
        status = sigma_row(record, series, j, spectrum);
    }
    cs_free(series);
    return status;
}
