/* cospec similarity: how alike two representations of the same inputs are, and their dimensions. */
#include <math.h>
#include <string.h>

#include "analysis/dimension.h"
#include "analysis/similarity.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/json.h"
#include "io/rows.h"

typedef struct {
    const cs_args *args;
    cs_table table;
    json_t *metrics;
} result;

/* A metric as {"of", "name", "definition", "value"} and as a row. */
static cs_status add(result *r, const char *of, const char *name, const char *definition,
                     double value, int64_t n)
{
    cs_status status;
    cs_table *t = &r->table;
    json_t *item = json_pack("{s:s, s:s, s:s, s:I}", "of", of, "name", name, "definition",
                             definition, "n", (json_int_t)n);
    if (!item || json_array_append_new(r->metrics, item) != 0) {
        return CS_ERR_MEMORY;
    }
    if ((status = cs_json_set(item, "value", cs_json_number(value))) != CS_OK ||
        (status = cs_table_row(t)) != CS_OK || (status = cs_table_text(t, "of", of)) != CS_OK ||
        (status = cs_table_text(t, "metric", name)) != CS_OK ||
        (status = cs_table_real(t, "value", value)) != CS_OK ||
        (status = cs_table_int(t, "n", n)) != CS_OK) {
        return status;
    }
    return cs_table_text(t, "definition", definition);
}

static cs_status compare(result *r, const cs_rows *a, const cs_rows *b, json_t *root)
{
    cs_similarity s = {0};
    const cs_similarity_options options = {.angles = cs_args_int(r->args, "k"),
                                           .threads = cs_args_threads(r->args)};
    cs_status status = cs_similarity_of(a, b, &options, &s);
    if (status != CS_OK) {
        return status;
    }
    if ((status = add(r, "both", "cka",
                      "linear CKA with the biased HSIC, |B'A|_F^2 / (|A'A|_F |B'B|_F), columns "
                      "centred",
                      s.cka, s.rows)) != CS_OK ||
        (status = add(r, "both", "cka_unbiased",
                      "linear CKA with the unbiased HSIC of Song et al. (2012)", s.cka_unbiased,
                      s.rows)) != CS_OK ||
        (status = add(r, "both", "procrustes",
                      "min_R |A/|A|_F - B/|B|_F R|_F^2 over orthogonal R, columns centred",
                      s.procrustes, s.rows)) != CS_OK ||
        (status =
             add(r, "both", "procrustes_similarity", "|A'B|_* / (|A|_F |B|_F), columns centred",
                 s.procrustes_similarity, s.rows)) != CS_OK ||
        (status = add(r, "both", "mean_squared_cosine",
                      "of the principal angles between the spans of the first k principal "
                      "components",
                      s.mean_squared_cosine, s.rows)) != CS_OK) {
        goto done;
    }
    json_t *angles =
        json_pack("{s:I, s:o, s:o, s:o}", "k", (json_int_t)s.angles, "radians",
                  cs_json_numbers(s.angles, s.angle), "share_of_first", cs_json_number(s.share_a),
                  "share_of_second", cs_json_number(s.share_b));
    status = cs_json_set(root, "angles", angles);
done:
    cs_similarity_free(&s);
    return status;
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

static cs_status dimensions(result *r, const cs_rows *rows)
{
    const double discard = cs_args_real(r->args, "discard");
    const int threads = cs_args_threads(r->args);
    cs_two_nn near = {0};
    cs_isotropy iso = {0};
    double *x = NULL;
    cs_rows some = {0};
    char *text = cs_format("two-NN (Facco et al. 2017), %g of the largest ratios discarded, rows "
                           "that repeat another left out",
                           discard);
    cs_status status = text ? cs_isotropy_of(rows, false, threads, &iso) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = sample(rows, cs_args_int(r->args, "sample"), &x, &some)) == CS_OK &&
        (status = cs_two_nn_of(&some, discard, threads, &near)) == CS_OK &&
        (status = add(r, rows->name, "intrinsic_dimension", text, near.dimension, some.rows)) ==
            CS_OK &&
        (status =
             add(r, rows->name, "mean_cosine", "mean cosine of all pairs of rows that are not 0",
                 iso.mean_cosine, rows->rows)) == CS_OK) {
        status = add(r, rows->name, "partition_isotropy",
                     "min Z(c) / max Z(c), Z(c) = sum_i exp(<c, x_i>), c the unit eigenvectors of "
                     "X'X and their negatives, rows divided by their root mean square norm (Mu and "
                     "Viswanath 2018)",
                     iso.partition, rows->rows);
    }
    if (status == CS_OK && near.duplicates > 0) {
        cs_output_note(r->args, "%s: %lld of %lld rows repeat another", rows->name,
                       (long long)near.duplicates, (long long)some.rows);
    }
    cs_free(text);
    cs_free(x);
    return status;
}

static cs_status open_rows(cs_args *args, const char *text, cs_rows *out)
{
    cs_status status = cs_output_input_rows(args, text);
    return status == CS_OK ? cs_rows_open(text, out) : status;
}

static cs_status run(cs_args *args)
{
    const int files = cs_args_positionals(args);
    const bool each = cs_args_flag(args, "dimension");
    if (files != 2 && !(files == 1 && each)) {
        return cs_fail(CS_ERR_USAGE,
                       "similarity wants two matrices, or one and --dimension; got %d", files);
    }
    cs_rows rows[2] = {{0}};
    result r = {.args = args, .metrics = json_array()};
    json_t *root = json_object(), *names = json_array();
    cs_status status = root && r.metrics && names ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_output_claim(args, "similarity.csv")) != CS_OK ||
        (status = cs_table_init(&r.table, "of,metric,definition,value,n")) != CS_OK) {
        goto done;
    }
    for (int i = 0; i < files && status == CS_OK; ++i) {
        status = open_rows(args, cs_args_positional(args, i), &rows[i]);
        if (status == CS_OK) {
            (void)json_array_append_new(names, json_string(rows[i].name));
        }
    }
    if (status != CS_OK || (status = cs_json_set(root, "files", json_incref(names))) != CS_OK ||
        (files == 2 && (status = compare(&r, &rows[0], &rows[1], root)) != CS_OK)) {
        goto done;
    }
    for (int i = 0; i < files && each && status == CS_OK; ++i) {
        status = cs_blame(dimensions(&r, &rows[i]), "%s", rows[i].name);
    }
    if (status == CS_OK &&
        (status = cs_json_set(root, "metrics", json_incref(r.metrics))) == CS_OK) {
        status = cs_output_result(args, "similarity", root, &r.table);
    }
done:
    cs_rows_close(&rows[0]);
    cs_rows_close(&rows[1]);
    cs_table_free(&r.table);
    json_decref(r.metrics);
    json_decref(names);
    json_decref(root);
    return status;
}

static const cs_opt similarity_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "10",
     .low = 1,
     .high = 100000,
     .help = "Principal components whose spans the angles compare."},
    {.name = "dimension",
     .kind = CS_OPT_FLAG,
     .help =
         "Also, of each matrix: two-NN intrinsic dimension, mean cosine, isotropy. (cospec rank "
         "gives ranks and the decay exponent.)"},
    {.name = "discard",
     .kind = CS_OPT_REAL,
     .argument = "F",
     .fallback = "0.1",
     .low = 0,
     .high = 0.99,
     .help = "Share of the largest ratios that the two-NN fit leaves out."},
    {.name = "sample",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "10000",
     .low = 3,
     .high = 1000000,
     .help = "Rows, evenly spaced, that the two-NN dimension takes: its time grows with their "
             "square."},
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
    .without = "seed device dry-run",
};
