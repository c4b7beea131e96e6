/* analysis/measures/language_labels: alpha~ against all pairs of events of a tiny corpus, and
 * p_max, alpha~, E and Theorem 4.1's bound against the matrix of a synthetic language itself. */
#include "analysis/measures/language_labels.h"
#include "analysis/theorems/theorems.h"
#include "document_pairs.h"
#include "io/json.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "stats/jackknife.h"
#include "test.h"
#include "text/synthetic.h"

static cs_cooc_options build_of(int64_t max_length)
{
    cs_cooc_options o = {.threads = 1, .max_length = max_length, .stride = 1};
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse("nearest:2", &o.context));
    return o;
}

/* --- all pairs of events ---------------------------------------------------------------------- */

enum { DOCUMENTS = 40, VOCAB = 7, CLASSES = 2, ALL_CLASSES = 3, BLOCKS = 4 };

/* P(v, c) / m of the documents of some folds: pairs of events of one context and two documents. */
static void joint_of(const document_events *e, const int *label, const uint8_t *part,
                     unsigned folds, double joint[VOCAB][ALL_CLASSES])
{
    double seen = 0;
    memset(joint, 0, sizeof(double) * VOCAB * ALL_CLASSES);
    for (int64_t i = 0; i < e->count; ++i) {
        double n = 0, pairs = 0; /* of the context of i */
        for (int64_t j = 0; j < e->count; ++j) {
            if (cs_hash_compare(e->key[i], e->key[j]) != 0 || part[e->document[j]] == CS_LEFT_OUT ||
                !(folds >> part[e->document[j]] & 1)) {
                continue;
            }
            n += e->weight[j];
            for (int64_t k = 0; k < e->count; ++k) {
                const bool in = cs_hash_compare(e->key[i], e->key[k]) == 0 &&
                                part[e->document[k]] != CS_LEFT_OUT &&
                                folds >> part[e->document[k]] & 1;
                pairs += in && e->document[j] != e->document[k] ? e->weight[j] * e->weight[k] : 0;
            }
        }
        const bool chosen =
            part[e->document[i]] != CS_LEFT_OUT && folds >> part[e->document[i]] & 1;
        for (int64_t j = 0; j < e->count && chosen && pairs > 0; ++j) {
            const bool in = cs_hash_compare(e->key[i], e->key[j]) == 0 &&
                            part[e->document[j]] != CS_LEFT_OUT &&
                            folds >> part[e->document[j]] & 1;
            if (in && e->document[i] != e->document[j])
                joint[e->token[i]][label[e->document[j]]] +=
                    e->weight[i] * e->weight[j] * n / pairs;
        }
        seen += chosen && pairs > 0 ? e->weight[i] : 0;
    }
    for (int x = 0; x < VOCAB * ALL_CLASSES; ++x) {
        joint[x / ALL_CLASSES][x % ALL_CLASSES] /= seen;
    }
}

static void choose(uint64_t seed, int block, uint8_t *part)
{
    int32_t order[DOCUMENTS];
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SPLIT, 0);
    cs_rng_permutation(&rng, DOCUMENTS, order);
    for (int d = 0; d < DOCUMENTS; ++d) {
        part[d] = order[d] / 8 % BLOCKS == block ? CS_LEFT_OUT : (uint8_t)(order[d] % 8);
    }
}

static void alpha_of(const document_events *e, const int *label, int block, double *alpha,
                     double *p_max)
{
    static const unsigned half[7] = {0x55, 0x33, 0x99, 0x0f, 0xa5, 0xc3, 0x69};
    double mass[VOCAB] = {0}, all = 0, of_class[ALL_CLASSES] = {0};
    double a[VOCAB][ALL_CLASSES], b[VOCAB][ALL_CLASSES];
    uint8_t part[DOCUMENTS];
    choose(7, block, part);
    for (int64_t i = 0; i < e->count; ++i) {
        const double w = part[e->document[i]] == CS_LEFT_OUT ? 0 : e->weight[i];
        mass[e->token[i]] += w;
        of_class[label[e->document[i]]] += w;
        all += w;
    }
    *alpha = 1;
    for (int s = 0; s < 7; ++s) {
        joint_of(e, label, part, half[s], a);
        joint_of(e, label, part, 0xff & ~half[s], b);
        for (int x = 0; x < VOCAB * ALL_CLASSES; ++x) {
            const int v = x / ALL_CLASSES, c = x % ALL_CLASSES;
            *alpha -= mass[v] > 0 ? a[v][c] * b[v][c] / (mass[v] / all) / 7 : 0;
        }
    }
    *p_max = fmax(of_class[0], fmax(of_class[1], of_class[2])) / all;
}

