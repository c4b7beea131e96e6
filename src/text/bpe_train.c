/* BPE training with counts kept up to date (Sennrich et al., ACL 2016, Algorithm 1 and the remark
 * on its data structures): a merge only touches the pieces that hold its pair, and changes the
 * counts of the pairs next to each occurrence.
 *
 * A merge may spell a token that is there already, joined from other parts (a run of one character
 * grows by several ways): it then gives that token, and the vocabulary does not grow. Here we
 * differ from the `tokenizers` package in one point: a merged pair's count becomes 0, as it is;
 * there it stays, so that the pair may come up once more when such a token brings it back. */
#include "text/bpe_train.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/threads.h"
#include "text/pair_queue_private.h"
#include "text/pretokenize.h"
#include "text/tokenizer_private.h"
#include "text/utf8_private.h"

enum { DEFAULT_VOCAB = 8192, DEFAULT_FREQUENCY = 2, REPORT_EVERY = 256 };

/* --- pairs ------------------------------------------------------------------------------------- */

/* Counts of pairs of adjacent tokens, and where they occur. Counts change far more often than the
 * most frequent pair is needed, so the queue holds counts as they were when queued: an entry whose
 * pair has lost occurrences since goes back with its present count when it comes up, and a pair
 * that gains some is queued again. Places are linked lists in one block; a place whose pair has
 * gone from the piece is found out when it is used. */

typedef struct {
    int32_t left, right;
    int64_t count; /* occurrences, weighted by the counts of the pieces */
    int32_t place; /* first of its list of places, -1 at the end */
    bool gained;   /* in the list of pairs to be queued */
} bpe_pair;

/* A piece that contains, or once contained, the pair. */
typedef struct {
    int32_t piece, next;
} pair_place;

typedef struct {
    bpe_pair *pair; /* by first appearance */
    int64_t pairs, pair_capacity;
    int32_t *slot; /* open addressing: pair + 1, 0 when free */
    int64_t slots;
    pair_place *place;
    int64_t places, place_capacity;
    int32_t free_place; /* list of places that were freed, -1 when empty */
    int32_t *gained;    /* pairs that gained occurrences since the last queueing */
    int64_t gains, gain_capacity;
    cs_queued *heap;
    int64_t heap_size, heap_capacity;
} pair_table;

static void pair_table_free(pair_table *t)
{
    CS_FREE_FIELDS(t, pair, slot, place, gained, heap);
    memset(t, 0, sizeof *t);
}

static cs_status reserve(void *array, int64_t *work, int64_t wanted, size_t size)
{
    return wanted < INT32_MAX ? cs_reserve(array, work, wanted, size)
                              : cs_fail(CS_ERR_INPUT,
                                        "the training text has more than %d pairs or occurrences "
                                        "of pairs; train on less text",
                                        INT32_MAX - 1);
}

static uint64_t probe(const pair_table *t, int32_t left, int32_t right)
{
    return cs_pair_slot(t->slot, t->slots, t->pair, sizeof *t->pair, left, right);
}

static cs_status find(pair_table *t, int32_t left, int32_t right, int32_t *out)
{
    cs_status status = reserve(&t->pair, &t->pair_capacity, t->pairs + 1, sizeof *t->pair);
    if (status == CS_OK && 2 * (t->pairs + 1) > t->slots)
        status = cs_pair_slots_grow(&t->slot, &t->slots, 8192, t->pair, sizeof *t->pair, t->pairs);
    if (status != CS_OK) return status;
    uint64_t s = probe(t, left, right);
    if (t->slot[s] == 0) {
        t->pair[t->pairs] = (bpe_pair){left, right, 0, -1, false};
        t->pairs += 1;
        t->slot[s] = (int32_t)t->pairs;
    }
    *out = t->slot[s] - 1;
    return CS_OK;
}

