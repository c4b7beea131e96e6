/* Theorem 4.3: the audit's walk over sequences, prefixes and unmasked sets.
 *
 * First every eta (the paper's is the largest of all) and the frequencies of predicted tokens, then
 * the cases. The sets X_m of a prefix are enumerated where there are few, else drawn; delta is the
 * maximum over every mask of a sequence where these are few, else over those seen, and then an
 * upper bound is given too: |z_y| <= max ||w_y|| N^p max ||g||. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/theorems/theorem_43_private.h"
#include "base/auto.h"
#include "base/rng.h"
#include "base/sort.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "plan/count.h"
#include "plan/ratio.h"

enum {
    USUAL_MASKS = 4,
    USUAL_BLOCKS = 20,
    ALL_MASKS = 256,
    FORMS = CS_BOUND_FORMS,
    MOST_MASKS = 1 << 16,
    SMALL = 1 << 15,
    AT_ONCE = 64
};

/* --- sizes -------------------------------------------------------------------------------------*/

/* Unmasked tokens of a sequence, 0: it is left out. */
static int64_t unmasked_of(const cs_generation_bound_walk *w, int64_t i)
{
    const int64_t s = w->text->length[i];
    if (s < 2 || w->o.unmasked >= s) {
        return 0;
    }
    return w->o.unmasked > 0 ? w->o.unmasked : s - cs_ratio_masked(w->o.mask_ratio, s);
}

static int64_t last_of(const cs_generation_bound_walk *w, int64_t n)
{
    return w->o.last > 0 && w->o.last < n + 1 ? w->o.last : n + 1;
}

static cs_status check_model(const cs_generation_bound_model *m,
                             const cs_generation_bound_options *o)
{
    if (o->unmasked < 0 || (o->unmasked == 0 && !(o->mask_ratio > 0 && o->mask_ratio < 1))) {
        return cs_fail(CS_ERR_USAGE,
                       "unmasked %lld, mask ratio %g: expected at least 1 unmasked token, or a "
                       "ratio in (0, 1)",
                       (long long)o->unmasked, o->mask_ratio);
    }
    if (o->masks < 1 || o->masks > MOST_MASKS || o->blocks < 1 || (o->last != 0 && o->last < 2)) {
        return cs_fail(CS_ERR_USAGE, "masks %lld, blocks %lld or last k %lld are out of range",
                       (long long)o->masks, (long long)o->blocks, (long long)o->last);
    }
    if (o->against && o->against->vocab != m->vocab) {
        return cs_fail(CS_ERR_USAGE, "the other model has %lld tokens, but this one has %lld",
                       (long long)o->against->vocab, (long long)m->vocab);
    }
    return CS_OK;
}

/* --- first pass --------------------------------------------------------------------------------*/

static void count_targets(cs_generation_bound_walk *w, int64_t i, int64_t n)
{
    w->a->highest = n > w->a->highest ? n : w->a->highest;
    w->a->lowest = w->a->lowest == 0 || n < w->a->lowest ? n : w->a->lowest;
    w->a->uncovered += w->text->length[i] - 1 - n;
    for (int64_t k = 2; !w->o.negative && k <= last_of(w, n); ++k) {
        w->negative[w->text->token[i][k - 1]] += 1;
    }
}

/* No side may overflow: an infinite one, or the NaN that two leave, would say nothing and could
 * pass for a bound that holds. z and f of sums are below size, products of two of them and of ||W||
 * below its square, up to small factors. */
static cs_status check_size(const cs_generation_bound_walk *w, const cs_generation_bound_rows *r)
{
    const double size = pow((double)r->n, 3) * (1 + w->m->frobenius) * (1 + r->term);
    return isfinite(64 * (double)w->m->vocab * size * size)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "the bounds overflow: terms have norm up to %g with ||W||_F = %g", r->term,
                         w->m->frobenius);
}

