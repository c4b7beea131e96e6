/* Parts of results that several commands share. */
#include "cli/results.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "dist/carrier.h"
#include "io/number.h"
#include "linalg/matrix_file.h"
#include "version.h"

/* --- predictions ------------------------------------------------------------------------------- */

const cs_opt cs_group_against[] = {
    CS_HEADING("Comparison"),
    CS_TEXT("against", "FILE", NULL,
            "predictions.csv of another run on the same test examples: adds paired differences and "
            "McNemar's exact p."),
    {0},
};

cs_status cs_args_metrics(const cs_args *args, int64_t classes, cs_metric_list *out)
{
    return cs_metric_list_read(cs_args_text(args, "metric"), classes, out);
}

cs_status cs_args_metrics_check(const cs_args *args)
{
    cs_metric_list list;
    return cs_args_metrics(args, cs_args_flag(args, "regression") ? 0 : 2, &list);
}

cs_status cs_args_against(cs_args *args, cs_reference *out)
{
    const char *file = cs_args_text(args, "against");
    cs_status status = file ? cs_output_input(args, file) : CS_OK;
    return status == CS_OK && file ? cs_reference_open(file, out) : status;
}

cs_status cs_output_predictions(cs_args *args, const cs_table *table)
{
    const char *path = NULL;
    cs_status status = cs_output_path(args, "predictions.csv", &path);
    return status == CS_OK ? cs_table_write_csv(table, path) : status;
}

/* --- verdicts and the exit code: one rule for every command that states theorems --------------- */

cs_status cs_verdicts_report(cs_args *args, const cs_statements *list)
{
    for (int64_t i = 0; i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        if (s->form == CS_CORRECTED && s->attained) {
            cs_output_note(args,
                           "%s on %s is attained: its sides are equal within the rounding error, "
                           "%.1g (exit code unaffected)",
                           s->id, s->input, s->error);
        }
    }
    if (cs_statements_failed(list)) {
        cs_output_refuted(args);
        return CS_OK;
    }
    const cs_statement *s = cs_statements_inconclusive(list);
    if (s && !(isfinite(s->lhs) && isfinite(s->rhs) && isfinite(s->error))) {
        return cs_fail(CS_ERR_CONVERGE,
                       "%s on %s is inconclusive: sides %g and %g, numerical error %g, not all "
                       "finite",
                       s->id, s->input, s->lhs, s->rhs, s->error);
    }
    if (s && fabs(cs_statement_margin(s)) > s->error) { /* withheld: the sides alone would decide */
        return cs_fail(CS_ERR_CONVERGE, "%s on %s is inconclusive: the solver did not converge",
                       s->id, s->input);
    }
    return s ? cs_fail(CS_ERR_CONVERGE,
                       "%s on %s is inconclusive: margin %.3g, numerical error %.3g", s->id,
                       s->input, cs_statement_margin(s), s->error)
             : CS_OK;
}

/* --- intervals and tails ----------------------------------------------------------------------- */

cs_status cs_tails_write(cs_args *args)
{
    static const cs_view view = {"tail[]", "t tail=value tail_low=low tail_high=high exact"};
    return cs_output_csv(args, "tail.csv", &view);
}

void cs_sum4_note(const cs_args *args, const cs_sum4 *sum)
{
    if (sum->out_of_range) {
        cs_output_note(args, "sum sigma^4 is out of the range of doubles");
    } else if (isnan(sum->value)) {
        cs_output_note(args, "sum sigma^4 was not computed");
    } else if (sum->samples == 0) {
        cs_output_note(args, "sum sigma^4 %.12g, exact", sum->value);
    } else {
        cs_output_note(args,
                       "sum sigma^4 %.8g in [%.8g, %.8g] at %g%%, estimated from %lld samples "
                       "after %lld vectors were deflated exactly",
                       sum->value, sum->low, sum->high, 100 * sum->level, (long long)sum->samples,
                       (long long)sum->known + sum->sketch);
    }
}

/* --- rows of states ---------------------------------------------------------------------------- */