static cs_status new_place(pair_table *t, int32_t *out)
{
    if (t->free_place >= 0) {
        *out = t->free_place;
        t->free_place = t->place[t->free_place].next;
        return CS_OK;
    }
    cs_status status = reserve(&t->place, &t->place_capacity, t->places + 1, sizeof *t->place);
    if (status == CS_OK) *out = (int32_t)t->places++;
    return status;
}

/* Adds `change` occurrences of (left, right) in a piece; a positive change also adds the place.
 * CS_ERR_INPUT past 2^31 - 2 pairs or places. */
static cs_status pair_table_change(pair_table *t, int32_t left, int32_t right, int32_t piece,
                                   int64_t change)
{
    int32_t p = 0, place = 0;
    cs_status status = find(t, left, right, &p);
    if (status != CS_OK) return status;
    bpe_pair *pair = &t->pair[p];
    pair->count += change;
    if (change < 0) {
        return CS_OK;
    }
    if (!pair->gained) {
        status = reserve(&t->gained, &t->gain_capacity, t->gains + 1, sizeof *t->gained);
        if (status != CS_OK) return status;
        t->gained[t->gains++] = p;
        pair->gained = true;
    }
    /* Places of one piece are added together: one of them is enough. */
    if (pair->place >= 0 && t->place[pair->place].piece == piece) {
        return CS_OK;
    }
    status = new_place(t, &place);
    if (status == CS_OK) {
        t->place[place] = (pair_place){piece, pair->place};
        pair->place = place;
    }
    return status;
}

/* Removes the first place from the list of a pair; -1 when it is empty. */
static int32_t pair_table_next_piece(pair_table *t, int32_t pair)
{
    int32_t place = t->pair[pair].place;
    if (place < 0) {
        return -1;
    }
    t->pair[pair].place = t->place[place].next;
    t->place[place].next = t->free_place;
    t->free_place = place;
    return t->place[place].piece;
}

/* The largest count first, ties by smaller ids. */
static cs_status push(pair_table *t, int32_t number)
{
    const bpe_pair *pair = &t->pair[number];
    cs_status status = reserve(&t->heap, &t->heap_capacity, t->heap_size + 1, sizeof *t->heap);
    if (status == CS_OK && pair->count > 0) {
        const uint64_t ids = (uint64_t)(uint32_t)pair->left << 32 | (uint32_t)pair->right;
        cs_queue_push(t->heap, &t->heap_size, (cs_queued){~(uint64_t)pair->count, ids});
    }
    return status;
}

/* Queues the pairs that gained occurrences, with their current counts. */
static cs_status pair_table_queue(pair_table *t)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < t->gains && status == CS_OK; ++i) {
        t->pair[t->gained[i]].gained = false;
        status = push(t, t->gained[i]);
    }
    t->gains = 0;
    return status;
}

/* Removes the most frequent pair from the queue; -1 when no queued pair has a positive count. */
static cs_status pair_table_top(pair_table *t, int32_t *pair)
{
    cs_status status = CS_OK;
    while (t->heap_size > 0 && status == CS_OK) {
        const cs_queued top = cs_queue_pop(t->heap, &t->heap_size);
        const int64_t count = (int64_t)~top.first;
        *pair = t->slot[probe(t, (int32_t)(top.then >> 32), (int32_t)(top.then & UINT32_MAX))] - 1;
        if (count == t->pair[*pair].count) {
            return CS_OK;
        }
        /* A larger count has its own entry. */
        if (t->pair[*pair].count < count) {
            status = push(t, *pair);
        }
    }
    *pair = -1;
    return status;
}

static const char *const default_special[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};

typedef struct {
    cs_bpe_options options; /* defaults filled in */
    cs_tokenizer *made;
    cs_word_table pieces; /* distinct pieces and their counts */
    char *spaced;         /* a document with a blank before it */
    int64_t spaced_capacity;
    int32_t byte_token[256];
    int32_t *token;  /* the pieces as tokens, end to end in the places of their bytes */
    int32_t *length; /* pieces: tokens left */
    pair_table pairs;
    cs_bpe_merge *merge;
    int64_t merges, merge_capacity;
    char *spelling; /* of two tokens joined */
    int64_t spelling_capacity;
} trainer;

