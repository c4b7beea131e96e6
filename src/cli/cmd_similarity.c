/* cospec similarity: how alike two representations of the same inputs are, and their dimensions. */
#include <string.h>

#include "analysis/measures/dimension.h"
#include "analysis/measures/similarity.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/result.h"

typedef struct {
    cs_args *args;
    cs_item *root, *metrics;
} study;

static void add(study *r, const char *of, const char *name, const char *definition, double value,
                int64_t n)
{
    cs_item *item = cs_item_object(r->metrics, NULL);
    cs_item_text(item, "of", of);
    cs_item_text(item, "name", name);
    cs_item_text(item, "definition", definition);
    cs_item_int(item, "n", n);
    cs_item_real(item, "value", value);
}

static cs_status compare(study *r, const cs_rows *a, const cs_rows *b)
{
    cs_similarity s = {0};
    const cs_similarity_options options = {.angles = cs_args_int(r->args, "k"),
                                           .threads = cs_args_threads(r->args)};
    cs_status status = cs_similarity_of(a, b, &options, &s);
    if (status != CS_OK) return status;
    cs_item *angles = cs_item_object(r->root, "angles");
    cs_item_int(angles, "k", s.angles);
    cs_item_reals(angles, "radians", s.angles, s.angle);
    cs_item_real(angles, "share_of_first", s.share_a);
    cs_item_real(angles, "share_of_second", s.share_b);
    r->metrics = cs_item_array(r->root, "metrics");
    add(r, "both", "cka",
        "linear CKA with the biased HSIC, |B'A|_F^2 / (|A'A|_F |B'B|_F), columns centred", s.cka,
        s.rows);
    add(r, "both", "cka_unbiased", "linear CKA with the unbiased HSIC of Song et al. (2012)",
        s.cka_unbiased, s.rows);
    add(r, "both", "procrustes",
        "min_R |A/|A|_F - B/|B|_F R|_F^2 over orthogonal R, columns centred", s.procrustes, s.rows);
    add(r, "both", "procrustes_similarity", "|A'B|_* / (|A|_F |B|_F), columns centred",
        s.procrustes_similarity, s.rows);
    add(r, "both", "mean_squared_cosine",
        "of the principal angles between the spans of the first k principal components",
        s.mean_squared_cosine, s.rows);
    cs_similarity_free(&s);
    return CS_OK;
}

/* At most --sample rows, evenly spaced, in fresh memory. */
static cs_status sample(const cs_rows *rows, int64_t most, double **data, cs_rows *out)
{
    const int64_t n = rows->rows < most ? rows->rows : most, d = rows->cols;
    double *x = d > INT64_MAX / 8 / n ? NULL : cs_alloc(n * d, sizeof *x);
    cs_status status = x ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        int64_t row = i * (rows->rows / n) + i * (rows->rows % n) / n;
        status = cs_rows_read_f64(rows, row, 1, x + i * d);
    }
    *data = x;
    *out = cs_rows_of_f64(n, d, x, rows->name);
    return status;
}

static cs_status dimensions(study *r, const cs_rows *rows)
{
    const double discard = cs_args_real(r->args, "discard");
    const int threads = cs_args_threads(r->args);
    cs_two_nn near = {0};
    cs_isotropy iso = {0};
    double *x = NULL;
    cs_rows some = {0};
    const char *text =
        cs_args_format(r->args,
                       "two-NN (Facco et al. 2017), %g of the largest ratios discarded, rows that "
                       "repeat another left out",
                       discard);
    cs_status status = text ? cs_isotropy_of(rows, false, threads, &iso) : CS_ERR_MEMORY;
    if (status == CS_OK) status = sample(rows, cs_args_int(r->args, "sample"), &x, &some);
    if (status == CS_OK) status = cs_two_nn_of(&some, discard, threads, &near);
    if (status == CS_OK) {
        add(r, rows->name, "intrinsic_dimension", text, near.dimension, some.rows);
        add(r, rows->name, "mean_cosine", "mean cosine of all pairs of rows that are not 0",
            iso.mean_cosine, rows->rows);
        add(r, rows->name, "partition_isotropy",
            "min Z(c) / max Z(c), Z(c) = sum_i exp(<c, x_i>), c the unit eigenvectors of X'X and "
            "their negatives, rows divided by their root mean square norm (Mu and Viswanath 2018)",
            iso.partition, rows->rows);
    }
    if (status == CS_OK && near.duplicates > 0)
        cs_output_note(r->args, "%s: %lld of %lld rows repeat another", rows->name,
                       (long long)near.duplicates, (long long)some.rows);
    cs_free(x);
    return status;
}

