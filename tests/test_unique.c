/* Context `unique` against enumeration with every row made unique: entries, class masses and
 * spectra of all objectives, lengths and strides, blind and given; and as the bound of the contexts
 * that know less. */
#include "comm_threads.h"
#include "cooc/context_private.h"
#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "cooc_compare.h"
#include "io_support.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"

enum { VOCAB = 7, CLASSES = 2, MOST_KEYS = 1 << 11 };

static cs_corpus corpus_of(void)
{
    static const int64_t length[] = {5, 1, 8, 2, 7, 3, 6, 4, 8, 6};
    return small_corpus(10, length, VOCAB, CLASSES, 3);
}

/* The rows of one sequence, by their keys under `all`: in another sequence they are others. */
typedef struct {
    double scale;
    int64_t rows;
    cs_hash128 key[MOST_KEYS];
    double mass[MOST_KEYS][VOCAB];
} sequence_rows;

static cs_status add_event(void *ctx, const cs_contribution *c)
{
    sequence_rows *s = ctx;
    int64_t r = s->rows;
    while (r > 0 && cs_hash_compare(s->key[r - 1], c->key) != 0) {
        --r;
    }
    if (r == 0) {
        assert_true(s->rows < MOST_KEYS);
        s->key[s->rows] = c->key;
        memset(s->mass[s->rows], 0, sizeof *s->mass);
        r = ++s->rows;
    }
    s->mass[r - 1][c->token] += c->weight * s->scale;
    return CS_OK;
}

/* The expected matrices: the Gram form, the same by class, and the matrix itself. */
typedef struct {
    double gram[VOCAB][VOCAB], of_class[VOCAB][CLASSES];
    int64_t rows, entries, windows, capacity[3];
    int64_t *row, *col;
    double *val;
} truth;

static void truth_free(truth *t)
{
    CS_FREE_FIELDS(t, row, col, val);
}

static void add_row(truth *t, const double *mass, int32_t label)
{
    double sum = 0;
    for (int v = 0; v < VOCAB; ++v) {
        sum += mass[v];
        if (mass[v] > 0) {
            OK(cs_reserve(&t->row, &t->capacity[0], t->entries + 1, sizeof *t->row));
            OK(cs_reserve(&t->col, &t->capacity[1], t->entries + 1, sizeof *t->col));
            OK(cs_reserve(&t->val, &t->capacity[2], t->entries + 1, sizeof *t->val));
            t->row[t->entries] = t->rows;
            t->col[t->entries] = v;
            t->val[t->entries++] = mass[v];
        }
    }
    for (int u = 0; u < VOCAB; ++u) {
        for (int v = 0; v < VOCAB; ++v) {
            t->gram[u][v] += mass[u] * mass[v] / sum;
        }
        if (label >= 0) {
            t->of_class[u][label] += mass[u];
        }
    }
    ++t->rows;
}

static truth enumerate(const cs_corpus *corpus, const cs_cooc_options *o)
{
    static sequence_rows rows;
    truth t = {0};
    AUTO_OK(cs_sequences, all, cs_sequences_of(corpus, o->max_length, o->stride, &all));
    for (int64_t i = 0; i < all.count; ++i) {
        bool exists = false;
        OK(cs_objective_exists(&o->objective, all.length[i], &exists));
        if (!exists) {
            continue;
        }
        cs_sequences one = {1, 0, all.start + i, all.length + i, all.document + i};
        cs_context_options context = {.objective = &o->objective,
                                      .context = {.n = 1, .given = o->context.given}};
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&one, &context, &plan));
        rows.rows = 0;
        rows.scale = o->weight_by_document ? 1 : cs_context_predicted(plan, all.length[i]);
        OK(cs_context_visit(plan, corpus, &one, 0, add_event, &rows, NULL));
        for (int64_t r = 0; r < rows.rows; ++r) {
            add_row(&t, rows.mass[r], corpus->label[all.document[i]]);
        }
        ++t.windows;
    }
    return t;
}

static double entry(const cs_csr *a, int64_t row, int32_t col)
{
    return SUM(e, a->ptr[row], a->ptr[row + 1], a->col[e] == col ? a->val[e] : 0);
}

