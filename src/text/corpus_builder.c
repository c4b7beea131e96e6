/* Tokenizes each document once into words numbered by first appearance, then renumbers by rank: one
 * pass over the text, 4 bytes a token, the result independent of hash and threads. Parts of a text
 * are read side by side, each thread with its own builder, whose words are merged. Words of dropped
 * documents do not count towards the vocabulary; those of held-out documents do. */
#include "base/auto.h"
#include "text/corpus_builder_private.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "text/tokenizer.h"

enum { RENUMBERED = 1 << 20 }; /* tokens of an item */

static const char unknown_word[] = "<unk>";

cs_status cs_corpus_options_resolve(const cs_corpus_options *options, cs_corpus_options *out)
{
    cs_corpus_options o = options ? *options : (cs_corpus_options){.test_share = -1};
    if (o.vocab_size < -1) {
        return cs_fail(CS_ERR_USAGE, "vocabulary size %lld is neither positive nor -1 (all words)",
                       (long long)o.vocab_size);
    }
    if (o.vocab_size >= INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "vocabulary size %lld exceeds %d", (long long)o.vocab_size,
                       INT32_MAX - 1);
    }
    if (o.min_tokens < 0) {
        return cs_fail(CS_ERR_USAGE, "minimum number of tokens %lld is negative",
                       (long long)o.min_tokens);
    }
    if (o.label_column < -1 || o.text_column < 0 || o.pair_column < CS_PAIR_WANTED) {
        return cs_fail(CS_ERR_USAGE, "label column %lld, text column %lld or %lld is out of range",
                       (long long)o.label_column, (long long)o.text_column,
                       (long long)o.pair_column);
    }
    if (!(o.test_share < 1)) {
        return cs_fail(CS_ERR_USAGE, "test share %g is not below 1", o.test_share);
    }
    o.vocab_size = o.vocab_size == 0 ? 8000 : o.vocab_size;
    o.min_tokens = o.min_tokens == 0 ? 1 : o.min_tokens;
    o.test_share = o.test_share < 0 ? 0.2 : o.test_share;
    *out = o;
    return CS_OK;
}

bool cs_corpus_holds_out(const cs_corpus_options *options, const void *key, int64_t size)
{
    return cs_hash_below(key, (size_t)size, options->seed, options->test_share);
}

void cs_corpus_builder_init(cs_corpus_builder *b, const cs_corpus_options *resolved)
{
    *b = (cs_corpus_builder){.options = *resolved,
                             .splitter = {.kind = resolved->splitter},
                             .rules = {.rule = resolved->invalid, .refused = resolved->refused}};
    if (!resolved->refused) {
        b->rules.refused = &b->refused;
    }
    if (resolved->encoder) {
        cs_encoder_init(&b->encoder, resolved->encoder);
    }
}

void cs_corpus_builder_free(cs_corpus_builder *b)
{
    cs_splitter_free(&b->splitter);
    cs_encoder_free(&b->encoder);
    cs_word_table_free(&b->words);
    cs_word_table_free(&b->labels);
    cs_corpus_free(&b->made);
    cs_free(b->number);
    cs_free(b->refused.report);
    memset(b, 0, sizeof *b);
}

static cs_status reserve_tokens(cs_corpus_builder *b, int64_t more)
{
    cs_corpus *c = &b->made;
    return cs_reserve(&c->token, &b->token_capacity, c->tokens + more, sizeof *c->token);
}

cs_status cs_corpus_builder_expect(cs_corpus_builder *b, int64_t bytes)
{
    enum { BYTES_PER_TOKEN = 4 }; /* most text has more */
    const int64_t more = bytes / BYTES_PER_TOKEN;
    if (more == 0) return CS_OK;
    cs_status status = reserve_tokens(b, more);
    const int64_t size = sizeof *b->made.token;
    if (status == CS_OK) cs_mem_large_pages(b->made.token + b->made.tokens, more * size);
    return status;
}