/* eta of sequence w->chunk + item, in both forms. */
static cs_status one_eta(void *ctx, int64_t item)
{
    cs_generation_bound_walk *w = ctx;
    const int64_t i = w->chunk + item;
    CS_AUTO(cs_generation_bound_rows) r = {0};
    if (unmasked_of(w, i) == 0) {
        return CS_OK;
    }
    cs_status status = cs_generation_bound_rows_of(w->m, w->text->token[i], w->text->length[i], &r);
    status = cs_blame(status == CS_OK ? check_size(w, &r) : status, "sequence %lld", (long long)i);
    for (int p = 0; p < FORMS && status == CS_OK; ++p) {
        status = cs_generation_bound_eta_of(&r, p + 2, 0, &w->eta[i][p]);
        w->eta[i][p].value *= w->o.eta_scale;
    }
    return status;
}

static cs_status all_etas(cs_generation_bound_walk *w)
{
    cs_status status = CS_OK;
    for (w->chunk = 0; w->chunk < w->text->count && status == CS_OK; w->chunk += AT_ONCE) {
        int64_t rest = w->text->count - w->chunk;
        status = cs_parallel(rest < AT_ONCE ? rest : AT_ONCE, 0, one_eta, w);
        cs_progress_report(w->o.progress, "eta",
                           rest < AT_ONCE ? w->text->count : w->chunk + AT_ONCE, w->text->count);
    }
    return status;
}

static void take_etas(cs_generation_bound_walk *w, int64_t i)
{
    for (int p = 0; p < FORMS; ++p) {
        cs_generation_bound_eta *largest = &w->a->form[p].eta, *own = &w->eta[i][p];
        w->a->form[p].exact += own->exact;
        if (w->a->sequences == 1 || own->value > largest->value) {
            *largest = *own;
        }
    }
}

static cs_status survey(cs_generation_bound_walk *w)
{
    cs_status status = all_etas(w);
    for (int64_t i = 0; i < w->text->count && status == CS_OK; ++i) {
        int64_t n = unmasked_of(w, i);
        if (n == 0) {
            w->a->excluded += 1;
            continue;
        }
        w->a->sequences += 1;
        count_targets(w, i, n);
        take_etas(w, i);
    }
    if (status == CS_OK && w->a->sequences == 0)
        status = cs_fail(CS_ERR_INPUT, "no sequence has at least %lld tokens",
                         (long long)(w->o.unmasked > 0 ? w->o.unmasked + 1 : 2));
    for (int64_t y = 0; y < w->m->vocab && status == CS_OK; ++y) {
        w->negative[y] = w->o.negative ? w->o.negative[y] : w->negative[y];
    }
    if (status == CS_OK) (void)cs_to_one(w->m->vocab, w->negative);
    return status;
}

/* --- sets ------------------------------------------------------------------------------------- */

/* f^ of the first `count` rows of w->set for both forms, into columns at and at + 1. */
static void put_features(cs_generation_bound_walk *w, const cs_generation_bound_rows *r,
                         int64_t count, int64_t at)
{
    for (int p = 0; p < FORMS; ++p) {
        cs_generation_bound_features(r, w->set, count, p + 2, w->scratch);
        memcpy(w->f.data + (at + p) * w->f.ld, w->scratch,
               (size_t)w->m->width * sizeof *w->scratch);
    }
}

static cs_status one_column(void *ctx, int64_t item)
{
    cs_generation_bound_walk *w = ctx;
    cs_generation_bound_apply(w->m, w->f.data + item * w->f.ld, w->z.data + item * w->z.ld);
    return CS_OK;
}

static cs_status multiply(cs_generation_bound_walk *w, int64_t columns)
{
    int threads = w->m->vocab * w->m->width < SMALL ? 1 : 0;
    return cs_parallel(columns, threads, one_column, w);
}

/* Every mask of the sequence, where there are few. */
static cs_status all_deltas(cs_generation_bound_walk *w, const cs_generation_bound_rows *r,
                            const int32_t *token, int64_t n)
{
    cs_status status = CS_OK;
    if (cs_binomial(r->n, n) > ALL_MASKS) {
        return CS_OK;
    }
    w->a->enumerated += 1;
    cs_first_subset(n, w->set);
    do {
        put_features(w, r, n, 0);
        status = multiply(w, FORMS);
        for (int p = 0; p < FORMS && status == CS_OK; ++p) {
            cs_generation_bound_column c = cs_generation_bound_read(w, w->z.data + p * w->z.ld, 1);
            cs_generation_bound_take_delta(w, r, token, w->set, n, p, &c);
        }
    } while (status == CS_OK && cs_next_subset(r->n, n, w->set));
    return status;
}

