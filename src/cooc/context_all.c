/* Context `all`: the whole conditioning set with its positions (spectra.md).
 *
 * Under `all` the source has already summed the items' hashes, prefix by prefix or set by set, so
 * an event costs one addition. Exact on short windows; on whole documents nearly every row is
 * unique.
 */
#include "cooc/context_private.h"

enum { GAP = 4 }; /* unknown positions written one by one */

static cs_status event(cs_context_walker *w, const cs_context_event *e)
{
    cs_hash128 key = cs_key_given(w, e->size > 0 ? e->sum : cs_key_empty(w), e->target);
    cs_contribution c = cs_contribution_of(w, e->target, key, e->weight, e->ordinal, e->size);
    c.position = e->position;
    c.content = e->content;
    return w->visit(w->ctx, &c);
}

/* "w1 _ w3": unknown positions as _, or _*N where they are many. */
static void text(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to)
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

const cs_context_kind cs_context_all = {.whole = true, .event = event, .text = text};
