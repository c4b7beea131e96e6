/* cospec mask-rank: the representation study of MAE-LM on any number of models of one text. */
#include <inttypes.h>

#include "analysis/measures/effective_rank.h"
#include "analysis/measures/mask_rank.h"
#include "analysis/theorems/theorem_22.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/json.h"

static const double BERT_SHARE = 0.1;

typedef struct {
    cs_args *args;
    cs_mask_rank_options options; /* of every model; layers and documents are the model's own */
    cs_statements statements;
    cs_item *models;
} study;

/* A model under way. */
typedef struct {
    const char *name;
    cs_model_text text;
    cs_mask_rank_options options;
    uint8_t *rare; /* --rare: tokens */
    cs_mask_rank result;
} subject;

static void release(subject *m)
{
    cs_free(m->rare);
    cs_mask_rank_free(&m->result);
    cs_model_text_free(&m->text);
}

/* --- options --------------------------------------------------------------------------------- */

static void take_options(cs_args *args, study *s)
{
    const bool bert = cs_args_flag(args, "bert-masking");
    const double ratio = cs_args_given(args, "rare") ? 0 : cs_args_real(args, "mask-ratio"),
                 tau = cs_args_real(args, "tau");
    s->args = args;
    s->options =
        (cs_mask_rank_options){.hidden = {.mask_ratio = ratio,
                                          .mask_seed = (uint64_t)cs_args_int(args, "mask-seed"),
                                          .mask_keep = bert ? BERT_SHARE : 0,
                                          .mask_random = bert ? BERT_SHARE : 0,
                                          .raw = cs_args_is(args, "final-norm", "no")},
                               .blocks = cs_args_int(args, "blocks"),
                               .gram = {.wide = true,
                                        .normalise = cs_args_flag(args, "row-norm"),
                                        .shift = cs_args_flag(args, "center"),
                                        .threads = cs_args_threads(args)},
                               .rank = {.tau = tau,
                                        .eps = -1,
                                        .centred = cs_args_flag(args, "center"),
                                        .jackknife = cs_args_int(args, "blocks") > 1,
                                        .threads = cs_args_threads(args)}};
}

/* An encoder of the unmasked tokens alone: MAE-LM's, or two streams over masks. */
static bool reads_no_mask(const cs_model_kind *kind)
{
    return kind->kind == CS_KIND_MAE ||
           (kind->kind == CS_KIND_TWO_STREAM && kind->pretrained == CS_ATTENTION_BIDIRECTIONAL);
}

/* The study is of models that read [MASK], or were trained to do without; that of rare tokens is of
 * any with hidden states. */
static cs_status check_kind(const study *s, const subject *m)
{
    const cs_model_kind *kind = &m->text.kind;
    if (cs_args_given(s->args, "rare")) {
        return cs_model_text_has_states(&m->text);
    }
    if (!cs_kind_masks(kind->kind) && !reads_no_mask(kind)) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: a %s model; mask-rank needs a masked or mae-lm model, which reads "
                       "[MASK] (--rare N works with any model)",
                       m->text.dir, cs_kind_name(kind->kind));
    }
    if (cs_kind_masks(kind->kind) && m->text.model.config.ids.mask < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: the model has no mask token", m->text.dir);
    }
    if (kind->kind == CS_KIND_MAE && kind->delta > 0) {
        cs_output_note(s->args,
                       "%s: the encoder was trained with a share %g of the [MASK] tokens, but here "
                       "it reads none",
                       m->name, kind->delta);
    }
    if (reads_no_mask(kind) && cs_args_flag(s->args, "bert-masking")) {
        cs_output_note(
            s->args,
            "%s: --bert-masking applies to masked models only; the masked tokens are dropped",
            m->name);
    }
    return CS_OK;
}

/* As many blocks as documents, where these are fewer. */
static void fit_blocks(const study *s, subject *m)
{
    const int64_t n = m->text.documents;
    if (m->options.blocks > n) {
        m->options.blocks = n;
        m->options.rank.jackknife = n > 1;
        cs_output_note(s->args, "%s: %" PRId64 " document%s, therefore %s", m->name, n,
                       n > 1 ? "s" : "", n > 1 ? "that number of blocks" : "no standard errors");
    }
}

/* Marks the tokens that occur at most --rare times in --rare-in. */
static cs_status find_rare(study *s, subject *m)
{
    const char *source = cs_args_text(s->args, "rare-in");
    const int64_t vocab = m->text.model.config.shape.vocab;
    CS_AUTO(cs_corpus) other = {0};
    cs_status status = source ? cs_args_encode_corpus(s->args, source, &m->text, &other) : CS_OK;
    m->options.rare = m->rare = cs_alloc(vocab, 1);
    if (status == CS_OK && !m->rare) status = CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_rare_tokens(source ? &other : &m->text.corpus, vocab,
                                cs_args_int(s->args, "rare"), m->rare);
    return status;
}

