/* cospec rank: effective ranks of matrices of hidden states. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/effective_rank.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/rank_rows.h"
#include "cli/rank_warnings.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npz.h"
#include "io/rows.h"

typedef struct {
    cs_args *args;
    cs_gram_options gram;
    cs_rank_options rank;
    cs_table table;
    json_t *list;
} study;

/* --- Gram blocks of the arguments ------------------------------------------------------------- */

/* Blocks that an earlier run stored. */
static cs_status holds_blocks(const char *path, bool *out)
{
    cs_npz *npz = NULL;
    *out = false;
    if (!cs_has_suffix(path, ".npz") || !cs_path_exists(path)) {
        return CS_OK;
    }
    cs_status status = cs_npz_open(path, 0, &npz);
    *out = status == CS_OK && cs_npz_has(npz, "block") && cs_npz_has(npz, "counts");
    cs_npz_close(npz);
    return status;
}

static double block_bytes(int64_t cols, int64_t blocks)
{
    return 8.0 * (double)cols * (double)cols * (double)blocks;
}

static cs_status check_memory(int64_t cols, int64_t blocks)
{
    double bytes = block_bytes(cols, blocks), available = (double)cs_mem_available();
    if (available > 0.0 && bytes > available) {
        return cs_fail(CS_ERR_MEMORY,
                       "%" PRId64 " blocks of %" PRId64 " columns take %.2g GB, more than the %.2g "
                       "GB of free memory; fewer --blocks take less",
                       blocks, cols, bytes / 1e9, available / 1e9);
    }
    return CS_OK;
}

static cs_status blocks_of_rows(study *s, const char *text, cs_gram *out)
{
    cs_rows rows = {0};
    cs_gram g = {0};
    int32_t *block = NULL;
    int64_t blocks = cs_args_int(s->args, "blocks"), kept = 0;
    cs_status status = cs_rows_open(text, &rows);
    if (status == CS_OK && rows.dimensions > 2) {
        cs_output_note(s->args,
                       "%s: an array of %d dimensions, taken as %" PRId64 " rows of its last",
                       rows.name, rows.dimensions, rows.rows);
    }
    if (status != CS_OK ||
        (status = cs_args_rank_blocks(s->args, rows.rows, &block, &blocks, &kept)) != CS_OK ||
        (status = check_memory(rows.cols, blocks)) != CS_OK ||
        (status = cs_gram_init(rows.cols, blocks, &s->gram, &g)) != CS_OK ||
        (status = cs_gram_add(&g, &rows, block, &s->gram)) != CS_OK) {
        goto done;
    }
    *out = g;
    g = (cs_gram){0};
done:
    cs_gram_free(&g);
    cs_free(block);
    cs_rows_close(&rows);
    return status;
}

static cs_status blocks_of(study *s, const char *text, cs_gram *out)
{
    bool stored = false;
    cs_status status = cs_output_input_rows(s->args, text);
    if (status == CS_OK) {
        status = holds_blocks(text, &stored);
    }
    if (status != CS_OK) {
        return status;
    }
    if (!stored) {
        return blocks_of_rows(s, text, out);
    }
    cs_gram g = {0};
    status = cs_gram_read(text, &g);
    if (status == CS_OK && (g.normalise != s->gram.normalise || (s->gram.shift && !g.shift))) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s: blocks of rows %s%s; --row-norm and --center go with the run that "
                         "stores blocks",
                         text, g.normalise ? "divided by their norms" : "as they are",
                         g.shift ? ", shifted" : "");
    }
    if (status == CS_OK) {
        *out = g;
    } else {
        cs_gram_free(&g);
    }
    return status;
}

/* --- results ---------------------------------------------------------------------------------- */

static cs_status add_row(study *s, const char *name, const char *metric, const char *definition,
                         double value, double se, int64_t n, const cs_effective_rank *r)
{
    cs_status status;
    cs_table *t = &s->table;
    if ((status = cs_table_row(t)) != CS_OK ||
        (status = cs_table_text(t, "matrix", name)) != CS_OK ||
        (status = cs_table_text(t, "metric", metric)) != CS_OK ||
        (status = cs_table_real(t, "value", value)) != CS_OK ||
        (status = cs_table_real(t, "se", se)) != CS_OK ||
        (status = cs_table_int(t, "n", n)) != CS_OK ||
        (status = cs_table_int(t, "d", r->cols)) != CS_OK) {
        return status;
    }
    return cs_table_text(t, "definition", definition);
}

