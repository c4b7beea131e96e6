/* cospec perplexity: next-token perplexity of a model of any kind. */
#include "analysis/perplexity.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/student.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"

typedef struct {
    cs_model_text text;
    cs_perplexity_options options;
    int32_t *token_bytes;
    double *unigram;      /* nats of a token; NULL: not asked for */
    double bytes_a_token; /* where token_bytes are not known; NaN: there is no text */
    json_t *results;
    cs_table table, by_length;
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
    if (status == CS_OK && !r->text.kind.likelihood) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s was trained with the spectral loss: its outputs are no probabilities",
                         r->text.dir);
    }
    r->options.from_nothing =
        strcmp(first, "auto") == 0 ? r->text.kind.from_nothing : strcmp(first, "yes") == 0;
    return status;
}

static cs_status take_options(const cs_args *args, run *r)
{
    cs_perplexity_options *o = &r->options;
    cs_around around = {0};
    o->max_length = cs_args_given(args, "max-length") ? cs_args_int(args, "max-length") : 0;
    o->fill_length = cs_args_given(args, "fill") ? cs_args_int(args, "fill") : 0;
    o->positions = cs_args_given(args, "positions") ? cs_args_int(args, "positions") : 0;
    o->delta = r->text.kind.delta;
    o->decoder_resets = r->text.kind.decoder_resets;
    o->batch = cs_args_int(args, "batch");
    o->blocks = cs_args_int(args, "blocks");
    o->seed = cs_args_seed(args);
    o->keep = r->text.keep;
    o->token_bytes = r->token_bytes;
    o->reference = r->unigram;
    o->progress = cs_output_progress(args);
    cs_status status = take_kind(args, r);
    if (status == CS_OK) {
        status = cs_args_around(args, &r->text, &around);
    }
    o->before = around.before;
    o->befores = around.befores;
    o->after = around.after;
    o->afters = around.afters;
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
    const char *wanted = cs_args_text(args, "ask");
    if (strcmp(wanted, cs_ask_name(ask)) == 0 || strcmp(wanted, "all") == 0) {
        return true;
    }
    return strcmp(wanted, "auto") == 0 && ask != CS_ASK_PSEUDO &&
           (ask != CS_ASK_REMAINING || ways_differ(r));
}

/* --- bytes --- */

/* Byte-level BPE spells every byte as one character. */
static cs_status count_spelling(run *r)
{
    int64_t vocab = cs_tokenizer_vocab(r->text.tokenizer), most = r->text.model.config.vocab;
    most = most > vocab ? most : vocab;
    r->token_bytes = cs_calloc(most, sizeof *r->token_bytes);
    for (int64_t v = 0; r->token_bytes && v < vocab; ++v) {
        for (const char *c = cs_tokenizer_token(r->text.tokenizer, (int32_t)v); *c; ++c) {
            r->token_bytes[v] += ((unsigned char)*c & 0xc0) != 0x80;
        }
    }
    return r->token_bytes ? CS_OK : CS_ERR_MEMORY;
}

typedef struct {
    const char *split;
    int64_t bytes;
} byte_count;

static cs_status add_bytes(void *to, const char *text, int64_t size, bool held_out)
{
    byte_count *c = to;
    (void)text;
    if (strcmp(c->split, "all") == 0 || (strcmp(c->split, "test") == 0) == held_out) {
        c->bytes += size;
    }
    return CS_OK;
}

/* Other tokenizers lose bytes: the text of the whole split is shared out over its tokens. */
static cs_status count_text(cs_args *args, run *r)
{
    const char *source = cs_args_positional(args, 1);
    const cs_corpus *c = &r->text.corpus;
    byte_count count = {.split = cs_args_text(args, "split")};
    cs_corpus_options options = {0};
    int64_t tokens = 0;
    cs_status status = cs_args_open_corpus(args, source, &options);
    if (status == CS_OK) {
        status = cs_corpus_visit(source, &options, add_bytes, &count);
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        bool in = strcmp(count.split, "all") == 0 ||
                  (strcmp(count.split, "test") == 0) == (c->held_out[d] != 0);
        tokens += in ? c->doc_ptr[d + 1] - c->doc_ptr[d] : 0;
    }
    if (tokens > 0) {
        r->bytes_a_token = (double)count.bytes / (double)tokens;
    }
    return status;
}

