#include "model/rotary.h"

#include <math.h>
#include <string.h>

#include "base/enum_names.h"
#include "io/json.h"
#include "model/arch_private.h"

/* --- frequencies ------------------------------------------------------------------------------ */

static double ramp(const cs_rotary *r, int64_t n, int64_t i)
{
    const double columns = 2.0 * (double)n;
    double low = columns * log(r->original / (r->high * 2 * M_PI)) / (2 * log(r->theta));
    double high = columns * log(r->original / (r->low * 2 * M_PI)) / (2 * log(r->theta));
    low = fmax(r->whole ? floor(low) : low, 0);
    high = fmin(r->whole ? ceil(high) : high, columns - 1);
    if (!(high > low || high < low)) {
        high += 0.001; /* as the classes avoid 0 / 0 */
    }
    return fmin(fmax(((double)i - low) / (high - low), 0), 1);
}

/* Both sets, one after the other. */
static void longrope(const cs_rotary *r, int64_t n, float *out)
{
    for (int64_t i = 0; i < 2 * n; ++i) {
        const float exponent = (float)(2 * (i % n)) / (float)(2 * n);
        out[i] = 1.0F / (r->stretch[i / n][i % n] * (float)pow(r->theta, (double)exponent));
    }
}

void cs_rotary_frequencies(const cs_rotary *rotary, int64_t n, float *out)
{
    if (rotary->scaling == CS_SCALING_LONGROPE) {
        longrope(rotary, n / 2, out);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        const float exponent = (float)(2 * i) / (float)(2 * n);
        const double f = 1.0F / (float)pow(rotary->theta, (double)exponent),
                     slow = f / rotary->factor;
        double x = f;
        if (rotary->scaling == CS_SCALING_LINEAR) {
            x = slow;
        } else if (rotary->scaling == CS_SCALING_YARN) {
            const double r = ramp(rotary, n, i);
            x = (1 - r) * f + r * slow;
        } else if (rotary->scaling == CS_SCALING_LLAMA3) {
            const double turns = rotary->original * f / (2 * M_PI);
            const double smooth = (turns - rotary->low) / (rotary->high - rotary->low);
            x = turns < rotary->low    ? slow
                : turns > rotary->high ? f
                                       : (1 - smooth) * slow + smooth * f;
        }
        out[i] = (float)x;
    }
}

cs_rotate_longer cs_rotary_longer(const cs_rotary *rotary)
{
    const bool table = rotary->scaling == CS_SCALING_LONGROPE,
               dynamic = rotary->scaling == CS_SCALING_DYNAMIC;
    return (cs_rotate_longer){.original = table || dynamic ? rotary->original : 0,
                              .base = rotary->theta,
                              .stretch = rotary->factor,
                              .table = table};
}

int64_t cs_rotary_pairs(const cs_model_config *config, const cs_rotary *rotary)
{
    int64_t columns = (int64_t)((double)cs_head_width(config) * rotary->share);
    return (columns + 1) / 2 * (rotary->scaling == CS_SCALING_LONGROPE ? 2 : 1);
}

/* --- config.json ------------------------------------------------------------------------------ */

/* Which scalings read a key. */
enum { ALL = 63, LINEAR = 2, DYNAMIC = 4, YARN = 8, LLAMA3 = 16, LONGROPE = 32 };
static const struct {
    const char *key;
    unsigned of;
} KEY[] = {{"rope_type", ALL},
           {"type", ALL},
           {"rope_theta", ALL},
           {"partial_rotary_factor", ALL},
           {"factor", LINEAR | DYNAMIC | YARN | LLAMA3 | LONGROPE},
           {"original_max_position_embeddings", YARN | LLAMA3 | LONGROPE},
           {"short_factor", LONGROPE},
           {"long_factor", LONGROPE},
           {"low_freq_factor", LLAMA3},
           {"high_freq_factor", LLAMA3},
           {"attention_factor", YARN | LONGROPE},
           {"beta_fast", YARN},
           {"beta_slow", YARN},
           {"mscale", YARN},
           {"mscale_all_dim", YARN},
           {"truncate", YARN}};

