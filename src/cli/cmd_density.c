/* cospec density: the spectrum of a matrix too large for an SVD, with error bars. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/tail_report.h"
#include "cooc/spectrum_density.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/matrix_file.h"

static const cs_opt density_options[] = {
    {"known", 'k', CS_OPT_INT, "K", "0", 0, 1e6,
     "Top singular triplets to compute and take out; tails are given for t = 0..K. 0: only the "
     "ones of the components, which are known in closed form.",
     false},
    {"samples", 0, CS_OPT_INT, "N", "32", 2, 1e6, "Random sign vectors.", false},
    {"degree", 0, CS_OPT_INT, "Q", "64", 4, 1e4, "Lanczos steps a sample.", false},
    {"bins", 0, CS_OPT_INT, "N", "50", 1, 1e5, "Steps of the curves between 0 and the bound.",
     false},
    {"width", 0, CS_OPT_REAL, "H", NULL, 1e-6, 1,
     "Standard deviation of the Gaussian that smooths the density. Default: 1.5 / Q of the bound.",
     false},
    {"level", 0, CS_OPT_REAL, "P", "0.95", 0.5, 0.9999, "Confidence of the intervals.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};

/* --- result ----------------------------------------------------------------------------------- */

static json_t *result_json(const cs_args *args, const cs_spectrum_density *d)
{
    cs_status status = CS_OK;
    json_t *o = json_object();
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        {"rows", d->rows},
        {"cols", d->cols},
        {"nonzeros", d->nnz},
        {"components", d->components},
        {"lumped_rows", d->lumped_rows},
        {"lumped_cols", d->lumped_cols},
        {"values", d->density.dimension},
        {"known", d->density.known},
        {"samples", cs_args_int(args, "samples")},
        {"degree", cs_args_int(args, "degree")},
        {"samples_without_quadrature_error", d->density.ended},
        {"seed", (int64_t)cs_args_seed(args)},
    };
    const struct {
        const char *key;
        double value;
    } reals[] = {
        {"level", cs_args_real(args, "level")},
        {"student_factor", d->density.factor},
        {"bound", d->top},
        {"width", d->density.width},
        {"density_bias_bound", d->density.bias},
        {"residual", d->residual},
        {"sum_sigma2", d->sum_sigma2},
        {"sum_sigma4", d->sum_sigma4},
        {"sum_sigma4_cost", d->sum_sigma4_cost},
        {"sum_sigma4_budget", cs_args_real(args, "moment-budget")},
        {"rest_sigma4_error", d->density.rest4_error},
    };
    cs_json_put(&status, o, "matrix", json_string(cs_args_positional(args, 0)));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        cs_json_put(&status, o, counts[i].key, json_integer(counts[i].value));
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i) {
        cs_json_put(&status, o, reals[i].key, cs_json_number(reals[i].value));
    }
    cs_json_put(&status, o, "sum_sigma2_estimate", cs_interval_json(&d->sum2));
    cs_json_put(&status, o, "sum_sigma4_estimate", cs_interval_json(&d->sum4));
    cs_json_put(&status, o, "sigma", cs_json_numbers(d->k, d->sigma));
    cs_json_put(&status, o, "tail", cs_tails_json(d->k, d->tail, d->tail_exact));
    if (status != CS_OK) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static cs_status curve_table(const cs_spectrum_density *d, cs_table *table)
{
    const cs_density *e = &d->density;
    cs_status status =
        cs_table_init(table, "sigma,density,density_low,density_high,above,above_low,"
                             "above_high,fourth_below,fourth_below_low,"
                             "fourth_below_high");
    for (int64_t i = 0; i < e->points && status == CS_OK; ++i) {
        if ((status = cs_table_row(table)) == CS_OK &&
            (status = cs_table_real(table, "sigma", d->x[i])) == CS_OK &&
            (status = cs_interval_cells(table, "density", &e->density[i])) == CS_OK &&
            (status = cs_interval_cells(table, "above", &e->above[i])) == CS_OK) {
            status = cs_interval_cells(table, "fourth_below", &e->fourth_below[i]);
        }
    }
    return status;
}