TEST(alpha_is_that_of_all_pairs_of_events)
{
    int label[DOCUMENTS];
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 3);
    ARRAY(int64_t, length, DOCUMENTS, d, 3 + cs_rng_below(&rng, 5));
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, VOCAB, CLASSES, 12);
    corpus.label[3] = -1; /* is a separate class */
    for (int d = 0; d < DOCUMENTS; ++d) {
        label[d] = corpus.label[d] < 0 ? CLASSES : corpus.label[d];
    }
    const cs_cooc_options build = build_of(3);
    const cs_language_options o = {.k = 2, .blocks = BLOCKS, .seed = 7, .threads = 1};
    const document_events e = events_of(&corpus, &build);
    cs_language_labels l = {0};
    OK(cs_language_labels_of(&corpus, &build, &o, &l));
    assert_int_equal(l.classes, ALL_CLASSES);
    for (int b = -1; b < BLOCKS; ++b) {
        double alpha, p_max;
        alpha_of(&e, label, b, &alpha, &p_max);
        assert_true(fabs(l.alpha[b + 1] - alpha) < 1e-11);
        assert_true(fabs(l.p_max[b + 1] - p_max) < 1e-12);
    }
    for (int t = 0; t < 2; ++t) { /* of all, and its blocks' mean is near it */
        assert_true(l.error[t] > 0 && l.error[t] < 1 && l.error[2 + t] != l.error[4 + t]);
    }
    cs_language_labels_free(&l);
    for (int d = 0; d < DOCUMENTS; ++d) {
        corpus.label[d] = -1;
    }
    assert_fails(cs_language_labels_of(&corpus, &build, &o, &l), CS_ERR_USAGE, "no document");
}

/* --- a synthetic language --- */

static const char LANGUAGE[] =
    "hmm:states=2,words=6,classes=2,emission=0.05,concentration=0.2,length=4,"
    "documents=3000,zipf=0.5,seed=2,sample=2";

/* The matrix of the population, its rows' soft labels, and what they come to. */
typedef struct {
    double p_max, alpha;
    json_t *rows; /* of Theorem 4.1, t = 1 .. */
} truth;

static truth truth_of(const cs_cooc_options *build)
{
    CS_AUTO(cs_spectrum) s = {0};
    CS_AUTO(cs_statements) statements = {0};
    truth t = {.alpha = 1};
    json_auto_t *record = NULL;
    const cs_spectrum_options so = {.threads = 1};
    const cs_theorem_input in = {.rotations = 1, .threads = 1};
    AUTO_OK(cs_corpus, texts,
            cs_synthetic_population_of(LANGUAGE, build->max_length, build->stride, &texts));
    AUTO_OK(cs_cooc, m, cs_cooc_build(&texts, build, &m));
    const cs_csr *a = &m.matrix.a, *y = &m.matrix.row_label;
    double all = 0, *column = test_zeros(a->cols, sizeof *column), of_class[2] = {0};
    double(*joint)[2] = test_zeros(a->cols, sizeof *joint);
    for (int64_t r = 0; r < a->rows; ++r) {
        double of_row[2] = {0}, sum = 0;
        for (int64_t e = y->ptr[r]; e < y->ptr[r + 1]; ++e) {
            of_row[y->col[e]] = y->val[e];
            sum += y->val[e];
        }
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            column[a->col[e]] += a->val[e];
            all += a->val[e];
            for (int c = 0; c < 2; ++c) {
                joint[a->col[e]][c] += a->val[e] * of_row[c] / sum;
                of_class[c] += a->val[e] * of_row[c] / sum;
            }
        }
    }
    t.p_max = fmax(of_class[0], of_class[1]) / all;
    for (int64_t v = 0; v < a->cols; ++v) {
        for (int c = 0; c < 2 && column[v] > 0; ++c) {
            t.alpha -= joint[v][c] * joint[v][c] / column[v] / all;
        }
    }
    OK(cs_spectrum_of(a, &so, &s));
    CS_AUTO(cs_result) *result = cs_result_new();
    OK(cs_theorem_41(&m.matrix, &s, "law", &in, &statements,
                     cs_item_array(cs_result_root(result), "rows")));
    OK(cs_result_json(result, &record));
    t.rows = json_incref(json_object_get(record, "rows"));
    return t;
}

