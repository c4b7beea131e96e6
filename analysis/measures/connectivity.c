/* Components, gap and Cheeger sweep of a co-occurrence matrix (spectra.md, Connectivity; Chung,
 * Spectral Graph Theory, 1997, chapter 2).
 *
 * The sweep is one pass over the sorted nodes: moving a node across changes the cut by its edges to
 * the outside minus those to the inside. */
#include "analysis/measures/connectivity.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/vector_ops.h"
#include "cooc/reduce.h"

void cs_connectivity_free(cs_connectivity *c)
{
    cs_spectrum_free(&c->spectrum);
    memset(c, 0, sizeof *c);
}

/* Change of the cut when `node` with adjacency row `i` of `m` moves inside; `other` flags nodes of
 * the opposite kind. */
static double cut_change(const cs_csr *m, int64_t i, const uint8_t *other)
{
    double change = 0.0;
    for (int64_t p = m->ptr[i]; p < m->ptr[i + 1]; ++p) {
        change += other[m->col[p]] ? -m->val[p] : m->val[p];
    }
    return change;
}

/* The input of a cut: the second triplet of a connected matrix (u, v NULL: it has none), its
 * marginals, times `share` where they are those of a larger one. */
typedef struct {
    double sigma, residual;
    const double *u, *v, *row_mass, *col_mass;
    double share, mass; /* mass: of the connected matrix */
} second_triplet;

/* Goes through the nodes of the bipartite graph (rows first, then columns) in their order and keeps
 * the best prefix. in_row, in_col: zeros. */
static void sweep(const cs_csr *a, const cs_csr *at, const second_triplet *s,
                  const cs_scored *order, uint8_t *in_row, uint8_t *in_col, cs_cut *out)
{
    int64_t nodes = a->rows + a->cols;
    double cut = 0.0, volume = 0.0;
    out->sweep = INFINITY;
    for (int64_t step = 0; step + 1 < nodes; ++step) {
        int64_t node = order[step].index;
        bool row = node < a->rows;
        int64_t i = row ? node : node - a->rows;
        cut += cut_change(row ? a : at, i, row ? in_col : in_row) / s->mass;
        volume += (row ? s->row_mass[i] : s->col_mass[i]) / s->share;
        (row ? in_row : in_col)[i] = 1;
        double small = fmin(volume, 2.0 - volume);
        if (small > 0.0 && cut / small < out->sweep) {
            out->sweep = fmax(cut, 0.0) / small;
            out->sweep_volume = small;
        }
    }
}

static cs_status cut_by(const cs_csr *a, const second_triplet *s, cs_cut *out)
{
    cs_cut cut = {.rows = a->rows,
                  .cols = a->cols,
                  .sigma2 = s->sigma,
                  .residual = s->residual,
                  .lower = (1.0 - s->sigma) / 2.0,
                  .upper = sqrt(fmax(0.0, 1.0 - s->sigma * s->sigma))};
    CS_AUTO(cs_csr) at = {0};
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = CS_OK;
    if (a->gram) { /* the graph's contexts are not available */
        cut.sweep = cut.sweep_volume = NAN;
        *out = cut;
        return CS_OK;
    }
    int64_t nodes = a->rows + a->cols;
    cs_scored *order = cs_pool_take(&pool, nodes, sizeof *order);
    uint8_t *row = cs_pool_take(&pool, a->rows, 1), *col = cs_pool_take(&pool, a->cols, 1);
    status = pool.status;
    if (status != CS_OK || (status = cs_csr_transpose(a, &at)) != CS_OK) return status;
    for (int64_t i = 0; i < a->rows; ++i) {
        order[i] = (cs_scored){s->u ? s->u[i] / sqrt(s->row_mass[i]) : 0.0, i};
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        order[a->rows + j] = (cs_scored){s->v ? s->v[j] / sqrt(s->col_mass[j]) : 0.0, a->rows + j};
    }
    if ((status = cs_scored_sort(nodes, order)) != CS_OK) return status;
    sweep(a, &at, s, order, row, col, &cut);
    *out = cut;
    return status;
}