/* Rows are the tokens with mass, in order. */
static void assert_entries(const cs_cooc *m, const truth *t)
{
    const double unit = m->exact ? m->unit : 1;
    int64_t row = 0;
    double most = LARGEST(u, 0, VOCAB, t->gram[u][u]);
    for (int32_t u = 0; u < VOCAB; ++u) {
        if (!(t->gram[u][u] > 0)) {
            continue;
        }
        assert_true(row < m->matrix.a.rows);
        for (int32_t v = 0; v < VOCAB; ++v) {
            double x = entry(&m->matrix.a, row, v) * unit;
            assert_true(fabs(x - t->gram[u][v]) < 1e-12 * most);
            assert_true((x > 0) == (t->gram[u][v] > 0));
        }
        for (int32_t c = 0; c < CLASSES; ++c) {
            double x = entry(&m->matrix.row_label, row, c) * unit;
            double y = entry(&m->matrix.col_label, u, c) * unit;
            assert_true(fabs(x - t->of_class[u][c]) < 1e-12 * most);
            assert_true(fabs(y - t->of_class[u][c]) < 1e-12 * most);
        }
        ++row;
    }
    assert_int_equal(row, m->matrix.a.rows);
    assert_true(m->matrix.a.gram);
    assert_int_equal(m->sequences, t->windows);
}

static void assert_spectrum(const cs_cooc *m, const truth *t)
{
    const cs_spectrum_options o = {.moment4 = true};
    AUTO_OK(cs_csr, a,
            cs_csr_from_triplets(t->rows, VOCAB, t->entries, t->row, t->col, t->val, &a));
    AUTO_OK(cs_spectrum, whole, cs_spectrum_of(&a, &o, &whole));
    AUTO_OK(cs_spectrum, s, cs_spectrum_of(&m->matrix.a, &o, &s));
    for (int64_t j = 0; j < whole.k || j < s.k; ++j) {
        double x = j < s.k ? s.sigma[j] : 0, y = j < whole.k ? whole.sigma[j] : 0;
        assert_true(fabs(x * x - y * y) < 1e-12);
    }
    assert_int_equal(s.input.components, whole.input.components);
    assert_true(fabs(s.moments.sum_sigma2 - whole.moments.sum_sigma2) < 1e-12);
    assert_true(fabs(s.moments.sum_sigma4 - whole.moments.sum_sigma4) < 1e-12);
    assert_true(s.solution.converged && cs_spectrum_failed(&s) == NULL);
}

static const struct {
    int64_t max_length, stride;
} cuts[] = {{0, 0}, {5, 0}, {4, 1}, {5, 2}, {4, 3}, {4, 4}, {3, 5}, {6, 1}, {2, 1}};

enum { CUTS = sizeof cuts / sizeof *cuts };

static void compare(const cs_corpus *corpus, const char *spec)
{
    cs_cooc_options o = {.threads = 1, .context = {.mode = CS_CONTEXT_UNIQUE, .n = 1}};
    AUTO_OK(cs_plan_file, file, cs_objective_parse_held(spec, &file, &o.objective));
    for (int i = 0; i < 4 * CUTS; ++i) {
        o.max_length = cuts[i / 4].max_length;
        o.stride = cuts[i / 4].stride;
        o.context.given = i % 2;
        o.weight_by_document = i / 2 % 2;
        CS_AUTO(cs_cooc) m = {0};
        CS_AUTO(truth) t = enumerate(corpus, &o);
        if (t.windows > 0) {
            OK(cs_cooc_build(corpus, &o, &m));
            assert_entries(&m, &t);
            assert_spectrum(&m, &t);
        }
    }
}

TEST(entries_and_spectra_are_those_of_all_rows)
{
    static const char *const more[] = {
        "ar:empty-prefix=shared",
        "masked:mask-ratio=0.5,event-weight=mask,empty-prefix=class",
        "variable-masked:unmasked=1:3,event-weight=mask",
        "group-ar:t=2,event-weight=mask,empty-prefix=shared",
        "mix:0.3*ar+0.7*masked(unmasked=1)",
        "mix:1*bernoulli-masked(mask-ratio=0.4)+1*masked(unmasked=2)+2*diverse-ar(t=3)",
    };
    CS_AUTO(cs_corpus) corpus = corpus_of();
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        compare(&corpus, more[i]);
    }
    for (int i = 0; i < plan_spec_count(); ++i) {
        compare(&corpus, plan_spec(i));
    }
}

