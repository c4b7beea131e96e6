/* Scores of word vectors (word_scores.h). Analogies are answered in blocks of questions: one product
 * of all vectors with those of the three given words, then one pass over the tokens. */
#include "cooc/word_scores.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/number.h"
#include "stats/metrics.h"
#include "text/unicode.h"

static const double NORMAL_975 = 1.959963984540054;

enum { FIELDS = 16, FILE_LIMIT = 1 << 30 };

/* --- vectors ---------------------------------------------------------------------------------- */

static cs_status name_tokens(const cs_corpus *c, cs_word_table *words)
{
    cs_status status =
        c->word ? CS_OK : cs_fail(CS_ERR_INPUT, "the corpus has no words: its tokens are numbers");
    for (int64_t v = 0; v < c->vocab && status == CS_OK; ++v) {
        int32_t number = 0;
        status = cs_word_table_find(words, c->word[v], (int64_t)strlen(c->word[v]), &number);
        if (status == CS_OK && number != v)
            status = cs_fail(CS_ERR_INPUT, "the vocabulary has '%s' twice", c->word[v]);
    }
    return status;
}

static void set_vector(const cs_spectrum *s, const cs_word_vectors_options *o, int64_t row,
                       double *to)
{
    const cs_dense *side = o->contexts ? &s->u : &s->v;
    double sum = 0;
    for (int64_t j = o->first; j < o->end; ++j) {
        const double x = pow(s->sigma[j], o->power) * side->data[row + j * side->ld];
        to[j - o->first] = x;
        sum += x * x;
    }
    for (int64_t j = 0; j < o->end - o->first && sum > 0; ++j) {
        to[j] /= sqrt(sum);
    }
}

cs_status cs_word_vectors_of(const cs_cooc_store *store, const cs_spectrum *s,
                             const cs_word_vectors_options *o, cs_word_vectors *out)
{
    const cs_corpus *corpus = &store->corpus;
    cs_word_vectors w = {.corpus = corpus};
    CS_AUTO_FREE int64_t *token = NULL;
    const int64_t rows = o->contexts ? s->u.rows : corpus->vocab;
    cs_status status = name_tokens(corpus, &w.words);
    if (status == CS_OK) status = cs_dense_init(&w.vector, o->end - o->first, corpus->vocab);
    if (status == CS_OK && o->contexts)
        status = cs_cooc_row_tokens(o->dir, rows, corpus->vocab, &token);
    if (status == CS_OK && o->contexts && !token)
        status = cs_fail(CS_ERR_INPUT,
                         "vectors of contexts need rows that are tokens: context each:W, target "
                         "position unknown");
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        const int64_t v = token ? token[i] : i;
        const bool seen = v >= 0 && v != corpus->unknown;
        if (seen && (o->contexts || s->input.col_mass[v] > 0))
            set_vector(s, o, i, w.vector.data + v * w.vector.ld);
    }
    return CS_DELIVER(status, out, w, cs_word_vectors_free);
}

void cs_word_vectors_free(cs_word_vectors *w)
{
    cs_word_table_free(&w->words);
    cs_dense_free(&w->vector);
}

static double cosine(const cs_word_vectors *w, int64_t a, int64_t b)
{
    double dot = 0;
    for (int64_t j = 0; j < w->vector.rows; ++j) {
        dot += w->vector.data[j + a * w->vector.ld] * w->vector.data[j + b * w->vector.ld];
    }
    return dot;
}

static bool has_vector(const cs_word_vectors *w, int64_t v)
{
    return v >= 0 && cosine(w, v, v) > 0;
}