const cs_opt cs_group_rank_rows[] = {
    CS_HEADING("Rows"),
    CS_TEXT("groups", "FILE.npy", NULL,
            "Group (document) of each row: n integers, or n rows whose first column counts, as "
            "rows.npy of cospec features. Blocks hold whole groups. Default: rows in order."),
    CS_TEXT("drop-rows", "FILE", NULL,
            "Rows to leave out: numbers from 0 (FILE.npy of integers, or text, one per line), or "
            "FILE.npy of n booleans."),
    CS_CHOICE("keep", "all|masked|unmasked", "all",
              "Keep only the rows at [MASK] positions, or only the others; needs --groups "
              "rows.npy."),
    CS_FLAG("drop-special", "Leave out rows of special tokens; needs --groups rows.npy."),
    {"drop-position", 0, CS_OPT_INT, "P", NULL, 0, 2147483647,
     "Leave out rows at this position of their piece (from 0); needs --groups rows.npy.", true},
    {0},
};

cs_status cs_args_group_blocks(cs_args *args, const char *option, int64_t rows, int32_t **out,
                               int64_t *blocks)
{
    const cs_row_choice choice = {.groups = cs_args_text(args, option),
                                  .group_array = cs_args_array(args, option)};
    int64_t kept = 0;
    *out = NULL;
    if (!choice.groups) {
        return CS_OK;
    }
    cs_status status = cs_output_input(args, choice.groups);
    return status == CS_OK ? cs_row_blocks(&choice, rows, out, blocks, &kept) : status;
}

cs_status cs_args_rank_blocks(cs_args *args, int64_t rows, int32_t **out, int64_t *blocks,
                              int64_t *kept)
{
    const int positions = cs_args_count(args, "drop-position");
    CS_AUTO_FREE int64_t *position = cs_alloc(positions, sizeof *position);
    cs_row_choice choice = {.drop = cs_args_text(args, "drop-rows"),
                            .group_array = cs_args_array(args, "groups"),
                            .drop_array = cs_args_array(args, "drop-rows"),
                            .positions = positions,
                            .position = position};
    CS_ARGS_FIELDS(args, &choice, groups, keep, drop_special);
    cs_status status = position ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !choice.groups && cs_row_choice_wants_about(&choice))
        status = cs_fail(CS_ERR_USAGE,
                         "--keep, --drop-special and --drop-position need --groups rows.npy");
    for (int i = 0; i < positions && status == CS_OK; ++i) {
        status = cs_int_parse(cs_args_text_at(args, "drop-position", i), &position[i]);
    }
    if (status == CS_OK && choice.groups) status = cs_output_input(args, choice.groups);
    if (status == CS_OK && choice.drop) status = cs_output_input(args, choice.drop);
    return status == CS_OK ? cs_row_blocks(&choice, rows, out, blocks, kept) : status;
}

/* --- estimates of the language ----------------------------------------------------------------- */

const cs_opt cs_group_language[] = {
    CS_HEADING("Estimate for the language"),
    CS_CHOICE("estimate", "plug-in|cross-fit|distinct-document", "plug-in",
              "plug-in: the matrix of the corpus. The other two estimate the language's, from "
              "quarters of the documents (biased downwards) or from pairs of documents."),
    CS_INT("jackknife", "B", "10", 0, 1000,
           "Of the latter two: number of blocks of documents for the delete-block jackknife; 0: "
           "none."),
    {0},
};

bool cs_args_language(const cs_args *args)
{
    return !cs_args_is(args, "estimate", "plug-in");
}

cs_status cs_args_no_language(const cs_args *args)
{
    return cs_args_refuse(args, "jackknife", "needs --estimate cross-fit or distinct-document");
}

static cs_status write_vectors(cs_args *args, const cs_language *l)
{
    const cs_nonempty_rows all = cs_nonempty_rows_all(l->v.rows);
    const char *path = NULL;
    cs_status status = cs_output_path(args, "v.npy", &path);
    return status == CS_OK ? cs_vectors_write(path, &all, &l->v) : status;
}

cs_status cs_language_run(cs_args *args, int64_t k, const cs_spectrum_density_options *density)
{
    enum { USUAL = 10 };
    const char *dir = cs_args_positional(args, 0), *name = density ? "density" : "svd";
    CS_AUTO(cs_cooc_store) store = {0};
    CS_AUTO(cs_language) l = {0};
    cs_status status = cs_args_refuse(
        args, "normalised solver tol max-iterations no-reduction moment-budget dry-run",
        "cannot be combined with --estimate");
    if (status == CS_OK) status = cs_args_store(args, dir, &store);
    const int64_t cols = store.corpus.vocab;
    cs_language_options options = {
        .estimate = cs_args_is(args, "estimate", "cross-fit") ? CS_CROSS_FIT : CS_DISTINCT_DOCUMENT,
        .k = k > 0          ? k
             : cols < USUAL ? cols
                            : USUAL,
        .blocks = cs_args_int(args, "jackknife"),
        .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, seed, threads);
    store.options.threads = options.threads;
    if (status == CS_OK) status = cs_language_of(&store.corpus, &store.options, &options, &l);
    if (status == CS_OK) cs_language_record(&l, cs_output_root(args));
    if (status == CS_OK && density) status = cs_language_density(&l, density, cs_output_root(args));
    if (status == CS_OK && !density && cs_args_flag(args, "vectors"))
        status = write_vectors(args, &l);
    return status == CS_OK
               ? cs_output_record(args, name,
                                  density ? &cs_language_density_view : &cs_language_view)
               : status;
}