static cs_status prepare(study *s, const char *argument, const char *corpus, subject *m)
{
    const char *dir = NULL;
    cs_status status = cs_args_named_model(s->args, argument, &m->name, &dir);
    m->options = s->options;
    cs_hidden_options *o = &m->options.hidden;
    if (status == CS_OK && (status = cs_args_model_open(s->args, dir, &m->text)) == CS_OK &&
        (status = check_kind(s, m)) == CS_OK &&
        (status = cs_args_hidden(s->args, &m->text, "layers", o)) == CS_OK &&
        (status = cs_args_model_corpus(s->args, corpus, &m->text)) == CS_OK) {
        fit_blocks(s, m);
        if (cs_args_given(s->args, "rare")) status = find_rare(s, m);
        if (status == CS_OK)
            status = cs_mem_check(cs_mask_rank_bytes(m->text.model.config.shape.width, &m->options),
                                  "fewer --blocks or --layers take less", "%s: Gram blocks take",
                                  m->name);
    }
    o->keep = m->text.keep;
    m->options.encoder_only = reads_no_mask(&m->text.kind) && !m->rare;
    if (m->options.encoder_only) {
        o->mask_keep = o->mask_random = 0;
    }
    if (status == CS_OK) cs_args_note_share_of_pieces(s->args, &m->text, o);
    return status;
}

/* --- a model --------------------------------------------------------------------------------- */

static cs_status state(study *s, subject *m)
{
    const cs_hidden_options *o = &m->options.hidden;
    const int64_t pieces = cs_args_int(s->args, "pieces");
    int64_t length = o->max_length > 0 ? o->max_length : m->text.model.config.shape.positions;
    bool done = false;
    if (m->rare) { /* the statements are of [MASK] */
        return CS_OK;
    }
    cs_status status = cs_lemma_21(&m->text.model, &m->result, length, m->name, &s->statements);
    if (status == CS_OK && !m->options.encoder_only && pieces > 0) {
        const cs_22_model_options t = {
            .hidden = o, .pieces = pieces, .threads = cs_args_threads(s->args)};
        s->statements.theorem = "2.2";
        status = cs_theorem_22_model(&m->text.model, &m->text.corpus, m->name, &t, &s->statements,
                                     &done);
        if (status == CS_OK && !done)
            cs_output_note(s->args, "%s: no residual contraction: %s", m->name,
                           m->text.model.config.position.relative_buckets > 0
                               ? "relative positions add to its logits"
                               : "no document has a [MASK] and two other tokens");
    }
    return status;
}

static cs_status study_model(study *s, const char *argument, const char *corpus)
{
    CS_AUTO_BY(release, subject) m = {0};
    char partition[33];
    cs_status status = prepare(s, argument, corpus, &m);
    int64_t rows = 0;
    if (status == CS_OK)
        status = cs_hidden_rows(&m.text.model, &m.text.corpus, &m.options.hidden, &rows);
    if (status != CS_OK) return status;
    const int64_t width = m.text.model.config.shape.width;
    cs_item *model = cs_item_object(s->models, NULL);
    cs_item_text(model, "name", m.name);
    cs_item_text(model, "model", m.text.dir);
    cs_item_text(model, "kind", cs_kind_name(m.text.kind.kind));
    cs_item_int(model, "documents", m.text.documents);
    cs_item_int(model, "rows", rows);
    cs_item_int(model, "width", width);
    cs_item_int(model, "blocks", m.options.blocks);
    status = cs_corpus_partition(&m.text.corpus, m.text.keep, m.options.blocks, 0, partition);
    if (status != CS_OK) return status;
    cs_item_text(model, "~partition", partition);
    if (cs_args_flag(s->args, "dry-run")) {
        cs_item_real(model, "bytes", cs_mask_rank_bytes(width, &m.options));
        return CS_OK;
    }
    status = cs_blame(cs_mask_rank_of(&m.text.model, &m.text.corpus, &m.options, &m.result), "%s",
                      m.name);
    if (status == CS_OK) cs_mask_rank_record(m.name, &m.options.rank, &m.result, model);
    return status == CS_OK ? state(s, &m) : status;
}

/* --- the command ----------------------------------------------------------------------------- */

static cs_status write_statements(cs_args *args, const cs_statements *list)
{
    const char *path = NULL;
    json_auto_t *json = NULL;
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_statements_record(list, cs_result_root(result));
    cs_status status = cs_output_path(args, "statements.json", &path);
    if (status == CS_OK) status = cs_result_json(result, &json);
    if (status == CS_OK) status = cs_result_add_table(result, &cs_statements_view, json);
    return status == CS_OK ? cs_json_write(path, json) : status;
}

/* The gap is the answer, the ranks are many. */
static const cs_view gaps = {"models[].layers[].gap[]",
                             "model=^^name layer=^layer metric=name definition=^~gap_definition "
                             "with=~with without=~without value se n=^~gap_n series=^^name"};

