/* cospec angles: do two objectives span the same directions over the tokens? */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/subspace.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cooc/store.h"
#include "io/json.h"

/* Both matrices must have the same columns: the same words in the same order. */
static cs_status same_vocabulary(const cs_corpus *a, const cs_corpus *b)
{
    if (a->vocab != b->vocab) {
        return cs_fail(
            CS_ERR_INPUT,
            "vocabularies of %lld and %lld words: build both from one corpus with the same options",
            (long long)a->vocab, (long long)b->vocab);
    }
    for (int64_t i = 0; a->word && b->word && i < a->vocab; ++i) {
        if (strcmp(a->word[i], b->word[i]) != 0) {
            return cs_fail(CS_ERR_INPUT, "word %lld is %s in one vocabulary and %s in the other",
                           (long long)i, a->word[i], b->word[i]);
        }
    }
    return CS_OK;
}

/* sigma_k - sigma_{k+1}, and what the two values are known to. */
typedef struct {
    double value, error;
} spacing;

/* Of a spectrum that was asked for k + 1 triplets, where the matrix has as many: a value that did
 * not come is below the floor, or is that of a null space. |sigma - exact| <= residual. */
static spacing spacing_of(const cs_spectrum *s, int64_t k)
{
    const double rounding = 64 * DBL_EPSILON * s->sigma[0];
    bool next = s->k > k;
    return (spacing){.value = s->sigma[k - 1] - (next ? s->sigma[k] : 0),
                     .error = s->residual[k - 1] + (next ? s->residual[k] : s->floor) + rounding};
}

/* The leading k right singular vectors of a store. */
static cs_status right_vectors(cs_args *args, const cs_cooc_store *store, int64_t k,
                               const char *path, cs_spectrum *out, spacing *gap)
{
    cs_spectrum_options options;
    cs_status status = cs_args_spectrum(args, &options);
    status = status ? status : cs_args_certify(args, 0, &options.certify);
    if (status != CS_OK) {
        return status;
    }
    const cs_csr *a = &store->cooc.matrix.a;
    int64_t side = a->rows < a->cols ? a->rows : a->cols;
    options.k = k < side ? k + 1 : k;
    options.progress = cs_output_progress(args);
    status = cs_spectrum_of(a, &options, out);
    if (status == CS_OK) {
        status = cs_spectrum_require(out);
    }
    if (status == CS_OK && out->k < k) {
        status =
            cs_fail(CS_ERR_INPUT, "k %lld exceeds the rank %lld", (long long)k, (long long)out->k);
    }
    if (status == CS_OK) {
        *gap = spacing_of(out, k);
        out->v.cols = k; /* the next one was for its value */
        if (!(gap->value > gap->error)) {
            cs_output_note(args,
                           "%s: sigma_%lld - sigma_%lld is %.3g, within the error %.3g: the "
                           "subspace is not determined, and the angles depend on the solver's "
                           "choice",
                           path, (long long)k, (long long)k + 1, gap->value, gap->error);
        }
    }
    return status;
}

static cs_status print_angles(cs_args *args, int64_t k, const double *angle, const spacing *gap)
{
    const double value[] = {gap[0].value, gap[1].value}, error[] = {gap[0].error, gap[1].error};
    cs_table table = {0};
    cs_status status = cs_table_init(&table, "index,angle_radians,angle_degrees,cosine");
    double overlap = 0.0;
    for (int64_t i = 0; i < k && status == CS_OK; ++i) {
        overlap += cos(angle[i]) * cos(angle[i]) / (double)k;
        if ((status = cs_table_row(&table)) == CS_OK &&
            (status = cs_table_int(&table, "index", i + 1)) == CS_OK &&
            (status = cs_table_real(&table, "angle_radians", angle[i])) == CS_OK &&
            (status = cs_table_real(&table, "angle_degrees", angle[i] * 180.0 / M_PI)) == CS_OK) {
            status = cs_table_real(&table, "cosine", cos(angle[i]));
        }
    }
    json_t *json = json_object();
    if (status == CS_OK && (status = cs_json_set(json, "k", json_integer(k))) == CS_OK &&
        (status = cs_json_set(json, "angles", cs_json_numbers(k, angle))) == CS_OK &&
        (status = cs_json_set(json, "mean_squared_cosine", cs_json_number(overlap))) == CS_OK &&
        (status = cs_json_set(json, "gap", cs_json_numbers(2, value))) == CS_OK &&
        (status = cs_json_set(json, "gap_error", cs_json_numbers(2, error))) == CS_OK) {
        status = cs_output_result(args, "angles", json, &table);
    }
    json_decref(json);
    cs_table_free(&table);
    return status;
}

static cs_status run(cs_args *args)
{
    if (cs_args_positionals(args) != 2) {
        return cs_fail(CS_ERR_USAGE, "angles wants two directories of cospec cooc, got %d",
                       cs_args_positionals(args));
    }
    cs_cooc_store a = {0}, b = {0};
    cs_spectrum sa = {0}, sb = {0};
    spacing gap[2] = {{0}};
    int64_t k = cs_args_int(args, "k");
    double *angle = cs_alloc(k, sizeof *angle);
    const char *first = cs_args_positional(args, 0), *second = cs_args_positional(args, 1);
    cs_status status = angle ? cs_output_claim(args, "angles.csv") : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_output_input(args, first)) != CS_OK ||
        (status = cs_output_input(args, second)) != CS_OK ||
        (status = cs_cooc_read(first, &a)) != CS_OK ||
        (status = cs_cooc_read(second, &b)) != CS_OK ||
        (status = same_vocabulary(&a.corpus, &b.corpus)) != CS_OK ||
        (status = cs_blame(right_vectors(args, &a, k, first, &sa, &gap[0]), "%s", first)) !=
            CS_OK ||
        (status = cs_blame(right_vectors(args, &b, k, second, &sb, &gap[1]), "%s", second)) !=
            CS_OK ||
        (status = cs_principal_angles(&sa.v, &sb.v, angle)) != CS_OK) {
        goto done;
    }
    status = print_angles(args, k, angle, gap);
done:
    cs_free(angle);
    cs_spectrum_free(&sa);
    cs_spectrum_free(&sb);
    cs_cooc_store_free(&a);
    cs_cooc_store_free(&b);
    return status;
}

static const cs_opt angles_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "32",
     .low = 1,
     .high = 100000,
     .help = "Dimension of both subspaces."},
    {0},
};

const cs_command cs_cmd_angles = {
    .name = "angles",
    .summary = "Principal angles between the token subspaces of two objectives",
    .description =
        "Angles between the spans of the top k right singular vectors of two matrices over the "
        "same vocabulary (Bjorck and Golub 1973): cos theta_i = sigma_i(V1^T V2); "
        "small angles are computed from their sines. mean_squared_cosine is 1 for equal subspaces. "
        "Where sigma_k = sigma_{k+1} the subspace is not unique: a line says so when their gap is "
        "within the error of the two values.",
    .positional = "DIR DIR",
    .groups = (const cs_opt *const[]){angles_options, cs_group_solver, cs_group_certify, NULL},
    .examples = "# autoregressive against masked on one corpus\n"
                "cospec cooc --corpus verses.txt --objective ar --context all --max-length 3 "
                "--stride 1 -o ar\n"
                "cospec cooc --corpus verses.txt --objective masked --unmasked 1 --context all "
                "--max-length 3 --stride 1 -o masked\n"
                "cospec angles ar masked -k 4\n",
    .run = run,
};
