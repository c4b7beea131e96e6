/* The least-squares classifier on a growing orthonormal basis.
 *
 * On features U_t / root the root^2-weighted least squares has the scores U_t U_t^T diag(root)
 * target / root; the argmax does not see the last division, so a new column costs one update. Work
 * goes in chunks of rows whose sums are added in order: the same bits for any number of threads.
 *
 * Random rotations of degenerate singular spaces.
 *
 * Where sigma_t = sigma_{t+1} (closer than SAME) the top t vectors are not determined: any basis
 * of the singular space may come first. Rotations are Haar: Q of a QR of a Gaussian, columns signed
 * by diag R (Mezzadri, Notices AMS 54, 2007). The space of sigma = 1 is known in closed form,
 * sqrt(P_C) restricted to each component, so it is rotated whole even when only a part of it was
 * computed; its first rotation is the component basis itself, lightest component first, which
 * leaves whole components without a feature and so is the worst one for separable labels. */
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_41_private.h"
#include "base/auto.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/reduce.h"
#include "linalg/dense.h"

enum { CHUNK = 4096, SUMS = 3 }; /* SUMS: error, documents, excess of a chunk */

typedef struct {
    cs_41_fit *fit;
    const double *column;
} step_work;

static int64_t chunks_of(int64_t rows)
{
    return (rows + CHUNK - 1) / CHUNK;
}

cs_status cs_41_fit_init(const cs_41_labels *labels, const cs_csr *target, const double *root,
                         int threads, cs_41_fit *out)
{
    cs_41_fit fit = {.labels = labels,
                     .target = target,
                     .root = root,
                     .threads = threads,
                     .error = 1,
                     .documents = 1,
                     .excess = 1 - labels->noise};
    const int64_t sums = chunks_of(labels->rows) * (labels->classes + SUMS);
    fit.score = cs_pool_take(&fit.pool, labels->rows * labels->classes, sizeof *fit.score);
    fit.coefficient = cs_pool_take(&fit.pool, labels->classes, sizeof *fit.coefficient);
    fit.partial = cs_pool_take(&fit.pool, sums, sizeof *fit.partial);
    *out = fit;
    return fit.pool.status;
}

void cs_41_fit_free(cs_41_fit *fit)
{
    cs_pool_free(&fit->pool);
    memset(fit, 0, sizeof *fit);
}

static int64_t last_row(const cs_41_fit *fit, int64_t item)
{
    int64_t last = (item + 1) * CHUNK;
    return last < fit->labels->rows ? last : fit->labels->rows;
}

/* partial = this chunk's part of u^T diag(root) target. */
static cs_status project_chunk(void *ctx, int64_t item)
{
    const step_work *w = ctx;
    const cs_csr *target = w->fit->target;
    int64_t classes = w->fit->labels->classes;
    double *partial = w->fit->partial + item * (classes + SUMS);
    memset(partial, 0, (size_t)classes * sizeof *partial);
    for (int64_t i = item * CHUNK; i < last_row(w->fit, item); ++i) {
        for (int64_t e = target->ptr[i]; e < target->ptr[i + 1]; ++e) {
            partial[target->col[e]] += w->column[i] * w->fit->root[i] * target->val[e];
        }
    }
    return CS_OK;
}

/* The class with the largest score, -1 when another one comes within the tie tolerance. */
static int64_t decide(const double *score, int64_t classes, double tie)
{
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
        best = score[c] > score[best] ? c : best;
    }
    for (int64_t c = 0; c < classes; ++c) {
        if (c != best && score[best] - score[c] <= tie) {
            return -1;
        }
    }
    return best;
}

