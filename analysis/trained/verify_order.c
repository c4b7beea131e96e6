/* cospec verify trained --model RUN --matrix DIR: the order in which the checkpoints of a run learn
 * the singular directions of the matrix of their objective (learned_order.h).
 *
 * The mean of a mode's share over the checkpoints is larger the earlier it is learned, without a
 * threshold. Kendall's tau of it is formed with sigma, with sigma times the frequency of the mode,
 * and with the frequency alone, which is the baseline. A single mode with sigma = 1 is left out: its
 * vectors are the marginals, which biases learn.
 * No theorem states the order for a network under AdamW, so that nothing can fail. */
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
    double *mean; /* k: means of the shares */
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
        cs_item_real(row, "frequency", c->now[i].frequency);
    }
}

/* Whether the mode is compared: a single one with sigma = 1 is learned by biases. */
static bool compared(const cs_learned_mode *m)
{
    return m->sigma < 1 - CS_LEARNED_EQUAL || m->count > 1;
}

/* Before the other checkpoints are read. */
static cs_status check_modes(const course *c)
{
    int64_t modes = 0;
    for (int64_t i = 0; i < c->modes; ++i) {
        modes += compared(&c->now[i].mode);
    }
    return modes > 1
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "an order needs at least two modes with sigma below 1, but the first "
                         "%lld triplets have %lld; give more --triplets",
                         (long long)c->k, (long long)modes);
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
        if (status == CS_OK && i == 0) status = check_modes(c);
        if (status == CS_OK) add_rows(c, run->step[i], rows);
        for (int64_t k = 0; k < c->modes && status == CS_OK; ++k) {
            c->mean[k] += c->now[k].mode.share / (double)run->count;
        }
        cs_progress_report(in->progress, "checkpoints", i + 1, run->count);
    }
    return status;
}

/* The modes that are compared, and tau_b of their mean shares with sigma, with sigma f and with f. */
typedef struct {
    int64_t modes, reached;
    cs_kendall sigma, weighted, frequency;
} order;

static cs_status order_of(const course *c, order *out)
{
    CS_AUTO(cs_pool) pool = {0};
    double *sigma = cs_pool_take(&pool, c->modes, sizeof *sigma);
    double *weighted = cs_pool_take(&pool, c->modes, sizeof *weighted);
    double *frequency = cs_pool_take(&pool, c->modes, sizeof *frequency);
    double *mean = cs_pool_take(&pool, c->modes, sizeof *mean);
    if (pool.status != CS_OK) return pool.status;
    *out = (order){0};
    for (int64_t i = 0; i < c->modes; ++i) {
        const cs_learned_mode *m = &c->now[i].mode;
        if (compared(m)) {
            sigma[out->modes] = m->sigma;
            frequency[out->modes] = c->now[i].frequency;
            weighted[out->modes] = m->sigma * c->now[i].frequency;
            mean[out->modes++] = c->mean[i];
            out->reached += m->share >= 0.5;
        }
    }
    cs_status status = cs_kendall_of(out->modes, sigma, mean, &out->sigma);
    if (status == CS_OK) status = cs_kendall_of(out->modes, weighted, mean, &out->weighted);
    if (status == CS_OK) status = cs_kendall_of(out->modes, frequency, mean, &out->frequency);
    return status;
}

static void state_order(const char *model, const char *id, const char *text, const cs_kendall *k,
                        const order *o, cs_statements *out)
{
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){id, CS_CORRECTED, CS_RELATION_LESS, text, model, 0, k->tau, 0});
    cs_statement_reals(
        s, 3,
        (cs_detail[]){{"modes", (double)o->modes}, {"reached", (double)o->reached}, {"p", k->p}});
    if (s && !(k->tau > 0 && k->p <= LEVEL))
        cs_statement_unspecify(s, "the order is significant (value: p)", k->p);
}

cs_status cs_verify_order(const cs_theorem_input *in, cs_theorem_report *report)
{
    CS_AUTO(course) c = {0};
    order o = {0};
    const cs_csr *a = &in->store->cooc.matrix.a;
    cs_spectrum_options options = in->spectrum ? *in->spectrum : (cs_spectrum_options){0};
    options.k = cs_least(in->triplets > 0 ? in->triplets : DIRECTIONS, cs_least(a->rows, a->cols));
    cs_status status = cs_learned_corpus_of(in->store, &options, in->seed, &c.corpus);
    if (status != CS_OK) return status;
    c.k = c.corpus.target.spectrum.k;
    c.now = cs_pool_take(&c.pool, c.k, sizeof *c.now);
    c.mean = cs_pool_take(&c.pool, c.k, sizeof *c.mean);
    cs_item *row = cs_item_object(report->rows, NULL);
    cs_item_text(row, "input", in->name);
    cs_item_text(row, "model", in->model.name);
    cs_item_int(row, "documents", c.corpus.sequences.count);
    status = c.pool.status;
    if (status == CS_OK) status = follow(in, &c, cs_item_array(row, "~order"));
    if (status == CS_OK) status = order_of(&c, &o);
    if (status != CS_OK) return status;
    CS_ITEM_FIELDS(row, &o, modes, reached);
    CS_ITEM_FIELDS(row, &o.sigma, tau, p);
    cs_item_real(row, "tau_weighted", o.weighted.tau);
    cs_item_real(row, "p_weighted", o.weighted.p);
    cs_item_real(row, "tau_frequency", o.frequency.tau);
    cs_item_real(row, "p_frequency", o.frequency.p);
    state_order(in->model.name, "trained-order",
                "larger singular values are learned earlier: 0 < Kendall's tau of sigma and the "
                "mean share over checkpoints",
                &o.sigma, &o, &report->statements);
    state_order(in->model.name, "trained-order-weighted",
                "modes with larger sigma times frequency are learned earlier: 0 < Kendall's tau of "
                "it and the mean share over checkpoints",
                &o.weighted, &o, &report->statements);
    return cs_statements_status(&report->statements);
}