static double at(const json_t *rows, size_t t, const char *key)
{
    return json_number_value(json_object_get(json_array_get(rows, t - 1), key));
}

/* Each estimate lies within four of its standard errors of the truth, E above it by what estimated
 * features lose. */
TEST(a_language_has_its_own_bound)
{
    enum { K = 4 };
    const cs_cooc_options build = build_of(4);
    const cs_language_options o = {.k = K, .blocks = 10, .seed = 1, .threads = 1};
    const truth want = truth_of(&build);
    json_auto_t *record = NULL;
    const cs_corpus_options options = {.threads = 1};
    AUTO_OK(cs_corpus, corpus, cs_corpus_load(LANGUAGE, &options, &corpus));
    AUTO_OK(cs_language_labels, l, cs_language_labels_of(&corpus, &build, &o, &l));
    const double alpha_se = cs_jackknife_error(o.blocks, l.alpha + 1, 1);
    print_message("alpha~ %g +- %g, truth %g\n", l.alpha[0], alpha_se, want.alpha);
    assert_true(alpha_se < 0.02 && fabs(l.alpha[0] - want.alpha) < 4 * alpha_se);
    assert_true(fabs(l.p_max[0] - want.p_max) < 4 * cs_jackknife_error(o.blocks, l.p_max + 1, 1));
    cs_theorem_input in = {.name = "law",
                           .corpus = &corpus,
                           .build = &build,
                           .triplets = K,
                           .blocks = 10,
                           .seed = 1,
                           .threads = 1};
    cs_theorem_report report = {0};
    cs_result *result = cs_result_new();
    report.rows = cs_item_array(cs_result_root(result), "rows");
    OK(cs_theorem_41_language(&in, &report));
    OK(cs_result_json(result, &record));
    const json_t *rows = json_object_get(record, "rows");
    const cs_statement *s = &report.statements.item[0];
    const double error = json_number_value(json_object_get(s->details, "bound_error"));
    const size_t least = (size_t)json_integer_value(json_object_get(s->details, "t"));
    for (size_t t = 1; t <= 3; ++t) {
        print_message("t %zu: E %g, truth %g; bound %g, truth %g; sigma %g, truth %g\n", t,
                      at(rows, t, "error_soft"), at(want.rows, t, "error_soft"),
                      at(rows, t, "bound_soft"), at(want.rows, t, "bound_soft"),
                      at(rows, t, "sigma"), at(want.rows, t, "sigma"));
        /* at t = 1 two classes as likely tie in truth */
        assert_true(t == 1 ||
                    fabs(at(rows, t, "error_soft") - at(want.rows, t, "error_soft")) < 0.05);
        assert_true(fabs(at(rows, t, "bound_soft") - at(want.rows, t, "bound_soft")) < 2 * error);
    }
    assert_true(error > 0 && error < 0.1);
    assert_true(fabs(s->rhs - at(rows, least, "bound_soft")) < 1e-12);
    assert_true(s->verdict == CS_PASS);
    json_decref(want.rows);
    cs_result_free(&result);
    cs_statements_free(&report.statements);
}
