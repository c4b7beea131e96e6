/* Synthetic languages: from a command line or a file to start, transitions and emissions.
 *
 * A chain of order K has the K-tuples of words for states and emits the last of a tuple, and a
 * grammar is a chain by synthetic_grammar_private.h, so that all synthetic languages are hidden Markov
 * chains. Dirichlet's rows are gamma variables in proportion (Marsaglia and Tsang, ACM TOMS 26,
 * 2000), in logarithms: shapes far below 1 underflow otherwise. The stationary distribution is
 * found by elimination without subtractions (Grassmann, Taksar and Heyman, Operations Research 33,
 * 1985), which keeps the relative accuracy of small probabilities. */
#include "text/synthetic.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "io/json.h"
#include "io/number.h"
#include "text/synthetic_grammar_private.h"

enum { MARKOV = 1, HMM = 2, GRAMMAR = 4, ALL = 7, MOST_STATES = 4096 };

static const double SUM_ERROR = 1e-9; /* of the probabilities of a file */

static const struct {
    const char *name;
    int kind;
} kinds[] = {{"markov", MARKOV}, {"hmm", HMM}, {"grammar", GRAMMAR}};

/* The parameters of a source. `states` of a grammar are its symbols. */
typedef struct {
    int kind;
    int64_t states, words, order, depth, classes, length, documents, seed, sample;
    double concentration, emission, zipf;
    char *file;
} spec;

/* `drawn`: says how rows are drawn, which a file has. A real may be inf where `infinite`. */
static const struct {
    const char *name;
    int kinds;
    bool drawn, real, infinite;
    size_t at;
    int64_t low, high;
} keys[] = {
    {"states", MARKOV | HMM, true, false, false, offsetof(spec, states), 1, MOST_STATES},
    {"symbols", GRAMMAR, true, false, false, offsetof(spec, states), 1, MOST_STATES},
    {"order", MARKOV, true, false, false, offsetof(spec, order), 0, 12},
    {"depth", GRAMMAR, false, false, false, offsetof(spec, depth), 1, 12},
    {"words", HMM | GRAMMAR, true, false, false, offsetof(spec, words), 1, 1 << 20},
    {"concentration", ALL, true, true, true, offsetof(spec, concentration), 0, 0},
    {"emission", HMM | GRAMMAR, true, true, true, offsetof(spec, emission), 0, 0},
    {"zipf", ALL, true, true, false, offsetof(spec, zipf), 0, 0},
    {"classes", ALL, true, false, false, offsetof(spec, classes), 1, 1000},
    {"seed", ALL, true, false, false, offsetof(spec, seed), 0, INT64_MAX},
    {"length", ALL, false, false, false, offsetof(spec, length), 1, INT32_MAX},
    {"documents", ALL, false, false, false, offsetof(spec, documents), 1, INT32_MAX},
    {"sample", ALL, false, false, false, offsetof(spec, sample), 0, INT64_MAX},
};
enum { KEYS = sizeof keys / sizeof *keys };

void cs_synthetic_free(cs_synthetic *language)
{
    CS_FREE_FIELDS(language, weight, start, next, emit);
    memset(language, 0, sizeof *language);
}

static int kind_of(const char *source)
{
    for (size_t i = 0; source && i < sizeof kinds / sizeof *kinds; ++i) {
        const size_t size = strlen(kinds[i].name);
        if (strncmp(source, kinds[i].name, size) == 0 && source[size] == ':') return kinds[i].kind;
    }
    return 0;
}

bool cs_synthetic_named(const char *source)
{
    return kind_of(source) != 0;
}

void cs_synthetic_word(int64_t v, char out[16])
{
    int digits = 1;
    for (int64_t left = v / 26; left > 0; left /= 26) {
        ++digits;
    }
    out[digits] = '\0';
    for (; digits > 0; v /= 26) {
        out[--digits] = (char)('a' + v % 26);
    }
}

