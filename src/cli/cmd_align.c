/* cospec align: alignment of an objective with the classes of a corpus. */
#include "analysis/measures/alignment.h"
#include "base/auto.h"

#include <string.h>

#include "base/vector_ops.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "text/sequences.h"

/* The order of the dense eigenproblems: 6000 takes 10 minutes and 1 GB. */
enum { MOST_FEATURES = 6000 };

typedef struct {
    cs_objective objective;
    cs_plan_file parts;
    int64_t layers;   /* 1 for one-hot features */
    cs_alignment *of; /* layers */
    cs_corpus corpus; /* of one-hot features */
    /* with a model */
    cs_model_text text;
    cs_hidden_options options;
    cs_hidden_row at; /* the rows that are held are of this document and piece */
    int64_t rows;     /* held, of one piece */
    float **row;      /* layers: the states of the piece */
    int64_t document_rows;
    double **mean; /* layers: sum over the rows of the document */
} run;

/* --- one-hot features ------------------------------------------------------------------------- */

static bool wanted(const cs_args *args, const cs_corpus *c, int64_t document)
{
    return cs_args_is(args, "split", "all") ||
           cs_args_is(args, "split", "test") == (c->held_out[document] != 0);
}

static void add_shares(const cs_corpus *c, int64_t document, double *x, cs_alignment *a)
{
    const int64_t from = c->doc_ptr[document], end = c->doc_ptr[document + 1];
    memset(x, 0, (size_t)c->vocab * sizeof *x);
    for (int64_t i = from; i < end; ++i) {
        x[c->token[i]] += 1 / (double)(end - from);
    }
    cs_alignment_add_document(a, x, c->label[document]);
}

static cs_status sum_tokens(const cs_args *args, run *r)
{
    const cs_corpus *c = &r->corpus;
    CS_AUTO(cs_sequences) sequences = {0};
    CS_AUTO_FREE double *x = cs_alloc(c->vocab, sizeof *x);
    cs_status status = x ? cs_sequences_of(c, cs_args_int_or(args, "max-length", 0), 0, &sequences)
                         : CS_ERR_MEMORY;
    for (int64_t i = 0; i < sequences.count && status == CS_OK; ++i) {
        if (wanted(args, c, sequences.document[i]))
            status =
                cs_alignment_add_tokens(r->of, c->token + sequences.start[i], sequences.length[i]);
    }
    for (int64_t d = 0; d < c->documents && status == CS_OK; ++d) {
        if (c->label[d] >= 0 && c->doc_ptr[d + 1] > c->doc_ptr[d] && wanted(args, c, d))
            add_shares(c, d, x, r->of);
    }
    return status;
}

static cs_status of_tokens(cs_args *args, run *r)
{
    cs_status status = cs_args_refuse(
        args, "layers limit limit-tokens special long batch attention draws", "needs --features");
    if (status == CS_OK) status = cs_args_suppose(args, "vocab", "2000");
    if (status == CS_OK)
        status = cs_args_load_corpus(args, cs_args_positional(args, 1), &r->corpus);
    if (status != CS_OK) return status;
    if (r->corpus.vocab > MOST_FEATURES) {
        return cs_fail(CS_ERR_USAGE,
                       "one-hot features of %lld tokens are too many, at most %d; give a smaller "
                       "--vocab, or --features",
                       (long long)r->corpus.vocab, MOST_FEATURES);
    }
    r->layers = 1;
    r->of = cs_calloc(1, sizeof *r->of);
    if (!r->of) return CS_ERR_MEMORY;
    status = cs_alignment_open(&r->objective, r->corpus.vocab, r->corpus.labels, r->of);
    return status == CS_OK ? sum_tokens(args, r) : status;
}

/* --- states of a model ------------------------------------------------------------------------ */

static cs_status end_piece(run *r)
{
    cs_status status = CS_OK;
    for (int64_t l = 0; l < r->layers && r->rows > 0 && status == CS_OK; ++l) {
        status = cs_alignment_add_rows(&r->of[l], r->row[l], r->rows);
    }
    r->rows = 0;
    return status;
}

