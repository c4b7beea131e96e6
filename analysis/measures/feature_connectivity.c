/* All numbers of a set of rows come from one pass of cs_top_pairs_of, and each set without a block
 * takes another: cosines do not change when rows leave, but the mean that is subtracted does, and
 * the list of the K largest may lie in one block. Limit: n below 2^31. */
#include "analysis/measures/feature_connectivity.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/top_pairs.h"
#include "stats/jackknife.h"

enum { FEATURES = 8000, QUANTILES = CS_FEATURE_MEASURES - CS_FEATURE_QUANTILES };

static const double quantile[QUANTILES] = {0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999};

/* Of sums of squares: a centred row has at most twice the norm, and cs_top_pairs_of takes 2^126. */
static const double most_square = 0x1p124;

typedef struct {
    const cs_feature_options *options;
    const char *name;
    cs_pool pool; /* of all below */
    int64_t n, d, blocks;
    int64_t *row;   /* n, rising: the rows taken */
    int32_t *block; /* n */
    double *x;      /* n x d */
    float *y;       /* n x d: what is compared */
    double *mean;   /* d */
    int64_t pairs, total;
} study;

static int64_t pairs_of(int64_t n, bool self)
{
    return self ? n * (n + 1) / 2 : n * (n - 1) / 2;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool takes_part(const cs_feature_options *o, int64_t row)
{
    return !o->group || o->group[row] >= 0;
}

/* Rising, every set equally likely. */
static cs_status choose_rows(study *s, int64_t rows)
{
    const cs_feature_options *o = s->options;
    int64_t there = 0, wanted = o->features > 0 ? o->features : FEATURES;
    for (int64_t i = 0; i < rows; ++i) {
        there += takes_part(o, i);
    }
    wanted = wanted < there ? wanted : there;
    if (pairs_of(wanted, o->self) == 0 || wanted > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: %" PRId64 " row%s: %s", s->name, wanted,
                       wanted == 1 ? "" : "s", wanted < 2 ? "no pairs" : "more than 2^31 - 1");
    }
    CS_POOL_FIELDS(&s->pool, wanted, s, row, block);
    if (!s->block) return CS_ERR_MEMORY;
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_FEATURES, 0);
    for (int64_t i = 0; i < rows; ++i) {
        if (takes_part(o, i) && cs_rng_selects(&rng, &there, &wanted)) {
            s->row[s->n++] = i;
        }
    }
    return CS_OK;
}

/* Numbers the groups of the rows taken 0, 1, ..., in `block`: how many there are. */
static cs_status number_groups(study *s, int64_t *groups)
{
    const int32_t *group = s->options->group;
    int32_t last = -1;
    for (int64_t i = 0; i < s->n; ++i) {
        s->block[i] = group ? group[s->row[i]] : (int32_t)i;
        last = s->block[i] > last ? s->block[i] : last;
    }
    int32_t *number = cs_pool_take(&s->pool, (int64_t)last + 1, sizeof *number);
    if (!number) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->n; ++i) {
        number[s->block[i]] = 1;
    }
    *groups = 0;
    for (int32_t g = 0; g <= last; ++g) {
        *groups += number[g];
        number[g] = (int32_t)(*groups - 1);
    }
    for (int64_t i = 0; i < s->n; ++i) {
        s->block[i] = number[s->block[i]];
    }
    return CS_OK;
}

/* Groups to blocks, in an order drawn by the seed: a group goes where the middle of its rows falls;
 * blocks without rows are closed up. */
static cs_status deal(study *s, int64_t groups)
{
    const int64_t wanted = s->options->blocks < groups ? s->options->blocks : groups;
    int32_t *order = cs_pool_take(&s->pool, groups, sizeof *order);
    int32_t *of = cs_pool_take(&s->pool, groups, sizeof *of);
    int64_t *size = cs_pool_take(&s->pool, groups, sizeof *size), before = 0, last = -1;
    if (!size) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->n; ++i) {
        size[s->block[i]] += 1;
    }
    cs_rng rng = cs_rng_at(s->options->seed, CS_STREAM_FEATURES, 1);
    cs_rng_permutation(&rng, groups, order);
    for (int64_t g = 0; g < groups; ++g) {
        const int64_t count = size[order[g]], to = (2 * before + count) * wanted / (2 * s->n);
        s->blocks += to != last;
        last = to;
        of[order[g]] = (int32_t)(s->blocks - 1);
        before += count;
    }
    for (int64_t i = 0; i < s->n; ++i) {
        s->block[i] = of[s->block[i]];
    }
    return CS_OK;
}

