/* cospec verify trained --model RUN --matrix DIR: the order in which the checkpoints of a run learn
 * the singular directions of the matrix of their objective (learned_order.h).
 *
 * A mode is learned from the step on from which its share stays at least one half; between two
 * checkpoints the share is taken to be linear in the step. Kendall's tau between singular values and these steps sums the order up.
 * A single mode with sigma = 1 is left out: its vectors are the marginals, which biases learn. Modes
 * that are never learned are the last, and equally so. No theorem states the order for a network under
 * AdamW, so that nothing can fail. */
#include <math.h>

#include "analysis/trained/learned_order.h"
#include "base/auto.h"
#include "base/ints.h"
#include "stats/rank_correlation.h"

enum { DIRECTIONS = 16 };
static const double LEVEL = 0.05;

/* The course of one run. */
typedef struct {
    cs_pool pool;
    cs_learned_corpus corpus;
    int64_t k, modes;
    cs_learned_direction *now;
    double *half, *before; /* k: the step of one half, infinite: not yet; the share one step ago */
    int64_t last;          /* step of `before` */
} course;

static void course_free(course *c)
{
    cs_learned_corpus_free(&c->corpus);
    cs_pool_free(&c->pool);
}

static void add_rows(const course *c, int64_t step, cs_item *rows)
{
    for (int64_t i = 0; i < c->modes; ++i) {
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_int(row, "step", step);
        cs_item_int(row, "mode", i + 1);
        CS_ITEM_FIELDS(row, &c->now[i].mode, sigma, count, share, energy);
        cs_item_real(row, "observed", c->now[i].observed);
    }
}

static void note_halves(course *c, int64_t step)
{
    for (int64_t i = 0; i < c->modes; ++i) {
        const double share = c->now[i].mode.share, rise = share - c->before[i];
        if (share < 0.5) c->half[i] = INFINITY;
        if (share >= 0.5 && isinf(c->half[i]))
            c->half[i] = c->last < 0
                             ? (double)step
                             : (double)step - (double)(step - c->last) * (share - 0.5) / rise;
        c->before[i] = share;
    }
    c->last = step;
}

static cs_status follow(const cs_theorem_input *in, course *c, cs_item *rows)
{
    const cs_learned_run *run = in->run;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < run->count && status == CS_OK; ++i) {
        cs_learned_model model = {0};
        status = run->open(run->ctx, i, &model);
        if (status == CS_OK)
            status = cs_learned_directions(&c->corpus, &model, in->seed, c->now, &c->modes);
        if (status == CS_OK) add_rows(c, run->step[i], rows);
        if (status == CS_OK) note_halves(c, run->step[i]);
        cs_progress_report(in->progress, "checkpoints", i + 1, run->count);
    }
    return status;
}

/* tau_b of sigma and the steps: 1 where larger values are learned earlier. */
static cs_status order_of(const course *c, int64_t *modes, int64_t *reached, cs_kendall *out)
{
    CS_AUTO(cs_pool) pool = {0};
    double *fall = cs_pool_take(&pool, c->modes, sizeof *fall);
    double *step = cs_pool_take(&pool, c->modes, sizeof *step);
    if (pool.status != CS_OK) return pool.status;
    *modes = *reached = 0;
    for (int64_t i = 0; i < c->modes; ++i) {
        const cs_learned_mode *m = &c->now[i].mode;
        if (m->sigma < 1 - CS_LEARNED_EQUAL || m->count > 1) {
            fall[*modes] = -m->sigma;
            step[(*modes)++] = c->half[i];
            *reached += isfinite(c->half[i]);
        }
    }
    *out = (cs_kendall){NAN, NAN};
    return *modes > 1 ? cs_kendall_of(*modes, fall, step, out) : CS_OK;
}

cs_status cs_verify_order(const cs_theorem_input *in, cs_theorem_report *report)
{
    CS_AUTO(course) c = {.last = -1};
    cs_kendall order;
    const cs_csr *a = &in->store->cooc.matrix.a;
    cs_spectrum_options o = in->spectrum ? *in->spectrum : (cs_spectrum_options){0};
    o.k = cs_least(in->triplets > 0 ? in->triplets : DIRECTIONS, cs_least(a->rows, a->cols));
    cs_status status = cs_learned_corpus_of(in->store, &o, in->seed, &c.corpus);
    if (status != CS_OK) return status;
    c.k = c.corpus.target.spectrum.k;
    c.now = cs_pool_take(&c.pool, c.k, sizeof *c.now);
    c.half = cs_pool_take(&c.pool, c.k, sizeof *c.half);
    c.before = cs_pool_take(&c.pool, c.k, sizeof *c.before);
    for (int64_t i = 0; c.pool.status == CS_OK && i < c.k; ++i) {
        c.half[i] = INFINITY;
    }
    cs_item *row = cs_item_object(report->rows, NULL);
    cs_item_text(row, "input", in->name);
    cs_item_text(row, "model", in->model.name);
    cs_item_int(row, "documents", c.corpus.sequences.count);
    int64_t modes = 0, reached = 0;
    status = c.pool.status;
    if (status == CS_OK) status = follow(in, &c, cs_item_array(row, "~order"));
    if (status == CS_OK) status = order_of(&c, &modes, &reached, &order);
    if (status != CS_OK) return status;
    cs_item_int(row, "modes", modes);
    cs_item_int(row, "reached", reached);
    CS_ITEM_FIELDS(row, &order, tau, p);
    cs_statement *s = cs_statements_claim(
        &report->statements,
        &(cs_claim){"trained-order", CS_CORRECTED, CS_RELATION_LESS,
                    "larger singular values are learned earlier: 0 < Kendall's tau of sigma and "
                    "the step at which a mode has half of its share",
                    in->model.name, 0, order.tau, 0});
    cs_statement_reals(
        s, 3,
        (cs_detail[]){{"modes", (double)modes}, {"reached", (double)reached}, {"p", order.p}});
    if (s && !(order.tau > 0 && order.p <= LEVEL))
        cs_statement_unspecify(s, "the order is significant (value: p)", order.p);
    return cs_statements_status(&report->statements);
}