/* A metric as {"name", "definition", "value", "se"} and as a row. */
static cs_status add_metric(study *s, const char *name, cs_rank_measure m, const cs_gram *g,
                            const cs_effective_rank *r, json_t *metrics)
{
    char *definition = cs_rank_definition(m, &s->rank, g, r);
    json_t *item = definition
                       ? json_pack("{s:s, s:s}", "name", cs_rank_name(m), "definition", definition)
                       : NULL;
    cs_status status = item && json_array_append_new(metrics, item) == 0 ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_json_set(item, "value", cs_json_number(r->value[m]))) == CS_OK &&
        (status = cs_json_set(item, "se", cs_json_number(r->se[m]))) == CS_OK) {
        status = add_row(s, name, cs_rank_name(m), definition, r->value[m], r->se[m], r->rows, r);
    }
    cs_free(definition);
    return status;
}

/* How numbers grow with n, as rows: rank_tau always, all with --curve. */
static cs_status add_curve(study *s, const char *name, const cs_gram *g, const cs_effective_rank *r)
{
    cs_status status = CS_OK;
    for (int m = 0; m < CS_RANK_MEASURES && status == CS_OK; ++m) {
        if (m != CS_RANK_TAU_INTERPOLATED && !s->rank.every_block) {
            continue;
        }
        char *definition = cs_rank_definition((cs_rank_measure)m, &s->rank, g, r);
        status = definition ? CS_OK : CS_ERR_MEMORY;
        for (int64_t i = 0; i + 1 < r->points && status == CS_OK; ++i) {
            status = add_row(s, name, cs_rank_name((cs_rank_measure)m), definition,
                             r->point[i].value[m], NAN, r->point[i].rows, r);
        }
        cs_free(definition);
    }
    return status;
}

static cs_status set_curve(const cs_effective_rank *r, json_t *json)
{
    json_t *curve = json_array();
    cs_status status = cs_json_set(json, "curve", json_incref(curve));
    for (int64_t i = 0; i < r->points && status == CS_OK; ++i) {
        json_t *point = json_pack("{s:I}", "n", (json_int_t)r->point[i].rows);
        status = point && json_array_append_new(curve, point) == 0 ? CS_OK : CS_ERR_MEMORY;
        for (int m = 0; m < CS_RANK_MEASURES && status == CS_OK; ++m) {
            status = cs_json_set(point, cs_rank_name((cs_rank_measure)m),
                                 cs_json_number(r->point[i].value[m]));
        }
    }
    json_decref(curve);
    return status;
}

static cs_status report(study *s, const char *name, const cs_gram *g)
{
    cs_effective_rank r = {0};
    json_t *metrics = json_array(), *json = NULL;
    cs_status status = cs_blame(cs_effective_rank_of(g, &s->rank, &r), "%s", name);
    if (status != CS_OK) {
        goto done;
    }
    json = json_pack(
        "{s:s, s:I, s:I, s:I, s:s, s:b, s:b, s:o, s:{s:I, s:o}, s:o}", "file", name, "n",
        (json_int_t)r.rows, "d", (json_int_t)r.cols, "blocks", (json_int_t)r.blocks, "precision",
        g->wide ? "double" : "float", "centred", s->rank.centred, "row_norm", g->normalise, "floor",
        cs_json_number(r.floor), "heaviest_row", "row", (json_int_t)r.heaviest, "share",
        cs_json_number(r.heaviest_share), "first_direction_share", cs_json_number(r.first_share));
    status = json && json_array_append_new(s->list, json) == 0 ? CS_OK : CS_ERR_MEMORY;
    for (int m = 0; m < CS_RANK_MEASURES && status == CS_OK; ++m) {
        status = add_metric(s, name, (cs_rank_measure)m, g, &r, metrics);
    }
    if (status != CS_OK || (status = add_curve(s, name, g, &r)) != CS_OK ||
        (status = cs_json_set(json, "metrics", json_incref(metrics))) != CS_OK ||
        (status = set_curve(&r, json)) != CS_OK ||
        (status = cs_json_set(json, "eigenvalues", cs_json_numbers(r.count, r.lambda))) != CS_OK) {
        goto done;
    }
    status = cs_rank_warnings(s->args, name, g, &r, s->rank.centred, json);
done:
    json_decref(metrics);
    cs_effective_rank_free(&r);
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static cs_status store(const study *s, const cs_gram *g)
{
    char *path = NULL;
    cs_status status = cs_output_path(s->args, "blocks.npz", &path);
    if (status == CS_OK) {
        status = cs_gram_write(g, path);
    }
    cs_free(path);
    return status;
}

/* One matrix an argument, compared at equal n. */
static cs_status study_each(study *s)
{
    int64_t n = -1;
    for (int i = 0; i < cs_args_positionals(s->args); ++i) {
        const char *name = cs_args_positional(s->args, i);
        cs_gram g = {0};
        cs_status status = blocks_of(s, name, &g);
        if (status == CS_OK && n >= 0 && g.total != n && !cs_args_flag(s->args, "force-unequal")) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: %" PRId64 " rows, %s has %" PRId64 "; effective ranks grow with "
                             "n, so they are not compared at unequal n (--force-unequal does)",
                             name, g.total, cs_args_positional(s->args, 0), n);
        }
        n = g.total;
        if (status == CS_OK) {
            status = report(s, name, &g);
        }
        if (status == CS_OK && cs_args_flag(s->args, "save-blocks")) {
            status = store(s, &g);
        }
        cs_gram_free(&g);
        if (status != CS_OK) {
            return status;
        }
    }
    return CS_OK;
}