static cs_status count_bytes(cs_args *args, run *r)
{
    r->bytes_a_token = (double)NAN;
    if (r->text.tokenizer && cs_tokenizer_model(r->text.tokenizer) == CS_TOKENS_BPE) {
        return count_spelling(r);
    }
    return cs_has_suffix(cs_args_positional(args, 1), ".npy") ? CS_OK : count_text(args, r);
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
    cs_corpus_options options = {0};
    const cs_corpus *corpus = &r->text.corpus;
    cs_status status = CS_OK;
    if (strcmp(source, cs_args_positional(args, 1)) != 0) {
        corpus = &other;
        status = cs_args_open_corpus(args, source, &options);
        options.encoder = r->text.tokenizer;
        if (status == CS_OK && !r->text.tokenizer && !cs_has_suffix(source, ".npy")) {
            status = cs_fail(CS_ERR_INPUT, "%s/tokenizer.json: not there, and '%s' is text",
                             r->text.dir, source);
        }
        if (status == CS_OK) {
            status = cs_corpus_load(source, &options, &other);
        }
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

typedef struct {
    const char *metric;
    double value, low, high, se;
} number;

static cs_status add_number(const run *r, cs_table *table, cs_ask ask, const number *n,
                            int64_t tokens)
{
    const struct {
        const char *name;
        double value;
    } column[] = {{"value", n->value}, {"low", n->low}, {"high", n->high}, {"se", n->se}};
    cs_status status = cs_table_row(table);
    if (status == CS_OK && (status = cs_table_text(table, "model", r->text.dir)) == CS_OK &&
        (status = cs_table_text(table, "ask", cs_ask_name(ask))) == CS_OK &&
        (status = cs_table_text(table, "metric", n->metric)) == CS_OK) {
        status = cs_table_int(table, "n", tokens);
    }
    for (size_t i = 0; i < sizeof column / sizeof *column && status == CS_OK; ++i) {
        status = cs_table_real(table, column[i].name, column[i].value);
    }
    return status;
}

/* The baseline's number at k and the model's less it, behind a row by length; and in JSON. */
static cs_status add_unigram_at(cs_table *t, const cs_perplexity *p, int64_t k, json_t *item)
{
    const struct {
        const char *name;
        const double *value;
    } column[] = {{"unigram", p->reference.nll_at},
                  {"unigram_se", p->reference.se_at},
                  {"difference", p->difference.nll_at},
                  {"difference_se", p->difference.se_at}};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof column / sizeof *column && column[i].value && status == CS_OK;
         ++i) {
        status = cs_table_real(t, column[i].name, column[i].value[k]);
        if (status == CS_OK) {
            status = cs_json_set(item, column[i].name, cs_json_number(column[i].value[k]));
        }
    }
    return status;
}

/* NLL by the number of tokens seen, as JSON and as rows of a table. */
static cs_status add_lengths(run *r, cs_ask ask, const cs_perplexity *p, json_t *list)
{
    cs_status status = CS_OK;
    for (int64_t k = 0; k < p->lengths && status == CS_OK; ++k) {
        if (p->tokens_at[k] == 0) {
            continue;
        }
        json_t *item = json_pack("{s:I, s:o, s:o, s:I}", "k", (json_int_t)k, "nll",
                                 cs_json_number(p->nll_at[k]), "se", cs_json_number(p->se_at[k]),
                                 "n", (json_int_t)p->tokens_at[k]);
        cs_table *t = &r->by_length;
        if (!item || json_array_append_new(list, item) != 0) {
            status = cs_fail(CS_ERR_MEMORY, "out of memory for the result");
        } else if ((status = cs_table_row(t)) == CS_OK &&
                   (status = cs_table_text(t, "model", r->text.dir)) == CS_OK &&
                   (status = cs_table_text(t, "ask", cs_ask_name(ask))) == CS_OK &&
                   (status = cs_table_int(t, "k", k)) == CS_OK &&
                   (status = cs_table_real(t, "nll", p->nll_at[k])) == CS_OK &&
                   (status = cs_table_real(t, "se", p->se_at[k])) == CS_OK &&
                   (status = cs_table_int(t, "n", p->tokens_at[k])) == CS_OK) {
            status = add_unigram_at(t, p, k, item);
        }
    }
    return status;
}

/* The baseline over all predictions, and the model less it. */
static cs_status add_unigram(run *r, cs_ask ask, const cs_perplexity *p, double width, json_t *json)
{
    if (!r->unigram) {
        return CS_OK;
    }
    const cs_beside *both[] = {&p->reference, &p->difference};
    static const char *const name[] = {"unigram_nll", "unigram_difference"};
    static const char *const error[] = {"unigram_se", "unigram_difference_se"};
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        double value = both[i]->nll, se = both[i]->se;
        const number n = {name[i], value, value - width * se, value + width * se, se};
        if ((status = cs_json_set(json, name[i], cs_json_number(value))) == CS_OK &&
            (status = cs_json_set(json, error[i], cs_json_number(se))) == CS_OK) {
            status = add_number(r, &r->table, ask, &n, p->tokens);
        }
    }
    return status;
}