cs_status cs_cut_of(const cs_csr *a, const cs_connectivity_options *options, cs_cut *out)
{
    cs_status status;
    CS_AUTO(cs_spectrum) spectrum = {0};
    int64_t smaller = a->rows < a->cols ? a->rows : a->cols;
    cs_spectrum_options so = *options;
    so.k = smaller < 2 ? smaller : 2;
    so.certify = 0;
    so.values_only = so.moment4 = false;
    so.progress = NULL;
    if ((status = cs_spectrum_of(a, &so, &spectrum)) != CS_OK ||
        (status = cs_spectrum_require(&spectrum)) != CS_OK) {
        return status;
    }
    if (spectrum.input.components != 1 || spectrum.input.zero_rows + spectrum.input.zero_cols > 0) {
        status = cs_fail(
            CS_ERR_INPUT,
            "the sweep cut needs one component without empty rows or columns, got %lld components",
            (long long)spectrum.input.components);
        return status;
    }
    second_triplet second = {.row_mass = spectrum.input.row_mass,
                             .col_mass = spectrum.input.col_mass,
                             .share = 1,
                             .mass = spectrum.input.mass};
    if (spectrum.k >= 2) {
        second.sigma = spectrum.sigma[1];
        second.residual = spectrum.residual[1];
        second.u = spectrum.u.data ? spectrum.u.data + spectrum.u.ld : NULL;
        second.v = spectrum.v.data + spectrum.v.ld;
    }
    status = cut_by(a, &second, out);
    return status;
}

/* The heaviest component as a separate matrix, and the numbers of its rows and columns in the
 * whole. */
typedef struct {
    cs_csr a;
    int64_t rows, *row, cols, *col;
    int64_t component;
    double share;
} heaviest;

static void heaviest_free(heaviest *h)
{
    cs_csr_free(&h->a);
    cs_free(h->row);
    cs_free(h->col);
}

static cs_status heaviest_of(const cs_csr *a, const cs_components *parts, heaviest *out)
{
    CS_AUTO(cs_pool) pool = {0};
    double *mass = cs_pool_take(&pool, parts->count, sizeof *mass);
    int32_t *col_map = cs_pool_take(&pool, a->cols, sizeof *col_map);
    heaviest h = {.row = cs_alloc(a->rows, sizeof *h.row), .col = cs_alloc(a->cols, sizeof *h.col)};
    cs_status status = !h.row || !h.col ? CS_ERR_MEMORY : pool.status;
    if (status != CS_OK) goto done;
    double total = 0.0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            mass[parts->row[i]] += a->val[p];
            total += a->val[p];
        }
    }
    int64_t top = 0;
    for (int64_t c = 1; c < parts->count; ++c) {
        top = mass[c] > mass[top] ? c : top;
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        if (parts->row[i] == top) {
            h.row[h.rows++] = i;
        }
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        col_map[j] = parts->col[j] == top ? (int32_t)h.cols : -1;
        if (parts->col[j] == top) {
            h.col[h.cols++] = j;
        }
    }
    h.component = top;
    h.share = mass[top] / total;
    status = cs_csr_select(a, h.rows, h.row, col_map, (int32_t)h.cols, &h.a);
    h.a.gram = a->gram;
done:
    return CS_DELIVER(status, out, h, heaviest_free);
}

static const double *gathered(const double *x, int64_t n, const int64_t *index, cs_pool *pool)
{
    double *out = x ? cs_pool_take(pool, n, sizeof *out) : NULL;
    for (int64_t i = 0; out && i < n; ++i) {
        out[i] = x[index[i]];
    }
    return out;
}

/* By a triplet of the whole where the one that is wanted is among them, else by a solution of the
 * component. */