/* All arguments are shards of one matrix. */
static cs_status study_merged(study *s)
{
    cs_gram all = {0};
    cs_status status = CS_OK;
    for (int i = 0; i < cs_args_positionals(s->args) && status == CS_OK; ++i) {
        const char *name = cs_args_positional(s->args, i);
        cs_gram g = {0};
        status = blocks_of(s, name, &g);
        if (status == CS_OK && i == 0) {
            all = g;
        } else if (status == CS_OK) {
            status = cs_blame(cs_gram_merge(&all, &g), "%s", name);
            cs_gram_free(&g);
        }
    }
    if (status == CS_OK) {
        status = report(s, "merged", &all);
    }
    if (status == CS_OK && cs_args_flag(s->args, "save-blocks")) {
        status = store(s, &all);
    }
    cs_gram_free(&all);
    return status;
}

static cs_status estimate(cs_args *args)
{
    cs_rows rows = {0};
    const char *name = cs_args_positional(args, 0);
    cs_status status = cs_rows_open(name, &rows);
    if (status != CS_OK) {
        return status;
    }
    double d = (double)rows.cols, blocks = (double)cs_args_int(args, "blocks");
    json_t *json = json_pack("{s:I, s:I, s:s, s:o, s:o}", "n", (json_int_t)rows.rows, "d",
                             (json_int_t)rows.cols, "dtype", cs_rows_type_name(rows.type), "flops",
                             cs_json_number((double)rows.rows * d * d), "bytes",
                             cs_json_number(block_bytes(rows.cols, (int64_t)blocks)));
    status = json ? cs_output_result(args, "rank", json, NULL) : CS_ERR_MEMORY;
    json_decref(json);
    cs_rows_close(&rows);
    return status;
}

static cs_status take_options(cs_args *args, study *s)
{
    const double tau = cs_args_real(args, "tau");
    *s = (study){.args = args,
                 .gram = {.wide = strcmp(cs_args_text(args, "precision"), "double") == 0,
                          .normalise = cs_args_flag(args, "row-norm"),
                          .shift = cs_args_flag(args, "center"),
                          .threads = cs_args_threads(args),
                          .progress = cs_output_progress(args)},
                 .rank = {.tau = tau,
                          .eps = cs_args_real(args, "rankme-eps"),
                          .tolerance = cs_args_given(args, "tolerance")
                                           ? cs_args_real(args, "tolerance")
                                           : 0.0,
                          .centred = cs_args_flag(args, "center"),
                          .jackknife = cs_args_int(args, "blocks") > 1,
                          .every_block = cs_args_flag(args, "curve"),
                          .threads = cs_args_threads(args)}};
    if (cs_args_flag(args, "save-blocks") && !cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "--save-blocks needs -o DIR");
    }
    if (cs_args_flag(args, "save-blocks") && !cs_args_flag(args, "merge") &&
        cs_args_positionals(args) > 1) {
        return cs_fail(CS_ERR_USAGE, "--save-blocks of several files needs --merge");
    }
    return CS_OK;
}