static const char *const SCALING[] = {"default", "linear", "dynamic", "yarn", "llama3", "longrope"};

static cs_status real(const char *where, const json_t *json, const char *key, double *out)
{
    const json_t *value = json_object_get(json, key);
    if (value && !json_is_null(value)) {
        if (!json_is_number(value) || !(json_number_value(value) > 0) ||
            !(json_number_value(value) < 1e300)) {
            return cs_fail(CS_ERR_INPUT, "%s: '%s' is not a positive number", where, key);
        }
        *out = json_number_value(value);
    }
    return CS_OK;
}

static cs_status check_keys(const char *where, json_t *json, cs_rotary_scaling scaling)
{
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        size_t i = 0;
        while (i < sizeof KEY / sizeof *KEY && strcmp(KEY[i].key, key) != 0) {
            ++i;
        }
        bool known = i < sizeof KEY / sizeof *KEY && KEY[i].of >> scaling & 1;
        if (!known && !json_is_null(value)) {
            return cs_config_way_round(cs_fail(CS_ERR_INPUT,
                                               "%s: '%s' is not a key of rotary scaling '%s'",
                                               where, key, SCALING[scaling]));
        }
    }
    return CS_OK;
}

static double yarn_scale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

/* Positive numbers, at most CS_MOST_PAIRS of them. */
static cs_status read_stretch(const char *where, const json_t *json, const char *key,
                              float out[CS_MOST_PAIRS])
{
    const json_t *list = json_object_get(json, key);
    const size_t count = json_array_size(list);
    bool good = count > 0 && count <= CS_MOST_PAIRS;
    for (size_t i = 0; i < count && good; ++i) {
        out[i] = (float)json_number_value(json_array_get(list, i));
        good = out[i] > 0 && isfinite(out[i]);
    }
    return good ? CS_OK
                : cs_fail(CS_ERR_INPUT, "%s: '%s' is not a list of at most %d positive numbers",
                          where, key, CS_MOST_PAIRS);
}

/* The scaling's own numbers. */
static cs_status read_scaling(const char *where, const json_t *json, double positions, cs_rotary *r)
{
    double mscale = 0, all = 0, attention = 0;
    const bool yarn = r->scaling == CS_SCALING_YARN, llama3 = r->scaling == CS_SCALING_LLAMA3;
    const json_t *truncate = json_object_get(json, "truncate");
    r->factor = r->scaling == CS_SCALING_NONE ? 1 : 0;
    r->low = yarn ? 1 : 0;
    r->high = yarn ? 32 : 0;
    struct {
        const char *key;
        double *at;
    } const number[] = {{"factor", &r->factor},
                        {"original_max_position_embeddings", &r->original},
                        {llama3 ? "low_freq_factor" : "beta_slow", &r->low},
                        {llama3 ? "high_freq_factor" : "beta_fast", &r->high},
                        {"mscale", &mscale},
                        {"mscale_all_dim", &all},
                        {"attention_factor", &attention}};
    for (size_t i = 0; i < sizeof number / sizeof *number; ++i) {
        cs_status status = real(where, json, number[i].key, number[i].at);
        if (status != CS_OK) return status;
    }
    if (r->scaling == CS_SCALING_LONGROPE) {
        cs_status status = read_stretch(where, json, "short_factor", r->stretch[0]);
        if (status == CS_OK) status = read_stretch(where, json, "long_factor", r->stretch[1]);
        if (status != CS_OK) return status;
        r->factor = r->factor > 0 ? r->factor : positions / r->original;
    }
    if (!(r->factor > 0)) {
        return cs_fail(CS_ERR_INPUT, "%s: rotary scaling '%s' needs 'factor'", where,
                       SCALING[r->scaling]);
    }
    if (llama3 && !(r->high > r->low && r->low > 0)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: 'high_freq_factor' %g does not exceed 'low_freq_factor' %g", where,
                       r->high, r->low);
    }
    if (truncate && !json_is_boolean(truncate)) {
        return cs_fail(CS_ERR_INPUT, "%s: 'truncate' is not true or false", where);
    }
    r->whole = !truncate || json_is_true(truncate);
    const bool longer = r->scaling == CS_SCALING_LONGROPE && r->factor > 1;
    r->attention = attention > 0 ? attention
                   : longer      ? sqrt(1 + log(r->factor) / log(r->original))
                   : !yarn       ? 1
                   : mscale > 0 && all > 0
                       ? yarn_scale(r->factor, mscale) / yarn_scale(r->factor, all)
                       : yarn_scale(r->factor, 1);
    return CS_OK;
}