/* Loads the prefix and its sets X_m: all, or some drawn. `choice` counts places after x_k. */
static int64_t load_sets(cs_generation_bound_walk *w, const cs_generation_bound_place *at)
{
    const int64_t first = at->k - 1, more = at->n - first, rest = at->r->n - at->k;
    bool all = cs_binomial(rest, more) <= (double)w->o.masks;
    cs_rng rng =
        cs_rng_at(w->o.seed, CS_STREAM_AUDIT, (uint64_t)at->sequence << 20 | (uint64_t)at->k);
    int64_t count = 0;
    cs_first_subset(at->r->n, w->set);
    put_features(w, at->r, first, 0);
    cs_first_subset(more, w->choice);
    do {
        if (!all) { /* ascending, each set equally likely */
            int64_t left = rest, wanted = more, got = 0;
            for (int64_t i = 0; i < rest; ++i) {
                if (cs_rng_selects(&rng, &left, &wanted)) {
                    w->choice[got++] = (int32_t)i;
                }
            }
        }
        for (int64_t i = 0; i < more; ++i) {
            w->set[first + i] = (int32_t)(at->k + w->choice[i]);
        }
        memcpy(w->sets + count * w->longest, w->set, (size_t)at->n * sizeof *w->set);
        put_features(w, at->r, at->n, (++count) * FORMS);
    } while (all ? cs_next_subset(rest, more, w->choice) : count < w->o.masks);
    return count;
}

/* --- second pass -------------------------------------------------------------------------------*/

/* The sums over k in the printed bound. */
static void printed_sums(cs_generation_bound_walk *w, int64_t n, int64_t last)
{
    const double weight = 1 / (double)w->a->sequences / (2 * (double)n);
    for (int p = 0; p < FORMS; ++p) {
        for (int64_t k = 2; k <= last; ++k) {
            double c = pow((double)(k - 1), p + 2), wk = pow((double)n, p + 2) - c;
            w->a->form[p].first += weight * wk * wk / (c * c);
            w->a->form[p].second += weight * wk;
        }
    }
}

static cs_status sequence(cs_generation_bound_walk *w, int64_t i, int64_t n)
{
    const int32_t *token = w->text->token[i];
    const int64_t s = w->text->length[i], last = last_of(w, n);
    const double operations = 4 * (double)s + 2 * (double)w->m->width + 16;
    CS_AUTO(cs_generation_bound_rows) r = {0}, other = {0};
    cs_status status = cs_generation_bound_rows_of(w->m, token, s, &r);
    if (status == CS_OK && w->o.against)
        status = cs_blame(cs_generation_bound_rows_of(w->o.against, token, s, &other),
                          "the other model, sequence %lld", (long long)i);
    if (status == CS_OK) {
        w->a->alike += r.equal;
        printed_sums(w, n, last);
        status = all_deltas(w, &r, token, n);
    }
    for (int p = 0; p < FORMS && status == CS_OK; ++p) {
        double most = w->m->largest_row * r.term, sum = pow((double)n, p + 2) * most;
        cs_generation_bound_form *f = &w->a->form[p];
        f->delta.bound = fmax(f->delta.bound, sum + sum * sum);
        f->means.trivial = fmax(f->means.trivial, most + most * most);
    }
    for (int64_t k = 2; k <= last && status == CS_OK; ++k) {
        cs_generation_bound_place at = {.r = &r,
                                        .other = w->o.against ? &other : NULL,
                                        .token = token,
                                        .sequence = i,
                                        .k = k,
                                        .n = n,
                                        .gamma_z = cs_generation_bound_error(w->m, &r),
                                        .gamma_f = cs_generation_bound_gamma(operations) * r.term,
                                        .weight =
                                            1 / ((double)w->a->sequences * (double)(last - 1))};
        int64_t masks = load_sets(w, &at);
        status = multiply(w, (masks + 1) * FORMS);
        if (status == CS_OK) status = cs_generation_bound_prefix(w, &at, masks);
    }
    return status;
}

