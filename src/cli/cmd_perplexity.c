/* cospec perplexity: next-token perplexity of a model of any kind. */
#include "infer/perplexity.h"

#include <math.h>
#include <string.h>

#include "analysis/trained/text_bytes.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "io/file.h"
#include "stats/jackknife.h"
#include "stats/student.h"

enum { WAYS = 4 };

/* What one way of asking gave. */
typedef struct {
    cs_ask ask;
    cs_perplexity p;
} answer;

typedef struct {
    cs_model_text text;
    cs_perplexity_options options;
    cs_content_masks masks;
    int32_t *token_bytes;
    double *unigram;      /* nats of a token; NULL: not asked for */
    double bytes_a_token; /* where token_bytes are not known; NaN: there is no text */
    answer answer[WAYS];
    int answers;
} run;

/* --- options --- */

static cs_status take_kind(const cs_args *args, run *r)
{
    const char *kind = cs_args_text(args, "kind"), *first = cs_args_text(args, "first");
    cs_status status = CS_OK;
    r->options.kind = r->text.kind.kind;
    if (strcmp(kind, "auto") != 0) {
        status = cs_kind_by_name(kind, &r->options.kind);
    }
    if (status == CS_OK && !r->text.kind.likelihood)
        status = cs_fail(CS_ERR_USAGE,
                         "%s was trained with the %s loss: its outputs are no probabilities",
                         r->text.dir, cs_loss_name(r->text.kind.loss));
    r->options.from_nothing =
        strcmp(first, "auto") == 0 ? r->text.kind.from_nothing : strcmp(first, "yes") == 0;
    return status;
}

/* Two-stream models can be asked with their prefix under any masks; of the others the way of asking
 * says what a row sees, and another would show it what it is asked for. */
static cs_status take_masks(const cs_args *args, run *r)
{
    const cs_kind kind = r->options.kind;
    cs_status status = cs_args_attention(args, &r->text, &r->masks);
    if (status != CS_OK) return status;
    if (kind == CS_KIND_TWO_STREAM) {
        r->options.content = r->masks.attention == CS_ATTENTION_CAUSAL ? NULL : &r->masks;
        return CS_OK;
    }
    return cs_args_is(args, "attention", "auto") ||
                   r->masks.attention == cs_kind_attention(kind, NULL)
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "--attention %s: a %s model is asked under its own masks",
                         cs_args_text(args, "attention"), cs_kind_name(kind));
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
    o->progress = cs_output_progress(args);
    cs_status status = take_kind(args, r);
    if (status == CS_OK) status = take_masks(args, r);
    return status == CS_OK ? cs_args_around(args, &r->text, &o->around) : status;
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
    const char *wanted = cs_args_text(args, "ask");
    if (strcmp(wanted, cs_ask_name(ask)) == 0 || strcmp(wanted, "all") == 0) {
        return true;
    }
    return strcmp(wanted, "auto") == 0 && ask != CS_ASK_PSEUDO &&
           (ask != CS_ASK_REMAINING || ways_differ(r));
}

/* --- bytes --- */

/* Tokenizers other than byte-level BPE lose bytes: those of the text are shared out. */
static cs_status count_bytes(cs_args *args, run *r)
{
    const char *source = cs_args_positional(args, 1);
    cs_corpus_options options = {0};
    r->bytes_a_token = (double)NAN;
    if (r->text.tokenizer && cs_tokenizer_is_byte_level(r->text.tokenizer)) {
        return cs_token_bytes(r->text.tokenizer, r->text.model.config.vocab, &r->token_bytes);
    }
    if (cs_has_suffix(source, ".npy") || r->text.model.config.patch > 0) {
        return CS_OK;
    }
    cs_status status = cs_args_open_corpus(args, source, &options);
    return status == CS_OK ? cs_bytes_a_token(&r->text.corpus, source, &options,
                                              cs_args_text(args, "split"), &r->bytes_a_token)
                           : status;
}

/* --- the baseline --- */

/* A unigram of the training documents of --unigram, in the model's tokens; of the text at hand it
 * is taken as it was loaded. */
static cs_status fit_unigram(cs_args *args, run *r)
{
    const char *source = cs_args_text(args, "unigram");
    if (!source) {
        return CS_OK;
    }
    int64_t vocab = r->text.model.config.vocab;
    cs_corpus other = {0};
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
    cs_corpus_free(&other);
    return status;
}