/* --- as a bound (refinement-and-kernel.md, refinement) ------------------------------------------------------ */

static cs_spectrum values_of(const cs_corpus *corpus, const cs_cooc_options *o)
{
    const cs_spectrum_options all = {.values_only = true};
    cs_spectrum s = {0};
    AUTO_OK(cs_cooc, m, cs_cooc_build(corpus, o, &m));
    assert_true(m.dropped_mass < 1e-12 * m.mass);
    OK(cs_spectrum_of(&m.matrix.a, &all, &s));
    return s;
}

/* Whatever row a blind context makes of a sequence and a conditioning set, sigma by sigma; with the
 * target's position, every row. Strictly somewhere, where rows meet. */
TEST(every_other_context_is_better_connected)
{
    static const char *const specs[] = {"ar", "masked:unmasked=2", "diverse-ar:t=2", "permuted-ar",
                                        "bernoulli-masked:mask-ratio=0.5"};
    static const struct {
        const char *context;
        bool given;
    } modes[] = {{"all", false},      {"document", false}, {"all", true},     {"nearest:1", true},
                 {"nearest:2", true}, {"each:8", true},    {"each:8", false}, {"document", true}};
    CS_AUTO(cs_corpus) corpus = corpus_of();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        for (size_t j = 0; j < sizeof modes / sizeof *modes; ++j) {
            cs_cooc_options o = {.threads = 1, .max_length = 5, .stride = 1}, bound = o;
            OK(cs_objective_parse(specs[i], &o.objective));
            OK(cs_context_parse(modes[j].context, &o.context));
            o.context.given = modes[j].given;
            bound.objective = o.objective;
            bound.context = (cs_context){.mode = CS_CONTEXT_UNIQUE, .n = 1, .given = j > 1};
            CS_AUTO(cs_spectrum) low = values_of(&corpus, &o), high = values_of(&corpus, &bound);
            double least = INFINITY, most = 0;
            for (int64_t k = 0; k < low.k; ++k) {
                double gap = (k < high.k ? high.sigma[k] : 0) - low.sigma[k];
                least = fmin(least, gap);
                most = fmax(most, gap);
            }
            assert_true(least > -1e-10);
            assert_true(most > 0.01 || (i == 0 && j < 2)); /* ar: 1 is all that there is */
        }
    }
}

/* --- the builder's ways ------------------------------------------------------------------------- */

/* A large vocabulary, so that rows leave little of a budget, few of whose words occur. */
static cs_corpus sparse_corpus(int64_t documents)
{
    enum { MOST = 700, WORDS = 8000, SEEN = 300 };
    static int64_t length[MOST];
    assert_true(documents <= MOST);
    for (int64_t d = 0; d < documents; ++d) {
        length[d] = d % 7 == 0 ? 1 + d % 40 : 30 + d * 37 % 190;
    }
    cs_corpus c = small_corpus(documents, length, WORDS, 3, 5);
    for (int64_t i = 0; i < c.tokens; ++i) {
        c.token[i] = c.token[i] % SEEN * (WORDS / SEEN);
    }
    return c;
}

/* Row by row, in one pass or several, with every list of units kept or hardly any, sequences as they
 * are or as their different tokens; and by records, as a group of processes counts. */
