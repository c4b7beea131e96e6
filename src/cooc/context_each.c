/* Context `each:w`: every conditioning token within w positions of the target is its own row, the
 * event's weight shared equally among them; the GloVe and LSA view (spectra.md).
 *
 * Under a permutation-invariant objective a window of W positions holds none of S with probability
 * P_0 = sum_m q(m) C(s-1-W, m) / C(s-1, m), and by symmetry each of its places gets (1 - P_0) / W.
 * 1 - P_0 is summed from the probabilities that the first, second, ... position is the first one in
 * S, all positive, so it keeps its digits where P_0 is near 1.
 *
 * Where pairs count, a position at distance d has the weight f(d) P(p in S, k), and for a uniform S
 * P(p in S, k) = sum_m (q(m) / s) m / (s - 1), the same for all pairs of positions. */
#include "cooc/context_private.h"

#include <stdlib.h>

#include "base/mem.h"

static int64_t near_end(int64_t k, int64_t w, int64_t end)
{
    return k + w < end ? k + w : end;
}

static void pair_table(const cs_context_plan *plan, cs_context_table *t)
{
    const int64_t s = t->pairs.length;
    double together = 0;
    for (int64_t m = 1; m < s; ++m) {
        together += t->pairs.q[m] / (double)s * ((double)m / (double)(s - 1));
    }
    for (int64_t d = 1; d <= plan->context.n && d < s; ++d) {
        t->place[d] = together * cs_context_pair_count(&plan->context, d);
    }
}

static cs_status table(const cs_context_plan *plan, cs_context_table *t)
{
    int64_t s = t->pairs.length, w = plan->context.n;
    int64_t widest = w < s ? 2 * w : 2 * s; /* windows never pass the sequence */
    CS_POOL_FIELDS(&t->pool, widest + 1, t, place, missed);
    if (t->pool.status != CS_OK) return t->pool.status;
    if (plan->context.pairs) {
        pair_table(plan, t);
        return CS_OK;
    }
    for (int64_t m = 0; m < s; ++m) {
        double miss = t->pairs.q[m] / (double)s, hit = 0;
        if (miss <= 0) {
            continue;
        }
        t->missed[0] += miss;
        for (int64_t size = 1; size <= widest && size < s; ++size) {
            int64_t left = s - size; /* positions not examined before this one */
            int64_t free = left - m;
            hit += miss * (double)(m < left ? m : left) / (double)left;
            miss *= free > 0 ? (double)free / (double)left : 0;
            t->place[size] += hit / (double)size;
            t->missed[size] += miss;
        }
    }
    return CS_OK;
}

static cs_status visit_place(cs_context_walker *w, int64_t target, int64_t position, double weight,
                             int64_t ordinal)
{
    int64_t offset = position - target;
    w->row_position[0] = (int32_t)offset;
    w->row_content[0] = w->token[position];
    cs_hash128 key =
        cs_key_of(CS_KEY_ITEM, w->plan->context.given ? offset : 0, w->token[position]);
    cs_contribution c = cs_contribution_of(w, target, key, weight, ordinal, 1);
    return w->visit(w->ctx, &c);
}

static cs_status event(cs_context_walker *w, const cs_context_event *e)
{
    int64_t k = e->target, width = w->plan->context.n;
    int64_t first = k > width ? k - width : 0;
    int64_t end = e->prefix >= 0 ? e->prefix : near_end(k, width, w->length - 1) + 1;
    int64_t count = e->prefix >= 0 ? end - first : 0;
    for (int64_t p = first; e->prefix < 0 && p < end; ++p) {
        count += p != k && e->rank[p] < e->limit;
    }
    const bool shared = !w->plan->context.pairs;
    if (count <= 0) {
        w->dropped += shared ? e->weight : 0;
        return CS_OK;
    }
    double share = e->weight / (double)count;
    int64_t ordinal = e->ordinal;
    cs_status status = CS_OK;
    for (int64_t p = first; p < end && status == CS_OK; ++p) {
        if (e->prefix >= 0 || (p != k && e->rank[p] < e->limit)) {
            if (!shared) {
                share = e->weight * cs_context_pair_count(&w->plan->context, llabs(p - k));
            }
            status = visit_place(w, k, p, share, ordinal++);
        }
    }
    return status;
}

static cs_status targets(cs_context_walker *w, int64_t first, int64_t last)
{
    const cs_context_table *t = w->table;
    int64_t width = w->plan->context.n;
    cs_status status = CS_OK;
    for (int64_t k = first; k < last && status == CS_OK; ++k) {
        int64_t from = k > width ? k - width : 0, to = near_end(k, width, w->length - 1);
        int64_t ordinal = cs_context_ordinal(t, k);
        w->dropped += t->missed[to - from];
        for (int64_t p = from; p <= to && status == CS_OK; ++p) {
            const double weight = t->place[w->plan->context.pairs ? llabs(p - k) : to - from];
            if (p != k && weight > 0) {
                status = visit_place(w, k, p, weight, ordinal++);
            }
        }
    }
    return status;
}