/* --- the result --- */

/* A value with its 95% interval. */
typedef struct {
    const char *metric;
    double value, low, high, se;
} number;

static number symmetric(const char *metric, double value, double width, double se)
{
    number n = {metric, value, value - width * se, value + width * se, se};
    cs_interval_clip(metric, &n.low, &n.high);
    return n;
}

enum { PERPLEXITY, NLL, BITS, UNIGRAM, DIFFERENCE, NUMBERS };

/* The first three, or all where there is a baseline; how many. */
static int numbers_of(const run *r, const answer *a, number out[NUMBERS])
{
    const cs_perplexity *p = &a->p;
    const bool pseudo = a->ask == CS_ASK_PSEUDO;
    const double width =
        p->blocks > 1 ? cs_student_width(0.95, (double)(p->blocks - 1)) : (double)NAN;
    const double share = 1.0 / (log(2.0) * r->bytes_a_token);
    number nll = symmetric(pseudo ? "pseudo_nll" : "nll", p->nll, width, p->se);
    out[PERPLEXITY] = (number){pseudo ? "pseudo_perplexity" : "perplexity", exp(p->nll),
                               exp(nll.low), exp(nll.high), exp(p->nll) * p->se};
    out[NLL] = nll;
    out[BITS] = symmetric(pseudo ? "pseudo_bits_per_byte" : "bits_per_byte",
                          r->token_bytes ? p->bits_per_byte : p->nll * share, width,
                          r->token_bytes ? p->bits_se : p->se * share);
    out[UNIGRAM] = symmetric("unigram_nll", p->reference.nll, width, p->reference.se);
    out[DIFFERENCE] = symmetric("unigram_difference", p->difference.nll, width, p->difference.se);
    return r->unigram ? NUMBERS : UNIGRAM;
}

/* Without each block, at k: the nll, and of the baseline and the difference where there is one. */
static void add_left_out(const cs_perplexity *p, int64_t k, cs_item *item)
{
    cs_item *list = cs_item_array(item, "~left_out");
    for (int64_t b = 0; b < p->dealt; ++b) {
        const int64_t at = b * (p->lengths + 1) + k;
        cs_item *block = cs_item_object(list, NULL);
        cs_item_real(block, "nll", p->left_out[at]);
        if (p->reference.left_out) {
            cs_item_real(block, "unigram", p->reference.left_out[at]);
            cs_item_real(block, "difference", p->difference.left_out[at]);
        }
    }
}

/* NLL by the number of tokens seen, with the baseline's and the model's less it. */
static void add_lengths(const cs_perplexity *p, cs_item *list)
{
    const struct {
        const char *name;
        const double *value;
    } beside[] = {{"unigram", p->reference.nll_at},
                  {"unigram_se", p->reference.se_at},
                  {"difference", p->difference.nll_at},
                  {"difference_se", p->difference.se_at}};
    for (int64_t k = 0; k < p->lengths; ++k) {
        if (p->tokens_at[k] == 0) {
            continue;
        }
        cs_item *item = cs_item_object(list, NULL);
        cs_item_int(item, "k", k);
        cs_item_real(item, "nll", p->nll_at[k]);
        cs_item_real(item, "se", p->se_at[k]);
        cs_item_int(item, "n", p->tokens_at[k]);
        for (size_t i = 0; i < sizeof beside / sizeof *beside && beside[i].value; ++i) {
            cs_item_real(item, beside[i].name, beside[i].value[k]);
        }
        add_left_out(p, k, item);
    }
}

/* At the top a pseudo-perplexity is the only one of its three. */
static void add_numbers(const run *r, const answer *a, const number v[NUMBERS], bool top,
                        cs_item *item)
{
    const bool all = !top || a->ask != CS_ASK_PSEUDO;
    cs_item_real(item, v[PERPLEXITY].metric, v[PERPLEXITY].value);
    CS_ITEM_FIELDS(item, &v[PERPLEXITY], low, high);
    if (all) cs_item_real(item, v[NLL].metric, v[NLL].value);
    cs_item_real(item, "se", v[NLL].se);
    if (all) cs_item_real(item, v[BITS].metric, v[BITS].value);
    if (top) cs_item_int(item, "tokens", a->p.tokens);
    if (r->unigram) {
        cs_item_real(item, "unigram_nll", v[UNIGRAM].value);
        if (!top) cs_item_real(item, "unigram_se", v[UNIGRAM].se);
        cs_item_real(item, "unigram_difference", v[DIFFERENCE].value);
        cs_item_real(item, "unigram_difference_se", v[DIFFERENCE].se);
    }
}