/* --- parallel runs ----------------------------------------------------------------------------- */

const cs_opt cs_group_ranks[] = {
    CS_HEADING("Parallel runs"),
    CS_FLAG("mpi",
            "Share the work among the processes that mpirun started. --threads is per process; "
            "default: the machine's threads divided among its processes."),
    {0},
};

cs_status cs_ranks_join(cs_args *args, cs_comm *out)
{
    cs_status status = cs_comm_open_mpi(out);
    if (status != CS_OK) return status;
    if (out->rank > 0) {
        cs_output_elsewhere(args);
    }
    if (!cs_args_given(args, "threads")) {
        int each = cs_threads() / out->neighbours;
        cs_threads_set(each > 0 ? each : 1);
    }
    status = cs_comm_check_alike(out, CS_VERSION " (" CS_COMMIT ")");
    return status ? cs_ranks_leave(out, cs_ranks_alone(args, out, status)) : CS_OK;
}

cs_status cs_ranks_alone(const cs_args *args, cs_comm *comm, cs_status status)
{
    if (status != CS_OK && !comm->agreed) {
        /* All ranks are interrupted, also by mpirun after one of them has failed. */
        if (status != CS_ERR_INTERRUPT || comm->rank == 0) {
            (void)fprintf(stderr, "cospec %s: rank %d of %d: %s\n", cs_args_command(args)->name,
                          comm->rank, comm->ranks, cs_reason());
            (void)fflush(stderr);
        }
        comm->end(comm, cs_exit_code(status));
    }
    return status;
}

cs_status cs_ranks_resume(cs_args *args, cs_comm *comm)
{
    cs_status status = CS_OK;
    if (!cs_args_flag(args, "resume")) {
        return CS_OK;
    }
    if (comm->rank == 0) status = cs_output_resume(args);
    status = cs_comm_agree(comm, status);
    if (status == CS_OK) cs_comm_spread(comm, &args->resumed, sizeof args->resumed);
    return status;
}

/* Of all ranks, and of the rank that has most. */
typedef struct {
    double sent, messages, in_messages, processor;
    double most_processor, most_memory;
} rank_costs;

static void join_costs(void *mine, const void *other, int64_t size)
{
    (void)size;
    rank_costs *a = mine;
    const rank_costs *b = other;
    a->sent += b->sent;
    a->messages += b->messages;
    a->in_messages += b->in_messages;
    a->processor += b->processor;
    a->most_processor = fmax(a->most_processor, b->most_processor);
    a->most_memory = fmax(a->most_memory, b->most_memory);
}

void cs_ranks_note(const cs_args *args, cs_comm *comm)
{
    struct timespec now = {0};
    struct rusage used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    (void)getrusage(RUSAGE_SELF, &used);
    const double all = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - comm->seconds;
    rank_costs c = {.sent = (double)comm->sent,
                    .messages = (double)comm->messages,
                    .in_messages = comm->seconds,
                    .processor = all,
                    .most_processor = all,
                    .most_memory = (double)used.ru_maxrss * 1024};
    cs_comm_fold(comm, &c, sizeof c, join_costs);
    cs_output_note(args,
                   "%d ranks, %d on this machine; %.4g MB sent in %.0f messages; %.3g processor "
                   "seconds, and %.3g in messages; one rank: at most %.3g processor seconds, %.4g "
                   "MB of memory",
                   comm->ranks, comm->neighbours, c.sent * 1e-6, c.messages, c.processor,
                   c.in_messages, c.most_processor, c.most_memory * 1e-6);
}

cs_status cs_ranks_leave(cs_comm *comm, cs_status status)
{
    if (!comm->agreed) {
        status = cs_comm_agree(comm, status);
    }
    if (comm->rank > 0) {
        cs_reason_clear(); /* rank 0 says it */
    }
    comm->close(comm);
    return status;
}