/* --- sources ---------------------------------------------------------------------------------- */

static cs_status unknown_key(const spec *s, const char *name)
{
    cs_hint hint = {0};
    cs_hint_consider(name, "file", &hint);
    for (int i = 0; i < KEYS; ++i) {
        if (keys[i].kinds & s->kind) cs_hint_consider(name, keys[i].name, &hint);
    }
    int kind = 0;
    while (kinds[kind].kind != s->kind) {
        ++kind;
    }
    return cs_fail(CS_ERR_USAGE, "%s has no '%s'%s", kinds[kind].name, name,
                   cs_hint_text("", &hint));
}

static cs_status set_value(int key, const char *value, spec *s)
{
    char *at = (char *)s + keys[key].at;
    double real = INFINITY;
    if (!keys[key].real) {
        return cs_parse_int(value, keys[key].name, keys[key].low, keys[key].high, (int64_t *)at);
    }
    cs_status status =
        keys[key].infinite && strcmp(value, "inf") == 0
            ? CS_OK
            : cs_parse_real(value, keys[key].name, keys[key].infinite ? CS_ABOVE_0 : 0, 1e6, &real);
    memcpy(at, &real, sizeof real);
    return status;
}

/* "KEY=VALUE" is cut at the '='. */
static cs_status take_item(char *item, unsigned *set, spec *s)
{
    char *value = strchr(item, '=');
    int key = 0;
    if (!value) {
        return cs_fail(CS_ERR_USAGE, "\"%s\" is not KEY=VALUE", item);
    }
    *value++ = '\0';
    while (key < KEYS && (strcmp(keys[key].name, item) != 0 || !(keys[key].kinds & s->kind))) {
        ++key;
    }
    const bool file = strcmp(item, "file") == 0;
    if (key == KEYS && !file) {
        return unknown_key(s, item);
    }
    if (*set & 1U << key) {
        return cs_fail(CS_ERR_USAGE, "%s is given twice, %s=%s is the second", item, item, value);
    }
    *set |= 1U << key;
    if (!file) {
        return set_value(key, value, s);
    }
    s->file = cs_strdup(value);
    return s->file ? CS_OK : CS_ERR_MEMORY;
}

/* s->file is the caller's, whatever happens. */
static cs_status read_spec(const char *source, spec *s)
{
    unsigned set = 0;
    CS_AUTO_FREE char *held = cs_strdup(strchr(source, ':') + 1);
    *s = (spec){.kind = kind_of(source),
                .order = 1,
                .depth = 3,
                .classes = 1,
                .documents = 1000,
                .seed = 1,
                .sample = 1,
                .concentration = 1,
                .emission = NAN,
                .zipf = 1,
                .words = 20};
    s->states = s->kind == MARKOV ? 20 : s->kind == HMM ? 4 : 3;
    cs_status status = held ? CS_OK : CS_ERR_MEMORY;
    for (char *save = NULL, *item = held ? strtok_r(held, ",", &save) : NULL;
         item && status == CS_OK; item = strtok_r(NULL, ",", &save)) {
        status = take_item(cs_trim(item), &set, s);
    }
    for (int i = 0; i < KEYS && s->file && status == CS_OK; ++i) {
        if (keys[i].drawn && set & 1U << i)
            status =
                cs_fail(CS_ERR_USAGE, "%s cannot be given with file=%s, which defines the rows",
                        keys[i].name, s->file);
    }
    s->emission = isnan(s->emission) ? s->concentration : s->emission;
    s->words = s->kind == MARKOV ? s->states : s->words;
    s->length = s->length > 0 ? s->length : s->kind == GRAMMAR ? (int64_t)1 << s->depth : 16;
    return cs_blame(status, "%s", source);
}

cs_status cs_synthetic_file(const char *source, char **out)
{
    spec s = {0};
    cs_status status = read_spec(source, &s);
    return CS_DELIVER(status, out, s.file, cs_drop);
}