/* A share that the class does not read is passed by with default parameters and fails with others. */
static cs_status check_share(const char *where, const cs_model_config *config, const cs_rotary *r)
{
    return r->share == 1 || cs_arch_knows(config->arch, "partial_rotary_factor")
               ? CS_OK
               : cs_config_way_round(cs_fail(
                     CS_ERR_INPUT,
                     "%s: 'partial_rotary_factor' is %g, but architecture %s does not support it",
                     where, r->share, cs_arch_name(config->arch)));
}

/* One set of parameters; NULL: what `out` holds, unscaled. */
static cs_status read_one(const char *where, json_t *json, double positions, bool renamed,
                          cs_rotary *out)
{
    cs_rotary r = *out;
    json_auto_t *none = json ? NULL : json_object();
    json_t *from = json ? json : none;
    const json_t *type = json_object_get(from, "rope_type");
    type = type ? type : json_object_get(from, "type");
    const char *name = json_string_value(type);
    int number = 0;
    cs_status status = from ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !json_is_object(from))
        status = cs_fail(CS_ERR_INPUT, "%s: rotary parameters are not an object", where);
    if (status == CS_OK && type && !name)
        status = cs_fail(CS_ERR_INPUT, "%s: 'rope_type' is not a string", where);
    if (name && renamed && (strcmp(name, "su") == 0 || strcmp(name, "yarn") == 0)) {
        name = "longrope"; /* Phi3Config */
    }
    if (status == CS_OK && name) {
        status = CS_THING_AMONG("rotary scaling", name, SCALING, &number);
        if (status != CS_OK) status = cs_config_way_round(cs_blame(CS_ERR_INPUT, "%s", where));
    }
    r.scaling = (cs_rotary_scaling)number;
    r.original = positions;
    if (status == CS_OK) status = check_keys(where, from, r.scaling);
    if (status == CS_OK) status = real(where, from, "rope_theta", &r.theta);
    if (status == CS_OK) status = real(where, from, "partial_rotary_factor", &r.share);
    if (status == CS_OK) status = read_scaling(where, from, positions, &r);
    if (status == CS_OK) *out = r;
    return status;
}

/* The first of these names that the class has, NULL: none. */
static const char *first_known(cs_arch arch, const char *const names[3])
{
    int i = 0;
    while (i < 3 && names[i] && !cs_arch_knows(arch, names[i])) {
        ++i;
    }
    return i < 3 ? names[i] : NULL;
}

/* Base and share outside rope_parameters, each under the class's name. Files of transformers before
 * 5 have a second key for them too. The class ignores it, so its value must be the same. */
static cs_status read_names(const char *where, const json_t *json, cs_model_config *config)
{
    static const char *const theta[] = {"rotary_emb_base", "global_rope_theta", "rope_theta"},
                             *const local[] = {"local_rope_theta", "rope_local_base_freq", NULL},
                             *const share[] = {"rotary_pct", "partial_rotary_factor", NULL};
    const struct {
        const char *read, *other;
        double *at;
    } name[] = {
        {first_known(config->arch, theta), "rope_theta", &config->position.rotary.theta},
        {first_known(config->arch, share), "partial_rotary_factor", &config->position.rotary.share},
        {first_known(config->arch, local), "local_rope_theta",
         &config->position.local_rotary.theta}};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof name / sizeof *name && status == CS_OK; ++i) {
        if (!name[i].read) {
            continue;
        }
        status = real(where, json, name[i].read, name[i].at);
        /* null local_rope_theta of ModernBERT: the same base in all layers (transformers 4) */
        if (name[i].at == &config->position.local_rotary.theta &&
            json_is_null(json_object_get(json, name[i].read)))
            *name[i].at = config->position.rotary.theta;
        double second = *name[i].at;
        if (status == CS_OK) status = real(where, json, name[i].other, &second);
        if (status == CS_OK && (second < *name[i].at || second > *name[i].at))
            status = cs_config_way_round(cs_fail(
                CS_ERR_INPUT, "%s: '%s' is %g, but architecture %s reads '%s', %g", where,
                name[i].other, second, cs_arch_name(config->arch), name[i].read, *name[i].at));
    }
    return status;
}