/* The token of a word with a vector, or -1. */
static cs_status find_word(const cs_word_vectors *w, const char *word, int64_t *out)
{
    CS_AUTO_FREE char *lower = cs_text_lower(word);
    if (!lower) return CS_ERR_MEMORY;
    *out = cs_word_table_get(&w->words, word, (int64_t)strlen(word));
    if (!has_vector(w, *out)) *out = cs_word_table_get(&w->words, lower, (int64_t)strlen(lower));
    if (!has_vector(w, *out)) *out = -1;
    return CS_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A file of lines; `text` is cut into fields in place. */
typedef struct {
    const char *name;
    char *text, *next;
    int64_t line; /* number of the current one, from 1 */
    int fields;
    char *field[FIELDS];
} word_lines;

static void word_lines_free(word_lines *l)
{
    cs_free(l->text);
}

static cs_status open_lines(const char *file, word_lines *out)
{
    int64_t size = 0;
    *out = (word_lines){.name = file};
    cs_status status = cs_file_read_text(file, FILE_LIMIT, &out->text, &size);
    out->next = out->text;
    if (status == CS_OK && strncmp(out->text, "\xEF\xBB\xBF", 3) == 0) out->next += 3;
    return status;
}

static void cut_fields(word_lines *l, char *line)
{
    const char *separators = strchr(line, '\t') ? "\t" : strchr(line, ',') ? "," : " ";
    l->fields = 0;
    for (char *at = line; at && l->fields < FIELDS;) {
        char *end = strpbrk(at, separators);
        if (end) *end++ = '\0';
        at += strspn(at, " ");
        for (size_t n = strlen(at); n > 0 && at[n - 1] == ' '; --n) {
            at[n - 1] = '\0';
        }
        if (*at || *separators != ' ') l->field[l->fields++] = at;
        at = end;
    }
}

/* The next line that is neither empty nor a comment; false at the end. */
static bool next_line(word_lines *l)
{
    while (*l->next) {
        char *line = l->next, *end = strchr(line, '\n');
        l->next = end ? end + 1 : line + strlen(line);
        if (end) *end = '\0';
        line[strcspn(line, "\r")] = '\0';
        ++l->line;
        if (line[strspn(line, " \t")] && *line != '#') {
            cut_fields(l, line);
            return true;
        }
    }
    return false;
}

static cs_status no_item(const char *file, const char *items, int64_t missing)
{
    return missing == 0 ? cs_fail(CS_ERR_INPUT, "%s has no %s", file, items)
                        : cs_fail(CS_ERR_INPUT,
                                  "%s: none of its %lld %s has vectors for all of its words; are "
                                  "they those of the corpus?",
                                  file, (long long)missing, items);
}

/* --- results ---------------------------------------------------------------------------------- */

typedef struct {
    const char *file, *section, *name;
    double value, low, high;
    int64_t items, missing;
} word_score;

static void add_score(cs_item *scores, const word_score *s)
{
    cs_item *row = cs_item_object(scores, NULL);
    cs_item_text(row, "file", s->file);
    cs_item_text(row, "section", s->section);
    cs_item_text(row, "score", s->name);
    CS_ITEM_FIELDS(row, s, value, low, high, items, missing);
}

/* --- similarity ------------------------------------------------------------------------------- */

typedef struct {
    double *score, *cosine;
    int64_t pairs, capacity;
} word_pairs;

static void word_pairs_free(word_pairs *p)
{
    CS_FREE_FIELDS(p, score, cosine);
}

static bool score_of(const word_lines *l, double *score)
{
    bool found = false;
    for (int i = 2; i < l->fields && !found; ++i) {
        found = cs_real_scan(l->field[i], score) && isfinite(*score);
    }
    return found;
}

static cs_status add_pair(const cs_word_vectors *w, const word_lines *l, double score,
                          word_pairs *p, int64_t *missing)
{
    int64_t a = -1, b = -1, capacity = p->capacity;
    cs_status status = find_word(w, l->field[0], &a);
    if (status == CS_OK) status = find_word(w, l->field[1], &b);
    if (status == CS_OK && (a < 0 || b < 0)) {
        ++*missing;
        return CS_OK;
    }
    if (status == CS_OK) status = cs_reserve(&p->score, &capacity, p->pairs + 1, sizeof *p->score);
    if (status == CS_OK)
        status = cs_reserve(&p->cosine, &p->capacity, p->pairs + 1, sizeof *p->cosine);
    if (status == CS_OK) {
        p->score[p->pairs] = score;
        p->cosine[p->pairs++] = cosine(w, a, b);
    }
    return status;
}

static bool all_equal(int64_t n, const double *x)
{
    int64_t i = 1;
    while (i < n && x[i] == x[0]) {
        ++i;
    }
    return i >= n;
}

cs_status cs_word_similarity(const cs_word_vectors *w, const char *file, cs_item *scores)
{
    CS_AUTO(word_lines) l = {0};
    CS_AUTO(word_pairs) p = {0};
    word_score s = {.file = file, .section = "", .name = "spearman", .low = NAN, .high = NAN};
    cs_status status = open_lines(file, &l);
    for (bool first = true; status == CS_OK && next_line(&l); first = false) {
        double score = 0;
        const bool scored = score_of(&l, &score);
        if (l.fields < 3 || (!scored && !first)) {
            status = cs_fail(CS_ERR_INPUT, "%s:%lld: expected two words and a score", file,
                             (long long)l.line);
        } else if (scored) {
            status = add_pair(w, &l, score, &p, &s.missing);
        }
    }
    if (status == CS_OK && p.pairs == 0) status = no_item(file, "pairs", s.missing);
    if (status == CS_OK)
        status = cs_metric_of(CS_METRIC_SPEARMAN, p.pairs, p.score, p.cosine, 0, &s.value);
    if (status == CS_OK && (all_equal(p.pairs, p.score) || all_equal(p.pairs, p.cosine)))
        s.value = NAN;
    const double z = atanh(s.value);
    if (status == CS_OK && p.pairs > 3 && isfinite(z)) {
        const double half = NORMAL_975 * sqrt((1 + s.value * s.value / 2) / ((double)p.pairs - 3));
        s.low = tanh(z - half);
        s.high = tanh(z + half);
    }
    s.items = p.pairs;
    if (status == CS_OK) add_score(scores, &s);
    return status;
}

/* --- analogies -------------------------------------------------------------------------------- */

enum { GIVEN = 3, METHODS = 2, BLOCK_BYTES = 1 << 26 };

static const char *const METHOD[METHODS] = {"3cosadd", "3cosmul"};

typedef struct {
    int64_t word[GIVEN + 1];
    int64_t section;
    bool right[METHODS];
} word_question;

typedef struct {
    const char *name;
    int64_t items, missing, right[METHODS];
} word_section;

typedef struct {
    const cs_word_vectors *w;
    word_question *question;
    int64_t questions, capacity;
    word_section *section;
    int64_t sections, section_capacity;
    int64_t first;          /* question of the current block */
    cs_dense given, scores; /* vectors of the given words of a block; tokens x these */
} word_analogies;

static void word_analogies_free(word_analogies *a)
{
    CS_FREE_FIELDS(a, question, section);
    cs_dense_free(&a->given);
    cs_dense_free(&a->scores);
}

static cs_status begin_section(word_analogies *a, const char *name)
{
    cs_status status =
        cs_reserve(&a->section, &a->section_capacity, a->sections + 1, sizeof *a->section);
    if (status == CS_OK) a->section[a->sections++] = (word_section){.name = name};
    return status;
}

static cs_status add_question(word_analogies *a, const word_lines *l)
{
    word_question q = {.section = a->sections - 1};
    bool known = true;
    cs_status status = CS_OK;
    for (int i = 0; i <= GIVEN && status == CS_OK; ++i) {
        status = find_word(a->w, l->field[i], &q.word[i]);
        known = known && q.word[i] >= 0;
    }
    word_section *s = &a->section[q.section];
    if (status != CS_OK || !known) {
        ++s->missing;
        return status;
    }
    ++s->items;
    status = cs_reserve(&a->question, &a->capacity, a->questions + 1, sizeof q);
    if (status == CS_OK) a->question[a->questions++] = q;
    return status;
}

static cs_status read_analogies(word_lines *l, word_analogies *a)
{
    cs_status status = begin_section(a, "");
    while (status == CS_OK && next_line(l)) {
        if (l->field[0][0] == ':') {
            char *name = l->field[0] + 1;
            name = *name ? name : l->fields > 1 ? l->field[1] : name;
            status = begin_section(a, name + strspn(name, " "));
        } else if (l->fields != GIVEN + 1) {
            status = cs_fail(CS_ERR_INPUT, "%s:%lld: expected four words, or ': section'", l->name,
                             (long long)l->line);
        } else {
            status = add_question(a, l);
        }
    }
    return status;
}

static cs_status answer(void *ctx, int64_t item)
{
    word_analogies *all = ctx;
    word_question *q = &all->question[all->first + item];
    const double *a = all->scores.data + (ptrdiff_t)GIVEN * item * all->scores.ld;
    const double *b = a + all->scores.ld, *c = b + all->scores.ld;
    double best[METHODS] = {-INFINITY, -INFINITY};
    int64_t at[METHODS] = {-1, -1};
    for (int64_t x = 0; x < all->w->corpus->vocab; ++x) {
        const double *vector = all->w->vector.data + x * all->w->vector.ld;
        if (x == q->word[0] || x == q->word[1] || x == q->word[2]) {
            continue;
        }
        const double score[METHODS] = {b[x] - a[x] + c[x],
                                       (1 + b[x]) * (1 + c[x]) / 2 / (1 + a[x] + 2 * 0.001)};
        for (int m = 0; m < METHODS; ++m) {
            if (score[m] > best[m] && (vector[0] != 0 || has_vector(all->w, x))) {
                best[m] = score[m];
                at[m] = x;
            }
        }
    }
    for (int m = 0; m < METHODS; ++m) {
        q->right[m] = at[m] == q->word[GIVEN];
    }
    return CS_OK;
}

static cs_status answer_all(word_analogies *a)
{
    const int64_t tokens = a->w->corpus->vocab, k = a->w->vector.rows;
    const int64_t fit = BLOCK_BYTES / (GIVEN * (int64_t)sizeof(double)) / tokens;
    const int64_t block = cs_least(cs_most(fit, 1), a->questions);
    cs_status status = cs_dense_init(&a->given, k, GIVEN * block);
    if (status == CS_OK) status = cs_dense_init(&a->scores, tokens, GIVEN * block);
    for (a->first = 0; a->first < a->questions && status == CS_OK; a->first += block) {
        const int64_t count = cs_least(block, a->questions - a->first);
        for (int64_t i = 0; i < GIVEN * count; ++i) {
            const int64_t v = a->question[a->first + i / GIVEN].word[i % GIVEN];
            memcpy(a->given.data + i * a->given.ld, a->w->vector.data + v * a->w->vector.ld,
                   (size_t)k * sizeof(double));
        }
        status = cs_gemm(true, false, 1, &a->w->vector, &a->given, 0, &a->scores);
        if (status == CS_OK) status = cs_interrupt_check();
        if (status == CS_OK) status = cs_parallel(count, 0, answer, a);
    }
    return status;
}

static void add_section(const char *file, const word_section *s, cs_item *scores)
{
    for (int m = 0; m < METHODS && s->items > 0; ++m) {
        const double n = (double)s->items, p = (double)s->right[m] / n;
        const double z2 = NORMAL_975 * NORMAL_975, wide = 1 + z2 / n;
        const double half = NORMAL_975 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / wide;
        const double middle = (p + z2 / (2 * n)) / wide;
        add_score(scores, &(word_score){.file = file,
                                        .section = s->name,
                                        .name = METHOD[m],
                                        .value = p,
                                        .low = s->right[m] > 0 ? middle - half : 0,
                                        .high = s->right[m] < s->items ? middle + half : 1,
                                        .items = s->items,
                                        .missing = s->missing});
    }
}

cs_status cs_word_analogies(const cs_word_vectors *w, const char *file, cs_item *scores)
{
    CS_AUTO(word_lines) l = {0};
    CS_AUTO(word_analogies) a = {.w = w};
    word_section total = {.name = "total"};
    cs_status status = open_lines(file, &l);
    if (status == CS_OK) status = read_analogies(&l, &a);
    for (int64_t i = 0; i < a.sections; ++i) {
        total.items += a.section[i].items;
        total.missing += a.section[i].missing;
    }
    if (status == CS_OK && total.items == 0) status = no_item(file, "questions", total.missing);
    if (status == CS_OK) status = answer_all(&a);
    for (int64_t i = 0; i < METHODS * a.questions && status == CS_OK; ++i) {
        const word_question *q = &a.question[i / METHODS];
        const int m = (int)(i % METHODS);
        a.section[q->section].right[m] += q->right[m];
        total.right[m] += q->right[m];
    }
    for (int64_t i = 0; i < a.sections && a.sections > 1 && status == CS_OK; ++i) {
        add_section(file, &a.section[i], scores);
    }
    if (status == CS_OK) add_section(file, &total, scores);
    return status;
}