static cs_status report(const study *s)
{
    static const cs_view ranks = {"models[].layers[].states[].metrics[]",
                                  "model=^^^^name layer=^^^layer states=^~states metric=name "
                                  "definition value se n=^n series=^~series"},
                         containment = {"models[].layers[].containment[]",
                                        "model=^^name layer=^layer metric=name definition value se "
                                        "n=^~contained_n series=^^name"},
                         gap_blocks = {"models[].layers[].gap[].~left_out[]",
                                       "model=^^^name layer=^^layer metric=^name block value "
                                       "partition=^^^~partition"},
                         blocks = {"models[].layers[].states[].metrics[].~left_out[]",
                                   "model=^^^^^name layer=^^^^layer states=^^~states metric=^name "
                                   "block value partition=^^^^^~partition"};
    const bool dry = cs_args_flag(s->args, "dry-run");
    cs_statements_record(&s->statements, cs_output_root(s->args));
    cs_status status = cs_output_csv(s->args, "gap.csv", &gaps);
    if (status == CS_OK) status = cs_output_csv(s->args, "gap-blocks.csv", &gap_blocks);
    if (status == CS_OK) status = cs_output_csv(s->args, "mask_rank-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_csv(s->args, "containment.csv", &containment);
    if (status == CS_OK && !dry && cs_args_given(s->args, "output"))
        status = write_statements(s->args, &s->statements);
    return status == CS_OK ? cs_output_record(s->args, "mask_rank", dry ? NULL : &ranks) : status;
}

static cs_status run(cs_args *args)
{
    study s = {0};
    const int models = cs_args_positionals(args) - 1;
    s.models = cs_item_array(cs_output_root(args), "models");
    cs_status status =
        cs_args_given(args, "rare")
            ? cs_args_refuse(args, "mask-ratio bert-masking", "cannot be combined with --rare")
            : cs_args_refuse(args, "rare-in", "needs --rare");
    take_options(args, &s);
    for (int i = 0; i < models && status == CS_OK; ++i) {
        status = study_model(&s, cs_args_positional(args, i), cs_args_positional(args, models));
    }
    if (status == CS_OK) status = report(&s);
    if (status == CS_OK) status = cs_verdicts_report(args, &s.statements);
    cs_statements_free(&s.statements);
    return status;
}

static const cs_opt mask_rank_options[] = {
    CS_REAL("mask-ratio", "P", "0.15", CS_ABOVE_0, CS_BELOW_1,
            "Share of each piece's tokens that become [MASK]."),
    CS_FLAG("bert-masking",
            "As BERT: leave a tenth of these tokens unchanged and replace a tenth by random tokens "
            "(MAE-LM, Figure 6). Both count as real rows."),
    CS_INT("mask-seed", "N", "1", 0, 9007199254740992.0,
           "Seed of the choice of tokens, and of the sample of real rows."),
    CS_INT("rare", "N", NULL, 0, 1e15,
           "Study rare tokens of any model, without masking: tokens that occur at most N times "
           "replace [MASK] (MAE-LM, Appendix F)."),
    CS_TEXT("rare-in", "CORPUS", NULL,
            "Corpus in which --rare counts. N = 0: tokens that it lacks. Default: CORPUS."),
    CS_REAL("tau", "T", "0.9", CS_ABOVE_0, 1,
            "Share of the sum of squared singular values for rank_tau, above 0."),
    CS_TEXT("layers", "LIST|all|last", "all",
            "Layers, as 0,3,6: 0 is the embeddings, N the output of layer N."),
    CS_INT("blocks", "B", "20", 1, 10000,
           "Blocks of documents of the jackknife, at most one per document. 1: no standard "
           "errors."),
    CS_INT("pieces", "N", "4", 0, 100000,
           "Pieces of text on which the bound of Theorem 2.2 is evaluated for each head."),
    CS_FLAG("center", "Subtract the mean of the rows. The paper's ranks are uncentred."),
    CS_FLAG("row-norm", "Divide each row by its norm, so that all rows have equal weight."),
    CS_CHOICE("final-norm", "hf|no", "hf",
              "Whether the final norm of roberta-prelayernorm applies to the last layer, as in "
              "hidden_states of transformers 5."),
    {0},
};

const cs_command cs_cmd_mask_rank = {
    .name = "mask-rank",
    .help = &cs_help_mask_rank,
    .positional = "[NAME=]MODEL... CORPUS",
    .main = "mask-ratio rare layers tau split limit max-length blocks device output",
    .groups = (const cs_opt *const[]){mask_rank_options, cs_group_stack, cs_group_sources,
                                      cs_group_model_text, cs_group_attention, cs_group_corpus_form,
                                      NULL},
    .run = run,
    .files = "mask_rank.csv mask_rank-blocks.csv mask_rank.json gap.csv gap-blocks.csv "
             "containment.csv statements.json",
    .without = "resume seed",
    .gpu = true,
    .shown = "model layer states metric with without value se n",
    .metrics = "rank_tau,rank_tau_corrected",
    .more_metrics = "entropy_rank,participation_ratio," CS_MORE_RANKS,
    .brief = &gaps,
};