TEST(every_way_of_counting_makes_the_same_bits)
{
    static const struct {
        const char *spec;
        int64_t max_length, stride;
        bool given;
    } cases[] = {{"masked:mask-ratio=0.3", 24, 1, false},
                 {"masked:mask-ratio=0.3", 24, 5, false},
                 {"masked:mask-ratio=0.3", 24, 0, false},
                 {"masked:mask-ratio=0.3", 0, 0, false},
                 {"masked:mask-ratio=0.3", 100, 3, true},
                 {"offset-ar:offset-weights=power:1", 24, 1, false},
                 {"offset-ar:offset-weights=power:1", 90, 7, false},
                 {"offset-ar:offset-weights=power:1", 0, 0, false},
                 {"diverse-ar:t=3", 0, 0, false},
                 {"ar", 30, 1, false}};
    CS_AUTO(cs_corpus) large = sparse_corpus(700), small = sparse_corpus(90);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_cooc one = {0}, other = {0}, records = {0};
        build_job job = {.corpus = &small, .options = {.threads = 1}, .result = &records};
        cs_cooc_options *o = &job.options;
        char reason[1][1024];
        cs_status status[1];
        o->max_length = cases[i].max_length;
        o->stride = cases[i].stride;
        OK(cs_objective_parse(cases[i].spec, &o->objective));
        OK(cs_context_parse("unique", &o->context));
        o->context.given = cases[i].given;
        OK(cs_cooc_build(&large, o, &one));
        assert_true(one.dropped_mass == 0);
        for (int budget = 2; budget <= 3; ++budget) {
            o->threads = budget;
            o->memory_budget = budget << 20;
            OK(cs_cooc_build(&large, o, &other));
            assert_int_equal(other.runs, 0);
            assert_same_cooc(&one, &other);
            cs_cooc_free(&other);
        }
        cs_cooc_free(&one);
        OK(cs_cooc_build(&small, o, &one));
        (void)run_ranks(1, build_rank, &job, status, reason);
        OK(status[0]);
        records.runs = 0;
        assert_same_cooc(&one, &records);
        cs_cooc_free(&one);
        cs_cooc_free(&records);
    }
}

/* An entry of R that is a billionth of the others on its diagonal, at the places where it is a
 * difference of two sums, keeps its digits. */
TEST_IN_DIR(small_weights_keep_their_digits)
{
    const char *path = in_dir(state, "plans.json");
    plan_write(path, "{\"plans\": [{\"probability\": 1, \"groups\": [0, 1, 1, 1, 2, 2],"
                     " \"weights\": [0, 1e-9, 1, 1, 1e-9, 1e-9]}]}");
    char spec[160];
    (void)snprintf(spec, sizeof spec, "file:plan-file=%s", path);
    cs_cooc_options o = {.threads = 1, .max_length = 6, .stride = 1};
    AUTO_OK(cs_plan_file, file, cs_objective_parse_held(spec, &file, &o.objective));
    OK(cs_context_parse("unique", &o.context));
    const cs_context_options context = {
        .objective = &o.objective, .context = o.context, .window = 6, .stride = 1};
    int64_t start = 0, document = 0;
    int32_t length = 8;
    cs_sequences run = one_sequence(&start, &length, &document);
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&run, &context, &plan));
    const cs_context_table *t = cs_context_table_of(plan, 8);
    /* Positions 5 and 6 of 8 are 4 and 5 of the second window (of three) and 3, 4 of the third. */
    const double whole = 2 + 3e-9, last = 2e-9 / whole;
    assert_true(fabs(cs_context_pair_weight(plan, t, 3, 7, 7) / (1e-9 / 2 / whole) - 1) < 1e-12);
    assert_true(fabs(cs_context_pair_weight(plan, t, 3, 6, 7) / (last / 4) - 1) < 1e-12);
    assert_true(fabs(cs_context_pair_weight(plan, t, 3, 1, 1) / (1e-18 / (2 + 1e-9) / whole) - 1) <
                1e-12);
}

/* One token is masked at a time: no two targets share a set, and the form is diagonal, a number for
 * each occurrence. Long documents of rare words: as lists of their different tokens. */
TEST(targets_that_share_no_set)
{
    enum { DOCUMENTS = 20, EACH = 60, WORDS = 5000 };
    int64_t count[WORDS] = {0}, types = 0;
    ARRAY(int64_t, length, DOCUMENTS, d, EACH);
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, WORDS, 2, 4);
    for (int64_t i = 0; i < corpus.tokens; ++i) {
        types += count[corpus.token[i]]++ == 0;
    }
    cs_cooc_options o = {.threads = 2, .memory_budget = 1 << 26};
    OK(cs_objective_parse("masked:mask-ratio=0.01", &o.objective));
    OK(cs_context_parse("unique", &o.context));
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    const cs_csr *a = &m.matrix.a;
    assert_true(a->rows == types && cs_csr_nnz(a) == types && types > DOCUMENTS * EACH / 2);
    for (int64_t r = 0; r < a->rows; ++r) {
        const double each = a->val[r] / (double)count[a->col[r]];
        const double first = a->val[0] / (double)count[a->col[0]];
        assert_int_equal(a->ptr[r], r);
        assert_true(fabs(each / first - 1) < 1e-12);
        assert_true(r == 0 || a->col[r] > a->col[r - 1]);
    }
}