/* rope_scaling, where it says anything, in place of rope_parameters, as in transformers 5. A class
 * whose layers have their own takes them by layer type from rope_parameters, and adds the keys of
 * rope_scaling to them, except "type". */
static cs_status choose(const char *where, const json_t *json, bool layered, json_t **out)
{
    json_t *now = json_object_get(json, "rope_parameters"),
           *before = json_object_get(json, "rope_scaling");
    now = json_is_null(now) ? NULL : now;
    before = json_is_null(before) || (json_is_object(before) && json_object_size(before) == 0)
                 ? NULL
                 : before;
    const bool by_layer = json_object_get(before ? before : now, "full_attention") ||
                          json_object_get(before ? before : now, "sliding_attention");
    const bool added = !now && !by_layer && json_object_get(before, "rope_type");
    const bool fits = !layered ? !by_layer
                      : before ? added
                               : by_layer || json_object_size(now) == 0;
    *out = before ? before : now;
    return fits ? CS_OK
                : cs_config_way_round(
                      cs_fail(CS_ERR_INPUT,
                              "%s: '%s' does not have the form for architectures whose layers %s",
                              where, before ? "rope_scaling" : "rope_parameters",
                              layered ? "have rotary positions that depend on their type"
                                      : "share their rotary positions"));
}

/* As many factors as frequencies. */
static cs_status check_stretch(const char *where, const cs_model_config *config, const cs_rotary *r)
{
    const bool sized = config->shape.heads > 0 && config->shape.width > 0;
    const int64_t pairs = sized ? cs_rotary_pairs(config, r) / 2 : 1;
    bool fits = pairs >= 1 && pairs <= CS_MOST_PAIRS;
    for (int k = 0; k < 2 && sized && fits; ++k) {
        fits =
            r->stretch[k][pairs - 1] > 0 && (pairs == CS_MOST_PAIRS || !(r->stretch[k][pairs] > 0));
    }
    return r->scaling != CS_SCALING_LONGROPE || fits
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: 'short_factor' and 'long_factor' need a number for each of the %lld "
                         "frequencies",
                         where, (long long)pairs);
}

static const char ORIGINAL[] = "original_max_position_embeddings";

/* The length outside the parameters counts, not that inside. */
static cs_status outer_original(const char *where, const json_t *json, double positions,
                                cs_rotary *r)
{
    double original = 0;
    cs_status status = real(where, json, ORIGINAL, &original);
    if (status != CS_OK || r->scaling != CS_SCALING_LONGROPE || !(original > 0)) return status;
    const json_t *inner = json_object_get(json, "rope_scaling");
    inner = json_object_size(inner) > 0 ? inner : json_object_get(json, "rope_parameters");
    r->original = original;
    if (!json_object_get(inner, "factor")) r->factor = positions / original;
    if (!json_object_get(inner, "attention_factor"))
        r->attention = r->factor > 1 ? sqrt(1 + log(r->factor) / log(original)) : 1;
    return CS_OK;
}