static cs_status add_result(run *r, cs_ask ask, const cs_perplexity *p)
{
    double width = p->blocks > 1 ? cs_student_width(0.95, p->blocks - 1) : (double)NAN;
    double margin = width * p->se, share = 1.0 / (log(2.0) * r->bytes_a_token);
    double bits = r->token_bytes ? p->bits_per_byte : p->nll * share;
    double bits_se = r->token_bytes ? p->bits_se : p->se * share;
    const number numbers[] = {{ask == CS_ASK_PSEUDO ? "pseudo_perplexity" : "perplexity",
                               exp(p->nll), exp(p->nll - margin), exp(p->nll + margin),
                               exp(p->nll) * p->se},
                              {ask == CS_ASK_PSEUDO ? "pseudo_nll" : "nll", p->nll, p->nll - margin,
                               p->nll + margin, p->se},
                              {ask == CS_ASK_PSEUDO ? "pseudo_bits_per_byte" : "bits_per_byte",
                               bits, bits - width * bits_se, bits + width * bits_se, bits_se}};
    json_t *lengths = json_array();
    json_t *json =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "ask", cs_ask_name(ask), "documents",
                  (json_int_t)p->documents, "pieces", (json_int_t)p->pieces, "tokens",
                  (json_int_t)p->tokens, "blocks", (json_int_t)p->blocks, "by_length", lengths);
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (size_t i = 0; i < 3 && status == CS_OK; ++i) {
        const number *n = &numbers[i];
        status = cs_json_set(json, n->metric, cs_json_number(n->value));
        if (status == CS_OK && i == 0 &&
            (status = cs_json_set(json, "low", cs_json_number(n->low))) == CS_OK) {
            status = cs_json_set(json, "high", cs_json_number(n->high));
        }
        if (status == CS_OK && i == 1) {
            status = cs_json_set(json, "se", cs_json_number(n->se));
        }
        if (status == CS_OK) {
            status = add_number(r, &r->table, ask, n, p->tokens);
        }
    }
    if (status == CS_OK && (status = add_unigram(r, ask, p, width, json)) == CS_OK) {
        status = add_lengths(r, ask, p, lengths);
    }
    if (status == CS_OK && json_array_append(r->results, json) != 0) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    }
    json_decref(json);
    return status;
}

static cs_status measure(const cs_args *args, run *r)
{
    cs_ask ways[4];
    int count = cs_asks_of(r->options.kind, ways);
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        cs_perplexity p = {0};
        if (!is_wanted(args, r, ways[i])) {
            continue;
        }
        r->options.ask = ways[i];
        status = cs_perplexity_of(&r->text.model, &r->text.corpus, &r->options, &p);
        if (status == CS_OK) {
            status = add_result(r, ways[i], &p);
        }
        cs_perplexity_free(&p);
    }
    if (status == CS_OK && json_array_size(r->results) == 0) {
        status = cs_fail(CS_ERR_USAGE, "--ask %s has no meaning for a %s model",
                         cs_args_text(args, "ask"), cs_kind_name(r->options.kind));
    }
    return status;
}

static cs_status write_lengths(cs_args *args, const run *r)
{
    char *path = NULL;
    if (!cs_args_given(args, "output")) {
        return CS_OK;
    }
    cs_status status = cs_output_path(args, "by-length.csv", &path);
    if (status == CS_OK) {
        status = cs_table_write_csv(&r->by_length, path);
    }
    cs_free(path);
    return status;
}