static cs_status cut_of_heaviest(const heaviest *h, const cs_spectrum *s,
                                 const cs_connectivity_options *options, cs_cut *out)
{
    const int64_t t = s->second.index;
    if (t < 0 || !s->solution.converged || !s->cert.perron) return cs_cut_of(&h->a, options, out);
    CS_AUTO(cs_pool) pool = {0};
    second_triplet second = {
        .sigma = s->sigma[t],
        .residual = s->residual[t],
        .u = gathered(s->second.u.data, h->rows, h->row, &pool),
        .v = gathered(s->second.v.data, h->cols, h->col, &pool),
        .row_mass = gathered(s->input.row_mass, h->rows, h->row, &pool),
        .col_mass = gathered(s->input.col_mass, h->cols, h->col, &pool),
        .share = h->share,
        .mass = s->input.mass * h->share,
    };
    cs_status status = pool.status;
    return status == CS_OK ? cut_by(&h->a, &second, out) : status;
}

static double entropy_of(const cs_csr *a)
{
    double sum = 0, mass = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        const double row = cs_total(a->ptr[i + 1] - a->ptr[i], a->val + a->ptr[i]);
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            sum -= a->val[e] > 0 ? a->val[e] * log(a->val[e] / row) : 0;
        }
        mass += row;
    }
    return a->gram ? (double)NAN : sum / mass;
}

static cs_status of_form(const cs_csr *a, const cs_connectivity_options *options,
                         cs_connectivity *out);

cs_status cs_connectivity_of(const cs_csr *a, const cs_connectivity_options *options,
                             cs_connectivity *out)
{
    cs_status status;
    if (!cs_matrix_form_is_normalised(options->form)) return of_form(a, options, out);
    cs_connectivity result = {0};
    CS_AUTO(cs_components) parts = {0};
    heaviest part = {.rows = 0};
    if ((status = cs_csr_check(a, true)) != CS_OK ||
        (status = cs_components_of(a, &parts)) != CS_OK) {
        goto done;
    }
    if (parts.count == 0) {
        status = cs_fail(CS_ERR_INPUT, "the matrix has no nonzero entry");
        goto done;
    }
    int64_t smaller = a->rows < a->cols ? a->rows : a->cols;
    int64_t k = parts.count + (options->k > 0 ? options->k : 32);
    cs_spectrum_options so = *options;
    so.k = k < smaller ? k : smaller;
    so.moment4 = true;
    so.values_only = true;
    so.certify = options->certify ? options->certify : CS_CERTIFY_USUAL;
    if ((status = heaviest_of(a, &parts, &part)) != CS_OK) goto done;
    so.second = so.no_reduction ? 0 : 1 + part.component;
    if ((status = cs_spectrum_of(a, &so, &result.spectrum)) != CS_OK ||
        (status = cut_of_heaviest(&part, &result.spectrum, options, &result.cut)) != CS_OK) {
        goto done;
    }
    cs_dense_free(&result.spectrum.second.u);
    cs_dense_free(&result.spectrum.second.v);
    result.ones = parts.count;
    result.giant_mass = part.share;
    result.entropy = entropy_of(a);
    result.gap = !result.spectrum.solution.converged ? NAN
                 : result.spectrum.k > parts.count   ? 1.0 - result.spectrum.sigma[parts.count]
                                                     : 1.0;
done:
    heaviest_free(&part);
    return CS_DELIVER(status, out, result, cs_connectivity_free);
}

/* The graph as of the normalised matrix, with the spectrum of the form. */
static cs_status of_form(const cs_csr *a, const cs_connectivity_options *options,
                         cs_connectivity *out)
{
    CS_AUTO(cs_spectrum) s = {0};
    cs_connectivity graph = {0};
    const int64_t smaller = a->rows < a->cols ? a->rows : a->cols;
    cs_connectivity_options normalised = *options, so = *options;
    normalised.form = NULL;
    normalised.k = 1;
    so.k = options->k > 0 ? options->k : 32;
    so.k = so.k < smaller ? so.k : smaller;
    so.moment4 = so.values_only = true;
    so.certify = options->certify ? options->certify : CS_CERTIFY_USUAL;
    cs_status status = cs_connectivity_of(a, &normalised, &graph);
    if (status == CS_OK) status = cs_spectrum_of(a, &so, &s);
    if (status == CS_OK) {
        const cs_spectrum_input input = s.input; /* the graph's stays */
        s.input = graph.spectrum.input;
        graph.spectrum.input = input;
        const cs_spectrum of_graph = graph.spectrum;
        graph.spectrum = s;
        s = of_graph;
        graph.ones = 0;
    }
    return CS_DELIVER(status, out, graph, cs_connectivity_free);
}