cs_status cs_rotary_read(const char *where, const json_t *json, cs_model_config *config)
{
    const bool layered = config->position.local_rotary.theta > 0;
    const double positions = (double)config->position.longest;
    json_t *parameters = NULL;
    cs_status status = choose(where, json, layered, &parameters);
    if (status == CS_OK) status = read_names(where, json, config);
    if (status != CS_OK) return status;
    json_t *full = json_object_get(parameters, "full_attention"),
           *local = json_object_get(parameters, "sliding_attention");
    const bool nested = full || local;
    if (nested && json_object_size(parameters) > (size_t)(full != NULL) + (local != NULL)) {
        return cs_fail(
            CS_ERR_INPUT,
            "%s: rotary parameters for a layer type other than full and sliding attention", where);
    }
    const bool renamed = config->arch == CS_ARCH_PHI3;
    status =
        read_one(where, nested ? full : parameters, positions, renamed, &config->position.rotary);
    if (status == CS_OK && layered)
        status = read_one(where,
                          nested || cs_arch_row_of(config->arch)->scales_full ? local : parameters,
                          positions, renamed, &config->position.local_rotary);
    if (status == CS_OK && json_object_get(json, ORIGINAL) && cs_arch_knows(config->arch, ORIGINAL))
        status = outer_original(where, json, positions, &config->position.rotary);
    if (status == CS_OK) status = check_share(where, config, &config->position.rotary);
    if (status == CS_OK) status = check_stretch(where, config, &config->position.rotary);
    if (status == CS_OK && layered)
        status = check_share(where, config, &config->position.local_rotary);
    if (status == CS_OK && layered)
        status = check_stretch(where, config, &config->position.local_rotary);
    return status;
}

/* --- written ---------------------------------------------------------------------------------- */

static json_t *parameters_of(const cs_rotary *r, cs_status *status)
{
    const bool yarn = r->scaling == CS_SCALING_YARN, llama3 = r->scaling == CS_SCALING_LLAMA3,
               longrope = r->scaling == CS_SCALING_LONGROPE;
    const struct {
        const char *key;
        double value;
        bool there;
    } number[] = {{"rope_theta", r->theta, true},
                  {"partial_rotary_factor", r->share, r->share < 1},
                  {"factor", r->factor, r->scaling != CS_SCALING_NONE},
                  {llama3 ? "low_freq_factor" : "beta_slow", r->low, yarn || llama3},
                  {llama3 ? "high_freq_factor" : "beta_fast", r->high, yarn || llama3},
                  {"attention_factor", r->attention, yarn || longrope}};
    json_t *out = json_object();
    cs_json_put(status, out, "rope_type", json_string(SCALING[r->scaling]));
    for (size_t i = 0; i < sizeof number / sizeof *number; ++i) {
        if (number[i].there) {
            cs_json_put(status, out, number[i].key, cs_json_number(number[i].value));
        }
    }
    for (int k = 0; k < 2 && longrope; ++k) {
        json_t *list = json_array();
        for (int i = 0; i < CS_MOST_PAIRS && r->stretch[k][i] > 0; ++i) {
            if (json_array_append_new(list, json_real((double)r->stretch[k][i])) != 0)
                *status = CS_ERR_MEMORY;
        }
        cs_json_put(status, out, k == 0 ? "short_factor" : "long_factor", list);
    }
    if (yarn || llama3 || longrope) {
        cs_json_put(status, out, "original_max_position_embeddings",
                    json_integer((json_int_t)r->original));
    }
    if (yarn) cs_json_put(status, out, "truncate", json_boolean(r->whole));
    return out;
}

void cs_rotary_write(const cs_model_config *config, json_t *json, cs_status *status)
{
    const bool local = config->position.local_rotary.theta > 0;
    json_t *parameters = parameters_of(&config->position.rotary, status);
    if (local) {
        json_t *both = json_object();
        cs_json_put(status, both, "full_attention", parameters);
        cs_json_put(status, both, "sliding_attention",
                    parameters_of(&config->position.local_rotary, status));
        cs_json_put(status, json, "local_rope_theta",
                    cs_json_number(config->position.local_rotary.theta));
        parameters = both;
    }
    cs_json_put(status, json, local ? "global_rope_theta" : "rope_theta",
                cs_json_number(config->position.rotary.theta));
    cs_json_put(status, json, "rope_parameters", parameters);
}