static cs_status update_chunk(void *ctx, int64_t item)
{
    const step_work *w = ctx;
    cs_41_fit *fit = w->fit;
    const cs_41_labels *l = fit->labels;
    double error = 0, documents = 0, excess = 0;
    for (int64_t i = item * CHUNK; i < last_row(fit, item); ++i) {
        double *score = fit->score + i * l->classes;
        cs_add_multiple(l->classes, w->column[i], fit->coefficient, score);
        if (!(l->mass[i] > 0)) {
            continue;
        }
        int64_t guess = decide(score, l->classes, CS_41_TIE * fit->root[i]);
        double right = 0, majority = 0;
        for (int64_t e = l->soft.ptr[i]; e < l->soft.ptr[i + 1]; ++e) {
            right += l->soft.col[e] == guess ? l->soft.val[e] : 0;
            majority += l->soft.col[e] == l->label[i] ? l->soft.val[e] : 0;
        }
        error += guess == l->label[i] ? 0 : l->mass[i];
        documents += l->mass[i] * (1 - right);
        excess += l->mass[i] * (majority - right); /* exactly 0 when the guess is y(X) */
    }
    double *partial = fit->partial + item * (l->classes + SUMS) + l->classes;
    partial[0] = error;
    partial[1] = documents;
    partial[2] = excess;
    return CS_OK;
}

cs_status cs_41_fit_step(cs_41_fit *fit, const double *column)
{
    int64_t classes = fit->labels->classes, chunks = chunks_of(fit->labels->rows);
    step_work work = {fit, column};
    cs_status status = cs_parallel(chunks, fit->threads, project_chunk, &work);
    if (status != CS_OK) return status;
    memset(fit->coefficient, 0, (size_t)classes * sizeof *fit->coefficient);
    for (int64_t k = 0; k < chunks; ++k) {
        cs_add_multiple(classes, 1, fit->partial + k * (classes + SUMS), fit->coefficient);
    }
    status = cs_parallel(chunks, fit->threads, update_chunk, &work);
    if (status != CS_OK) return status;
    fit->error = fit->documents = fit->excess = 0;
    for (int64_t k = 0; k < chunks; ++k) {
        fit->error += fit->partial[k * (classes + SUMS) + classes];
        fit->documents += fit->partial[k * (classes + SUMS) + classes + 1];
        fit->excess += fit->partial[k * (classes + SUMS) + classes + 2];
    }
    return CS_OK;
}

enum { DEFAULT_ROTATIONS = 20, FEWEST_ROTATIONS = 3 };
static const double SAME = 1e-9;
static const double WORK_LIMIT = 2e10; /* multiply-adds spent on the rotations of one space */

/* A degenerate space: sigma[first..last-1] are one value; basis vector q of it is `vector`(q). */
typedef struct {
    int64_t first, last; /* 0-based: the computed triplets of the space */
    int64_t dimension;   /* of the whole space; > last - first when truncated and known */
    bool ones;           /* the sigma = 1 space, in its component basis */
    bool open;           /* may go on beyond the last triplet, dimension unknown */
} space;

typedef struct {
    const cs_41_labels *labels;
    const cs_spectrum *spectrum;
    const cs_components *components;
    const double *component_mass;
    const space *space;
    const double *weight; /* column of the rotation: dimension values */
    double *out;          /* rows */
} combine_work;

void cs_41_rotations_free(cs_41_rotations *r)
{
    cs_pool_free(&r->pool);
    memset(r, 0, sizeof *r);
}

/* out = basis of the space times one column of the rotation. */
static cs_status combine_chunk(void *ctx, int64_t item)
{
    const combine_work *w = ctx;
    int64_t first = item * CHUNK;
    int64_t last = first + CHUNK < w->labels->rows ? first + CHUNK : w->labels->rows;
    if (w->space->ones) {
        for (int64_t i = first; i < last; ++i) {
            int64_t c = w->components->row[i];
            w->out[i] = c < 0 ? 0 : w->labels->root[i] / sqrt(w->component_mass[c]) * w->weight[c];
        }
        return CS_OK;
    }
    memset(w->out + first, 0, (size_t)(last - first) * sizeof *w->out);
    for (int64_t q = 0; q < w->space->dimension; ++q) {
        const double *u = w->spectrum->u.data + (w->space->first + q) * w->spectrum->u.ld;
        for (int64_t i = first; i < last; ++i) {
            w->out[i] += w->weight[q] * u[i];
        }
    }
    return CS_OK;
}