/* --- rows ------------------------------------------------------------------------------------- */

static cs_status allocate(cs_synthetic *language, const char *source)
{
    const double k = (double)language->classes, h = (double)language->states,
                 v = (double)language->words;
    cs_status status = cs_mem_check(sizeof(double) * k * h * (2 * h + v), NULL,
                                    "%s: %.4g states of %.4g words take", source, h, v);
    if (status != CS_OK) return status;
    const int64_t states = language->classes * language->states;
    language->weight = cs_calloc(language->classes, sizeof *language->weight);
    language->start = cs_calloc(states, sizeof *language->start);
    language->next = cs_calloc(states * language->states, sizeof *language->next);
    language->emit = cs_calloc(states * language->words, sizeof *language->emit);
    return language->weight && language->start && language->next && language->emit ? CS_OK
                                                                                   : CS_ERR_MEMORY;
}

/* The logarithm of a gamma variable of shape a. */
static double log_gamma_of(cs_rng *rng, double a)
{
    const double lift = a < 1 ? log(1 - cs_rng_uniform(rng)) / a : 0,
                 d = (a < 1 ? a + 1 : a) - 1.0 / 3;
    for (;;) {
        const double x = cs_rng_normal(rng), root = 1 + x / sqrt(9 * d), v = root * root * root;
        if (v > 0 && log(1 - cs_rng_uniform(rng)) < x * x / 2 + d - d * v + d * log(v)) {
            return lift + log(d * v);
        }
    }
}

/* Dirichlet's with parameters a n p_v. */
static void draw_row(uint64_t seed, uint64_t row, double a, int64_t n, const double *p, double *out)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SYNTHETIC, row);
    double most = -INFINITY;
    if (isinf(a)) {
        memcpy(out, p, (size_t)n * sizeof *out);
        return;
    }
    for (int64_t v = 0; v < n; ++v) {
        out[v] = log_gamma_of(&rng, a * (double)n * p[v]);
        most = fmax(most, out[v]);
    }
    for (int64_t v = 0; v < n; ++v) {
        out[v] = exp(out[v] - most);
    }
    (void)cs_to_one(n, out);
}

/* Proportional to 1 / (rank + 1)^zipf. */
static void base_distribution(int64_t n, double zipf, double *out)
{
    for (int64_t v = 0; v < n; ++v) {
        out[v] = pow((double)v + 2, -zipf);
    }
    (void)cs_to_one(n, out);
}

/* Row i of the transition matrix assigns its probabilities to the next states. In a chain of words
 * these are the tuples with each word after those of the row. */
static cs_status draw_rows(const spec *s, cs_synthetic *language)
{
    const int64_t h = language->states, v = language->words, wide = s->kind == HMM ? h : v;
    CS_AUTO(cs_pool) pool = {0};
    double *p = cs_pool_take(&pool, v, sizeof *p), *even = cs_pool_take(&pool, h, sizeof *even),
           *row = cs_pool_take(&pool, wide, sizeof *row);
    cs_status status = pool.status;
    if (status != CS_OK) return status;
    base_distribution(v, s->zipf, p);
    base_distribution(h, 0, even);
    for (int64_t i = 0; i < language->classes * h && status == CS_OK; ++i) {
        const int64_t drawn = s->order > 0 || s->kind == HMM ? i : i - i % h;
        draw_row((uint64_t)s->seed, (uint64_t)(2 * drawn), s->concentration, wide,
                 s->kind == HMM ? even : p, row);
        for (int64_t j = 0; j < wide; ++j) {
            language->next[i * h + (s->kind == HMM ? j : (i % h * v + j) % h)] = row[j];
        }
        if (s->kind == HMM) {
            draw_row((uint64_t)s->seed, (uint64_t)(2 * i + 1), s->emission, v, p,
                     language->emit + i * v);
        } else {
            language->emit[i * v + i % v] = 1;
        }
        status = cs_interrupt_check();
    }
    return status;
}

