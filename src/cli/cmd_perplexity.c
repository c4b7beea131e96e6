/* cospec perplexity: next-token perplexity of a model of any kind. */

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "infer/perplexity.h"
#include "io/npy.h"

/* --- bytes of texts --------------------------------------------------------------------------- */

/* Bytes of each token of byte-level BPE, which spells every byte as one character, in fresh memory:
 * the number of tokens in the vocabulary or `least`, whichever is larger; 0 beyond the vocabulary.
 */
static cs_status token_bytes(const cs_tokenizer *tokenizer, int64_t least, int32_t **out)
{
    const int64_t vocab = cs_tokenizer_vocab(tokenizer);
    int32_t *bytes = cs_calloc(least > vocab ? least : vocab, sizeof *bytes);
    if (!bytes) return CS_ERR_MEMORY;
    for (int64_t v = 0; v < vocab; ++v) {
        for (const char *c = cs_tokenizer_token(tokenizer, (int32_t)v); *c; ++c) {
            bytes[v] += ((unsigned char)*c & 0xc0) != 0x80;
        }
    }
    *out = bytes;
    return CS_OK;
}

typedef struct {
    const char *split;
    int64_t bytes;
} byte_count;

static bool is_in(const char *split, bool held_out)
{
    return strcmp(split, "all") == 0 || (strcmp(split, "test") == 0) == held_out;
}

static cs_status add_bytes(void *to, const cs_document *document, bool held_out, bool *enough)
{
    byte_count *c = to;
    (void)enough;
    c->bytes += is_in(c->split, held_out) ? document->size : 0;
    return CS_OK;
}

/* Bytes of the text of `source` divided by its tokens, for one side of the split ("all", "train",
 * "test"). `corpus` was loaded from it with the same options. *out is unchanged if there are no
 * tokens. Reads the text again. */
static cs_status bytes_a_token(const cs_corpus *corpus, const char *source,
                               const cs_corpus_options *options, const char *split, double *out)
{
    byte_count count = {.split = split};
    int64_t tokens = 0;
    cs_status status = cs_corpus_visit(source, options, add_bytes, &count, NULL);
    for (int64_t d = 0; d < corpus->documents; ++d) {
        bool in = is_in(split, corpus->held_out[d] != 0);
        tokens += in ? corpus->doc_ptr[d + 1] - corpus->doc_ptr[d] : 0;
    }
    if (status == CS_OK && tokens > 0) *out = (double)count.bytes / (double)tokens;
    return status;
}

typedef struct {
    cs_model_text text;
    cs_perplexity_options options;
    cs_content_masks masks;
    int32_t *token_bytes;
    double *unigram;      /* nats of a token; NULL: not requested */
    cs_array losses;      /* of the tokens of the corpus; empty: the model computes them */
    double bytes_a_token; /* where token_bytes are not known; NaN: there is no text */
    cs_perplexity_answer answer[CS_ASKS];
    int answers;
} run;

/* --- options --- */

static cs_status take_kind(const cs_args *args, run *r)
{
    r->options.kind = r->text.kind.kind;
    cs_status status = cs_args_is(args, "kind", "auto")
                           ? CS_OK
                           : cs_kind_by_name(cs_args_text(args, "kind"), &r->options.kind);
    if (status == CS_OK && !r->text.kind.likelihood)
        status = cs_fail(CS_ERR_USAGE,
                         "%s was trained with the %s loss, so its outputs are not probabilities",
                         r->text.dir, cs_loss_name(r->text.kind.loss));
    r->options.from_nothing = cs_args_is(args, "first", "yes") ||
                              (r->text.kind.from_nothing && cs_args_is(args, "first", "auto"));
    return status;
}

/* Two-stream models can be evaluated with their prefix under any masks. In other models the method
 * of evaluation fixes what a row sees, and another mask would show it the token to predict. */
static cs_status take_masks(const cs_args *args, run *r)
{
    const cs_kind kind = r->options.kind;
    cs_status status = cs_args_attention(args, &r->text, &r->masks);
    if (status != CS_OK) return status;
    const bool prefix = kind == CS_KIND_TWO_STREAM;
    r->options.content = prefix && r->masks.attention != CS_ATTENTION_CAUSAL ? &r->masks : NULL;
    return prefix || cs_args_is(args, "attention", "auto") ||
                   r->masks.attention == cs_kind_attention(kind, NULL)
               ? CS_OK
               : cs_fail(
                     CS_ERR_USAGE,
                     "--attention %s does not apply: a %s model is evaluated with its own masks",
                     cs_args_text(args, "attention"), cs_kind_name(kind));
}

