/* The sequences of a build: those of the documents of the split, at the lengths where the objective
 * exists. The store calls this too, so a witness keeps its meaning.
 */
#include "cooc/build_sequences.h"

#include <assert.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "cooc/build_private.h"
#include "cooc/build_ranks_private.h"
#include "cooc/by_document.h"
#include "cooc/context_private.h"
#include "plan/pairs.h"
#include "plan/plan_file.h"
#include "plan/ratio.h"

bool cs_cooc_in_split(const cs_corpus *corpus, cs_split split, int64_t document)
{
    bool test = corpus->held_out && corpus->held_out[document];
    return split == CS_SPLIT_ALL || test == (split == CS_SPLIT_TEST);
}

/* Overlapping windows that are taken together, so that they need not be listed. */
static bool takes_runs(const cs_cooc_options *o)
{
    return cs_context_gram(&o->context) && o->stride > 0 && o->stride < o->max_length;
}

/* The length of a sequence, or of the windows of a run. */
static int32_t window_of(const cs_cooc_options *o, int32_t length)
{
    return takes_runs(o) && length > o->max_length ? (int32_t)o->max_length : length;
}

static int64_t windows_of(const cs_cooc_options *o, int32_t length)
{
    int64_t more = length - window_of(o, length);
    return more > 0 ? more / o->stride + 1 : 1;
}

int64_t cs_cooc_windows(const cs_cooc_options *options, const cs_sequences *sequences)
{
    int64_t windows = 0;
    for (int64_t i = 0; i < sequences->count; ++i) {
        windows += windows_of(options, sequences->length[i]);
    }
    return windows;
}

static cs_status cut(const cs_corpus *corpus, const cs_cooc_options *o, cs_sequences *out)
{
    const bool runs = takes_runs(o);
    cs_status status = cs_sequences_of(corpus, runs ? 0 : o->max_length, runs ? 0 : o->stride, out);
    for (int64_t i = 0; status == CS_OK && runs && i < out->count; ++i) {
        int64_t more = out->length[i] - window_of(o, out->length[i]); /* to the last full window */
        out->length[i] -= (int32_t)(more % o->stride);
    }
    return status;
}

/* Whether the objective exists at lengths 0..longest. */
static cs_status lengths_of(const cs_cooc_options *options, const cs_sequences *s, int32_t *longest,
                            bool **exists)
{
    *longest = 0;
    for (int64_t i = 0; i < s->count; ++i) {
        int32_t length = window_of(options, s->length[i]);
        *longest = length > *longest ? length : *longest;
    }
    bool *seen = cs_calloc((int64_t)*longest + 1, sizeof *seen);
    if (!seen) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->count; ++i) {
        seen[window_of(options, s->length[i])] = true;
    }
    cs_status status = CS_OK; /* where there is none sequences are left out and counted */
    for (int64_t l = 0; l <= *longest && status == CS_OK; ++l) {
        if (seen[l]) status = cs_objective_exists(&options->objective, l, &seen[l]);
    }
    *exists = seen;
    return status;
}

/* No sequence of the build has a length at which the objective exists. */
static cs_status none_fits(const cs_objective *objective, int32_t shortest, int32_t longest)
{
    char lengths[160] = "";
    size_t used = 0;
    if (objective->kind != CS_OBJ_FILE) {
        cs_status status = cs_objective_check_length(objective, longest);
        assert(status != CS_OK); /* or the longest sequence would have been kept */
        (void)status;
        return cs_blame(CS_ERR_INPUT, "no sequence is long enough; the longest has %d tokens",
                        (int)longest);
    }
    /* A plan file lists its lengths; it has no least one. */
    const cs_plan_file *file = objective->file;
    for (int64_t p = 0; p < file->plans; ++p) {
        bool before = false;
        for (int64_t q = 0; q < p && !before; ++q) {
            before = file->plan[q].length == file->plan[p].length;
        }
        if (before) {
            continue;
        }
        if (used > sizeof lengths - 32) {
            (void)snprintf(lengths + used, sizeof lengths - used, ", ...");
            break;
        }
        used += (size_t)snprintf(lengths + used, sizeof lengths - used, "%s%lld",
                                 used > 0 ? ", " : "", (long long)file->plan[p].length);
    }
    return cs_fail(CS_ERR_INPUT,
                   "%s has plans of length %s, but no sequence has such a length (they have %d to "
                   "%d tokens); give --max-length %lld --stride 1 for windows of a fixed length",
                   file->path, lengths, (int)shortest, (int)longest,
                   (long long)file->plan[0].length);
}