/* Under permuted-ar any two positions share the same weight: off the diagonal an entry is a number for
 * each pair of occurrences in one document, of rare words and of frequent ones. */
TEST(pairs_of_rare_words)
{
    enum { DOCUMENTS = 20, EACH = 60, WORDS = 2000 };
    ARRAY(int64_t, length, DOCUMENTS, d, EACH);
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, WORDS, 2, 4);
    int32_t *pairs = test_zeros((int64_t)WORDS * WORDS, sizeof *pairs);
    int64_t different = 0, found = 0;
    for (int64_t i = 0; i < corpus.tokens; ++i) {
        corpus.token[i] = i % 7 == 0 ? 5 : corpus.token[i]; /* a frequent one */
    }
    for (int64_t i = 0; i < corpus.tokens; ++i) {
        for (int64_t j = i / EACH * EACH; j < (i / EACH + 1) * EACH; ++j) {
            const int64_t u = corpus.token[i], v = corpus.token[j];
            different += u != v && pairs[u * WORDS + v] == 0;
            pairs[u * WORDS + v] += u != v;
        }
    }
    cs_cooc_options o = {.threads = 2, .memory_budget = 1 << 26};
    double each = 0;
    OK(cs_objective_parse("permuted-ar", &o.objective));
    OK(cs_context_parse("unique", &o.context));
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    const cs_csr *a = &m.matrix.a;
    for (int64_t r = 0; r < a->rows; ++r) {
        const int64_t v = corpus.token[corpus.doc_ptr[m.witness_sequence[r]] +
                                       m.witness_ordinal[r] / (2 * EACH - 1)];
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            if (a->col[e] != v) {
                const double one = a->val[e] / pairs[v * WORDS + a->col[e]];
                each = each > 0 ? each : one;
                assert_true(fabs(one / each - 1) < 1e-12);
                ++found;
            }
        }
    }
    assert_int_equal(found, different);
}

TEST(samples_are_refused)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_cooc_options o = {.draws = 5};
    cs_cooc m = {0};
    OK(cs_objective_parse("permuted-ar", &o.objective));
    OK(cs_context_parse("unique", &o.context));
    assert_fails(cs_cooc_build(&corpus, &o, &m), CS_ERR_USAGE,
                 "5 draws cannot be used: context unique");
}

TEST_IN_DIR(stored_forms_come_back)
{
    const char *dir = in_dir(state, "m");
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_cooc_options o = {.threads = 1, .max_length = 4, .stride = 1};
    cs_cooc_store back = {0};
    OK(cs_objective_parse("masked:unmasked=2", &o.objective));
    OK(cs_context_parse("unique", &o.context));
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(dir, &corpus, &o, &m, true, false));
    OK(cs_cooc_read(dir, &back));
    assert_true(back.cooc.matrix.a.gram);
    assert_string_equal(json_string_value(json_object_get(back.sidecar, "form")), "gram");
    assert_same_csr(&back.cooc.matrix.a, &m.matrix.a);
    assert_int_equal(back.cooc.sequences, m.sequences);
    for (int64_t r = 0; r < m.matrix.a.rows; ++r) { /* every token has mass here */
        CS_AUTO_FREE char *text = NULL;
        OK(cs_cooc_row_text(&back, r, &text));
        assert_string_equal(text, corpus.word[r]);
    }
    /* A matrix of counts in its place is recognised. */
    m.matrix.a.gram = false;
    cs_cooc_store_free(&back);
    OK(cs_cooc_write(dir, &corpus, &o, &m, false, true));
    assert_fails(cs_cooc_read(dir, &back), CS_ERR_INPUT, "is not a Gram form");
}
