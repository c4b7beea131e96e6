/* cospec angles: do two objectives span the same directions over the tokens? */
#include <math.h>
#include <string.h>

#include "analysis/measures/similarity.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/subspaces.h"
#include "cooc/spectrum_record.h"

/* The leading k right singular vectors of a store, and the next value. The default of k becomes their
 * number if there are fewer. */
static cs_status right_vectors(cs_args *args, const cs_cooc_store *store,
                               const cs_matrix_form *form, int64_t *k, cs_spectrum *out)
{
    cs_spectrum_options options;
    cs_status status = cs_args_spectrum(args, &options);
    status = status ? status : cs_args_certify(args, 0, &options.certify);
    if (status != CS_OK) return status;
    const cs_csr *a = &store->cooc.matrix.a;
    const int64_t side = a->rows < a->cols ? a->rows : a->cols;
    const bool given = cs_args_given(args, "k");
    if (!given && *k > side) *k = side;
    options.k = *k < side ? *k + 1 : *k;
    options.form = form;
    options.progress = cs_output_progress(args);
    status = cs_spectrum_of(a, &options, out);
    if (status == CS_OK) status = cs_spectrum_require(out);
    if (status != CS_OK) return status;
    if (out->k < *k && (given || out->k == 0)) {
        return cs_fail(CS_ERR_INPUT, "%s %lld exceeds the rank %lld; lower it",
                       cs_args_said(args, "k"), (long long)*k, (long long)out->k);
    }
    if (out->k < *k) *k = out->k;
    return CS_OK;
}

/* Leaves k vectors, and says where their span is not unique. */
static cs_spacing keep_leading(cs_args *args, const char *path, int64_t k, cs_spectrum *s)
{
    const cs_spacing gap = cs_spacing_of(s, k);
    s->v.cols = k;
    if (!(gap.value > gap.error)) {
        cs_output_note(args,
                       "%s: sigma_%lld - sigma_%lld is %.3g, within the error %.3g: the subspace "
                       "is not determined, and the angles depend on the solver's choice",
                       path, (long long)k, (long long)k + 1, gap.value, gap.error);
    }
    return gap;
}

static cs_status print_angles(cs_args *args, int64_t k, cs_matrix_form *const form[2],
                              const double *angle, const cs_spacing *gap)
{
    static const cs_view view = {
        "angles[]",
        "index=# angle_radians=. angle_degrees=/~degrees[#] cosine=/~cosine[#]",
    };
    const double value[] = {gap[0].value, gap[1].value}, error[] = {gap[0].error, gap[1].error};
    cs_item *root = cs_output_root(args);
    cs_item *degrees = cs_item_array(root, "~degrees"), *cosine = cs_item_array(root, "~cosine");
    double overlap = 0.0;
    for (int64_t i = 0; i < k; ++i) {
        overlap += cos(angle[i]) * cos(angle[i]) / (double)k;
        cs_item_real(degrees, NULL, angle[i] * 180.0 / M_PI);
        cs_item_real(cosine, NULL, cos(angle[i]));
    }
    cs_item_int(root, "k", k);
    cs_item_reals(root, "angles", k, angle);
    cs_item_real(root, "mean_squared_cosine", overlap);
    cs_item_reals(root, "gap", 2, value);
    cs_item_reals(root, "gap_error", 2, error);
    cs_item *matrices = cs_item_array(root, "matrices");
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        cs_item *matrix = cs_item_object(matrices, NULL);
        cs_item_text(matrix, "matrix", cs_args_positional(args, i));
        if (form[0] || form[1]) cs_item_form(matrix, form[i]);
        status = cs_item_stored(matrix, cs_args_positional(args, i));
    }
    cs_output_note(args, "mean squared cosine %.6g (1: the same subspace)", overlap);
    return status == CS_OK ? cs_output_record(args, "angles", &view) : status;
}

/* --form: once for both matrices, or once for each. */
static cs_status take_forms(cs_args *args, cs_matrix_form **a, cs_matrix_form **b)
{
    const int count = cs_args_count(args, "form");
    const char *first = count > 0 ? cs_args_text_at(args, "form", 0) : NULL;
    const char *second = count > 1 ? cs_args_text_at(args, "form", 1) : first;
    if (count > 2) {
        return cs_fail(CS_ERR_USAGE, "--form was given %d times for two matrices", count);
    }
    cs_status status = cs_args_form(args, first, a);
    if (status == CS_OK) status = cs_args_form(args, second, b);
    if (status == CS_OK && first && strcmp(first, second) != 0)
        cs_output_note(args, "the matrices have different forms: %s and %s", first, second);
    return status;
}

static cs_status run(cs_args *args)
{
    CS_AUTO(cs_cooc_store) a = {0}, b = {0};
    CS_AUTO(cs_spectrum) sa = {0}, sb = {0};
    CS_AUTO(cs_matrix_form) *form_a = NULL, *form_b = NULL;
    cs_spacing gap[2] = {{0}};
    int64_t k = cs_args_int(args, "k");
    CS_AUTO_FREE double *angle = cs_alloc(k, sizeof *angle);
    const char *first = cs_args_positional(args, 0), *second = cs_args_positional(args, 1);
    cs_status status = angle ? take_forms(args, &form_a, &form_b) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_args_store(args, first, &a);
    if (status == CS_OK) status = cs_args_store(args, second, &b);
    if (status == CS_OK) status = cs_same_vocabulary(&a.corpus, &b.corpus);
    cs_matrix_form_set_unit(form_a, cs_cooc_stored_mass(&a.cooc));
    cs_matrix_form_set_unit(form_b, cs_cooc_stored_mass(&b.cooc));
    if (status == CS_OK) status = cs_blame(right_vectors(args, &a, form_a, &k, &sa), "%s", first);
    if (status == CS_OK) status = cs_blame(right_vectors(args, &b, form_b, &k, &sb), "%s", second);
    if (status == CS_OK) {
        gap[0] = keep_leading(args, first, k, &sa);
        gap[1] = keep_leading(args, second, k, &sb);
    }
    if (status == CS_OK) status = cs_principal_angles(&sa.v, &sb.v, angle);
    cs_matrix_form *const form[] = {form_a, form_b};
    return status == CS_OK ? print_angles(args, k, form, angle, gap) : status;
}

static const cs_opt angles_options[] = {
    {.name = "form",
     .kind = CS_OPT_TEXT,
     .argument = "NAME|EXPRESSION",
     .help =
         "Form of both matrices, or, given twice, of the first and of the second: normalised, "
         "centred, conditional, ppmi, sppmi:K, ppmi-smoothed, qwem, support, log, or an expression "
         "(docs/explanation/forms.md). Default: normalised.",
     .repeated = CS_ALIKE},
    {"k", 'k', CS_OPT_INT, "K", "32", 1, 100000,
     "Dimension of both subspaces. Without -k fewer, if a matrix has fewer singular vectors.",
     false},
    {0},
};

const cs_command cs_cmd_angles = {
    .name = "angles",
    .help = &cs_help_angles,
    .positional = "DIR DIR",
    .groups = (const cs_opt *const[]){angles_options, cs_group_solver, cs_group_certify, NULL},
    .run = run,
    .files = "angles.json angles.csv",
    .shown = "index angle_degrees cosine",
    .most = 12,
    .rows = "k",
};