static cs_status set_blocks(study *s)
{
    int64_t groups = 0;
    if (s->options->blocks == 0) {
        return CS_OK;
    }
    cs_status status = number_groups(s, &groups);
    if (status == CS_OK) status = deal(s, groups);
    if (status == CS_OK && s->blocks < 2)
        return cs_fail(CS_ERR_INPUT,
                       "%s: one block of the jackknife would contain all %" PRId64 " rows", s->name,
                       s->n);
    return status;
}

static cs_status check_row(const study *s, int64_t i)
{
    const double *x = s->x + i * s->d;
    const double square = cs_inner(s->d, x, x);
    return square <= most_square
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: row %" PRId64 ": its squares exceed the range of single precision",
                         s->name, s->row[i]);
}

static cs_status read_rows(study *s, const cs_rows *rows)
{
    s->d = rows->cols;
    if (s->d > 0 && s->n > INT64_MAX / 16 / s->d) {
        return cs_fail(CS_ERR_MEMORY, "%s: %" PRId64 " x %" PRId64 " numbers are too many", s->name,
                       s->n, s->d);
    }
    CS_POOL_FIELDS(&s->pool, s->n * s->d, s, x, y);
    s->mean = cs_pool_take(&s->pool, s->d, sizeof *s->mean);
    cs_status status = s->pool.status;
    for (int64_t i = 0; i < s->n && status == CS_OK; ++i) {
        if ((status = cs_interrupt_check()) == CS_OK &&
            (status = cs_rows_read_finite(rows, s->row[i], 1, s->x + i * s->d)) == CS_OK) {
            status = check_row(s, i);
        }
    }
    return status;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* y of all rows but those of block `without` (-1: none): how many they are. */
static int64_t gather(study *s, int64_t without)
{
    const int64_t d = s->d;
    int64_t m = 0, at = 0;
    memset(s->mean, 0, (size_t)d * sizeof *s->mean);
    for (int64_t i = 0; i < s->n; ++i) {
        const bool taken = without < 0 || s->block[i] != without;
        m += taken;
        for (int64_t k = 0; k < d && taken && s->options->centred; ++k) {
            s->mean[k] += s->x[i * d + k];
        }
    }
    if (m > 0) cs_divide(d, (double)m, s->mean);
    for (int64_t i = 0; i < s->n; ++i) {
        const bool taken = without < 0 || s->block[i] != without;
        for (int64_t k = 0; k < d && taken; ++k) {
            s->y[at * d + k] = (float)(s->x[i * d + k] - s->mean[k]);
        }
        at += taken;
    }
    return m;
}

/* A quantile as the bins have it, or exactly where it is one of the pairs kept; the others are
 * below those. */
static double sharpen(double from_bins, double p, const cs_top_pairs *top, bool cosine)
{
    const int64_t rank = top->total - 1 - (int64_t)(p * (double)(top->total - 1));
    if (rank < top->count) {
        return (double)top->pair[rank].value;
    }
    const double most = (double)top->pair[top->count - 1].value;
    return fmin(most, cosine ? fmax(-1.0, from_bins) : from_bins);
}

/* The measures without a block, NaN without pairs; `whole` (may be NULL) gets the sorted values. */
static cs_status measure(study *s, int64_t without, double value[CS_FEATURE_MEASURES],
                         cs_feature_connectivity *whole)
{
    const cs_feature_options *o = s->options;
    const int64_t m = gather(s, without), total = pairs_of(m, o->self);
    cs_fill(CS_FEATURE_MEASURES, NAN, value);
    if (total == 0) {
        return CS_OK;
    }
    CS_AUTO(cs_top_pairs) top = {0};
    const cs_rows rows = cs_rows_of_f32(m, s->d, s->y, s->name);
    const double share = (double)s->pairs * (double)total / (double)s->total;
    const cs_top_pairs_options options = {.count = share < 1.0 ? 1 : (int64_t)llround(share),
                                          .cosine = o->cosine,
                                          .self = o->self,
                                          .quantiles = QUANTILES,
                                          .quantile = quantile,
                                          .threads = o->threads};
    cs_status status = cs_top_pairs_of(&rows, &options, &top);
    if (status != CS_OK) return status;
    double sum = 0.0;
    for (int64_t i = 0; i < top.count; ++i) {
        sum += (double)top.pair[i].value;
        if (whole) {
            whole->top[i] = top.pair[i].value;
        }
    }
    value[CS_FEATURE_TOP_MEAN] = sum / (double)top.count;
    value[CS_FEATURE_TOP_LEAST] = (double)top.pair[top.count - 1].value;
    value[CS_FEATURE_MEAN] = top.mean;
    for (int i = 0; i < QUANTILES; ++i) {
        value[CS_FEATURE_QUANTILES + i] = sharpen(top.quantile[i], quantile[i], &top, o->cosine);
    }
    if (whole) {
        whole->zeros = top.zeros;
    }
    return CS_OK;
}

/* n |mean|^2 / sum of squares of the rows as they are compared: those that gather left in y. */
static double mean_share(study *s)
{
    double squares = 0.0;
    memset(s->mean, 0, (size_t)s->d * sizeof *s->mean);
    for (int64_t i = 0; i < s->n; ++i) {
        const float *y = s->y + i * s->d;
        double square = 0.0;
        for (int64_t k = 0; k < s->d; ++k) {
            square += (double)y[k] * (double)y[k];
        }
        double scale = s->options->cosine && square > 0.0 ? 1.0 / sqrt(square) : 1.0;
        squares += square * scale * scale;
        for (int64_t k = 0; k < s->d; ++k) {
            s->mean[k] += (double)y[k] * scale;
        }
    }
    return squares > 0.0 ? cs_inner(s->d, s->mean, s->mean) / ((double)s->n * squares) : NAN;
}

static cs_status jackknife(study *s, cs_feature_connectivity *c)
{
    enum { M = CS_FEATURE_MEASURES };
    const int64_t blocks = s->blocks;
    const cs_hash128 chosen = cs_hash(s->row, (size_t)s->n * sizeof *s->row, 0);
    cs_hash_hex(cs_hash(s->block, (size_t)s->n * sizeof *s->block, chosen.low), c->partition);
    c->left_out = cs_alloc(blocks * M, sizeof *c->left_out);
    cs_status status = c->left_out ? CS_OK : CS_ERR_MEMORY;
    for (int64_t b = 0; b < blocks && status == CS_OK; ++b) {
        cs_progress_report(s->options->progress, "blocks", b, blocks);
        status = measure(s, b, c->left_out + b * M, NULL);
    }
    for (int j = 0; j < M && status == CS_OK; ++j) {
        c->se[j] = cs_jackknife_error(blocks, c->left_out + j, M);
    }
    return status;
}

/* --- results ---------------------------------------------------------------------------------- */

void cs_feature_connectivity_free(cs_feature_connectivity *c)
{
    CS_FREE_FIELDS(c, top, left_out);
    *c = (cs_feature_connectivity){0};
}

const char *cs_feature_name(int which)
{
    static const char *const name[CS_FEATURE_MEASURES] = {
        "top_mean",      "top_least",     "mean",          "quantile_0.001",
        "quantile_0.01", "quantile_0.05", "quantile_0.25", "quantile_0.5",
        "quantile_0.75", "quantile_0.95", "quantile_0.99", "quantile_0.999"};
    return name[which];
}

char *cs_feature_definition(int which, const cs_feature_options *o,
                            const cs_feature_connectivity *r)
{
    const char *kind = o->cosine ? "cosines" : "inner products";
    CS_AUTO_FREE char *of =
        cs_format("of the %" PRId64 " %s of pairs %s of %" PRId64 " rows%s", r->total, kind,
                  o->self ? "i <= j" : "i < j", r->rows, o->centred ? " less their mean" : "");
    char *text = NULL;
    if (of && which == CS_FEATURE_TOP_MEAN) {
        text = cs_format("mean of the %" PRId64 " largest %s; at fixed count it grows with n",
                         r->pairs, of);
    } else if (of && which == CS_FEATURE_TOP_LEAST) {
        text = cs_format("number %" PRId64 " in size %s", r->pairs, of);
    } else if (of && which == CS_FEATURE_MEAN) {
        text = cs_format("mean %s", of);
    } else if (of) {
        text = cs_format("quantile %g %s, within 2^-11 of its size",
                         quantile[which - CS_FEATURE_QUANTILES], of);
    }
    return text;
}

static cs_status check_options(const cs_feature_options *o)
{
    if (o->pairs < 1) {
        return cs_fail(CS_ERR_USAGE, "the number of pairs, %" PRId64 ", must be positive",
                       o->pairs);
    }
    if (o->features < 0) {
        return cs_fail(CS_ERR_USAGE, "the number of features, %" PRId64 ", must not be negative",
                       o->features);
    }
    if (o->blocks < 0 || o->blocks == 1) {
        return cs_fail(CS_ERR_USAGE, "%" PRId64 " jackknife blocks: expected 0 or at least 2",
                       o->blocks);
    }
    return CS_OK;
}

cs_status cs_feature_connectivity_of(const cs_rows *rows, const cs_feature_options *options,
                                     cs_feature_connectivity *out)
{
    study s = {.options = options, .name = rows->name ? rows->name : "matrix"};
    cs_feature_connectivity c = {0};
    cs_status status = check_options(options);
    if (status != CS_OK || (status = choose_rows(&s, rows->rows)) != CS_OK ||
        (status = set_blocks(&s)) != CS_OK || (status = read_rows(&s, rows)) != CS_OK) {
        goto done;
    }
    s.total = pairs_of(s.n, options->self);
    s.pairs = options->pairs < s.total ? options->pairs : s.total;
    c.rows = s.n;
    c.cols = s.d;
    c.pairs = s.pairs;
    c.total = s.total;
    c.blocks = s.blocks;
    c.top = cs_alloc(s.pairs, sizeof *c.top);
    cs_fill(CS_FEATURE_MEASURES, NAN, c.se);
    if ((status = c.top ? CS_OK : CS_ERR_MEMORY) != CS_OK ||
        (status = measure(&s, -1, c.value, &c)) != CS_OK) {
        goto done;
    }
    c.mean_share = mean_share(&s);
    if (s.blocks > 0 && (status = jackknife(&s, &c)) != CS_OK) goto done;
done:
    cs_pool_free(&s.pool);
    return CS_DELIVER(status, out, c, cs_feature_connectivity_free);
}

/* --- the record -------------------------------------------------------------------------------- */

enum { POINTS = 1000 }; /* of a curve, at most */

/* Sorted values at ranks that are equally far apart on a logarithmic axis, the last one included.
 */
static void add_curve(cs_item *item, const cs_feature_connectivity *c)
{
    cs_item *curve = cs_item_array(item, "~curve");
    int64_t last = 0;
    for (int i = 0; i < POINTS; ++i) {
        double share = (double)i / (POINTS - 1);
        int64_t rank = (int64_t)llround(exp(share * log((double)c->pairs)));
        rank = i == POINTS - 1 ? c->pairs : rank;
        if (rank > last) {
            cs_item *point = cs_item_object(curve, NULL);
            cs_item_int(point, "rank", rank);
            cs_item_real(point, "value", (double)c->top[rank - 1]);
            last = rank;
        }
    }
}

static void add_warnings(const char *name, bool centred, const cs_feature_connectivity *c,
                         cs_item *item)
{
    cs_item *list = cs_item_array(item, "warnings");
    if (c->mean_share > 0.5) {
        cs_item_take(
            list, NULL,
            cs_format("%s: the mean of the rows has %.1f%% of the sum of squares of the compared "
                      "features%s",
                      name, 100.0 * c->mean_share,
                      centred ? ""
                              : ", so that all pairs are similar; give --center to remove it"));
    }
    if (c->zeros > 0) {
        cs_item_take(list, NULL, cs_format("%s: %" PRId64 " rows are 0", name, c->zeros));
    }
    if (c->pairs == c->total) {
        cs_item_take(list, NULL,
                     cs_format("%s: --pairs takes all %" PRId64 " pairs of %" PRId64 " rows", name,
                               c->total, c->rows));
    }
}

void cs_feature_record(const char *name, const cs_feature_options *options,
                       const cs_feature_connectivity *c, cs_item *item)
{
    cs_item_text(item, "series", name);
    cs_item_int(item, "n", c->rows);
    cs_item_int(item, "d", c->cols);
    CS_ITEM_FIELDS(item, c, pairs, blocks, mean_share);
    cs_item_int(item, "all_pairs", c->total);
    cs_item_text(item, "similarity", options->cosine ? "cosine" : "inner");
    CS_ITEM_FIELDS(item, options, self, centred);
    cs_item_int(item, "seed", (int64_t)options->seed);
    cs_item *metrics = cs_item_array(item, "metrics");
    for (int i = 0; i < CS_FEATURE_MEASURES; ++i) {
        cs_item *metric = cs_item_object(metrics, NULL);
        cs_item_text(metric, "name", cs_feature_name(i));
        cs_item_take(metric, "definition", cs_feature_definition(i, options, c));
        cs_item_real(metric, "value", c->value[i]);
        cs_item_real(metric, "se", c->se[i]);
        cs_item *list = cs_item_array(metric, "~left_out");
        for (int64_t b = 0; c->left_out && b < c->blocks; ++b) {
            cs_item_real(list, NULL, c->left_out[b * CS_FEATURE_MEASURES + i]);
        }
    }
    cs_item_text(item, "~partition", c->partition);
    add_curve(item, c);
    add_warnings(name, options->centred, c, item);
}