static cs_status reserve_document(cs_corpus_builder *b)
{
    cs_corpus *c = &b->made;
    const int64_t n = c->documents + 1;
    cs_status status = cs_reserve(&c->doc_ptr, &b->ptr_capacity, n + 1, sizeof *c->doc_ptr);
    if (status == CS_OK) status = cs_reserve(&c->label, &b->label_capacity, n, sizeof *c->label);
    if (status == CS_OK)
        status = cs_reserve(&c->held_out, &b->held_capacity, n, sizeof *c->held_out);
    if (status == CS_OK && b->in_parts)
        status = cs_reserve(&b->number, &b->number_capacity, n, sizeof *b->number);
    if (status == CS_OK) c->doc_ptr[0] = 0;
    return status;
}

static cs_status look_up(cs_corpus_builder *b, const cs_word_key *key)
{
    int32_t word = 0;
    cs_status status = reserve_tokens(b, 1);
    if (status == CS_OK) status = cs_word_table_find_key(&b->words, key, &word);
    if (status == CS_OK) b->made.token[b->made.tokens++] = word;
    return status;
}

static cs_status look_up_ahead(cs_corpus_builder *b)
{
    cs_status status = CS_OK;
    for (int i = 0; i < b->lookahead.count && status == CS_OK; ++i) {
        status = look_up(b, &b->lookahead.key[i]);
    }
    b->lookahead.count = 0;
    return status;
}

/* Appends the document's tokens. */
static cs_status tokenize(cs_corpus_builder *b, const cs_document *document)
{
    const cs_splitter *s = &b->splitter;
    cs_words_lookahead *a = &b->lookahead;
    cs_splitter_start(&b->splitter, document->text, document->size);
    for (;;) {
        bool found = false, is_long = false;
        cs_status status = cs_splitter_next(&b->splitter, &found);
        is_long = found && s->size > CS_WORD_AHEAD_SIZE;
        if (status == CS_OK && (!found || is_long || a->count == CS_WORDS_AHEAD))
            status = look_up_ahead(b);
        if (status != CS_OK || !found) return status;
        if (is_long) {
            const cs_word_key key = cs_word_table_fetch(&b->words, s->token, s->size);
            if ((status = look_up(b, &key)) != CS_OK) return status;
        } else {
            /* of a size that is known, since the splitter's buffer has that much */
            char *text = memcpy(a->text[a->count], s->token, CS_WORD_AHEAD_SIZE);
            a->key[a->count++] = cs_word_table_fetch(&b->words, text, s->size);
        }
    }
}

/* The same with the tokens of the encoder. */
static cs_status encode(cs_corpus_builder *b, const cs_document *document)
{
    cs_status status = cs_encoder_encode(&b->encoder, document->text, document->size, false);
    if (status == CS_OK) status = reserve_tokens(b, b->encoder.count);
    if (status == CS_OK && b->encoder.count > 0) {
        memcpy(b->made.token + b->made.tokens, b->encoder.id,
               (size_t)b->encoder.count * sizeof *b->encoder.id);
        b->made.tokens += b->encoder.count;
    }
    return status;
}

/* Number of the document to come, where that decides whether it is held out; else -1. */
static int64_t number_of(const cs_corpus_builder *b, const cs_document *document)
{
    return document->split == CS_DOCUMENT_HASHED && document->key_size == 0
               ? b->made.documents + b->made.dropped_documents - b->first_number
               : -1;
}

static bool held_out(const cs_corpus_builder *b, const cs_document *document)
{
    if (document->split != CS_DOCUMENT_HASHED) {
        return document->split == CS_DOCUMENT_TEST;
    }
    if (document->key_size > 0) {
        return cs_corpus_holds_out(&b->options, document->key, document->key_size);
    }
    const int64_t number = number_of(b, document);
    return cs_corpus_holds_out(&b->options, &number, sizeof number);
}

/* Whether a document is on the side that is read. */
static bool is_wanted(const cs_corpus_builder *b, const cs_document *document)
{
    return b->options.side == CS_DOCUMENT_HASHED ||
           held_out(b, document) == (b->options.side == CS_DOCUMENT_TEST);
}