static void note_summary(const cs_args *args, const cs_spectrum_density *d)
{
    const cs_interval *tail = &d->tail[d->k];
    cs_output_note(args, "%lld x %lld, %lld nonzeros, %lld components; lumped %lld x %lld",
                   (long long)d->rows, (long long)d->cols, (long long)d->nnz,
                   (long long)d->components, (long long)d->lumped_rows, (long long)d->lumped_cols);
    cs_output_note(args, "sum sigma^2 %.8g exact, %.6g in [%.6g, %.6g] estimated", d->sum_sigma2,
                   d->sum2.value, d->sum2.low, d->sum2.high);
    if (d->tail_exact) {
        cs_output_note(args, "sum sigma^4 %.8g exact, %.6g in [%.6g, %.6g] estimated",
                       d->sum_sigma4, d->sum4.value, d->sum4.low, d->sum4.high);
        cs_output_note(args, "tail sum_{j>%lld} sigma_j^4: %.8g exact, %.6g in [%.6g, %.6g]",
                       (long long)d->k, d->tail_exact[d->k], tail->value, tail->low, tail->high);
    } else {
        cs_output_note(args, "sum sigma^4 %.6g in [%.6g, %.6g]", d->sum4.value, d->sum4.low,
                       d->sum4.high);
        cs_output_note(args, "tail sum_{j>%lld} sigma_j^4: %.6g in [%.6g, %.6g]", (long long)d->k,
                       tail->value, tail->low, tail->high);
    }
}

static cs_status print_result(cs_args *args, const cs_spectrum_density *d)
{
    cs_table table = {0};
    json_t *json = result_json(args, d);
    const char *position = NULL;
    cs_status status =
        json ? cs_stored_position(cs_args_positional(args, 0), &position) : CS_ERR_MEMORY;
    if (position) {
        cs_json_put(&status, json, "target_position", json_string(position));
    }
    if (status == CS_OK) {
        status = curve_table(d, &table);
    }
    if (status == CS_OK && cs_args_given(args, "output")) {
        status = cs_tails_write(args, d->k, d->tail, d->tail_exact);
    }
    if (status == CS_OK) {
        note_summary(args, d);
        status = cs_output_result(args, "density", json, &table);
    }
    json_decref(json);
    cs_table_free(&table);
    return status;
}

/* --- run -------------------------------------------------------------------------------------- */

/* Upper bounds, from the matrix before the reductions. */
static cs_status estimate(cs_args *args, const cs_csr *a, double cost)
{
    int64_t small = a->rows < a->cols ? a->rows : a->cols;
    int64_t large = a->rows < a->cols ? a->cols : a->rows;
    double q = (double)cs_args_int(args, "degree");
    double samples = (double)cs_args_int(args, "samples");
    double products = 2 * samples * q * (double)cs_csr_nnz(a);
    double others = 2 * samples * (double)small * q * (q + (double)cs_args_int(args, "known"));
    json_t *json = json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "rows", (json_int_t)a->rows, "cols",
        (json_int_t)a->cols, "nonzeros", (json_int_t)cs_csr_nnz(a), "sample_bytes",
        cs_json_number(8 * cs_density_room(large, small, cs_args_int(args, "degree"))),
        "product_multiply_adds", cs_json_number(products), "orthogonalisation_multiply_adds",
        cs_json_number(others), "sum_sigma4_cost", cs_json_number(cost));
    cs_status status = json ? cs_output_result(args, "density", json, NULL)
                            : cs_fail(CS_ERR_MEMORY, "out of memory for the estimate");
    json_decref(json);
    return status;
}