static void trainer_free(trainer *r)
{
    cs_tokenizer_free(&r->made);
    cs_word_table_free(&r->pieces);
    pair_table_free(&r->pairs);
    CS_FREE_FIELDS(r, spaced, token, length, merge, spelling);
}

/* --- options and first tokens --- */

static cs_status resolve(const cs_bpe_options *options, cs_bpe_options *out)
{
    cs_bpe_options o = options ? *options : (cs_bpe_options){0};
    o.vocab_size = o.vocab_size == 0 ? DEFAULT_VOCAB : o.vocab_size;
    o.min_frequency = o.min_frequency == 0 ? DEFAULT_FREQUENCY : o.min_frequency;
    if (o.specials == 0) {
        o.special = default_special;
        o.specials = (int)(sizeof default_special / sizeof default_special[0]);
    }
    o.specials = o.specials < 0 ? 0 : o.specials;
    if (o.vocab_size < o.specials + 256 || o.vocab_size >= INT32_MAX) {
        return cs_fail(
            CS_ERR_USAGE,
            "vocabulary size %lld is not in %d..%d (at least %d special tokens and 256 bytes)",
            (long long)o.vocab_size, o.specials + 256, INT32_MAX - 1, o.specials);
    }
    if (o.min_frequency < 1) {
        return cs_fail(CS_ERR_USAGE, "minimum frequency %lld is not positive",
                       (long long)o.min_frequency);
    }
    *out = o;
    return CS_OK;
}

static cs_status check_special(const trainer *r, const char *name)
{
    cs_status status = cs_utf8_check(NULL, name, (int64_t)strlen(name));
    if (status != CS_OK) cs_reason_clear();
    if (status != CS_OK || !*name)
        return cs_fail(CS_ERR_USAGE, "special token \"%s\" is empty or not UTF-8", name);
    if (cs_tokenizer_id(r->made, name) >= 0) {
        return cs_fail(CS_ERR_USAGE, "special token \"%s\" is given twice", name);
    }
    return CS_OK;
}

/* Special tokens, then the bytes in the order of their spellings' characters. A special token that
 * is spelled like a byte is that byte's token too, as in the package. */
static cs_status add_first_tokens(trainer *r)
{
    cs_tokenizer *t = r->made;
    cs_status status = CS_OK;
    for (int i = 0; i < r->options.specials && status == CS_OK; ++i) {
        status = check_special(r, r->options.special[i]);
        if (status == CS_OK) status = cs_tokenizer_add(t, r->options.special[i], true);
        if (status == CS_OK) status = cs_tokenizer_declare(t, i);
    }
    for (int32_t c = 0; c < 0x200 && status == CS_OK; ++c) {
        char spelling[4];
        int byte = cs_char_byte(c);
        if (byte >= 0) {
            cs_byte_spelling((uint8_t)byte, spelling);
            if (cs_tokenizer_id(t, spelling) < 0) {
                status = cs_tokenizer_add(t, spelling, true);
            }
        }
    }
    return status;
}

/* --- pieces --- */

static cs_status count_pieces(void *to, const char *text, int64_t size)
{
    trainer *r = to;
    cs_status status = CS_OK;
    if (r->options.add_prefix_space && size > 0 && text[0] != ' ') {
        status = cs_reserve(&r->spaced, &r->spaced_capacity, size + 1, 1);
        if (status != CS_OK) return status;
        r->spaced[0] = ' ';
        memcpy(r->spaced + 1, text, (size_t)size);
        text = r->spaced;
        size += 1;
    }
    for (const char *end = text + size; text < end && status == CS_OK;) {
        int64_t piece = cs_gpt2_piece((const uint8_t *)text, (const uint8_t *)end);
        int32_t w = 0;
        status = cs_word_table_find(&r->pieces, text, piece, &w);
        if (status == CS_OK) r->pieces.count[w] += 1;
        text += piece;
    }
    return status;
}