static cs_status visit(cs_generation_bound_walk *w)
{
    cs_status status = CS_OK;
    for (int p = 0; p < FORMS; ++p) {
        cs_generation_bound_form *f = &w->a->form[p];
        f->power = p + 2;
        f->norm.low = INFINITY;
        f->delta.seen = f->delta.largest_plus = -INFINITY;
        f->tightness.least = f->tightness.median = f->tightness.largest = NAN;
    }
    for (int64_t i = 0; i < w->text->count && status == CS_OK; ++i) {
        int64_t n = unmasked_of(w, i);
        status = n > 0 ? sequence(w, i, n) : CS_OK;
        cs_progress_report(w->o.progress, "sequences", i + 1, w->text->count);
        status = status == CS_OK ? cs_interrupt_check() : status;
    }
    for (int p = 0; p < FORMS && status == CS_OK && w->ratios > 0; ++p) {
        qsort(w->ratio[p], (size_t)w->ratios, sizeof *w->ratio[p], cs_ascending);
        cs_generation_bound_form *f = &w->a->form[p];
        f->tightness.least = w->ratio[p][0];
        f->tightness.median = w->ratio[p][w->ratios / 2];
        f->tightness.largest = w->ratio[p][w->ratios - 1];
    }
    return status;
}

static cs_status make_space(cs_generation_bound_walk *w)
{
    int64_t longest = 2, vocab = w->m->vocab, columns = (w->o.masks + 1) * FORMS;
    int64_t width = w->m->width;
    if (w->o.against && w->o.against->width > width) {
        width = w->o.against->width;
    }
    for (int64_t i = 0; i < w->text->count; ++i) {
        longest = w->text->length[i] > longest ? w->text->length[i] : longest;
    }
    w->longest = longest;
    w->a->lengths = longest + 1;
    w->a->blocks = w->o.blocks;
    w->negative = cs_pool_take(&w->pool, vocab, sizeof *w->negative);
    w->eta = cs_pool_take(&w->pool, w->text->count, sizeof *w->eta);
    w->scratch = cs_pool_take(&w->pool, 2 * width, sizeof *w->scratch);
    CS_POOL_FIELDS(&w->pool, longest, w, set, choice);
    w->sets = cs_pool_take(&w->pool, longest * w->o.masks, sizeof *w->sets);
    w->a->curve = cs_calloc(w->o.blocks * w->a->lengths * CS_BOUND_CURVE, sizeof *w->a->curve);
    w->f = cs_dense_in(&w->pool, w->m->width, columns);
    w->z = cs_dense_in(&w->pool, vocab, columns);
    w->other = cs_dense_in(&w->pool, vocab, 1);
    return w->a->curve ? w->pool.status : CS_ERR_MEMORY;
}

void cs_generation_bound_audit_free(cs_generation_bound_audit *a)
{
    cs_free(a->curve);
    memset(a, 0, sizeof *a);
}

cs_status cs_generation_bound_audit_of(const cs_generation_bound_model *m,
                                       const cs_generation_bound_text *text,
                                       const cs_generation_bound_options *options,
                                       cs_generation_bound_audit *out)
{
    cs_generation_bound_audit a = {0};
    cs_generation_bound_walk w = {.m = m, .text = text, .o = *options, .a = &a};
    w.o.masks = w.o.masks == 0 ? USUAL_MASKS : w.o.masks;
    w.o.blocks = w.o.blocks == 0 ? USUAL_BLOCKS : w.o.blocks;
    w.o.eta_scale = w.o.eta_scale == 0 ? 1 : w.o.eta_scale;
    w.o.factor = w.o.factor == 0 ? 2 : w.o.factor;
    cs_status status = check_model(m, &w.o);
    if (status == CS_OK && (status = make_space(&w)) == CS_OK && (status = survey(&w)) == CS_OK)
        status = visit(&w);
    cs_free(w.ratio[0]);
    cs_free(w.ratio[1]);
    cs_pool_free(&w.pool);
    return CS_DELIVER(status, out, a, cs_generation_bound_audit_free);
}
