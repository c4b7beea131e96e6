/* cospec density: the spectrum of a matrix too large for an SVD, with error bars. */

#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cooc/spectrum_density.h"

static const cs_opt density_options[] = {
    {"known", 'k', CS_OPT_INT, "K", "0", 0, 1e6,
     "Number of top singular triplets to compute and treat exactly; tails are given for t = 0..K. "
     "0: only the ones of the components.",
     false},
    CS_INT("samples", "N", "32", 2, 1e6, "Number of random sign vectors."),
    CS_INT("degree", "Q", "64", 4, 1e4, "Lanczos steps per sample."),
    CS_INT("bins", "N", "50", 1, 1e5, "Number of steps of the curves."),
    CS_REAL("width", "H", NULL, 1e-6, 1,
            "Standard deviation of the Gaussian that smooths the density. Default: 1.5 / Q of the "
            "upper bound."),
    CS_REAL("level", "P", "0.95", 0.5, 0.9999, "Confidence level of the intervals."),
    {0},
};

/* --- result ----------------------------------------------------------------------------------- */

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

static cs_status print_result(cs_args *args, const cs_spectrum_density_options *o,
                              const cs_spectrum_density *d)
{
    static const cs_view view = {
        "~curve[]", "sigma density=density.value density_low=density.low density_high=density.high "
                    "above=above.value above_low=above.low above_high=above.high "
                    "fourth_below=fourth_below.value fourth_below_low=fourth_below.low "
                    "fourth_below_high=fourth_below.high"};
    cs_item *root = cs_output_root(args);
    cs_spectrum_density_record(cs_args_positional(args, 0), o, d, root);
    cs_status status = cs_item_stored(root, cs_args_positional(args, 0));
    if (status == CS_OK) status = cs_tails_write(args);
    if (status == CS_OK) {
        note_summary(args, d);
        status = cs_output_record(args, "density", &view);
    }
    return status;
}

/* --- run -------------------------------------------------------------------------------------- */

/* Upper bounds, from the matrix before the reductions; rows: with those that are empty. */
static cs_status estimate(cs_args *args, int64_t rows, const cs_csr *a, double cost)
{
    int64_t small = a->rows < a->cols ? a->rows : a->cols;
    int64_t large = a->rows < a->cols ? a->cols : a->rows;
    double q = (double)cs_args_int(args, "degree");
    double samples = (double)cs_args_int(args, "samples");
    double products = 2 * samples * q * (double)cs_csr_nnz(a);
    double others = 2 * samples * (double)small * q * (q + (double)cs_args_int(args, "known"));
    cs_item *root = cs_output_root(args);
    cs_item_int(root, "rows", rows);
    cs_item_int(root, "cols", a->cols);
    cs_item_int(root, "nonzeros", cs_csr_nnz(a));
    cs_item_real(root, "sample_bytes",
                 8 * cs_density_bytes(large, small, cs_args_int(args, "degree")));
    cs_item_real(root, "product_multiply_adds", products);
    cs_item_real(root, "orthogonalisation_multiply_adds", others);
    cs_item_real(root, "sum_sigma4_cost", cost);
    return cs_output_record(args, "density", NULL);
}

static cs_status options_of(cs_args *args, cs_spectrum_density_options *o)
{
    cs_status status = CS_OK;
    if (cs_args_int(args, "known") == 0)
        status = cs_args_refuse(args, "solver tol max-iterations",
                                "needs -k: without triplets nothing is solved");
    if (status == CS_OK) status = cs_args_spectrum(args, &o->spectrum);
    o->spectrum.k = cs_args_int(args, "known");
    o->spectrum.moment4_budget = cs_args_moment_budget(args);
    CS_ARGS_FIELDS(args, o, samples, degree, bins, width, level);
    return status;
}

static cs_status run(cs_args *args)
{
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    CS_AUTO(cs_spectrum_density) density = {0};
    cs_spectrum_density_options options = {0};
    double cost = 0;
    const char *path = NULL;
    CS_AUTO(cs_matrix_form) *form = NULL;
    cs_status status = options_of(args, &options);
    if (status == CS_OK) status = cs_args_form(args, cs_args_text(args, "form"), &form);
    options.spectrum.form = form;
    if (status == CS_OK && cs_args_language(args) && form) {
        return cs_fail(CS_ERR_USAGE, "--form cannot be combined with --estimate");
    }
    if (status == CS_OK && cs_args_language(args)) {
        return cs_language_run(args, options.spectrum.k, &options);
    }
    if (status == CS_OK) status = cs_args_no_language(args);
    if (status == CS_OK)
        status = cs_args_matrix(args, cs_args_positional(args, 0), &path, &rows, &a);
    options.spectrum.rows = &rows;
    if (status == CS_OK) status = cs_form_of_stored(cs_args_positional(args, 0), form);
    if (status == CS_OK) status = cs_args_note_moment4(args, &a, false, &cost);
    if (status == CS_OK && cs_args_flag(args, "dry-run")) {
        status = estimate(args, rows.rows, &a, cost);
    } else if (status == CS_OK) {
        status = cs_spectrum_density_of(&a, &options, &density);
        status = status == CS_ERR_INPUT ? cs_blame(status, "%s", path) : status;
        if (status == CS_OK) status = print_result(args, &options, &density);
    }
    return status;
}

const cs_command cs_cmd_density = {
    .name = "density",
    .help = &cs_help_density,
    .positional = "FILE|DIR",
    .groups = (const cs_opt *const[]){density_options, cs_group_language, cs_group_form,
                                      cs_group_solver, cs_group_moments, NULL},
    .run = run,
    .files = "density.json density.csv tail.csv",
    .shown = "sigma lambda density above fourth_below",
    .most = -12, /* the large values */
};