/* The classes of a grammar are its roots, so that they share its rules. */
static cs_status draw_grammar(const spec *s, cs_synthetic *language)
{
    const int64_t n = s->states, pairs = n * n, v = language->words, h = language->states;
    CS_AUTO(cs_pool) pool = {0};
    double *p = cs_pool_take(&pool, v, sizeof *p), *even = cs_pool_take(&pool, pairs, sizeof *even),
           *rule = cs_pool_take(&pool, n * pairs, sizeof *rule),
           *word = cs_pool_take(&pool, n * v, sizeof *word),
           *root = cs_pool_take(&pool, n, sizeof *root);
    cs_status status = pool.status;
    if (status != CS_OK) return status;
    base_distribution(v, s->zipf, p);
    base_distribution(pairs, 0, even);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        draw_row((uint64_t)s->seed, (uint64_t)(2 * i), s->concentration, pairs, even,
                 rule + i * pairs);
        draw_row((uint64_t)s->seed, (uint64_t)(2 * i + 1), s->emission, v, p, word + i * v);
        status = cs_interrupt_check();
    }
    for (int64_t c = 0; c < language->classes && status == CS_OK; ++c) {
        for (int64_t i = 0; i < n; ++i) {
            root[i] = language->classes == 1 ? 1.0 / (double)n : i == c;
        }
        status = cs_grammar_chain(n, s->depth, v, root, rule, word, language->start + c * h,
                                  language->next + c * h * h, language->emit + c * h * v);
    }
    return status;
}

static cs_status stationary(int64_t n, const double *next, double *start)
{
    cs_status status = CS_OK;
    CS_AUTO_FREE double *a = cs_alloc(n * n, sizeof *a);
    if (!a) return CS_ERR_MEMORY;
    memcpy(a, next, (size_t)(n * n) * sizeof *a);
    for (int64_t k = n - 1; k > 0 && status == CS_OK; --k) {
        double back = 0;
        for (int64_t j = 0; j < k; ++j) {
            back += a[k * n + j];
        }
        if (!(back > 0)) {
            status = cs_fail(CS_ERR_INPUT,
                             "the states before state %lld cannot be reached from it, so the "
                             "stationary distribution is not certain: give a file with "
                             "\"initial\", or a larger concentration",
                             (long long)k);
            break;
        }
        for (int64_t i = 0; i < k; ++i) {
            const double to = a[i * n + k] / back;
            a[i * n + k] = to;
            for (int64_t j = 0; j < k && to > 0; ++j) {
                a[i * n + j] += to * a[k * n + j];
            }
        }
        status = cs_interrupt_check();
    }
    start[0] = 1;
    for (int64_t k = 1; k < n && status == CS_OK; ++k) {
        start[k] = 0;
        for (int64_t i = 0; i < k; ++i) {
            start[k] += start[i] * a[i * n + k];
        }
    }
    if (status == CS_OK) (void)cs_to_one(n, start);
    return status;
}

/* Of the chain: those of words to the power of the order, or those of a grammar. */
static cs_status count_states(const char *source, const spec *s, cs_synthetic *language)
{
    language->states =
        s->kind == GRAMMAR ? cs_grammar_states(s->states, s->depth, MOST_STATES) : s->states;
    for (int64_t k = 1; s->kind == MARKOV && k < s->order && language->states <= MOST_STATES; ++k) {
        language->states *= s->states;
    }
    if (language->states <= MOST_STATES) return CS_OK;
    if (s->kind == GRAMMAR) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: %lld symbols of depth %lld need more than %d states, S (1 + S)^D",
                       source, (long long)s->states, (long long)s->depth, MOST_STATES);
    }
    return cs_fail(CS_ERR_USAGE, "%s: %lld words to the power %lld exceed %d states", source,
                   (long long)s->states, (long long)s->order, MOST_STATES);
}