static void add_result(const run *r, const answer *a, cs_item *results)
{
    const cs_perplexity *p = &a->p;
    number v[NUMBERS];
    const int count = numbers_of(r, a, v);
    cs_item *item = cs_item_object(results, NULL);
    cs_item_text(item, "ask", cs_ask_name(a->ask));
    CS_ITEM_FIELDS(item, p, documents, pieces, tokens, blocks);
    add_lengths(p, cs_item_array(item, "by_length"));
    cs_item *rows = cs_item_array(item, "~numbers");
    for (int i = 0; i < count; ++i) {
        cs_item *row = cs_item_object(rows, NULL);
        CS_ITEM_FIELDS(row, &v[i], metric, value, low, high, se);
        cs_item *list = cs_item_array(row, "~left_out");
        const bool own = i == BITS && r->token_bytes; /* else bits are nats, scaled */
        const double *left_out = i == PERPLEXITY   ? NULL
                                 : i == UNIGRAM    ? p->reference.left_out
                                 : i == DIFFERENCE ? p->difference.left_out
                                                   : p->left_out,
                     scale = i == BITS && !own ? 1.0 / (log(2.0) * r->bytes_a_token) : 1.0;
        for (int64_t b = 0; left_out && b < p->dealt; ++b) {
            const double x = left_out[b * (p->lengths + 1) + p->lengths];
            cs_item_real(list, NULL, own ? p->bits_left_out[b] : scale * x);
        }
    }
    add_numbers(r, a, v, false, item);
}

/* The numbers of the first way are at the top too. */
static void add_top(const run *r, cs_item *root)
{
    const answer *a = &r->answer[0];
    number v[NUMBERS];
    (void)numbers_of(r, a, v);
    cs_item_text(root, "ask", cs_ask_name(a->ask));
    add_numbers(r, a, v, true, root);
}

static cs_status measure(const cs_args *args, run *r)
{
    cs_ask ways[WAYS];
    int count = cs_asks_of(r->options.kind, ways);
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        if (is_wanted(args, r, ways[i])) {
            answer *a = &r->answer[r->answers++];
            r->options.ask = a->ask = ways[i];
            status = cs_perplexity_of(&r->text.model, &r->text.corpus, &r->options, &a->p);
        }
    }
    if (status == CS_OK && r->answers == 0)
        status = cs_fail(CS_ERR_USAGE, "--ask %s has no meaning for a %s model",
                         cs_args_text(args, "ask"), cs_kind_name(r->options.kind));
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
    cs_item_text(root, "query_position", r->text.kind.query_position);
    add_top(r, root);
    cs_item *results = cs_item_array(root, "results");
    for (int i = 0; i < r->answers; ++i) {
        add_result(r, &r->answer[i], results);
    }
    cs_status status = cs_corpus_partition(&r->text.corpus, r->options.keep, r->options.blocks,
                                           r->options.seed, partition);
    if (status == CS_OK) cs_item_text(root, "~partition", partition);
    if (status == CS_OK) status = cs_output_csv(args, "by-length.csv", &by_length);
    if (status == CS_OK) status = cs_output_csv(args, "perplexity-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_csv(args, "by-length-blocks.csv", &length_blocks);
    return status == CS_OK ? cs_output_record(args, "perplexity", &table) : status;
}

static void note_unknown(const cs_args *args, const run *r)
{
    const cs_corpus *c = &r->text.corpus;
    if (c->unknown_tokens > 0) {
        cs_output_note(args,
                       "%lld of %lld tokens of the text are <unk>: what stood there is not paid "
                       "for, so perplexity and bits per byte flatter the model",
                       (long long)c->unknown_tokens, (long long)c->tokens);
    }
}