static void end_document(run *r)
{
    const int32_t label = r->document_rows > 0 ? r->text.corpus.label[r->at.document] : -1;
    for (int64_t l = 0; l < r->layers && r->document_rows > 0; ++l) {
        double *x = r->mean[l];
        cs_divide(r->of[l].width, (double)r->document_rows, x);
        if (label >= 0) cs_alignment_add_document(&r->of[l], x, label);
        memset(x, 0, (size_t)r->of[l].width * sizeof *x);
    }
    r->document_rows = 0;
}

/* Holds a row of every layer, after those of the same piece. */
static cs_status hold(run *r, const cs_hidden_block *block, int64_t i)
{
    const int64_t d = block->width;
    for (int64_t l = 0; l < r->layers; ++l) {
        const float *state = block->state[l] + i * d;
        float *longer = cs_realloc(r->row[l], (r->rows + 1) * d, sizeof *longer);
        if (!longer) return CS_ERR_MEMORY;
        r->row[l] = longer;
        memcpy(longer + r->rows * d, state, (size_t)d * sizeof *longer);
        for (int64_t j = 0; j < d; ++j) {
            r->mean[l][j] += (double)state[j];
        }
    }
    ++r->rows;
    ++r->document_rows;
    return CS_OK;
}

static cs_status take_block(void *ctx, const cs_hidden_block *block)
{
    run *r = ctx;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < block->rows && status == CS_OK; ++i) {
        const cs_hidden_row *about = &block->about[i];
        const bool other = r->document_rows > 0 && about->document != r->at.document;
        if (other || (r->rows > 0 && about->piece != r->at.piece)) status = end_piece(r);
        if (other) end_document(r);
        r->at = *about;
        if (status == CS_OK) status = hold(r, block, i);
    }
    return status;
}

static cs_status open_layers(run *r)
{
    r->layers = r->options.layers;
    r->of = cs_calloc(r->layers, sizeof *r->of);
    r->row = cs_calloc(r->layers, sizeof *r->row);
    r->mean = cs_calloc(r->layers, sizeof *r->mean);
    cs_status status = r->of && r->row && r->mean ? CS_OK : CS_ERR_MEMORY;
    for (int64_t l = 0; l < r->layers && status == CS_OK; ++l) {
        r->mean[l] = cs_calloc(r->text.model.config.shape.width, sizeof **r->mean);
        status = r->mean[l] ? cs_alignment_open(&r->objective, r->text.model.config.shape.width,
                                                r->text.corpus.labels, &r->of[l])
                            : CS_ERR_MEMORY;
    }
    return status;
}

static cs_status of_states(cs_args *args, run *r)
{
    cs_status status = cs_args_refuse(args, "tokenizer vocab min-tokens patch codes window",
                                      "does not apply to --features, whose model has its tokens");
    if (status == CS_OK)
        status = cs_args_model_open(args, cs_args_text(args, "features"), &r->text);
    if (status == CS_OK) status = cs_model_text_has_states(&r->text);
    if (status == CS_OK) status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r->text);
    if (status != CS_OK) return status;
    r->options.pooling = CS_POOL_NONE;
    r->options.keep = r->text.keep;
    status = cs_args_hidden(args, &r->text, "layers", &r->options);
    if (status == CS_OK) status = open_layers(r);
    if (status == CS_OK)
        status = cs_hidden_states(&r->text.model, &r->text.corpus, &r->options, take_block, r);
    if (status == CS_OK) status = end_piece(r);
    if (status == CS_OK) end_document(r);
    return status;
}

/* --- the result ------------------------------------------------------------------------------- */