static cs_status start_pieces(trainer *r)
{
    const cs_word_table *p = &r->pieces;
    r->token = cs_alloc(p->text_size, sizeof *r->token);
    r->length = cs_alloc(p->words, sizeof *r->length);
    if (!r->token || !r->length) return CS_ERR_MEMORY;
    for (int b = 0; b < 256; ++b) {
        r->byte_token[b] = cs_byte_token(r->made, b);
    }
    for (int64_t i = 0; i < p->text_size; ++i) {
        r->token[i] = r->byte_token[(uint8_t)p->text[i]];
    }
    for (int64_t w = 0; w < p->words; ++w) {
        int64_t first = p->start[w], end = p->start[w + 1];
        if (end - first > INT32_MAX - 1) {
            return cs_fail(CS_ERR_INPUT, "a piece of %lld bytes without a break is too long",
                           (long long)(end - first));
        }
        r->length[w] = (int32_t)(end - first);
        for (int64_t i = first; i + 1 < end; ++i) {
            cs_status status =
                pair_table_change(&r->pairs, r->token[i], r->token[i + 1], (int32_t)w, p->count[w]);
            if (status != CS_OK) return status;
        }
    }
    return pair_table_queue(&r->pairs);
}

/* --- merging --- */

/* The token that two make; *special when it spells a special one. */
static cs_status product_of(trainer *r, int32_t left, int32_t right, int32_t *out, bool *special)
{
    cs_word_table *table = &r->made->table;
    int64_t a = table->start[left + 1] - table->start[left];
    int64_t b = table->start[right + 1] - table->start[right];
    cs_status status = cs_reserve(&r->spelling, &r->spelling_capacity, a + b, 1);
    if (status != CS_OK) return status;
    memcpy(r->spelling, table->text + table->start[left], (size_t)a);
    memcpy(r->spelling + a, table->text + table->start[right], (size_t)b);
    int32_t there = cs_word_table_get(table, r->spelling, a + b);
    *special = there >= 0 && there < r->options.specials;
    if (*special) {
        return CS_OK;
    }
    status = cs_word_table_find(table, r->spelling, a + b, out);
    if (status == CS_OK) table->count[*out] = 1; /* in the model's vocabulary */
    return status;
}

static cs_status add_merge(trainer *r, const cs_bpe_merge *merge)
{
    cs_status status = cs_reserve(&r->merge, &r->merge_capacity, r->merges + 1, sizeof *r->merge);
    if (status == CS_OK) r->merge[r->merges++] = *merge;
    return status;
}

/* Merges one piece in place from the left, with the changes of the pairs next to each
 * occurrence. */
static cs_status merge_piece(trainer *r, int32_t piece, const cs_bpe_merge *m)
{
    int32_t *token = r->token + r->pieces.start[piece];
    int32_t length = r->length[piece], to = 0;
    int64_t weight = r->pieces.count[piece];
    cs_status status = CS_OK;
    for (int32_t i = 0; i < length && status == CS_OK; ++i) {
        if (token[i] != m->left || i + 1 >= length || token[i + 1] != m->right) {
            token[to++] = token[i];
            continue;
        }
        if (to > 0) {
            status = pair_table_change(&r->pairs, token[to - 1], m->left, piece, -weight);
            if (status == CS_OK)
                status = pair_table_change(&r->pairs, token[to - 1], m->token, piece, weight);
        }
        if (i + 2 < length && status == CS_OK) {
            status = pair_table_change(&r->pairs, m->right, token[i + 2], piece, -weight);
            if (status == CS_OK)
                status = pair_table_change(&r->pairs, m->token, token[i + 2], piece, weight);
        }
        token[to++] = m->token;
        i += 1;
    }
    r->length[piece] = to;
    return status;
}