/* --losses: a number for each token of the corpus. */
static cs_status take_losses(cs_args *args, run *r)
{
    const char *path = cs_args_text(args, "losses");
    if (!path) return CS_OK;
    cs_status status = cs_output_input(args, path);
    if (status == CS_OK) status = cs_npy_read(path, 0, &r->losses);
    if (status == CS_OK && (r->losses.dtype != CS_F32 || r->losses.size != r->text.corpus.tokens))
        status = cs_fail(CS_ERR_INPUT,
                         "%s: expected %lld float32 numbers, one for each token of %s, as "
                         "losses.npy of cospec features --losses has them",
                         path, (long long)r->text.corpus.tokens, cs_args_positional(args, 1));
    if (status == CS_OK) r->options.losses = r->losses.data;
    return status;
}

static cs_status take_options(const cs_args *args, run *r)
{
    cs_perplexity_options *o = &r->options;
    CS_ARGS_FIELDS(args, o, max_length, positions, batch, blocks, seed);
    o->fill_length = cs_args_int_or(args, "fill", 0);
    o->delta = r->text.kind.delta;
    o->decoder_resets = r->text.kind.decoder_resets;
    o->keep = r->text.keep;
    o->token_bytes = r->token_bytes;
    o->reference = r->unigram;
    o->decoder = r->text.decoder;
    o->sources = cs_model_text_sources(&r->text);
    o->progress = cs_output_progress(args);
    cs_status status = take_kind(args, r);
    if (status == CS_OK) status = take_masks(args, r);
    if (status == CS_OK)
        status = cs_model_text_around(&r->text, cs_args_text(args, "special"), &o->around);
    if (status == CS_OK) status = cs_args_long(args, &r->text, &o->around, &o->split);
    if (cs_args_is(args, "first", "auto") && !r->text.kind.trained_here)
        o->from_nothing = cs_kind_shifts(o->kind) && o->around.befores > 0;
    return status;
}

/* Whether masked rows of the decoder see each other: else both ways of asking give one number. */
static bool ways_differ(const run *r)
{
    cs_decoder_attention a = r->text.model.config.decoder.attention;
    return r->options.kind != CS_KIND_MAE || r->options.delta > 0 || a == CS_DECODER_SELF ||
           a == CS_DECODER_SELF_CROSS;
}

static bool is_wanted(const cs_args *args, const run *r, cs_ask ask)
{
    const char *list = cs_args_text(args, "ask");
    const bool usual = ask != CS_ASK_PSEUDO && ask != CS_ASK_ELBO &&
                       (r->options.kind != CS_KIND_HYBRID || ask == CS_ASK_PREFIX) &&
                       (ask != CS_ASK_REMAINING || ways_differ(r));
    return cs_listed(list, cs_ask_name(ask)) || (usual && cs_listed(list, "auto")) ||
           (ask != CS_ASK_ELBO && cs_listed(list, "all"));
}

/* Every name of the list applies to the model. */
static cs_status check_asks(const cs_args *args, const run *r)
{
    static const char *const name[] = {"auto",   "prefix", "append", "remaining",
                                       "pseudo", "elbo",   "all"};
    const char *list = cs_args_text(args, "ask");
    cs_ask ways[CS_ASKS];
    const int count = cs_asks_of(r->options.kind, ways);
    cs_status status = CS_OK;
    for (const char *at = list; *at && status == CS_OK; at += strcspn(at, ","), at += *at == ',') {
        CS_AUTO_FREE char *word = cs_format("%.*s", (int)strcspn(at, ","), at);
        int number = 0;
        if (!word) return CS_ERR_MEMORY;
        status = CS_NAME_AMONG("value of --ask", word, name, &number);
        bool applies = cs_listed("auto all", word);
        for (int i = 0; i < count; ++i) {
            applies = applies || strcmp(word, cs_ask_name(ways[i])) == 0;
        }
        if (status == CS_OK && !applies)
            status = cs_fail(CS_ERR_USAGE, "--ask %s does not apply to a %s model", word,
                             cs_kind_name(r->options.kind));
    }
    return status;
}