static cs_status add_score(const cs_args *args, const run *r, int64_t layer, cs_item *rows)
{
    const cs_alignment *a = &r->of[layer];
    cs_alignment_score score = {0};
    cs_status status = cs_alignment_score_of(a, cs_args_int_or(args, "rank", 0),
                                             cs_args_int_or(args, "task-rank", 0), &score);
    if (status != CS_OK) return status;
    cs_item *row = cs_item_object(rows, NULL);
    if (r->options.layers > 0)
        cs_item_int(row, "layer", r->options.layer[layer]);
    else
        cs_item_text(row, "layer", "one-hot");
    cs_item_int(row, "rank", score.rank);
    cs_item_int(row, "task_rank", score.task_rank);
    cs_item_real(row, "score", score.score);
    cs_item_int(row, "directions", score.directions);
    cs_item_real(row, "eigenvalue", score.last);
    cs_item_real(row, "next_eigenvalue", score.next);
    cs_item_real(row, "context_tokens", score.context_tokens);
    cs_item_int(row, "sequences", a->sequences);
    cs_item_int(row, "documents", a->documents);
    return CS_OK;
}

static cs_status write_result(cs_args *args, const run *r)
{
    static const cs_view view = {
        "rows[]", "objective=/objective layer rank task_rank score directions eigenvalue "
                  "next_eigenvalue context_tokens sequences documents"};
    cs_item *root = cs_output_root(args), *rows = NULL;
    cs_status status = CS_OK;
    if (r->of->sequences == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: every document is too short for the objective",
                       cs_args_positional(args, 1));
    }
    if (r->of->classes < 2 || r->of->documents == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: align needs a corpus with two or more classes",
                       cs_args_positional(args, 1));
    }
    if (r->of->skipped > 0)
        cs_output_note(args, "%lld sequences are too short for the objective and not counted",
                       (long long)r->of->skipped);
    cs_item_take(root, "objective", cs_objective_describe(&r->objective));
    cs_item_text(root, "corpus", cs_args_positional(args, 1));
    cs_item_int(root, "classes", r->of->classes);
    rows = cs_item_array(root, "rows");
    for (int64_t l = 0; l < r->layers && status == CS_OK; ++l) {
        status = add_score(args, r, l, rows);
    }
    return status == CS_OK ? cs_output_record(args, "align", &view) : status;
}

static void release(run *r)
{
    for (int64_t l = 0; l < r->layers; ++l) {
        if (r->of) cs_alignment_free(&r->of[l]);
        if (r->row) cs_free(r->row[l]);
        if (r->mean) cs_free(r->mean[l]);
    }
    cs_free(r->of);
    cs_free(r->row);
    cs_free(r->mean);
    cs_corpus_free(&r->corpus);
    cs_model_text_free(&r->text);
    cs_plan_file_free(&r->parts);
}

static cs_status run_align(cs_args *args)
{
    run r = {0};
    cs_status status =
        cs_args_objective_text(args, cs_args_positional(args, 0), &r.parts, &r.objective);
    if (status == CS_OK)
        status = cs_args_given(args, "features") ? of_states(args, &r) : of_tokens(args, &r);
    if (status == CS_OK) status = write_result(args, &r);
    release(&r);
    return status;
}

static const cs_opt align_options[] = {
    CS_TEXT("features", "MODEL", NULL,
            "Features of tokens: hidden states of MODEL. Default: one-hot vectors of the words; "
            "--vocab then keeps 2000 of them."),
    CS_TEXT("layers", "LIST|all|last", "last",
            "--features: layers, as 0,3,6: 0 is the embeddings, N the output of layer N."),
    {"rank", 'k', CS_OPT_INT, "T", NULL, 1, 1e6,
     "Number t of leading directions of the objective. Default: 64, or all if fewer have a "
     "positive eigenvalue.",
     false},
    CS_INT("task-rank", "U", NULL, 1, 1e6,
           "Number u of leading directions of the task. Default: the number of classes less 1, or "
           "all if fewer have a positive eigenvalue."),
    {0},
};

const cs_command cs_cmd_align = {
    .name = "align",
    .help = &cs_help_align,
    .positional = "OBJECTIVE CORPUS",
    .main = "features layers rank task-rank split max-length vocab output",
    .groups = (const cs_opt *const[]){align_options, cs_group_model_text, cs_group_roles,
                                      cs_group_attention, cs_group_corpus_reading, NULL},
    .run = run_align,
    .files = "align.json align.csv",
    .shown = "objective layer rank task_rank score context_tokens documents",
    .without = "dry-run",
    .gpu = true,
};