static cs_status run_perplexity(cs_args *args)
{
    run r = {0};
    cs_status status = cs_args_model_open(args, cs_args_positional(args, 0), &r.text);
    if (status == CS_OK) status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r.text);
    if (status == CS_OK) status = count_bytes(args, &r);
    if (status == CS_OK) status = fit_unigram(args, &r);
    if (status == CS_OK) status = take_options(args, &r);
    if (status == CS_OK) {
        note_unknown(args, &r);
        status = measure(args, &r);
    }
    if (status == CS_OK) status = report(args, &r);
    for (int i = 0; i < r.answers; ++i) {
        cs_perplexity_free(&r.answer[i].p);
    }
    cs_free(r.token_bytes);
    cs_free(r.unigram);
    cs_model_text_free(&r.text);
    return status;
}

static const cs_opt perplexity_options[] = {
    CS_CHOICE("ask", "auto|append|remaining|pseudo|all", "auto",
              "Masked and mae-lm models: one [MASK] behind the prefix, [MASK] at all remaining "
              "positions, or each token masked in turn (no likelihood). auto: the first two where "
              "they differ."),
    CS_CHOICE("kind", "auto|causal|masked|two-stream|mae-lm|linear", "auto",
              "What the model is taken for. auto: as it was trained, else by its architecture."),
    CS_CHOICE("first", "auto|yes|no", "auto",
              "Predict the first token of a piece too, from nothing. auto: where the model was "
              "trained to."),
    CS_INT("fill", "S", NULL, 1, 1 << 20,
           "--ask remaining: [MASK] up to length S. Default: the piece's own length, which the "
           "model thereby learns."),
    CS_INT("positions", "N", NULL, 1, 1 << 20,
           "Masked and mae-lm models: only N tokens of a piece, drawn by --seed, are predicted, "
           "and weighted so that the mean over draws is that of all."),
    CS_TEXT("unigram", "FILE|CORPUS", NULL,
            "Beside the model the frequencies of its own tokens in this text, documents of the "
            "test share left out, plus one each: the same predictions without any context, and "
            "the paired difference. A model that is not below predicts no better than one that "
            "sees nothing."),
    CS_INT("blocks", "B", "20", 2, 1000, "Blocks of documents for the delete-block jackknife."),
    {0},
};

const cs_command cs_cmd_perplexity = {
    .name = "perplexity",
    .summary = "Next-token perplexity of causal, masked, two-stream and MAE-LM models",
    .description =
        "  perplexity = exp( -mean log p(x_{k+1} | x_1 .. x_k) )\n\n"
        "over the tokens of consecutive pieces of at most --max-length. MODEL and CORPUS are as "
        "for cospec features. A causal model is run once a piece; a two-stream model too, with a "
        "query at position k+1 that sees the prefix. A masked model needs one forward pass a "
        "predicted token, n times the work on pieces of n tokens: --positions and --limit bound "
        "it. The encoder of an mae-lm model reads the prefix, and [MASK] at the share --delta of "
        "the masked positions that it was trained with.\n\n"
        "Intervals are 95%: standard errors by delete-block jackknife over documents, times "
        "Student's quantile with one degree of freedom less than blocks. Bits per byte are exact "
        "with byte-level BPE; with other tokenizers the bytes of the text are shared out over its "
        "tokens. DIR receives perplexity.csv, perplexity.json and by-length.csv, the negative "
        "log-likelihood by the number k of tokens seen (in --json too).",
    .positional = "MODEL FILE|CORPUS",
    .groups = (const cs_opt *const[]){perplexity_options, cs_group_model_text, cs_group_attention,
                                      cs_group_corpus_form, NULL},
    .examples = "# two small models of one text, on its held-out lines\n"
                "cospec train --corpus verses.txt --objective ar --steps 5 --width 32 --layers 2 "
                "--batch 8 -o ar\n"
                "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 "
                "--layers 2 --batch 8 -o masked\n"
                "cospec perplexity ar verses.txt --split test --unigram verses.txt\n"
                "cospec perplexity masked verses.txt --split test --positions 4 -o figures",
    .run = run_perplexity,
    .files = "perplexity.json perplexity.csv by-length.csv perplexity-blocks.csv "
             "by-length-blocks.csv",
    .without = "dry-run resume",
    .gpu = true,
    .shown = "model ask metric value low high n",
    .metrics = "perplexity,nll,bits_per_byte,pseudo_perplexity,pseudo_nll,pseudo_bits_per_byte,"
               "unigram_nll,unigram_difference",
};