static cs_status options_of(cs_args *args, cs_spectrum_density_options *o)
{
    static const char *const of_triplets[] = {"solver", "tol", "max-iterations"};
    for (size_t i = 0; i < sizeof of_triplets / sizeof *of_triplets; ++i) {
        if (cs_args_int(args, "known") == 0 && cs_args_given(args, of_triplets[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with -k: without triplets nothing is solved",
                           of_triplets[i]);
        }
    }
    cs_status status = cs_args_spectrum(args, &o->spectrum);
    o->spectrum.k = cs_args_int(args, "known");
    o->spectrum.moment4_budget = cs_args_moment_budget(args);
    o->samples = cs_args_int(args, "samples");
    o->degree = cs_args_int(args, "degree");
    o->bins = cs_args_int(args, "bins");
    o->width = cs_args_given(args, "width") ? cs_args_real(args, "width") : 0;
    o->level = cs_args_real(args, "level");
    return status;
}

static cs_status run(cs_args *args)
{
    cs_csr a = {0};
    cs_spectrum_density density = {0};
    cs_spectrum_density_options options = {0};
    double cost = 0;
    const char *given = cs_args_positional(args, 0);
    char *path = cs_path_is_dir(given) ? cs_path_join(given, "matrix.npz") : cs_strdup(given);
    cs_status status = path ? options_of(args, &options) : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_output_claim(args, "density.csv")) != CS_OK ||
        (status = cs_output_claim(args, "tail.csv")) != CS_OK ||
        (status = cs_output_input(args, path)) != CS_OK ||
        (status = cs_matrix_read(path, &a)) != CS_OK ||
        (status = cs_blame(cs_csr_check(&a, !options.spectrum.normalised), "%s", path)) != CS_OK ||
        (status = cs_args_note_moment4(args, &a, &cost)) != CS_OK) {
        goto done;
    }
    if (cs_args_flag(args, "dry-run")) {
        status = estimate(args, &a, cost);
        goto done;
    }
    if ((status = cs_spectrum_density_of(&a, &options, &density)) == CS_OK) {
        status = print_result(args, &density);
    }
done:
    cs_spectrum_density_free(&density);
    cs_csr_free(&a);
    cs_free(path);
    return status;
}

const cs_command cs_cmd_density = {
    .name = "density",
    .summary = "Spectral density, counts and sums of a matrix too large for an SVD, with intervals",
    .description =
        "Reads a matrix as cospec svd does and estimates the distribution of all singular values "
        "of Abar by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017): the density "
        "smoothed by a Gaussian, N(sigma > x), the sum of sigma^4 over sigma <= x, and\n\n"
        "  tail(t) = sum_{j>t} sigma_j^4   (the right side of Theorem 4.1), t = 0..K\n\n"
        "Components and the top K triplets are taken out exactly and added back, so that only the "
        "rest has variance. Every interval holds both errors: that of sampling (Student's, at the "
        "given level) and that of the quadrature, which is bounded, not estimated: "
        "Chebyshev-Markov-Stieltjes inequalities for counts and partial sums, a polynomial "
        "approximation bound for the density, none for sums of sigma^2 and sigma^4. Sum sigma^2 "
        "is exact as well, and sum sigma^4 where its cost, told first, is within --moment-budget; "
        "the estimates can be held against them.\n\n"
        "A count of one or two large values is skewed, and its interval misses them a little more "
        "often than the level says: take them out with -k. DIR receives density.csv (the curves), "
        "density.json and tail.csv; draw with cospec plot density.",
    .positional = "FILE|DIR",
    .groups = (const cs_opt *const[]){density_options, cs_group_solver, cs_group_moments, NULL},
    .examples = "# the spectrum of a bigram matrix, its five largest values known\n"
                "cospec cooc --corpus bible-kjv --objective ar --context nearest:1 --split test -o "
                "bigrams\n"
                "cospec density bigrams -k 5 -o bigram-density\n"
                "cospec plot density bigrams=bigram-density/density.csv -o density-figure\n",
    .run = run,
};
