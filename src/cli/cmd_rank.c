/* cospec rank: effective ranks of matrices of hidden states. */
#include <inttypes.h>

#include "analysis/measures/effective_rank.h"
#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/file.h"
#include "io/npz.h"

typedef struct {
    cs_args *args;
    cs_gram_options gram;
    cs_rank_options rank;
    cs_item *list; /* the matrices; NULL: there is one, which is the result itself */
    cs_item *root;
    char partition[33]; /* of the blocks of the current matrix */
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

static cs_status blocks_of_rows(study *s, const char *text, cs_gram *out)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    cs_gram g = {0};
    CS_AUTO_FREE int32_t *block = NULL;
    int64_t blocks = cs_args_int(s->args, "blocks"), kept = 0;
    cs_status status = cs_args_rows(s->args, text, &rows);
    if (status == CS_OK && rows.dimensions > 2)
        cs_output_note(s->args,
                       "%s: an array of %d dimensions, read as %" PRId64
                       " rows along its last dimension",
                       rows.name, rows.dimensions, rows.rows);
    if (status == CS_OK) status = cs_args_rank_blocks(s->args, rows.rows, &block, &blocks, &kept);
    if (status == CS_OK)
        status = cs_mem_check(block_bytes(rows.cols, blocks), "fewer --blocks take less",
                              "%" PRId64 " blocks of %" PRId64 " columns take", blocks, rows.cols);
    if (status == CS_OK) status = cs_gram_init(rows.cols, blocks, &s->gram, &g);
    if (status == CS_OK) status = cs_gram_add(&g, &rows, block, &s->gram);
    if (status == CS_OK) cs_row_partition(block, rows.rows, blocks, s->partition);
    return CS_DELIVER(status, out, g, cs_gram_free);
}

/* The blocks of one argument. */
static cs_status read_blocks(study *s, const char *text, cs_gram *out)
{
    bool stored = false;
    cs_status status = holds_blocks(text, &stored);
    if (status != CS_OK) return status;
    if (!stored) {
        return blocks_of_rows(s, text, out);
    }
    cs_gram g = {0};
    status = cs_gram_read(text, &g);
    cs_row_partition(NULL, g.total, -g.groups,
                     s->partition); /* which rows, the file does not say */
    if (status == CS_OK && (g.normalise != s->gram.normalise || (s->gram.shift && !g.shift))) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s: blocks of rows %s%s; --row-norm and --center must be given to "
                         "the run that stores blocks",
                         text, g.normalise ? "divided by their norms" : "not normalised",
                         g.shift ? ", shifted" : "");
    }
    return CS_DELIVER(status, out, g, cs_gram_free);
}

static cs_status blocks_of(study *s, const char *text, cs_gram *out)
{
    cs_gram g = {0};
    cs_status status = cs_output_rows_begin(s->args, text, s->gram.threads);
    if (status == CS_OK) status = cs_output_input_end(s->args, read_blocks(s, text, &g));
    return CS_DELIVER(status, out, g, cs_gram_free);
}

static cs_status report(study *s, const char *name, const char *file, const cs_gram *g)
{
    CS_AUTO(cs_effective_rank) r = {0};
    cs_status status = cs_blame(cs_effective_rank_of(g, &s->rank, &r), "%s", name);
    cs_item *matrix = s->list && status == CS_OK ? cs_item_object(s->list, NULL) : s->root;
    if (status == CS_OK) {
        cs_item_text(matrix, "file", file);
        cs_item_text(matrix, "~partition", s->partition);
        cs_rank_record(name, &s->rank, g, &r, matrix);
    }
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static cs_status store(const study *s, const cs_gram *g)
{
    const char *path = NULL;
    cs_status status = cs_output_path(s->args, "blocks.npz", &path);
    return status == CS_OK ? cs_gram_write(g, path) : status;
}

/* One matrix an argument, compared at equal n. */
static cs_status study_each(study *s)
{
    int64_t n = -1;
    for (int i = 0; i < cs_args_positionals(s->args); ++i) {
        const char *name = NULL, *file = NULL;
        CS_AUTO(cs_gram) g = {0};
        cs_status status = cs_args_named(s->args, cs_args_positional(s->args, i), &name, &file);
        if (status == CS_OK) status = blocks_of(s, file, &g);
        if (status == CS_OK && n >= 0 && g.total != n && !cs_args_flag(s->args, "force-unequal")) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: %" PRId64 " rows, but %s has %" PRId64
                             "; effective ranks grow with n and are compared only at equal n "
                             "(--force-unequal compares them anyway)",
                             name, g.total, cs_args_positional(s->args, 0), n);
        }
        n = g.total;
        if (status == CS_OK) status = report(s, name, file, &g);
        if (status == CS_OK && cs_args_flag(s->args, "save-blocks")) status = store(s, &g);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* All arguments are shards of one matrix. */
static cs_status study_merged(study *s)
{
    CS_AUTO(cs_gram) all = {0};
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
    cs_row_partition(NULL, all.total, -all.groups, s->partition);
    if (status == CS_OK) status = report(s, "merged", "merged", &all);
    if (status == CS_OK && cs_args_flag(s->args, "save-blocks")) status = store(s, &all);
    return status;
}

static cs_status estimate(cs_args *args)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    const char *name = NULL, *file = NULL;
    cs_status status = cs_args_named(args, cs_args_positional(args, 0), &name, &file);
    if (status == CS_OK) status = cs_args_rows(args, file, &rows);
    if (status != CS_OK) return status;
    double d = (double)rows.cols, blocks = (double)cs_args_int(args, "blocks");
    cs_item *root = cs_output_root(args);
    cs_item_int(root, "n", rows.rows);
    cs_item_int(root, "d", rows.cols);
    cs_item_text(root, "dtype", cs_rows_type_name(rows.type));
    cs_item_real(root, "flops", (double)rows.rows * d * d);
    cs_item_real(root, "bytes", block_bytes(rows.cols, (int64_t)blocks));
    return cs_output_record(args, "rank", NULL);
}

