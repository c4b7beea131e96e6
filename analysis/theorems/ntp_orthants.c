/* Orthants of the leading right singular vectors against classes (Zhao and Thrampoulidis 2025): the
 * signs of a token's coordinates in the first d directions are its cluster, one of at most 2^d.
 *
 * The class of a token is the one that most of its mass belongs to (cs_majority), so the labels are
 * those of documents. Both partitions are compared by adjusted mutual information and purity, with a
 * permutation test (stats/partition.h). Directions end at a gap of the singular values, since signs
 * inside a degenerate space are arbitrary.
 *
 * Limit: MOST_DIRECTIONS. */
#include "analysis/theorems/ntp_orthants.h"

#include "analysis/theorems/form_spectrum.h"
#include "base/auto.h"
#include "base/ints.h"
#include "stats/partition.h"

enum { MOST_DIRECTIONS = 12, PERMUTATIONS = 999 };
static const double GAP = 1e-6; /* of singular values that are distinguished, / sigma_1 */

static const char *const form_names[] = {"support", "normalised"};
enum { FORMS = 2 };

/* Labelled tokens, in the order of the columns. */
typedef struct {
    int64_t count, classes;
    int32_t *column, *class_of, *cluster;
} labelled_tokens;

static labelled_tokens tokens_of(const cs_labelled *m, cs_pool *pool)
{
    labelled_tokens t = {0};
    int32_t *label = cs_pool_take(pool, m->a.cols, sizeof *label);
    int32_t *number = cs_pool_take(pool, m->labels, sizeof *number);
    t.column = cs_pool_take(pool, m->a.cols, sizeof *t.column);
    t.class_of = cs_pool_take(pool, m->a.cols, sizeof *t.class_of);
    t.cluster = cs_pool_take(pool, m->a.cols, sizeof *t.cluster);
    if (pool->status != CS_OK || m->labels == 0) return t;
    cs_majority(&m->col_label, label);
    for (int64_t j = 0; j < m->a.cols; ++j) {
        if (label[j] >= 0) {
            number[label[j]] = number[label[j]] > 0 ? number[label[j]] : (int32_t)++t.classes;
            t.column[t.count] = (int32_t)j;
            t.class_of[t.count++] = number[label[j]] - 1;
        }
    }
    return t;
}

/* d: the largest of at most `most` with a gap after it. The first vector of the normalised matrix
 * has one sign. */
static int64_t choose_directions(const cs_spectrum *s, int64_t most)
{
    int64_t d = 0;
    for (int64_t k = 1; k <= most && k < s->k; ++k) {
        d = s->sigma[k - 1] - s->sigma[k] >= GAP * s->sigma[0] ? k : d;
    }
    return d;
}

/* The orthant of each labelled token, numbered by first appearance; returns how many there are. */
static int64_t number_orthants(const cs_spectrum *s, int64_t d, labelled_tokens *t)
{
    int32_t number[1 << MOST_DIRECTIONS] = {0}, count = 0;
    for (int64_t i = 0; i < t->count; ++i) {
        uint32_t signs = 0;
        for (int64_t k = 0; k < d; ++k) {
            const double x = s->v.data[t->column[i] + k * s->v.ld];
            signs |= (uint32_t)(x > 0) << k;
        }
        number[signs] = number[signs] > 0 ? number[signs] : ++count;
        t->cluster[i] = number[signs] - 1;
    }
    return count;
}

static void state(const char *name, const cs_partition_agreement *a, int64_t d, int64_t orthants,
                  const labelled_tokens *t, cs_statements *out)
{
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"ntp-orthants", CS_PRINTED, CS_RELATION_LESS,
                         "orthants of the leading right singular vectors of the support form are "
                         "classes of tokens: adjusted mutual information exceeds the .95 quantile "
                         "of permuted classes",
                         name, a->limit, a->ami, 0});
    cs_statement_reals(s, 8,
                       (cs_detail[]){{"directions", (double)d},
                                     {"orthants", (double)orthants},
                                     {"tokens", (double)t->count},
                                     {"classes", (double)t->classes},
                                     {"p", a->p},
                                     {"detectable", a->detectable},
                                     {"purity", a->purity},
                                     {"null_purity", a->null_purity}});
    /* a test that finds nothing disproves nothing */
    if (s && s->verdict == CS_FAIL) cs_statement_withhold(s);
}

cs_status cs_ntp_orthants(const cs_labelled *matrix, const char *name, const cs_theorem_input *in,
                          int64_t directions, cs_theorem_report *report)
{
    CS_AUTO(cs_pool) pool = {0};
    labelled_tokens t = tokens_of(matrix, &pool);
    cs_status status = pool.status;
    const int64_t most = cs_least(directions, MOST_DIRECTIONS);
    for (int f = 0; f < FORMS && t.classes > 1 && status == CS_OK; ++f) {
        CS_AUTO(cs_spectrum) s = {0};
        cs_partition_agreement a;
        const int64_t side = cs_least(matrix->a.rows, matrix->a.cols);
        status =
            cs_form_spectrum(&matrix->a, form_names[f], cs_least(most + 1, side), false, in, &s);
        const int64_t d = status == CS_OK ? choose_directions(&s, most) : 0;
        if (d == 0) continue;
        const int64_t orthants = number_orthants(&s, d, &t);
        const cs_partition_pair pair = {t.count,   t.cluster,    t.class_of, orthants,
                                        t.classes, PERMUTATIONS, in->seed};
        status = cs_partition_agreement_of(&pair, &a);
        if (status != CS_OK) return status;
        cs_item *item = cs_item_object(report->course, NULL);
        cs_item_text(item, "input", name);
        cs_item_text(item, "form", form_names[f]);
        cs_item_int(item, "directions", d);
        cs_item_int(item, "orthants", orthants);
        cs_item_int(item, "tokens", t.count);
        cs_item_int(item, "classes", t.classes);
        CS_ITEM_FIELDS(item, &a, ami, p, limit, detectable, purity, null_purity);
        if (f == 0) state(name, &a, d, orthants, &t, &report->statements);
    }
    return status;
}