/* --- bytes --- */

/* Tokenizers other than byte-level BPE lose bytes: those of the text are shared out. */
static cs_status count_bytes(cs_args *args, run *r)
{
    const char *source = cs_args_positional(args, 1);
    cs_corpus_options options = {0};
    r->bytes_a_token = (double)NAN;
    if (r->text.tokenizer && cs_tokenizer_is_byte_level(r->text.tokenizer)) {
        return token_bytes(r->text.tokenizer, r->text.model.config.shape.vocab, &r->token_bytes);
    }
    if (cs_npy_named(source) || r->text.model.config.picture.patch > 0) {
        return CS_OK;
    }
    cs_status status = cs_args_open_corpus(args, source, &options);
    return status == CS_OK ? bytes_a_token(&r->text.corpus, source, &options,
                                           cs_args_text(args, "split"), &r->bytes_a_token)
                           : status;
}

/* --- the baseline --- */

/* A unigram of the training documents of --unigram, in the model's tokens; the text to be evaluated
 * is taken as it was loaded. */
static cs_status fit_unigram(cs_args *args, run *r)
{
    const char *source = cs_args_text(args, "unigram");
    if (!source) {
        return CS_OK;
    }
    int64_t vocab = r->text.model.config.shape.vocab;
    CS_AUTO(cs_corpus) other = {0};
    const cs_corpus *corpus = &r->text.corpus;
    cs_status status = CS_OK;
    if (strcmp(source, cs_args_positional(args, 1)) != 0) {
        corpus = &other;
        status = cs_args_encode_corpus(args, source, &r->text, &other);
    }
    if (status == CS_OK) {
        r->unigram = cs_alloc(vocab, sizeof *r->unigram);
        status = r->unigram
                     ? cs_blame(cs_unigram_of(corpus, vocab, r->unigram), "--unigram %s", source)
                     : CS_ERR_MEMORY;
    }
    return status;
}

/* --- the result --- */

static cs_status measure(const cs_args *args, run *r)
{
    cs_ask ways[CS_ASKS];
    int count = cs_asks_of(r->options.kind, ways);
    cs_status status = check_asks(args, r);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        if (is_wanted(args, r, ways[i])) {
            cs_perplexity_answer *a = &r->answer[r->answers++];
            r->options.ask = a->ask = ways[i];
            status = cs_perplexity_of(&r->text.model, &r->text.corpus, &r->options, &a->p);
        }
    }
    return status;
}

static cs_status report(cs_args *args, const run *r)
{
    static const cs_view table = {"results[].~numbers[]",
                                  "model=/model ask=^ask metric value low high se n=^tokens"},
                         by_length = {"results[].by_length[]",
                                      "model=/model ask=^ask k nll se n unigram unigram_se "
                                      "difference difference_se"},
                         blocks = {"results[].~numbers[].~left_out[]",
                                   "model=/model ask=^^ask metric=^metric block=# value=. "
                                   "partition=/~partition"},
                         length_blocks = {"results[].by_length[].~left_out[]",
                                          "model=/model ask=^^ask k=^k block=# nll unigram "
                                          "difference partition=/~partition"};
    char partition[33];
    cs_item *root = cs_output_root(args);
    cs_item_text(root, "model", r->text.dir);
    cs_item_text(root, "corpus", cs_args_positional(args, 1));
    cs_item_text(root, "kind", cs_kind_name(r->options.kind));
    if (r->options.decoder) {
        cs_item_text(root, "source", cs_args_text(args, "source"));
        cs_item_text(root, "sources", cs_args_text(args, "sources"));
    }
    cs_item_text(root, "query_position", r->text.kind.query_position);
    cs_perplexity_record(r->answers, r->answer, r->bytes_a_token, root);
    cs_status status = cs_corpus_partition(&r->text.corpus, r->options.keep, r->options.blocks,
                                           r->options.seed, partition);
    if (status == CS_OK) cs_item_text(root, "~partition", partition);
    if (status == CS_OK) status = cs_output_csv(args, "by-length.csv", &by_length);
    if (status == CS_OK) status = cs_output_csv(args, "perplexity-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_csv(args, "by-length-blocks.csv", &length_blocks);
    return status == CS_OK ? cs_output_record(args, "perplexity", &table) : status;
}

/* Of the documents that are scored. */
static void note_unknown(const cs_args *args, const run *r)
{
    const cs_corpus *c = &r->text.corpus;
    int64_t unknown = 0, tokens = 0;
    for (int64_t d = 0; d < c->documents && c->unknown_tokens > 0; ++d) {
        if (r->options.keep && !r->options.keep[d]) continue;
        for (int64_t i = c->doc_ptr[d]; i < c->doc_ptr[d + 1]; ++i) {
            unknown += c->token[i] == c->unknown;
        }
        tokens += c->doc_ptr[d + 1] - c->doc_ptr[d];
    }
    if (unknown > 0)
        cs_output_note(args,
                       "%lld of %lld tokens of the text are unknown and scored as <unk>, so "
                       "perplexity and bits per byte are too low",
                       (long long)unknown, (long long)tokens);
}

static cs_status run_perplexity(cs_args *args)
{
    run r = {0};
    cs_status status = cs_args_model_open(args, cs_args_positional(args, 0), &r.text);
    if (status == CS_OK) status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r.text);
    if (status == CS_OK) status = count_bytes(args, &r);
    if (status == CS_OK) status = fit_unigram(args, &r);
    if (status == CS_OK) status = take_options(args, &r);
    if (status == CS_OK) status = take_losses(args, &r);
    if (status == CS_OK) {
        note_unknown(args, &r);
        status = measure(args, &r);
    }
    if (status == CS_OK) status = report(args, &r);
    for (int i = 0; i < r.answers; ++i) {
        cs_perplexity_free(&r.answer[i].p);
    }
    cs_array_free(&r.losses);
    CS_FREE_FIELDS(&r, token_bytes, unigram);
    cs_model_text_free(&r.text);
    return status;
}