/* --- files ------------------------------------------------------------------------------------ */

/* n probabilities that sum to 1. */
static cs_status read_row(const json_t *array, int64_t n, double *out)
{
    if (!json_is_array(array) || (int64_t)json_array_size(array) != n) {
        return cs_fail(CS_ERR_INPUT, "expected an array of %lld probabilities", (long long)n);
    }
    for (int64_t i = 0; i < n; ++i) {
        const json_t *x = json_array_get(array, (size_t)i);
        out[i] = json_number_value(x);
        if (!json_is_number(x) || !(out[i] >= 0)) {
            return cs_fail(CS_ERR_INPUT, "[%lld] is not a probability", (long long)i);
        }
    }
    const double sum = cs_to_one(n, out);
    return fabs(sum - 1) <= SUM_ERROR
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "the probabilities sum to %.12g, not 1", sum);
}

static cs_status read_rows(const json_t *array, const char *name, int64_t rows, int64_t n,
                           double *out)
{
    cs_status status =
        json_is_array(array) && (int64_t)json_array_size(array) == rows
            ? CS_OK
            : cs_fail(CS_ERR_INPUT, "%s: expected %lld rows, one per state or symbol", name,
                      (long long)rows);
    for (int64_t i = 0; i < rows && status == CS_OK; ++i) {
        status = cs_blame(read_row(json_array_get(array, (size_t)i), n, out + i * n), "%s[%lld]",
                          name, (long long)i);
    }
    return status;
}

static cs_status read_grammar(const json_t *class, const spec *s, int64_t c, cs_synthetic *language)
{
    const int64_t n = s->states, v = language->words, h = language->states;
    const json_t *initial = json_object_get(class, "initial");
    CS_AUTO(cs_pool) pool = {0};
    double *rule = cs_pool_take(&pool, n * n * n, sizeof *rule),
           *word = cs_pool_take(&pool, n * v, sizeof *word),
           *root = cs_pool_take(&pool, n, sizeof *root);
    cs_status status = pool.status;
    if (status == CS_OK)
        status = read_rows(json_object_get(class, "rules"), "rules", n, n * n, rule);
    if (status == CS_OK)
        status = read_rows(json_object_get(class, "emission"), "emission", n, v, word);
    if (status == CS_OK && initial) status = cs_blame(read_row(initial, n, root), "initial");
    if (status == CS_OK && !initial) base_distribution(n, 0, root);
    if (status == CS_OK) {
        status = cs_grammar_chain(n, s->depth, v, root, rule, word, language->start + c * h,
                                  language->next + c * h * h, language->emit + c * h * v);
    }
    return status;
}

static cs_status read_chain(const json_t *class, const spec *s, int64_t c, cs_synthetic *language)
{
    const int64_t h = language->states, v = language->words;
    const json_t *initial = json_object_get(class, "initial");
    double *start = language->start + c * h, *next = language->next + c * h * h,
           *emit = language->emit + c * h * v;
    cs_status status = read_rows(json_object_get(class, "transition"), "transition", h, h, next);
    if (status == CS_OK && s->kind == HMM)
        status = read_rows(json_object_get(class, "emission"), "emission", h, v, emit);
    for (int64_t i = 0; i < h && s->kind == MARKOV; ++i) {
        emit[i * v + i] = 1;
    }
    if (status != CS_OK) return status;
    return initial ? cs_blame(read_row(initial, h, start), "initial") : stationary(h, next, start);
}

static cs_status read_class(const json_t *class, const spec *s, int64_t c, cs_synthetic *language)
{
    const json_t *weight = json_object_get(class, "weight");
    cs_status status =
        cs_json_known(class, s->kind == GRAMMAR ? "weight, initial, rules, emission"
                             : s->kind == HMM   ? "weight, initial, transition, emission"
                                                : "weight, initial, transition");
    language->weight[c] = weight ? json_number_value(weight) : 1;
    if (status == CS_OK && !(language->weight[c] > 0))
        status = cs_fail(CS_ERR_INPUT, "weight: expected a number above 0");
    if (status != CS_OK) return status;
    return s->kind == GRAMMAR ? read_grammar(class, s, c, language)
                              : read_chain(class, s, c, language);
}