static int64_t places(const cs_context_plan *plan, int64_t s, bool one_sided)
{
    int64_t n = plan->context.n < s - 1 ? plan->context.n : s - 1;
    int64_t both = one_sided ? n : 2 * n;
    return both < s - 1 ? both : s - 1;
}

static void weights(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *found)
{
    int64_t s = t->pairs.length, n = plan->context.n;
    for (int64_t d = 1; plan->context.pairs && d <= n && d < s; ++d) {
        cs_divisors_take(found, t->place[d]);
    }
    for (int64_t k = 0; !plan->context.pairs && k <= n && k < s; ++k) {
        int64_t left = k < n ? k : n, right = s - 1 - k < n ? s - 1 - k : n;
        cs_divisors_take(found, t->place[left + right]);
    }
}

static void text(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to)
{
    (void)c;
    cs_context_put_word(w, "", item[0].token, to);
    if (w->plan->context.given) {
        (void)fprintf(to, "[%+d]", (int)item[0].position);
    }
}

const cs_context_kind cs_context_each = {.tokens = true,
                                         .pairs = true,
                                         .places = places,
                                         .event = event,
                                         .table = table,
                                         .weights = weights,
                                         .targets = targets,
                                         .text = text};

/* Context `all`: the whole conditioning set with its positions (spectra.md).
 *
 * Under `all` the source has already summed the items' hashes, prefix by prefix or set by set, so
 * an event costs one addition. Exact on short windows; on whole documents nearly every row is
 * unique.
 */
enum { GAP = 4 }; /* unknown positions written one by one */

static cs_status all_event(cs_context_walker *w, const cs_context_event *e)
{
    cs_hash128 key = cs_key_given(w, e->size > 0 ? e->sum : cs_key_empty(w), e->target);
    cs_contribution c = cs_contribution_of(w, e->target, key, e->weight, e->ordinal, e->size);
    c.position = e->position;
    c.content = e->content;
    return w->visit(w->ctx, &c);
}

/* "w1 _ w3": unknown positions as _, or _*N where they are many. */
static void all_text(const cs_context_walker *w, const cs_contribution *c,
                     const cs_context_item *item, FILE *to)
{
    const char *separator = "";
    int64_t next = 0;
    if (c->items == 0) {
        bool tagged = w->plan->objective.empty_prefix == CS_PREFIX_CLASS;
        (void)fprintf(to, tagged ? "(empty: %s)" : "(empty)",
                      cs_corpus_label(w->corpus, w->document));
    }
    for (int64_t i = 0; i < c->items; ++i) {
        int64_t gap = item[i].position - next;
        if (gap > GAP) {
            (void)fprintf(to, "%s_*%lld", separator, (long long)gap);
            separator = " ";
        }
        for (; gap > 0 && gap <= GAP; --gap) {
            (void)fprintf(to, "%s_", separator);
            separator = " ";
        }
        cs_context_put_word(w, separator, item[i].token, to);
        separator = " ";
        next = item[i].position + 1;
    }
    cs_context_put_target(w, c, to);
}

const cs_context_kind cs_context_all = {.whole = true, .event = all_event, .text = all_text};

/* Context `document`: the document of the target (spectra.md). */
static cs_status visit(cs_context_walker *w, int64_t target, double weight, int64_t ordinal)
{
    cs_hash128 key = cs_key_given(
        w, cs_key_of(CS_KEY_DOCUMENT, w->corpus->first_document + w->document, 0), target);
    cs_contribution c = cs_contribution_of(w, target, key, weight, ordinal, 0);
    return w->visit(w->ctx, &c);
}

static cs_status document_event(cs_context_walker *w, const cs_context_event *e)
{
    return visit(w, e->target, e->weight, e->ordinal);
}

/* A permutation-invariant objective predicts every position with the same probability. */
static double of_target(const cs_context_table *t)
{
    return t->pairs.invariant / (double)t->pairs.length;
}

static cs_status document_targets(cs_context_walker *w, int64_t first, int64_t last)
{
    cs_status status = CS_OK;
    for (int64_t k = first; k < last && status == CS_OK; ++k) {
        status = visit(w, k, of_target(w->table), cs_context_ordinal(w->table, k));
    }
    return status;
}

static void document_weights(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *d)
{
    (void)plan;
    cs_divisors_take(d, of_target(t));
}

static void document_text(const cs_context_walker *w, const cs_contribution *c,
                          const cs_context_item *item, FILE *to)
{
    (void)item;
    (void)fprintf(to, "document %lld", (long long)w->document);
    cs_context_put_target(w, c, to);
}

const cs_context_kind cs_context_document = {.event = document_event,
                                             .weights = document_weights,
                                             .targets = document_targets,
                                             .text = document_text};