static cs_status take_options(cs_args *args, study *s)
{
    const double tau = cs_args_real(args, "tau");
    *s = (study){.args = args,
                 .gram = {.wide = cs_args_is(args, "precision", "double"),
                          .normalise = cs_args_flag(args, "row-norm"),
                          .shift = cs_args_flag(args, "center"),
                          .threads = cs_args_threads(args),
                          .progress = cs_output_progress(args)},
                 .rank = {.tau = tau,
                          .eps = cs_args_real(args, "rankme-eps"),
                          .tolerance = cs_args_real_or(args, "tolerance", 0.0),
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
    static const char columns[] = "matrix=^name metric=name definition value se n=n|^n d=^d",
                      without[] = "matrix=^^name metric=^name block value partition=^^~partition";
    static const cs_view one = {"metrics[] ~curve[]", columns},
                         several = {"matrices[].metrics[] matrices[].~curve[]", columns},
                         one_blocks = {"metrics[].~left_out[]", without},
                         blocks = {"matrices[].metrics[].~left_out[]", without};
    study s = {0};
    cs_status status = take_options(args, &s);
    if (status != CS_OK) return status;
    if (cs_args_flag(args, "dry-run")) {
        return estimate(args);
    }
    const bool merged = cs_args_flag(args, "merge"),
               alone = merged || cs_args_positionals(args) == 1;
    s.root = cs_output_root(args);
    s.list = alone ? NULL : cs_item_array(s.root, "matrices");
    status = merged ? study_merged(&s) : study_each(&s);
    if (status == CS_OK)
        status = cs_output_csv(args, "rank-blocks.csv", alone ? &one_blocks : &blocks);
    return status == CS_OK ? cs_output_record(args, "rank", alone ? &one : &several) : status;
}

static const cs_opt rank_options[] = {
    CS_REAL("tau", "T", "0.9", CS_ABOVE_0, 1,
            "Share of the sum of squared singular values for rank_tau, above 0."),
    CS_FLAG("center", "Subtract the mean of the rows. The papers' ranks are uncentred."),
    CS_FLAG("row-norm", "Divide each row by its norm, so that all rows have equal weight."),
    CS_CHOICE("precision", "float|double", "double",
              "Type in which products of rows are summed. float is twice as fast; eigenvalues "
              "below 9.7e-6 of their sum then count as 0."),
    CS_REAL("tolerance", "X", NULL, 0, 1,
            "Singular values above X sigma_1 count in numerical_rank. Default: all that differ "
            "from 0."),
    CS_REAL("rankme-eps", "E", "1e-7", 0, 1, "eps of RankMe."),
    CS_INT("blocks", "B", "10", 1, 10000,
           "Blocks of the jackknife, 8 d^2 bytes and one eigenproblem each. 1: no standard "
           "errors."),
    CS_FLAG("curve",
            "Print all measures at every number of blocks. The JSON always has rank_tau at "
            "doublings of n."),
    CS_FLAG("force-unequal", "Compare matrices of unequal numbers of rows."),
    CS_FLAG("merge", "The files are shards of one matrix: add up their blocks."),
    CS_FLAG("save-blocks", "Keep the Gram blocks in DIR/blocks.npz, which rank reads as a FILE."),
    {0},
};

const cs_command cs_cmd_rank = {
    .name = "rank",
    .help = &cs_help_rank,
    .positional = "[NAME=]FILE...",
    .groups = (const cs_opt *const[]){rank_options, cs_group_rank_rows, NULL},
    .run = run,
    .files = "rank.json rank.csv rank-blocks.csv blocks.npz",
    .without = "seed device",
    .shown = "matrix metric value se n d",
    .metrics = "rank_tau,rank_tau_corrected,entropy_rank,participation_ratio",
    .more_metrics = CS_MORE_RANKS,
};