/* q: Haar-distributed orthonormal columns. gauss: of its size. */
static cs_status haar(uint64_t seed, uint64_t index, cs_dense *gauss, cs_dense *q)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_ROTATION, index);
    for (int64_t j = 0; j < q->cols; ++j) {
        for (int64_t i = 0; i < q->rows; ++i) {
            gauss->data[i + j * gauss->ld] = cs_rng_normal(&rng);
        }
    }
    cs_dense_copy(gauss, q);
    cs_status status = cs_dense_orthonormalise(q);
    for (int64_t j = 0; status == CS_OK && j < q->cols; ++j) {
        double diagonal = 0; /* R_jj = q_j . g_j */
        for (int64_t i = 0; i < q->rows; ++i) {
            diagonal += q->data[i + j * q->ld] * gauss->data[i + j * gauss->ld];
        }
        for (int64_t i = 0; diagonal < 0 && i < q->rows; ++i) {
            q->data[i + j * q->ld] = -q->data[i + j * q->ld];
        }
    }
    return status;
}

/* q (zeros): the component basis, lightest first: columns of the identity. */
static cs_status axes(const double *mass, cs_dense *q)
{
    CS_AUTO_FREE bool *taken = cs_calloc(q->rows, sizeof *taken);
    if (!taken) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < q->cols; ++j) {
        int64_t lightest = -1;
        for (int64_t c = 0; c < q->rows; ++c) {
            if (!taken[c] && (lightest < 0 || mass[c] < mass[lightest])) {
                lightest = c;
            }
        }
        taken[lightest] = true;
        q->data[lightest + j * q->ld] = 1;
    }
    return CS_OK;
}

/* One rotation: features of the spaces before are in base_score. Adds to mean, raises worst. */
static cs_status rotate_once(combine_work *work, const cs_dense *rotation, const double *base_score,
                             int64_t steps, cs_41_fit *fit, cs_41_rotations *r)
{
    int64_t rows = work->labels->rows;
    memcpy(fit->score, base_score, (size_t)(rows * work->labels->classes) * sizeof *base_score);
    for (int64_t j = 0; j < steps; ++j) {
        work->weight = rotation->data + j * rotation->ld;
        cs_status status =
            cs_parallel((rows + CHUNK - 1) / CHUNK, fit->threads, combine_chunk, work);
        if (status == CS_OK) status = cs_41_fit_step(fit, work->out);
        if (status != CS_OK) return status;
        double *mean = &r->mean[work->space->first + j], *worst = &r->worst[work->space->first + j];
        *mean += fit->error;
        *worst = fmax(*worst, fit->error);
    }
    return CS_OK;
}