static cs_status run(cs_args *args)
{
    const int files = cs_args_positionals(args);
    const bool each = cs_args_flag(args, "dimension");
    if (files != 2 && !(files == 1 && each)) {
        return cs_fail(CS_ERR_USAGE,
                       "similarity wants two matrices, or one and --dimension; got %d", files);
    }
    static const cs_view view = {"metrics[]", "of metric=name definition value n"};
    cs_rows rows[2] = {{0}};
    study r = {.args = args, .root = cs_output_root(args)};
    cs_item *names = cs_item_array(r.root, "files");
    cs_status status = CS_OK;
    for (int i = 0; i < files && status == CS_OK; ++i) {
        status = cs_output_open_rows(args, cs_args_positional(args, i), &rows[i]);
        if (status == CS_OK) cs_item_text(names, NULL, rows[i].name);
    }
    if (status == CS_OK && files == 2) {
        status = compare(&r, &rows[0], &rows[1]);
    } else {
        r.metrics = cs_item_array(r.root, "metrics");
    }
    for (int i = 0; i < files && each && status == CS_OK; ++i) {
        status = cs_blame(dimensions(&r, &rows[i]), "%s", rows[i].name);
    }
    if (status == CS_OK) status = cs_output_record(args, "similarity", &view);
    cs_rows_close(&rows[0]);
    cs_rows_close(&rows[1]);
    return status;
}

static const cs_opt similarity_options[] = {
    {"k", 'k', CS_OPT_INT, "K", "10", 1, 100000,
     "Principal components whose spans the angles compare.", false},
    CS_FLAG("dimension",
            "Also, of each matrix: two-NN intrinsic dimension, mean cosine, isotropy. (cospec rank "
            "gives ranks and the decay exponent.)"),
    CS_REAL("discard", "F", "0.1", 0, 0.99,
            "Share of the largest ratios that the two-NN fit leaves out."),
    CS_INT("sample", "N", "10000", 3, 1000000,
           "Rows, evenly spaced, that the two-NN dimension takes: its time grows with their "
           "square."),
    {0},
};

const cs_command cs_cmd_similarity = {
    .name = "similarity",
    .summary = "CKA, Procrustes distance and principal angles of two matrices of states",
    .description =
        "Row i of both matrices is input i (two layers, two models). All measures centre the "
        "columns and do not change under rotations and scaling of either side: linear CKA with "
        "the biased and the unbiased HSIC, the orthogonal Procrustes distance of the normalised "
        "matrices, the principal angles between the spans of the first K principal components. "
        "The biased CKA is near 1 for any two matrices with fewer rows than columns: read the "
        "unbiased one.",
    .positional = "FILE [FILE]",
    .groups = (const cs_opt *const[]){similarity_options, NULL},
    .examples = "# autoregressive against masked contexts, as token vectors\n"
                "cospec cooc --corpus verses.txt --objective ar --context all --max-length 3 "
                "--stride 1 -o ar\n"
                "cospec svd ar -k 8 --vectors -o factors\n"
                "cospec similarity factors/u.npy factors/u.npy -k 4 --dimension\n",
    .run = run,
    .files = "similarity.json similarity.csv",
    .without = "seed device dry-run",
    .metrics = "cka,cka_unbiased,procrustes,procrustes_similarity,mean_squared_cosine,"
               "intrinsic_dimension,mean_cosine,partition_isotropy",
};
