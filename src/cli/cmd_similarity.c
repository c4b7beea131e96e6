/* cospec similarity: how alike two representations of the same inputs are, and their dimensions. */
#include "analysis/measures/dimension.h"
#include "analysis/measures/similarity.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/results.h"

typedef struct {
    cs_args *args;
    cs_item *root, *metrics;
    bool keeps; /* the prepared sides of all matrices */
} study;

typedef struct {
    const char *name;
    cs_rows rows;
    cs_similarity_side *side; /* NULL: not prepared */
} matrix;

static cs_similarity_options options_of(const study *r)
{
    return (cs_similarity_options){.angles = cs_args_int(r->args, "k"),
                                   .blocks = cs_args_int(r->args, "blocks"),
                                   .threads = cs_args_threads(r->args),
                                   .progress = cs_output_progress(r->args)};
}

static cs_status prepare(const study *r, matrix *m)
{
    cs_similarity_options options = options_of(r);
    CS_AUTO_FREE int32_t *block = NULL;
    if (m->side) return CS_OK;
    cs_status status =
        cs_args_group_blocks(r->args, "groups", m->rows.rows, &block, &options.blocks);
    options.block = block;
    return status == CS_OK ? cs_similarity_side_of(&m->rows, &options, &m->side) : status;
}

static cs_status compare(const study *r, matrix *a, matrix *b, bool alone)
{
    CS_AUTO(cs_similarity) s = {0};
    const cs_similarity_options options = options_of(r);
    cs_status status = prepare(r, a);
    if (status == CS_OK) status = prepare(r, b);
    if (status == CS_OK) status = cs_similarity_between(a->side, b->side, &options, &s);
    if (!r->keeps) cs_similarity_side_free(&b->side);
    if (status != CS_OK) return status;
    cs_similarity_record(&s, a->name, b->name, r->metrics);
    if (alone) cs_similarity_angles_record(&s, r->root);
    return CS_OK;
}

static cs_status dimensions(const study *r, const matrix *m)
{
    cs_shape_options o = {.progress = cs_output_progress(r->args)};
    CS_AUTO(cs_shape) s = {0};
    CS_AUTO_FREE int32_t *block = NULL;
    CS_ARGS_FIELDS(r->args, &o, discard, sample, blocks, threads);
    cs_status status = cs_args_group_blocks(r->args, "groups", m->rows.rows, &block, &o.blocks);
    o.block = block;
    if (status == CS_OK) status = cs_shape_of(&m->rows, &o, &s);
    if (status == CS_OK) cs_shape_record(&s, &o, m->name, r->metrics);
    if (status == CS_OK && s.duplicates > 0)
        cs_output_note(r->args, "%s: %lld of %lld rows are duplicates", m->name,
                       (long long)s.duplicates, (long long)s.sampled);
    return status;
}

/* The arguments, then those of --with. */
static cs_status open_matrices(const study *r, int files, int all, matrix *out)
{
    cs_item *names = cs_item_array(r->root, "files");
    cs_status status = CS_OK;
    for (int i = 0; i < all && status == CS_OK; ++i) {
        const char *file = NULL, *text = i < files ? cs_args_positional(r->args, i)
                                                   : cs_args_text_at(r->args, "with", i - files);
        status = cs_args_named(r->args, text, &out[i].name, &file);
        if (status == CS_OK) status = cs_output_open_rows(r->args, file, &out[i].rows);
        if (status == CS_OK) cs_item_text(names, NULL, out[i].rows.name);
    }
    return status;
}

static cs_status measure(study *r, int files, int all, matrix *m)
{
    const double most = 1 << 30; /* bytes of the sides that are kept */
    const bool pair = files == 2 && all == 2;
    double bytes = 0;
    cs_status status = CS_OK;
    for (int i = 0; i < all; ++i) {
        bytes += 8.0 * (double)m[i].rows.cols * (double)(m[i].rows.rows + m[i].rows.cols);
    }
    r->keeps = bytes <= most;
    r->metrics = cs_item_array(r->root, "metrics");
    for (int i = 0; i < (pair ? 1 : files) && status == CS_OK; ++i) {
        for (int j = pair ? 1 : files; j < all && status == CS_OK; ++j)
            status = compare(r, &m[i], &m[j], (pair ? 1 : files) * (all - files + pair) == 1);
        if (!r->keeps) cs_similarity_side_free(&m[i].side);
    }
    for (int i = 0; i < files && cs_args_flag(r->args, "dimension") && status == CS_OK; ++i) {
        status = cs_blame(dimensions(r, &m[i]), "%s", m[i].name);
    }
    return status;
}

static cs_status run(cs_args *args)
{
    static const cs_view view = {"metrics[]", "of with metric=name definition value se n"},
                         blocks = {"metrics[].~left_out[]",
                                   "of=^of metric=^name block=# value=. partition=^~partition"};
    const int files = cs_args_positionals(args), all = files + cs_args_count(args, "with");
    if (files != 2 && all == files && !cs_args_flag(args, "dimension")) {
        return cs_fail(
            CS_ERR_USAGE,
            "similarity needs two matrices, or at least one and --with or --dimension; got %d",
            files);
    }
    study r = {.args = args, .root = cs_output_root(args)};
    CS_AUTO_FREE matrix *m = cs_calloc(all, sizeof *m);
    cs_status status = m ? open_matrices(&r, files, all, m) : CS_ERR_MEMORY;
    if (status == CS_OK) status = measure(&r, files, all, m);
    if (status == CS_OK && cs_args_int(args, "blocks") > 1 && cs_args_flag(args, "dimension"))
        status = cs_output_csv(args, "similarity-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_record(args, "similarity", &view);
    for (int i = 0; m && i < all; ++i) {
        cs_similarity_side_free(&m[i].side);
        cs_rows_close(&m[i].rows);
    }
    return status;
}

static const cs_opt similarity_options[] = {
    {"k", 'k', CS_OPT_INT, "K", "10", 1, 100000,
     "Number of principal components whose spans are compared by angles.", false},
    CS_TEXTS("with", "[NAME=]FILE",
             "Compare each matrix with this one, instead of two with each other. May be repeated."),
    CS_FLAG("dimension",
            "Also compute two-NN intrinsic dimension (of the distinct rows), mean cosine and "
            "isotropy of each matrix. cospec rank gives ranks."),
    CS_REAL("discard", "F", "0.1", 0, 0.99,
            "Share of the largest ratios that the two-NN fit leaves out."),
    CS_INT("sample", "N", "10000", 3, 1000000,
           "Number of evenly spaced rows for the two-NN dimension; time grows with its square."),
    CS_INT("blocks", "B", "1", 1, 10000,
           "Blocks of rows for a delete-block jackknife of CKA and the measures of --dimension: "
           "consecutive rows, or whole groups of --groups. 1: no standard errors."),
    CS_GROUPS("Group (document) of each row: n integers, or n rows whose first column counts, as "
              "rows.npy of cospec features. Blocks hold whole groups. Default: rows in order."),
    {0},
};

const cs_command cs_cmd_similarity = {
    .name = "similarity",
    .help = &cs_help_similarity,
    .positional = "[NAME=]FILE...",
    .groups = (const cs_opt *const[]){similarity_options, NULL},
    .run = run,
    .files = "similarity.json similarity.csv similarity-blocks.csv",
    .without = "seed device dry-run",
    .metrics = "cka,cka_unbiased,procrustes,procrustes_similarity,mean_squared_cosine,"
               "intrinsic_dimension,mean_cosine,partition_isotropy",
};