static cs_status read_file(const char *source, spec *s, cs_synthetic *language)
{
    const char *rows = s->kind == GRAMMAR ? "rules" : "transition";
    json_t *root = NULL;
    const json_t *classes = NULL, *first = NULL;
    cs_status status = cs_sha256_file(s->file, language->sha256);
    if (status == CS_OK) status = cs_json_read(s->file, &root);
    if (status == CS_OK) status = cs_blame(cs_json_known(root, "classes"), "%s", s->file);
    if (status != CS_OK) goto done;
    classes = json_object_get(root, "classes");
    first = json_array_get(classes, 0);
    language->classes = (int64_t)json_array_size(classes);
    s->states = (int64_t)json_array_size(json_object_get(first, rows));
    language->words =
        s->kind == MARKOV
            ? s->states
            : (int64_t)json_array_size(json_array_get(json_object_get(first, "emission"), 0));
    if (s->states < 1 || s->states > MOST_STATES || language->words < 1) {
        status =
            cs_fail(CS_ERR_INPUT,
                    "%s: \"classes\" must be an array of objects with \"%s\"%s and 1 to %d states",
                    s->file, rows, s->kind == MARKOV ? "" : " and \"emission\"", MOST_STATES);
        goto done;
    }
    status = count_states(source, s, language);
    if (status == CS_OK) status = allocate(language, source);
    for (int64_t c = 0; c < language->classes && status == CS_OK; ++c) {
        status = cs_blame(read_class(json_array_get(classes, (size_t)c), s, c, language),
                          "%s: classes[%lld]", s->file, (long long)c);
    }
done:
    json_decref(root);
    return status;
}

/* --- the whole -------------------------------------------------------------------------------- */

static cs_status draw_distribution(const char *source, const spec *s, cs_synthetic *language)
{
    language->classes = s->classes;
    language->words = s->words;
    if (s->kind == GRAMMAR && s->classes > s->states) {
        return cs_fail(
            CS_ERR_USAGE,
            "%s: %lld classes need as many root symbols, but there are only %lld symbols", source,
            (long long)s->classes, (long long)s->states);
    }
    cs_sha256(source, strlen(source), language->sha256);
    cs_status status = count_states(source, s, language);
    if (status == CS_OK) status = allocate(language, source);
    if (status == CS_OK)
        status = s->kind == GRAMMAR ? draw_grammar(s, language) : draw_rows(s, language);
    for (int64_t c = 0, h = language->states; c < language->classes && status == CS_OK; ++c) {
        language->weight[c] = 1;
        if (s->kind == GRAMMAR) continue;
        status = cs_blame(stationary(h, language->next + c * h * h, language->start + c * h), "%s",
                          source);
    }
    return status;
}

cs_status cs_synthetic_parse(const char *source, cs_synthetic *out)
{
    spec s = {0};
    cs_synthetic language = {0};
    cs_status status =
        cs_synthetic_named(source)
            ? read_spec(source, &s)
            : cs_fail(CS_ERR_USAGE,
                      "%s: expected a synthetic language: markov:..., hmm:... or grammar:...",
                      source);
    language.length = s.length;
    language.documents = s.documents;
    language.sample = (uint64_t)s.sample;
    if (status == CS_OK)
        status =
            s.file ? read_file(source, &s, &language) : draw_distribution(source, &s, &language);
    if (status == CS_OK) (void)cs_to_one(language.classes, language.weight);
    cs_free(s.file);
    return CS_DELIVER(status, out, language, cs_synthetic_free);
}