/* The sequences of the split at lengths where the objective exists, and what there was. */
static cs_status select_sequences(const cs_corpus *corpus, const cs_cooc_options *options,
                                  cs_sequences *out, cs_sequence_counts *counts)
{
    cs_sequences s = {0};
    CS_AUTO_FREE bool *exists = NULL;
    int32_t longest = 0;
    *counts = (cs_sequence_counts){.shortest = INT32_MAX};
    cs_status status = cs_objective_check(&options->objective);
    if (status == CS_OK) status = cut(corpus, options, &s);
    if (status == CS_OK) status = lengths_of(options, &s, &longest, &exists);
    for (int64_t i = 0; i < s.count && status == CS_OK; ++i) {
        if (!cs_cooc_in_split(corpus, options->split, s.document[i])) {
            continue;
        }
        const int32_t length = window_of(options, s.length[i]);
        ++counts->of_split;
        counts->longest = length > counts->longest ? length : counts->longest;
        counts->shortest = length < counts->shortest ? length : counts->shortest;
        counts->left_out += exists[length] ? 0 : windows_of(options, s.length[i]);
        if (exists[length]) {
            s.start[counts->kept] = s.start[i];
            s.length[counts->kept] = s.length[i];
            s.document[counts->kept++] = s.document[i];
        }
    }
    s.count = counts->kept;
    return CS_DELIVER(status, out, s, cs_sequences_free);
}

/* CS_ERR_INPUT if there is no sequence. */
static cs_status check_counts(const cs_corpus *corpus, const cs_cooc_options *options,
                              const cs_sequence_counts *counts)
{
    const char *name = corpus->name ? corpus->name : "given";
    const int64_t all = corpus->all_documents > 0 ? corpus->all_documents : corpus->documents;
    return all == 0 ? cs_fail(CS_ERR_INPUT, "corpus %s has no documents", name)
           : counts->of_split == 0
               ? cs_fail(CS_ERR_INPUT, "corpus %s has no documents in the %s split", name,
                         options->split == CS_SPLIT_TEST ? "test" : "training")
           : counts->kept == 0 ? none_fits(&options->objective, counts->shortest, counts->longest)
                               : CS_OK;
}

cs_status cs_cooc_sequences(const cs_corpus *corpus, const cs_cooc_options *options,
                            cs_sequences *out, int64_t *skipped)
{
    cs_sequences s = {0};
    cs_sequence_counts counts = {0};
    cs_status status = select_sequences(corpus, options, &s, &counts);
    if (status == CS_OK) status = check_counts(corpus, options, &counts);
    if (skipped) *skipped = counts.left_out;
    return CS_DELIVER(status, out, s, cs_sequences_free);
}

/* The lengths of the sequences of a document, as cs_sequences_of makes them, and how many there are
 * of each: whole windows, and the rest. */
static void pieces_of(const cs_corpus *corpus, const cs_cooc_options *options, int64_t d,
                      int64_t length[2], int64_t count[2])
{
    const int64_t n = corpus->doc_ptr[d + 1] - corpus->doc_ptr[d];
    const int64_t most = options->max_length > 0 ? options->max_length : n;
    const int64_t step = options->stride > 0 ? options->stride : most;
    const int64_t whole = n >= most && most > 0 ? (n - most) / step + 1 : 0;
    const bool in = cs_cooc_in_split(corpus, options->split, d);
    length[0] = most;
    length[1] = options->stride == 0 ? n - whole * most : whole > 0 ? 0 : n;
    count[0] = in ? whole : 0;
    count[1] = in && length[1] > 0;
}

int64_t cs_cooc_clamped(const cs_corpus *corpus, const cs_cooc_options *options, int64_t *longest,
                        cs_objective *of_longest)
{
    cs_objective which;
    int64_t clamped = 0;
    *longest = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        int64_t length[2], count[2];
        pieces_of(corpus, options, d, length, count);
        for (int i = 0; i < 2; ++i) {
            if (count[i] > 0 && length[i] > 1 &&
                cs_objective_clamps(&options->objective, length[i], &which)) {
                *of_longest = length[i] > *longest ? which : *of_longest;
                *longest = length[i] > *longest ? length[i] : *longest;
                clamped += count[i];
            }
        }
    }
    if (options->comm && corpus->all_documents > 0) {
        cs_comm_add(options->comm, 1, &clamped);
        *longest = -cs_comm_least(options->comm, -*longest);
        if (clamped > 0) (void)cs_objective_clamps(&options->objective, *longest, of_longest);
    }
    return clamped;
}