static cs_status rotate_space(combine_work *work, const cs_41_fit *base, int64_t t_max,
                              const cs_theorem_input *o, cs_41_rotations *r)
{
    const space *s = work->space;
    /* At t = last the whole space is in, unless more of it lies beyond. */
    int64_t steps = s->last - s->first - (s->dimension > s->last - s->first ? 0 : 1);
    steps = s->first + steps < t_max ? steps : t_max - s->first;
    if (steps <= 0) {
        return CS_OK;
    }
    int64_t wanted = o->rotations > 0 ? o->rotations : DEFAULT_ROTATIONS;
    double cost = (double)steps * (double)work->labels->rows *
                  (double)(work->labels->classes + (s->ones ? 2 : s->dimension));
    int64_t rotations = wanted;
    if (cost * (double)wanted > WORK_LIMIT) {
        rotations = (int64_t)(WORK_LIMIT / cost);
        rotations = rotations < FEWEST_ROTATIONS ? FEWEST_ROTATIONS : rotations;
        rotations = rotations < wanted ? rotations : wanted;
    }
    CS_AUTO(cs_pool) pool = {0};
    cs_dense q = cs_dense_in(&pool, s->dimension, steps);
    cs_dense gauss = cs_dense_in(&pool, s->dimension, steps);
    CS_AUTO(cs_41_fit) fit = {0};
    cs_status status = cs_41_fit_init(work->labels, base->target, base->root, base->threads, &fit);
    if (status == CS_OK) status = pool.status;
    for (int64_t j = 0; j < steps; ++j) {
        r->mean[s->first + j] = r->worst[s->first + j] = 0;
    }
    for (int64_t n = 0; status == CS_OK && n < rotations; ++n) {
        uint64_t index = (uint64_t)s->first << 32 | (uint64_t)n;
        status =
            n == 0 && s->ones ? axes(work->component_mass, &q) : haar(o->seed, index, &gauss, &q);
        if (status == CS_OK) status = rotate_once(work, &q, base->score, steps, &fit, r);
    }
    for (int64_t j = 0; j < steps; ++j) {
        r->mean[s->first + j] /= (double)rotations;
    }
    r->rotations = rotations;
    r->straddled += steps;
    r->largest = s->dimension > r->largest ? s->dimension : r->largest;
    return status;
}

static space space_at(const cs_spectrum *spectrum, int64_t components, int64_t first)
{
    space s = {.first = first, .last = first + 1};
    while (s.last < spectrum->k && spectrum->sigma[s.last - 1] - spectrum->sigma[s.last] <= SAME) {
        ++s.last;
    }
    s.dimension = s.last - s.first;
    s.ones = first == 0 && fabs(spectrum->sigma[0] - 1) <= SAME && components >= s.dimension;
    if (s.ones) {
        s.dimension = components;
    }
    s.open = !s.ones && s.last == spectrum->k && spectrum->rank < 0;
    return s;
}

cs_status cs_41_rotations_of(const cs_labelled *m, const cs_41_labels *labels,
                             const cs_spectrum *spectrum, int64_t t_max,
                             const cs_theorem_input *options, cs_41_rotations *out)
{
    cs_41_rotations r = {0};
    CS_AUTO(cs_components) components = {0};
    CS_AUTO(cs_41_fit) base = {0};
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = cs_components_of(&m->a, &components);
    if (status == CS_OK)
        status = cs_41_fit_init(labels, &labels->hard, labels->root, options->threads, &base);
    double *mass = cs_pool_take(&pool, components.count, sizeof *mass);
    double *column = cs_pool_take(&pool, labels->rows, sizeof *column);
    CS_POOL_FIELDS(&r.pool, t_max, &r, mean, worst);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = r.pool.status;
    if (status != CS_OK) goto done;
    for (int64_t i = 0; i < labels->rows; ++i) {
        if (components.row[i] >= 0) {
            mass[components.row[i]] += labels->mass[i];
        }
    }
    for (int64_t t = 0; t < t_max; ++t) {
        r.mean[t] = r.worst[t] = NAN;
    }
    for (int64_t first = 0; status == CS_OK && first < t_max;) {
        space s = space_at(spectrum, components.count, first);
        combine_work work = {.labels = labels,
                             .spectrum = spectrum,
                             .components = &components,
                             .component_mass = mass,
                             .space = &s,
                             .out = column};
        r.truncated = r.truncated || (s.open && s.dimension > 1);
        if (s.dimension > 1) {
            status = rotate_space(&work, &base, t_max, options, &r);
        }
        for (int64_t j = s.first; status == CS_OK && j < s.last && s.last < t_max; ++j) {
            status = cs_41_fit_step(&base, spectrum->u.data + j * spectrum->u.ld);
        }
        cs_progress_report(options->progress, "singular spaces rotated", s.last, t_max);
        first = s.last;
    }
done:
    return CS_DELIVER(status, out, r, cs_41_rotations_free);
}