static cs_status run(cs_args *args)
{
    study s = {0};
    json_t *root = NULL;
    const int files = cs_args_positionals(args);
    cs_status status = take_options(args, &s);
    if (status != CS_OK) {
        return status;
    }
    if (cs_args_flag(args, "dry-run")) {
        return estimate(args);
    }
    const bool merged = cs_args_flag(args, "merge");
    s.list = json_array();
    if ((status = s.list ? CS_OK : CS_ERR_MEMORY) != CS_OK ||
        (status = cs_output_claim(args, "rank.csv")) != CS_OK ||
        (status = cs_table_init(&s.table, "matrix,metric,definition,value,se,n,d")) != CS_OK ||
        (status = merged ? study_merged(&s) : study_each(&s)) != CS_OK) {
        goto done;
    }
    root = files == 1 || merged ? json_incref(json_array_get(s.list, 0))
                                : json_pack("{s:O}", "matrices", s.list);
    status = root ? cs_output_result(args, "rank", root, &s.table) : CS_ERR_MEMORY;
done:
    json_decref(root);
    json_decref(s.list);
    cs_table_free(&s.table);
    return status;
}

static const cs_opt rank_options[] = {
    {.name = "tau",
     .kind = CS_OPT_REAL,
     .argument = "T",
     .fallback = "0.9",
     .low = CS_ABOVE_0,
     .high = 1,
     .help = "Share of the sum of squared singular values for rank_tau, above 0."},
    {.name = "center",
     .kind = CS_OPT_FLAG,
     .help = "Subtract the mean of the rows. The papers' ranks are uncentred."},
    {.name = "row-norm",
     .kind = CS_OPT_FLAG,
     .help = "Divide each row by its norm, so that none outweighs the others."},
    {.name = "precision",
     .kind = CS_OPT_CHOICE,
     .argument = "float|double",
     .fallback = "double",
     .help = "Type in which products of rows are summed. float is twice as fast; eigenvalues below "
             "9.7e-6 of their sum then count as 0."},
    {.name = "tolerance",
     .kind = CS_OPT_REAL,
     .argument = "X",
     .low = 0,
     .high = 1,
     .help = "Singular values above X sigma_1 count in numerical_rank. Default: what can be told "
             "from 0."},
    {.name = "rankme-eps",
     .kind = CS_OPT_REAL,
     .argument = "E",
     .fallback = "1e-7",
     .low = 0,
     .high = 1,
     .help = "eps of RankMe."},
    {.name = "blocks",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "20",
     .low = 1,
     .high = 10000,
     .help = "Blocks of the jackknife, 8 d^2 bytes each; 1 for no standard errors."},
    {.name = "curve",
     .kind = CS_OPT_FLAG,
     .help = "All measures at every number of blocks; rank_tau against n is always shown at "
             "doublings."},
    {.name = "force-unequal",
     .kind = CS_OPT_FLAG,
     .help = "Compare matrices of unequal numbers of rows."},
    {.name = "merge",
     .kind = CS_OPT_FLAG,
     .help = "The files are shards of one matrix: their blocks add up."},
    {.name = "save-blocks",
     .kind = CS_OPT_FLAG,
     .help = "Keep the Gram blocks in DIR/blocks.npz, which rank takes as a FILE."},
    {0},
};

const cs_command cs_cmd_rank = {
    .name = "rank",
    .summary = "Effective ranks of hidden states, with intervals",
    .description =
        "For each matrix of rows (FILE.npy, FILE.npz:MEMBER, FILE.safetensors:TENSOR; float16, "
        "bfloat16, float32, float64, integers; an array of more than two dimensions as rows of its "
        "last), streamed into Gram matrices: rank_tau, entropy ranks, "
        "RankMe, participation ratio, stable and numerical rank, and the exponent of spectral "
        "decay. Each metric carries its definition. Standard errors: delete-block jackknife over "
        "blocks of rows or of whole groups of rows.\n\n"
        "Warnings name a row or a direction that holds more than half of the sum of squares. "
        "Ranks grow with n, so several files must have equally many rows.",
    .positional = "FILE...",
    .groups = (const cs_opt *const[]){rank_options, cs_group_rank_rows, NULL},
    .examples = "# ranks of token vectors that a factorisation gives, with definitions\n"
                "cospec cooc --corpus verses.txt --objective ar --context all --max-length 3 "
                "--stride 1 -o ar\n"
                "cospec svd ar -k 8 --vectors -o factors\n"
                "cospec rank factors/u.npy --tau 0.9 --json\n"
                "# without their mean, all measures against n\n"
                "cospec rank factors/u.npy --center --blocks 5 --curve\n",
    .run = run,
    .without = "seed device",
};