/* --- as a list of numbers --- */

/* name, definition, whether its error is jackknifed; its value of a cs_connectivity c with the
 * spectrum p */
#define METRICS(X)                                                                                 \
    X("rows", "conditional texts with mass", false,                                                \
      p->input.gram ? (double)NAN : (double)(p->input.rows - p->input.zero_rows))                  \
    X("cols", "target tokens with mass", false, (double)(p->input.cols - p->input.zero_cols))      \
    X("nnz", "pairs (X, X+) that occur", false,                                                    \
      p->input.gram ? (double)NAN : (double)p->input.nnz)                                          \
    X("components", "connected components = multiplicity of sigma = 1", false,                     \
      (double)p->input.components)                                                                 \
    X("giant_mass", "share of mass of the heaviest component", true, c->giant_mass)                \
    X("gap", "1 - largest sigma that is not a component's 1", true, c->gap)                        \
    X("sigma2", "second sigma of the heaviest component", true, c->cut.sigma2)                     \
    X("cheeger_lower", "(1 - sigma2)/2 <= h", true, c->cut.lower)                                  \
    X("sweep_cut", "cut / min(vol; 2 - vol) of the sweep in the heaviest component", true,         \
      c->cut.sweep)                                                                                \
    X("sweep_volume", "volume of the smaller side of the sweep cut, of 2", false,                  \
      c->cut.sweep_volume)                                                                         \
    X("cheeger_upper", "sqrt(1 - sigma2^2) >= h", true, c->cut.upper)                              \
    X("sum_sigma2", "||Abar||_F^2", true, p->moments.sum_sigma2)                                   \
    X("sum_sigma4", "||Abar^T Abar||_F^2", true,                                                   \
      resampled && p->moments.sum4.samples > 0 ? (double)NAN : p->moments.sum_sigma4)              \
    X("sum_sigma4_error", "standard error of an estimate; 0: exact", false,                        \
      p->moments.sum_sigma4_error)                                                                 \
    X("sum_sigma4_low", "95% interval of an estimate", false, p->moments.sum4.low)                 \
    X("sum_sigma4_high", "95% interval of an estimate", false, p->moments.sum4.high)               \
    X("sum_sigma4_samples", "random vectors of an estimate; 0: exact", false,                      \
      (double)p->moments.sum4.samples)                                                             \
    X("largest_residual", "of the singular triplets, through Abar", false, residual)               \
    X("conditional_entropy", "H(X+ | X) in nats; no model that reads X has less", true, c->entropy)

#define INFO_OF(name, definition, interval, value) {name, definition, interval},
#define VALUE_OF(name, definition, interval, value) value,

const cs_connectivity_metric_info cs_connectivity_metric[] = {METRICS(INFO_OF)};

_Static_assert(sizeof cs_connectivity_metric / sizeof *cs_connectivity_metric ==
                   CS_CONNECTIVITY_METRICS,
               "as many as the header says");

void cs_connectivity_values(const cs_connectivity *c, double values[CS_CONNECTIVITY_VALUES],
                            bool resampled)
{
    const cs_spectrum *p = &c->spectrum;
    const double residual = cs_largest(p->k, p->residual);
    const double taken[CS_CONNECTIVITY_METRICS] = {METRICS(VALUE_OF)};
    memcpy(values, taken, sizeof taken);
    for (int64_t j = 0; j < CS_CONNECTIVITY_SIGMAS; ++j) {
        int64_t index = c->ones + j;
        values[CS_CONNECTIVITY_METRICS + j] = index < p->k ? p->sigma[index] : NAN;
    }
}