cs_status cs_corpus_builder_add(cs_corpus_builder *b, const cs_document *document)
{
    if (!is_wanted(b, document)) {
        return CS_OK;
    }
    if (b->options.take) {
        bool out = held_out(b, document);
        b->made.documents += 1;
        return b->options.take(b->options.to, document, out, &b->enough);
    }
    cs_status status = reserve_document(b);
    int64_t first = b->made.tokens;
    if (status == CS_OK) status = b->options.encoder ? encode(b, document) : tokenize(b, document);
    if (status != CS_OK) return status;
    if (b->made.tokens - first < b->options.min_tokens) {
        b->made.tokens = first;
        b->made.dropped_documents += 1;
        return CS_OK;
    }
    for (int64_t i = first; i < b->made.tokens && !b->options.encoder; ++i) {
        b->words.count[b->made.token[i]] += 1;
    }
    int32_t label = -1;
    if (document->label_size > 0) {
        status = cs_word_table_find(&b->labels, document->label, document->label_size, &label);
        if (status != CS_OK) return status;
        b->labels.count[label] += 1;
    }
    b->made.label[b->made.documents] = label;
    b->made.held_out[b->made.documents] = held_out(b, document);
    if (b->in_parts) {
        b->number[b->made.documents] = number_of(b, document);
    }
    b->made.documents += 1;
    b->made.doc_ptr[b->made.documents] = b->made.tokens;
    return CS_OK;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Where a part goes. */
typedef struct {
    int64_t token, document, number; /* the first */
} place;

/* The numbers of a builder's words and labels in the merged corpus. */
typedef struct {
    int32_t *word, *label;
} names;

typedef struct {
    cs_corpus_builder *b;
    cs_corpus_part *part;
    place *place;
    names *names;
} joining;

void cs_corpus_builder_cut(cs_corpus_builder *b, int of, cs_corpus_part *out)
{
    *out = (cs_corpus_part){of, b->made, b->number};
    b->made = (cs_corpus){.unknown = b->made.unknown};
    b->number = NULL;
    b->token_capacity = b->ptr_capacity = b->label_capacity = b->held_capacity =
        b->number_capacity = 0;
}

void cs_corpus_part_free(cs_corpus_part *part)
{
    cs_corpus_free(&part->made);
    cs_free(part->number);
}

/* The words of a builder in the table of all, with their counts. */
static cs_status take_words(const cs_word_table *from, cs_word_table *all, int32_t **out)
{
    int32_t *map = cs_alloc(from->words, sizeof *map);
    cs_status status = map ? CS_OK : CS_ERR_MEMORY;
    for (int64_t w = 0; w < from->words && status == CS_OK; ++w) {
        const int64_t start = from->start[w], size = from->start[w + 1] - start;
        status = cs_word_table_find(all, from->text + start, size, &map[w]);
        if (status == CS_OK) {
            all->count[map[w]] += from->count[w];
        }
    }
    *out = map;
    return status;
}

static cs_status copy_part(void *ctx, int64_t item)
{
    const joining *j = ctx;
    const place *at = &j->place[item];
    cs_corpus_part *part = &j->part[item];
    const names *called = &j->names[part->builder];
    const cs_corpus_options *o = &j->b->options;
    cs_corpus *to = &j->b->made, *from = &part->made;
    for (int64_t i = 0; i < from->tokens; ++i) {
        to->token[at->token + i] = o->encoder ? from->token[i] : called->word[from->token[i]];
    }
    for (int64_t d = 0; d < from->documents; ++d) {
        const int64_t n = at->number + part->number[d];
        to->doc_ptr[at->document + d + 1] = at->token + from->doc_ptr[d + 1];
        to->label[at->document + d] = from->label[d] < 0 ? -1 : called->label[from->label[d]];
        if (j->b->in_parts) {
            j->b->number[at->document + d] = part->number[d] < 0 ? -1 : n;
        }
        to->held_out[at->document + d] =
            part->number[d] < 0 ? from->held_out[d] : cs_corpus_holds_out(o, &n, sizeof n);
    }
    cs_free(from->token);
    from->token = NULL;
    return CS_OK;
}

cs_status cs_corpus_builder_join(cs_corpus_builder *b, const cs_corpus_builder *from, int builders,
                                 cs_corpus_part *part, int64_t parts)
{
    cs_corpus *c = &b->made;
    CS_AUTO(cs_pool) pool = {0};
    joining j = {b, part, cs_pool_take(&pool, parts, sizeof *j.place),
                 cs_pool_take(&pool, builders, sizeof *j.names)};
    cs_status status = pool.status;
    for (int i = 0; i < builders && status == CS_OK; ++i) {
        status = take_words(&from[i].words, &b->words, &j.names[i].word);
        if (status == CS_OK) status = take_words(&from[i].labels, &b->labels, &j.names[i].label);
        b->rules.bytes += from[i].rules.bytes;
        b->rules.documents += from[i].rules.documents;
    }
    for (int64_t p = 0; p < parts && status == CS_OK; ++p) {
        const cs_corpus *made = &part[p].made;
        j.place[p] =
            (place){c->tokens, c->documents, c->documents + c->dropped_documents - b->first_number};
        c->tokens += made->tokens;
        c->documents += made->documents;
        c->dropped_documents += made->dropped_documents;
    }
    if (status == CS_OK) status = reserve_tokens(b, 0);
    if (status == CS_OK) status = reserve_document(b);
    if (status == CS_OK) cs_mem_large_pages(c->token, c->tokens * (int64_t)sizeof *c->token);
    if (status == CS_OK) status = cs_parallel(parts, b->options.threads, copy_part, &j);
    for (int i = 0; i < builders && j.names; ++i) {
        CS_FREE_FIELDS(&j.names[i], word, label);
    }
    return status;
}

void cs_corpus_builder_renumber(cs_corpus_builder *b, int64_t documents, int64_t before)
{
    for (int64_t d = 0; d < documents; ++d) {
        const int64_t n = b->number[d] + before;
        if (b->number[d] >= 0) {
            b->made.held_out[d] = cs_corpus_holds_out(&b->options, &n, sizeof n);
        }
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Ids of some tokens by rank, and how many of them are unknown. */
typedef struct {
    cs_corpus *corpus;
    const int32_t *id;
    int64_t *unknown; /* by item */
} renumbering;

static cs_status renumber(void *ctx, int64_t item)
{
    const renumbering *r = ctx;
    const int64_t end = (item + 1) * RENUMBERED;
    int64_t unknown = 0;
    for (int64_t i = item * RENUMBERED; i < end && i < r->corpus->tokens; ++i) {
        const int32_t id = r->id[r->corpus->token[i]];
        r->corpus->token[i] = id;
        unknown += id == 0;
    }
    r->unknown[item] = unknown;
    return CS_OK;
}

static cs_status renumber_all(cs_corpus *corpus, int threads, const int32_t *id)
{
    const int64_t items = corpus->tokens / RENUMBERED + 1;
    renumbering r = {corpus, id, cs_calloc(items, sizeof *r.unknown)};
    cs_status status = r.unknown ? cs_parallel(items, threads, renumber, &r) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < items && status == CS_OK; ++i) {
        corpus->unknown_tokens += r.unknown[i];
    }
    cs_free(r.unknown);
    return status;
}

/* The first `kept` ranked words as text, from index `from` of fresh memory. */
static cs_status word_texts(const cs_word_table *table, const int32_t *ranked, int64_t kept,
                            int64_t from, char **text)
{
    for (int64_t i = 0; i < kept; ++i) {
        text[from + i] = cs_word_table_text(table, ranked[i]);
        if (!text[from + i]) return CS_ERR_MEMORY;
    }
    return CS_OK;
}

/* The same of all words in their order. */
static cs_status all_texts(const cs_word_table *table, int64_t from, char **text)
{
    for (int64_t w = 0; w < table->words; ++w) {
        text[from + w] = cs_word_table_text(table, w);
        if (!text[from + w]) return CS_ERR_MEMORY;
    }
    return CS_OK;
}

/* All words as they come, or by rank. */
static cs_status order_words(const cs_corpus_builder *b, int32_t **out, int64_t *count)
{
    if (!b->in_order) {
        return cs_word_table_rank(&b->words, false, out, count);
    }
    *count = b->words.words;
    *out = cs_alloc(*count, sizeof **out);
    for (int64_t i = 0; *out && i < *count; ++i) {
        (*out)[i] = (int32_t)i;
    }
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* Ids 1.. by rank; words past the vocabulary, and a literal <unk> in the text, become 0. */
static cs_status rank_words(cs_corpus_builder *b)
{
    cs_corpus *out = &b->made;
    CS_AUTO_FREE int32_t *ranked = NULL, *id = NULL;
    int64_t count = 0, kept = 0;
    cs_status status = order_words(b, &ranked, &count);
    if (status != CS_OK) return status;
    id = cs_calloc(b->words.words, sizeof *id);
    if (!id) {
        status = CS_ERR_MEMORY;
        return status;
    }
    for (int64_t i = 0; i < count; ++i) {
        const cs_word_table *t = &b->words;
        const int64_t *start = t->start + ranked[i];
        bool unknown = start[1] - start[0] == (int64_t)sizeof unknown_word - 1 &&
                       memcmp(t->text + *start, unknown_word, sizeof unknown_word - 1) == 0;
        if (!unknown && (b->options.vocab_size < 0 || kept < b->options.vocab_size)) {
            ranked[kept++] = ranked[i];
            id[ranked[kept - 1]] = (int32_t)kept;
        }
    }
    if ((status = renumber_all(out, b->options.threads, id)) != CS_OK) return status;
    out->word = cs_calloc(kept + 1, sizeof *out->word);
    if (!out->word) {
        status = CS_ERR_MEMORY;
        return status;
    }
    out->vocab = kept + 1;
    out->word[0] = cs_strdup(unknown_word);
    status = out->word[0] ? word_texts(&b->words, ranked, kept, 1, out->word) : CS_ERR_MEMORY;
    return status;
}

/* The words of an encoder's corpus are all tokens of its vocabulary. */
cs_status cs_corpus_take_vocabulary(const cs_tokenizer *encoder, cs_corpus *corpus)
{
    int64_t vocab = cs_tokenizer_vocab(encoder);
    corpus->word = cs_calloc(vocab, sizeof *corpus->word);
    if (!corpus->word) return CS_ERR_MEMORY;
    corpus->vocab = vocab;
    corpus->unknown = cs_tokenizer_special(encoder, CS_TOKEN_UNK);
    for (int64_t i = 0; i < vocab; ++i) {
        corpus->word[i] = cs_strdup(cs_tokenizer_token(encoder, (int32_t)i));
        if (!corpus->word[i]) return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < corpus->tokens; ++i) {
        corpus->unknown_tokens += corpus->token[i] == corpus->unknown;
    }
    return CS_OK;
}

static cs_status rank_labels(cs_corpus_builder *b)
{
    cs_corpus *out = &b->made;
    CS_AUTO_FREE int32_t *ranked = NULL, *id = NULL;
    int64_t count = 0;
    cs_status status = cs_word_table_rank(&b->labels, true, &ranked, &count);
    if (status != CS_OK) return status;
    id = cs_calloc(b->labels.words, sizeof *id);
    out->label_name = cs_calloc(count, sizeof *out->label_name);
    if (!id || !out->label_name) {
        status = CS_ERR_MEMORY;
        return status;
    }
    out->labels = count;
    for (int64_t i = 0; i < count; ++i) {
        id[ranked[i]] = (int32_t)i;
    }
    for (int64_t d = 0; d < b->made.documents; ++d) {
        b->made.label[d] = b->made.label[d] < 0 ? -1 : id[b->made.label[d]];
    }
    status = word_texts(&b->labels, ranked, count, 0, out->label_name);
    return status;
}

/* Frees the capacity that growth left over. */
static void trim(void **p, int64_t count, size_t size)
{
    void *smaller = cs_realloc(*p, count, size);
    if (smaller) {
        *p = smaller;
    } else {
        cs_reason_clear(); /* the larger block serves as well */
    }
}

cs_status cs_corpus_builder_give_words(cs_corpus_builder *b, const cs_word_table *words)
{
    cs_corpus *out = &b->made;
    CS_AUTO_FREE int32_t *id = cs_calloc(b->words.words, sizeof *id);
    if (!id) return CS_ERR_MEMORY;
    for (int64_t w = 0; w < b->words.words; ++w) {
        const int64_t start = b->words.start[w], size = b->words.start[w + 1] - start;
        id[w] = cs_word_table_get(words, b->words.text + start, size) + 1;
    }
    cs_status status = renumber_all(out, b->options.threads, id);
    if (status != CS_OK) return status;
    out->word = cs_calloc(words->words + 1, sizeof *out->word);
    if (!out->word) return CS_ERR_MEMORY;
    out->vocab = words->words + 1;
    out->word[0] = cs_strdup(unknown_word);
    return out->word[0] ? all_texts(words, 1, out->word) : CS_ERR_MEMORY;
}

cs_status cs_corpus_builder_give_labels(cs_corpus_builder *b, const cs_word_table *labels)
{
    cs_corpus *out = &b->made;
    /* A part without documents has the place, too, at which the first would begin. */
    cs_status status = out->doc_ptr ? CS_OK : reserve_document(b);
    if (status != CS_OK) return status;
    CS_AUTO_FREE int32_t *id = cs_calloc(b->labels.words, sizeof *id);
    out->label_name = cs_calloc(labels->words, sizeof *out->label_name);
    if (!id || !out->label_name) return CS_ERR_MEMORY;
    out->labels = labels->words;
    for (int64_t w = 0; w < b->labels.words; ++w) {
        const int64_t start = b->labels.start[w], size = b->labels.start[w + 1] - start;
        id[w] = cs_word_table_get(labels, b->labels.text + start, size);
    }
    for (int64_t d = 0; d < out->documents; ++d) {
        out->label[d] = out->label[d] < 0 ? -1 : id[out->label[d]];
    }
    return all_texts(labels, 0, out->label_name);
}

cs_status cs_corpus_builder_check(const cs_corpus_builder *b, int64_t documents, int64_t dropped,
                                  int64_t skipped)
{
    if (documents > 0) {
        return CS_OK;
    }
    return skipped > 0
               ? cs_fail(CS_ERR_INPUT,
                         "no documents: all %lld were skipped because they are not valid UTF-8",
                         (long long)skipped)
           : dropped == 0
               ? cs_fail(CS_ERR_INPUT, "no documents: the input is empty")
               : cs_fail(CS_ERR_INPUT, "none of the %lld documents has at least %lld tokens",
                         (long long)dropped, (long long)b->options.min_tokens);
}

void cs_corpus_builder_deliver(cs_corpus_builder *b, cs_corpus *out)
{
    cs_corpus *c = &b->made;
    trim((void **)&c->token, c->tokens, sizeof *c->token);
    trim((void **)&c->doc_ptr, c->documents + 1, sizeof *c->doc_ptr);
    trim((void **)&c->label, c->documents, sizeof *c->label);
    trim((void **)&c->held_out, c->documents, sizeof *c->held_out);
    *out = *c;
    *c = (cs_corpus){0};
}

cs_status cs_corpus_builder_finish(cs_corpus_builder *b, cs_corpus *out)
{
    cs_corpus *c = &b->made;
    cs_status status =
        cs_corpus_builder_check(b, c->documents, c->dropped_documents, b->rules.documents);
    if (status != CS_OK) return status;
    c->invalid_bytes = b->rules.bytes;
    c->invalid_documents = b->rules.documents;
    if (b->options.take) {
        *out = (cs_corpus){.invalid_bytes = c->invalid_bytes,
                           .invalid_documents = c->invalid_documents,
                           .read = c->read};
        return CS_OK;
    }
    status = b->options.encoder ? CS_OK : rank_words(b);
    if (status == CS_OK) status = rank_labels(b);
    if (status == CS_OK && b->options.encoder)
        status = cs_corpus_take_vocabulary(b->options.encoder, c);
    if (status == CS_OK) cs_corpus_builder_deliver(b, out);
    return status;
}