static const cs_opt perplexity_options[] = {
    CS_EXTRA,
    {"ask", 0, CS_OPT_NAME, "auto|prefix|append|remaining|pseudo|elbo|all", "auto", 0, 0,
     "How masked, mntp and mae-lm models predict (see above), or several ways as append,pseudo. "
     "auto: append and remaining where they differ.",
     false},
    CS_CHOICE("kind", "auto|causal|masked|two-stream|mae-lm|linear|mntp|hybrid", "auto",
              "Kind of model. auto: as trained, else by its architecture."),
    CS_CHOICE("first", "auto|yes|no", "auto",
              "Also predict the first token of a piece. auto: if the model was trained to, or if a "
              "causal model reads a begin token (--special)."),
    CS_INT("fill", "S", NULL, 1, 1 << 20,
           "--ask remaining: put [MASK] up to length S. Default: the length of the piece, which "
           "reveals that length to the model."),
    CS_INT("positions", "N", NULL, 1, 1 << 20,
           "Predict only N tokens of a piece, drawn by --seed, where each needs its own pass. "
           "Weights make the estimate unbiased."),
    CS_TEXT("unigram", "FILE|CORPUS", NULL,
            "Add a unigram baseline from this text (without its test share, counts plus one) and "
            "the paired difference. A useful model is below it."),
    CS_TEXT(
        "losses", "FILE.npy", NULL,
        "Causal models: take -log p of each token from here (cospec features --losses, with the "
        "same options for the text), and do not run the model."),
    CS_INT("blocks", "B", "20", 2, 1000, "Blocks of documents for the delete-block jackknife."),
    {0},
};

const cs_command cs_cmd_perplexity = {
    .name = "perplexity",
    .help = &cs_help_perplexity,
    .positional = "MODEL FILE|CORPUS",
    .main = "ask unigram split limit max-length batch device output",
    .groups = (const cs_opt *const[]){perplexity_options, cs_group_stack, cs_group_sources,
                                      cs_group_model_text, cs_group_roles, cs_group_attention,
                                      cs_group_corpus_form, NULL},
    .run = run_perplexity,
    .files = "perplexity.json perplexity.csv by-length.csv perplexity-blocks.csv "
             "by-length-blocks.csv",
    .without = "dry-run resume",
    .gpu = true,
    .shown = "model ask metric value low high n",
    .metrics = "perplexity,nll,bits_per_byte,pseudo_perplexity,pseudo_nll,pseudo_bits_per_byte,"
               "perplexity_bound,nll_bound,bits_per_byte_bound,unigram_nll,unigram_difference",
};