/* Merges a pair wherever it occurs. */
static cs_status apply_merge(trainer *r, int32_t pair, const cs_bpe_merge *m)
{
    cs_status status = CS_OK;
    for (;;) {
        int32_t piece = pair_table_next_piece(&r->pairs, pair);
        if (piece < 0 || status != CS_OK) break;
        status = merge_piece(r, piece, m);
    }
    r->pairs.pair[pair].count = 0;
    return status == CS_OK ? pair_table_queue(&r->pairs) : status;
}

static cs_status merge_pairs(trainer *r)
{
    const cs_word_table *table = &r->made->table;
    int64_t wanted = r->options.vocab_size - table->words, done = 0;
    cs_status status = CS_OK;
    while (table->words < r->options.vocab_size && status == CS_OK) {
        int32_t pair = -1;
        bool special = false;
        status = pair_table_top(&r->pairs, &pair);
        if (status != CS_OK || pair < 0 || r->pairs.pair[pair].count < r->options.min_frequency)
            break;
        cs_bpe_merge m = {.left = r->pairs.pair[pair].left, .right = r->pairs.pair[pair].right};
        status = product_of(r, m.left, m.right, &m.token, &special);
        if (status == CS_OK && !special) status = add_merge(r, &m);
        if (status == CS_OK && !special) status = apply_merge(r, pair, &m);
        if (++done % REPORT_EVERY == 0 && status == CS_OK) {
            cs_progress_report(r->options.progress, "merges", done, wanted);
            status = cs_interrupt_check();
        }
    }
    cs_progress_report(r->options.progress, "merges", wanted, wanted);
    return status;
}

/* --- the tokenizer --- */

static json_t *byte_level(bool add_prefix_space)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                     add_prefix_space, "trim_offsets", 1, "use_regex", 1);
}

static cs_status set_parts(cs_tokenizer *t, bool add_prefix_space)
{
    cs_status status =
        cs_tokenizer_set_part(t, CS_PART_PRE_TOKENIZER, byte_level(add_prefix_space));
    if (status == CS_OK) /* this decoder's options have no effect */
        status = cs_tokenizer_set_part(t, CS_PART_DECODER, byte_level(true));
    if (status != CS_OK) return status;
    return cs_tokenizer_set_part(t, CS_PART_MODEL,
                                 json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b}", "type",
                                           "BPE", "dropout", "unk_token",
                                           "continuing_subword_prefix", "end_of_word_suffix",
                                           "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0));
}

static cs_status assemble(trainer *r)
{
    cs_tokenizer *t = r->made;
    int64_t twice = -1;
    cs_status status = cs_tokenizer_texts(t);
    if (status == CS_OK) status = set_parts(t, r->options.add_prefix_space);
    if (status == CS_OK) status = cs_bpe_init(&t->bpe, r->byte_token, r->merge, r->merges, &twice);
    int32_t before = cs_tokenizer_id(t, "<s>");
    int32_t after = cs_tokenizer_id(t, "</s>");
    if (status == CS_OK && before >= 0 && after >= 0 && before < r->options.specials &&
        after < r->options.specials) {
        status = cs_tokenizer_surround(t, before, after);
    }
    return status == CS_OK ? cs_tokenizer_finish(t, NULL) : status;
}

cs_status cs_tokenizer_train_bpe(const cs_text_source *source, const cs_bpe_options *options,
                                 cs_tokenizer **out)
{
    CS_AUTO(trainer) r = {.pairs.free_place = -1};
    cs_status status = resolve(options, &r.options);
    if (status == CS_OK) {
        r.made = cs_tokenizer_new();
        status = r.made ? add_first_tokens(&r) : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = source->each(source->from, count_pieces, &r);
    if (status == CS_OK && r.pieces.words == 0)
        status = cs_fail(CS_ERR_INPUT, "no text to train a tokenizer on");
    if (status == CS_OK) status = start_pieces(&r);
    if (status == CS_OK) status = merge_pairs(&r);
    if (status == CS_OK) status = assemble(&r);
    if (status == CS_OK) {
        *out = r.made;
        r.made = NULL;
    }
    return status;
}
