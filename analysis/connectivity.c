/* Components, gap and Cheeger sweep of a co-occurrence matrix (theory.md 2, Connectivity; Chung,
 * Spectral Graph Theory, 1997, chapter 2).
 *
 * The sweep is one pass over the sorted nodes: moving a node across changes the cut by its edges to
 * the outside minus those to the inside. */
#include "analysis/connectivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/ranked.h"
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

/* Walks the order of the nodes of the bipartite graph (rows first, then columns) and keeps the best
 * prefix; returns its length. */
static int64_t sweep(const cs_csr *a, const cs_csr *at, const cs_spectrum *s,
                     const cs_ranked *order, uint8_t *in_row, uint8_t *in_col, cs_cut *out)
{
    int64_t nodes = a->rows + a->cols, best = 0;
    double cut = 0.0, volume = 0.0;
    out->sweep = INFINITY;
    for (int64_t step = 0; step + 1 < nodes; ++step) {
        int64_t node = order[step].index;
        if (node < a->rows) {
            cut += cut_change(a, node, in_col) / s->mass;
            volume += s->row_mass[node];
            in_row[node] = 1;
        } else {
            int64_t j = node - a->rows;
            cut += cut_change(at, j, in_row) / s->mass;
            volume += s->col_mass[j];
            in_col[j] = 1;
        }
        double small = fmin(volume, 2.0 - volume);
        if (small > 0.0 && cut / small < out->sweep) {
            out->sweep = fmax(cut, 0.0) / small;
            out->sweep_volume = small;
            best =
                volume <= 1.0 ? step + 1 : -(step + 1); /* negative: the smaller side is the rest */
        }
    }
    return best;
}

/* Marks the nodes of the smaller side of the best prefix. */
static void mark_side(const cs_csr *a, const cs_ranked *order, int64_t best, uint8_t *side_row,
                      uint8_t *side_col, cs_cut *out)
{
    int64_t nodes = a->rows + a->cols;
    int64_t from = best > 0 ? 0 : -best, to = best > 0 ? best : nodes;
    memset(side_row, 0, (size_t)a->rows);
    memset(side_col, 0, (size_t)a->cols);
    for (int64_t step = from; step < to; ++step) {
        int64_t node = order[step].index;
        if (node < a->rows) {
            side_row[node] = 1;
            out->sweep_rows += 1;
        } else {
            side_col[node - a->rows] = 1;
            out->sweep_cols += 1;
        }
    }
}

static cs_spectrum_options solver_options(const cs_connectivity_options *options, int64_t k)
{
    return (cs_spectrum_options){.k = k,
                                 .solver = options->solver,
                                 .tol = options->tol,
                                 .max_iterations = options->max_iterations,
                                 .no_reduction = options->no_reduction,
                                 .moment4_budget = options->moment4_budget,
                                 .seed = options->seed,
                                 .threads = options->threads};
}