/* The numbers of the first way stand at the top too. */
static cs_status report(cs_args *args, const run *r)
{
    const json_t *first = json_array_get(r->results, 0);
    json_t *json = json_pack("{s:s, s:s, s:s}", "model", r->text.dir, "corpus",
                             cs_args_positional(args, 1), "kind", cs_kind_name(r->options.kind));
    static const char *const top[] = {"ask",
                                      "perplexity",
                                      "pseudo_perplexity",
                                      "low",
                                      "high",
                                      "nll",
                                      "se",
                                      "bits_per_byte",
                                      "tokens",
                                      "unigram_nll",
                                      "unigram_difference",
                                      "unigram_difference_se"};
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (size_t i = 0; i < sizeof top / sizeof *top && status == CS_OK; ++i) {
        json_t *value = json_object_get(first, top[i]);
        status = value ? cs_json_set(json, top[i], json_incref(value)) : CS_OK;
    }
    if (status == CS_OK &&
        (status = cs_json_set(json, "results", json_incref(r->results))) == CS_OK &&
        (status = write_lengths(args, r)) == CS_OK) {
        status = cs_output_result(args, "perplexity", json, &r->table);
    }
    json_decref(json);
    return status;
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
    run r = {.results = json_array()};
    cs_status status = CS_OK;
    if (cs_args_positionals(args) != 2) {
        return cs_fail(CS_ERR_USAGE, "perplexity takes a MODEL and a FILE or CORPUS");
    }
    if (cs_args_given(args, "output") &&
        ((status = cs_output_claim(args, "perplexity.csv")) != CS_OK ||
         (status = cs_output_claim(args, "by-length.csv")) != CS_OK)) {
        goto done;
    }
    if ((status = cs_table_init(&r.table, "model,ask,metric,value,low,high,se,n")) == CS_OK &&
        (status = cs_table_init(
             &r.by_length, "model,ask,k,nll,se,n,unigram,unigram_se,difference,difference_se")) ==
            CS_OK &&
        (status = cs_args_model_open(args, cs_args_positional(args, 0), &r.text)) == CS_OK &&
        (status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r.text)) == CS_OK &&
        (status = count_bytes(args, &r)) == CS_OK && (status = fit_unigram(args, &r)) == CS_OK &&
        (status = take_options(args, &r)) == CS_OK) {
        note_unknown(args, &r);
        status = measure(args, &r);
    }
    if (status == CS_OK) {
        status = report(args, &r);
    }
done:
    json_decref(r.results);
    cs_table_free(&r.table);
    cs_table_free(&r.by_length);
    cs_free(r.token_bytes);
    cs_free(r.unigram);
    cs_model_text_free(&r.text);
    return status;
}

static const cs_opt perplexity_options[] = {
    {.name = "ask",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|append|remaining|pseudo|all",
     .fallback = "auto",
     .help = "Masked and mae-lm models: one [MASK] behind the prefix, [MASK] at all remaining "
             "positions, or each token masked in turn (no likelihood). auto: the first two where "
             "they differ."},
    {.name = "kind",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|causal|masked|two-stream|mae-lm|linear",
     .fallback = "auto",
     .help = "What the model is taken for. auto: as it was trained, else by its architecture."},
    {.name = "first",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|yes|no",
     .fallback = "auto",
     .help = "Predict the first token of a piece too, from nothing. auto: where the model was "
             "trained to."},
    {.name = "fill",
     .kind = CS_OPT_INT,
     .argument = "S",
     .low = 1,
     .high = 1 << 20,
     .help = "--ask remaining: [MASK] up to length S. Default: the piece's own length, which the "
             "model thereby learns."},
    {.name = "positions",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1 << 20,
     .help = "Masked and mae-lm models: only N tokens of a piece, drawn by --seed, are predicted, "
             "and weighted so that the mean over draws is that of all."},
    {.name = "unigram",
     .kind = CS_OPT_TEXT,
     .argument = "FILE|CORPUS",
     .help = "Beside the model the frequencies of its own tokens in this text, documents of the "
             "test share left out, plus one each: the same predictions without any context, and "
             "the paired difference. A model that is not below predicts no better than one that "
             "sees nothing."},
    {.name = "blocks",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "20",
     .low = 2,
     .high = 1000,
     .help = "Blocks of documents for the delete-block jackknife."},
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
    .groups = (const cs_opt *const[]){perplexity_options, cs_group_model_text, cs_group_corpus_form,
                                      NULL},
    .examples = "# two small models of one text, on its held-out lines\n"
                "cospec train --corpus verses.txt --objective ar --steps 5 --width 32 --layers 2 "
                "--batch 8 -o ar\n"
                "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 "
                "--layers 2 --batch 8 -o masked\n"
                "cospec perplexity ar verses.txt --split test --unigram verses.txt\n"
                "cospec perplexity masked verses.txt --split test --positions 4 -o figures",
    .run = run_perplexity,
    .without = "dry-run resume",
    .gpu = true,
};