bool cs_cooc_masked(const cs_corpus *corpus, const cs_cooc_options *options,
                    const cs_objective *objective, double share[2])
{
    enum { SUMS = 3 };
    double sum[SUMS] = {0}, *masked = sum, *tokens = sum + 2;
    if (!cs_objective_has_ratio(objective)) {
        return false;
    }
    for (int64_t d = 0; d < corpus->documents; ++d) {
        int64_t length[2], count[2];
        pieces_of(corpus, options, d, length, count);
        for (int i = 0; i < 2; ++i) {
            if (count[i] > 0 && length[i] > 1) {
                const double n = (double)count[i];
                *tokens += n * (double)length[i];
                masked[0] += n * (double)cs_ratio_masked(objective->mask_ratio_lo, length[i]);
                masked[1] += n * (double)cs_ratio_masked(objective->mask_ratio_hi, length[i]);
            }
        }
    }
    if (options->comm && corpus->all_documents > 0) cs_comm_sum(options->comm, SUMS, sum);
    share[0] = masked[0] / *tokens;
    share[1] = masked[1] / *tokens;
    return *tokens > 0;
}

static cs_status check_subsample(const cs_corpus *corpus, const cs_cooc_options *options)
{
    if (!(options->subsample > 0 && options->subsample < 1)) {
        return cs_fail(CS_ERR_USAGE, "subsampling threshold %g is not in (0, 1)",
                       options->subsample);
    }
    return corpus->population || !options->context.pairs
               ? cs_fail(CS_ERR_USAGE,
                         "subsampling needs a corpus and counts of pairs: --context each:W:flat, "
                         "each:W:linear or each:W:harmonic")
               : CS_OK;
}

cs_status cs_cooc_prepare(const cs_corpus *corpus, const cs_cooc_options *options,
                          cs_cooc_prepared *out)
{
    cs_cooc_prepared p = {.corpus = corpus, .options = *options};
    cs_status status = CS_OK;
    if (options->by_document &&
        (cs_context_gram(&options->context) || corpus->documents > CS_MOST_DOCUMENTS))
        status = cs_fail(
            CS_ERR_INPUT,
            "rows by document need a context with rows and at most 2^32 documents, not %lld",
            (long long)corpus->documents);
    if (status == CS_OK && options->subsample != 0) status = check_subsample(corpus, options);
    cs_sequence_counts counts = {0};
    if (status == CS_OK) status = select_sequences(corpus, options, &p.sequences, &counts);
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        const bool in = cs_cooc_in_split(corpus, options->split, d);
        counts.tokens += in ? corpus->doc_ptr[d + 1] - corpus->doc_ptr[d] : 0;
    }
    if (status == CS_OK) counts.covered = cs_sequences_covered(&p.sequences);
    if (cs_cooc_parted(&p)) {
        status = cs_comm_agree(options->comm, status);
        if (status == CS_OK) cs_ranks_join_counts(options->comm, &counts, &p.sequences.first);
    }
    if (status == CS_OK) status = check_counts(corpus, options, &counts);
    p.skipped = counts.left_out;
    p.tokens = counts.tokens;
    p.uncovered = counts.tokens - counts.covered;
    if (status != CS_OK) cs_sequences_free(&p.sequences);
    *out = p;
    return status;
}

cs_status cs_cooc_plan(cs_cooc_prepared *p)
{
    const cs_context_options context = cs_cooc_context_options(&p->options);
    return p->plan ? CS_OK : cs_context_prepare(&p->sequences, &context, &p->plan);
}

void cs_cooc_set_draws(cs_cooc_prepared *p, int64_t draws)
{
    if (draws != p->options.draws) cs_context_plan_free(&p->plan);
    p->options.draws = draws;
}

/* Whether every conditioning set of every length can be listed, longest first. */
static cs_status sets_enumerable(const cs_cooc_options *options, const cs_sequences *s, bool *out)
{
    int32_t longest = 0;
    CS_AUTO_FREE bool *exists = NULL;
    cs_status status = lengths_of(options, s, &longest, &exists);
    *out = true;
    for (int64_t l = longest; l > 0 && status == CS_OK && *out; --l) {
        CS_AUTO(cs_pairs) pairs = {0};
        if (exists[l] && (status = cs_pairs_of(&options->objective, l, &pairs)) == CS_OK) {
            *out = !pairs.q || cs_pairs_expand_count(&pairs) <= CS_CONTEXT_MAX_EVENTS;
        }
    }
    return status;
}