cs_status cs_cut_of(const cs_csr *a, const cs_connectivity_options *options, cs_cut *out,
                    uint8_t *side_row, uint8_t *side_col)
{
    cs_status status;
    cs_cut cut = {.rows = a->rows, .cols = a->cols, .mass = 1.0};
    cs_spectrum spectrum = {0};
    cs_csr at = {0};
    cs_ranked *order = NULL;
    uint8_t *row = NULL, *col = NULL;
    int64_t smaller = a->rows < a->cols ? a->rows : a->cols;
    cs_spectrum_options so = solver_options(options, smaller < 2 ? smaller : 2);
    if ((status = cs_spectrum_of(a, &so, &spectrum)) != CS_OK ||
        (status = cs_spectrum_require(&spectrum)) != CS_OK) {
        goto done;
    }
    if (spectrum.components != 1 || spectrum.zero_rows + spectrum.zero_cols > 0) {
        status = cs_fail(
            CS_ERR_INPUT,
            "the sweep cut wants one component without empty rows or columns, got %lld components",
            (long long)spectrum.components);
        goto done;
    }
    int64_t nodes = a->rows + a->cols;
    order = cs_alloc(nodes, sizeof *order);
    row = cs_calloc(a->rows, 1);
    col = cs_calloc(a->cols, 1);
    if (!order || !row || !col) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    if ((status = cs_csr_transpose(a, &at)) != CS_OK) {
        goto done;
    }
    bool second = spectrum.k >= 2;
    cut.sigma2 = second ? spectrum.sigma[1] : 0.0;
    cut.residual = second ? spectrum.residual[1] : 0.0;
    cut.lower = (1.0 - cut.sigma2) / 2.0;
    cut.upper = sqrt(fmax(0.0, 1.0 - cut.sigma2 * cut.sigma2));
    for (int64_t i = 0; i < a->rows; ++i) {
        order[i] = (cs_ranked){
            second ? spectrum.u.data[i + spectrum.u.ld] / sqrt(spectrum.row_mass[i]) : 0.0, i};
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        order[a->rows + j] = (cs_ranked){
            second ? spectrum.v.data[j + spectrum.v.ld] / sqrt(spectrum.col_mass[j]) : 0.0,
            a->rows + j};
    }
    qsort(order, (size_t)nodes, sizeof *order, cs_ranked_compare);
    int64_t best = sweep(a, &at, &spectrum, order, row, col, &cut);
    mark_side(a, order, best, side_row ? side_row : row, side_col ? side_col : col, &cut);
    *out = cut;
done:
    cs_free(order);
    cs_free(row);
    cs_free(col);
    cs_csr_free(&at);
    cs_spectrum_free(&spectrum);
    return status;
}

/* The heaviest component as a matrix of its own. */
static cs_status heaviest(const cs_csr *a, const cs_components *parts, cs_csr *out, double *share)
{
    cs_status status = CS_ERR_MEMORY;
    double *mass = cs_calloc(parts->count, sizeof *mass);
    int64_t *row = cs_alloc(a->rows, sizeof *row);
    int32_t *col_map = cs_alloc(a->cols, sizeof *col_map);
    if (!mass || !row || !col_map) {
        goto done;
    }
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
    int64_t rows = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (parts->row[i] == top) {
            row[rows++] = i;
        }
    }
    int32_t cols = 0;
    for (int64_t j = 0; j < a->cols; ++j) {
        col_map[j] = parts->col[j] == top ? cols++ : -1;
    }
    *share = mass[top] / total;
    status = cs_csr_select(a, rows, row, col_map, cols, out);
done:
    cs_free(mass);
    cs_free(row);
    cs_free(col_map);
    return status;
}

cs_status cs_connectivity_of(const cs_csr *a, const cs_connectivity_options *options,
                             cs_connectivity *out)
{
    cs_status status;
    cs_connectivity result = {0};
    cs_components parts = {0};
    cs_csr part = {0};
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
    cs_spectrum_options so = solver_options(options, k < smaller ? k : smaller);
    so.values_only = so.moment4 = true;
    so.certify = options->no_probe ? 0 : CS_CERTIFY_USUAL;
    so.progress = options->progress;
    if ((status = cs_spectrum_of(a, &so, &result.spectrum)) != CS_OK ||
        (status = heaviest(a, &parts, &part, &result.giant_mass)) != CS_OK ||
        (status = cs_cut_of(&part, options, &result.cut, NULL, NULL)) != CS_OK) {
        goto done;
    }
    result.cut.mass = result.giant_mass;
    result.gap = !result.spectrum.converged        ? NAN
                 : result.spectrum.k > parts.count ? 1.0 - result.spectrum.sigma[parts.count]
                                                   : 1.0;
    *out = result;
    memset(&result, 0, sizeof result);
done:
    cs_connectivity_free(&result);
    cs_components_free(&parts);
    cs_csr_free(&part);
    return status;
}