cs_status cs_cooc_enumerable(const cs_cooc_prepared *p, bool *out)
{
    CS_AUTO(cs_context_plan) *plan = NULL;
    bool enumerable = true;
    cs_status status = CS_OK;
    if (cs_context_kind_of(p->options.context.mode)->whole) {
        status = sets_enumerable(&p->options, &p->sequences, &enumerable);
    } else {
        cs_context_options context = cs_cooc_context_options(&p->options);
        context.draws = 0;
        status = cs_context_prepare(&p->sequences, &context, &plan);
        if (status == CS_ERR_USAGE) {
            cs_reason_clear();
            enumerable = false;
            status = CS_OK;
        }
    }
    if (status == CS_OK) *out = enumerable;
    return status;
}

/* Whether a sequence lies in one window of a picture, and is rows of it. */
static bool within_window(const cs_corpus *corpus, const cs_sequences *q, int64_t i, bool *rows)
{
    const int64_t from = q->start[i] - corpus->doc_ptr[q->document[i]], length = q->length[i];
    *rows = from % corpus->columns == 0 && length % corpus->columns == 0;
    return length == 0 || from / corpus->window == (from + length - 1) / corpus->window;
}

cs_status cs_cooc_in_plane(const cs_corpus *corpus, cs_cooc_options *options)
{
    CS_AUTO(cs_sequences) q = {0};
    cs_context *context = &options->context;
    const long long n = context->n, window = corpus->window, columns = corpus->columns;
    const bool plane = columns > 0 && context->columns == 0 && cs_context_plane(context);
    const bool several =
        columns > 0 && corpus->documents > 0 && corpus->doc_ptr[1] - corpus->doc_ptr[0] > window;
    if (!plane && !several) {
        return CS_OK;
    }
    options->max_length = options->max_length > 0 ? options->max_length : window;
    const long long length = options->max_length, stride = options->stride;
    cs_status status = cs_sequences_of(corpus, length, stride, &q);
    for (int64_t i = 0; i < q.count && status == CS_OK; ++i) {
        bool rows = false;
        const bool within = within_window(corpus, &q, i, &rows);
        if (plane && !(within && rows)) {
            status = cs_fail(
                CS_ERR_USAGE,
                "nearest:%lld uses distance in the plane for pictures, but --max-length %lld with "
                "--stride %lld does not cut their windows of %lld x %lld patches into whole rows: "
                "give --max-length %lld alone, or nearest:%lld@1 for distance in the sequence",
                n, length, stride, window / columns, columns, window, n);
        } else if (!within) {
            status =
                cs_fail(CS_ERR_USAGE,
                        "--max-length %lld with --stride %lld cuts sequences across overlapping "
                        "windows of %lld x %lld patches: give --max-length %lld, or leave it out",
                        length, stride, window / columns, columns, window);
        }
    }
    if (status == CS_OK && plane) context->columns = columns;
    return status;
}

cs_context_options cs_cooc_context_options(const cs_cooc_options *options)
{
    return (cs_context_options){.objective = &options->objective,
                                .context = options->context,
                                .draws = options->draws,
                                .seed = options->seed,
                                .tail = options->tail,
                                .window = takes_runs(options) ? options->max_length : 0,
                                .stride = options->stride};
}

void cs_cooc_record(const char *source, const cs_cooc_prepared *prepared, const cs_cooc *cooc,
                    cs_item *item)
{
    const cs_cooc_options *options = &prepared->options;
    cs_item_text(item, "corpus", source);
    cs_item_take(item, "objective", cs_objective_describe(&options->objective));
    cs_item_take(item, "context", cs_context_describe(&options->context));
    cs_item_text(item, "target_position", cs_context_given(&options->context) ? "given" : "blind");
    cs_item_int(item, "rows", cooc->all_rows);
    CS_ITEM_FIELDS(item, &cooc->matrix.a, cols);
    cs_item_int(item, "nonzeros", cooc->all_nonzeros);
    CS_ITEM_FIELDS(item, cooc, sequences, skipped_sequences, contributions, exact, unit, mass,
                   dropped_mass);
    cs_item_int(item, "uncovered_tokens", prepared->uncovered);
    cs_item_int(item, "draws", options->draws);
    cs_item_int(item, "seed", (int64_t)options->seed);
    cs_item_flag(item, "sampled", options->draws > 0);
    CS_ITEM_FIELDS(item, cooc, label_noise);
}
