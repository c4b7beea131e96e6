/* Gram blocks of the sets of rows, and what comes of them.
 *
 * Sums are kept of disjoint parts, so that no product is formed twice: with-mask is the [MASK] rows
 * and the real ones, without-mask of MAE-LM the kept tokens and the others. */
#include "analysis/measures/mask_rank.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "analysis/measures/effective_rank.h"
#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "stats/jackknife.h"

enum { PIECE_BITS = 20 };

typedef enum { PART_MASK, PART_REAL, PART_SAMPLE, PART_PLAIN, PART_PLAIN_MASKED, PARTS } part;

struct cs_mask_rank_sums {
    cs_mask_rank_options options;
    int64_t width;
    int32_t mask_id;
    const int32_t *block;
    cs_gram *gram;  /* layers x PARTS; zeroed where a part is not kept */
    int32_t *group; /* PARTS x capacity */
    int64_t capacity, masked,
        others; /* rows; those at [MASK] (rare: of such tokens), and the rest */
};

static const char *mask_set_name(cs_mask_set set)
{
    static const char *const name[] = {"with-mask",   "without-mask", "mask-only",    "real-only",
                                       "real-sample", "dropped",      "without-kept", "rare-only",
                                       "others",      "others-sample"};
    return name[set];
}

static bool keeps(const cs_mask_rank_options *o, part p)
{
    return o->rare           ? p <= PART_SAMPLE
           : o->encoder_only ? p == PART_REAL || p == PART_PLAIN || p == PART_PLAIN_MASKED
                             : p != PART_PLAIN_MASKED;
}

double cs_mask_rank_bytes(int64_t width, const cs_mask_rank_options *options)
{
    double parts = options->encoder_only || options->rare ? 3 : 4;
    return 8 * parts * (double)options->hidden.layers * (double)options->blocks * (double)width *
           (double)width;
}

cs_status cs_rare_tokens(const cs_corpus *corpus, int64_t vocab, int64_t most, uint8_t *rare)
{
    CS_AUTO_FREE int64_t *count = cs_calloc(vocab, sizeof *count);
    if (!count) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus->tokens; ++i) {
        if (corpus->token[i] < vocab) ++count[corpus->token[i]];
    }
    for (int64_t v = 0; v < vocab; ++v) {
        rare[v] = count[v] <= most;
    }
    return CS_OK;
}

/* --- taking rows --------------------------------------------------------------------------------
 */

cs_status cs_mask_rank_begin(int64_t width, int32_t mask_id, const int32_t *block,
                             const cs_mask_rank_options *options, cs_mask_rank_sums **out)
{
    cs_mask_rank_sums *s = cs_calloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    *s = (cs_mask_rank_sums){
        .options = *options, .width = width, .mask_id = mask_id, .block = block};
    const int64_t layers = options->hidden.layers;
    s->gram = cs_calloc(layers * PARTS, sizeof *s->gram);
    cs_status status = s->gram ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < layers * PARTS && status == CS_OK; ++i) {
        if (keeps(options, (part)(i % PARTS))) {
            status = cs_gram_init(width, options->blocks, &options->gram, &s->gram[i]);
        }
    }
    if (status != CS_OK) cs_mask_rank_end(&s);
    *out = s;
    return status;
}

void cs_mask_rank_end(cs_mask_rank_sums **held)
{
    CS_AUTO_FREE cs_mask_rank_sums *s = *held;
    if (!s) {
        return;
    }
    for (int64_t i = 0; s->gram && i < s->options.hidden.layers * PARTS; ++i) {
        cs_gram_free(&s->gram[i]);
    }
    CS_FREE_FIELDS(s, gram, group);
    *held = NULL;
}

/* Groups of all parts, -1 everywhere. */
static cs_status clear_groups(cs_mask_rank_sums *s, int64_t rows)
{
    if (rows > s->capacity) {
        cs_free(s->group);
        s->capacity = 0;
        s->group = cs_alloc(PARTS * rows, sizeof *s->group);
        if (!s->group) return CS_ERR_MEMORY;
        s->capacity = rows;
    }
    for (int64_t i = 0; i < PARTS * s->capacity; ++i) {
        s->group[i] = -1;
    }
    return CS_OK;
}

static int32_t *groups_of(cs_mask_rank_sums *s, part p)
{
    return s->group + (int64_t)p * s->capacity;
}

static cs_status add_parts(cs_mask_rank_sums *s, const cs_hidden_block *rows, part first, part last)
{
    cs_status status = CS_OK;
    for (int64_t l = 0; l < rows->layers; ++l) {
        const cs_rows states = cs_rows_of_f32(rows->rows, rows->width, rows->state[l], "states");
        for (int p = (int)first; p <= (int)last && status == CS_OK; ++p) {
            cs_gram *g = &s->gram[l * PARTS + p];
            if (keeps(&s->options, (part)p)) {
                status = cs_gram_add(g, &states, groups_of(s, (part)p), &s->options.gram);
            }
        }
    }
    return status;
}

/* As many of a piece's real rows as it has [MASK]s. */
static void sample_piece(cs_mask_rank_sums *s, const cs_hidden_row *about, int64_t first,
                         int64_t end)
{
    const int32_t *mask = groups_of(s, PART_MASK), *real = groups_of(s, PART_REAL);
    int32_t *sample = groups_of(s, PART_SAMPLE);
    int64_t wanted = 0, left = 0;
    for (int64_t i = first; i < end; ++i) {
        wanted += mask[i] >= 0;
        left += real[i] >= 0;
    }
    wanted = wanted < left ? wanted : left;
    uint64_t index = (uint64_t)about[first].document << PIECE_BITS | (uint64_t)about[first].piece;
    cs_rng rng = cs_rng_at(s->options.hidden.mask_seed, CS_STREAM_SAMPLE, index);
    for (int64_t i = first; i < end; ++i) {
        if (real[i] >= 0 && cs_rng_selects(&rng, &left, &wanted)) {
            sample[i] = real[i];
        }
    }
}

cs_status cs_mask_rank_take_masked(void *sums, const cs_hidden_block *rows)
{
    cs_mask_rank_sums *s = sums;
    cs_status status = clear_groups(s, rows->rows);
    if (status != CS_OK) return status;
    int64_t first = 0;
    for (int64_t i = 0; i < rows->rows; ++i) {
        const cs_hidden_row *a = &rows->about[i], *next = a + 1;
        bool mask = s->options.rare ? !a->special && s->options.rare[a->token]
                                    : a->masked && a->shown == s->mask_id;
        groups_of(s, mask ? PART_MASK : PART_REAL)[i] = s->block[a->document];
        s->masked += mask;
        s->others += !mask;
        if (i + 1 == rows->rows || next->document != a->document || next->piece != a->piece) {
            sample_piece(s, rows->about, first, i + 1);
            first = i + 1;
        }
    }
    return add_parts(s, rows, PART_MASK, PART_SAMPLE);
}

cs_status cs_mask_rank_take_plain(void *sums, const cs_hidden_block *rows)
{
    cs_mask_rank_sums *s = sums;
    cs_status status = clear_groups(s, rows->rows);
    for (int64_t i = 0; status == CS_OK && i < rows->rows; ++i) {
        const cs_hidden_row *a = &rows->about[i];
        part p = s->options.encoder_only && a->masked ? PART_PLAIN_MASKED : PART_PLAIN;
        groups_of(s, p)[i] = s->block[a->document];
    }
    return status == CS_OK ? add_parts(s, rows, PART_PLAIN, PART_PLAIN_MASKED) : status;
}

/* --- results ------------------------------------------------------------------------------------
 */

/* The sum of one or two parts (b may be NULL). */
static cs_status study_set(const cs_mask_rank_sums *s, const cs_gram *a, const cs_gram *b,
                           cs_mask_set set, cs_mask_layer *out)
{
    assert(a);
    CS_AUTO(cs_gram) both = {0};
    const cs_gram *g = a;
    cs_status status = CS_OK;
    if (b) {
        status = cs_gram_init(a->cols, a->groups, &s->options.gram, &both);
        if (status == CS_OK && (status = cs_gram_merge(&both, a)) == CS_OK)
            status = cs_gram_merge(&both, b);
        g = &both;
    }
    if (status == CS_OK)
        status = cs_blame(cs_effective_rank_of(g, &s->options.rank, &out->rank[set]), "%s",
                          mask_set_name(set));
    if (status == CS_OK) {
        out->has[set] = true;
        out->about[set] = *g;
        out->about[set].rows = NULL;
        out->about[set].block = out->about[set].sum = out->about[set].origin = NULL;
    }
    return status;
}

cs_mask_set cs_mask_rank_with(const cs_mask_rank *r)
{
    return r->rare ? CS_SET_RARE_ONLY : r->encoder_only ? CS_SET_DROPPED : CS_SET_WITH_MASK;
}

cs_mask_set cs_mask_rank_without(const cs_mask_rank *r)
{
    return r->rare           ? CS_SET_OTHERS_SAMPLE
           : r->encoder_only ? CS_SET_WITHOUT_KEPT
                             : CS_SET_WITHOUT_MASK;
}

/* The paired difference, and its error from differences without the same documents. */
static cs_status fill_gap(const cs_mask_rank *r, cs_mask_layer *l)
{
    const cs_effective_rank *with = &l->rank[cs_mask_rank_with(r)];
    const cs_effective_rank *without = &l->rank[cs_mask_rank_without(r)];
    if (r->rare && with->rows != without->rows) { /* a rank grows with the number of rows */
        for (int m = 0; m < CS_RANK_MEASURES; ++m) {
            l->gap[m] = l->gap_se[m] = NAN;
        }
        return CS_OK;
    }
    if (with->rows != without->rows) {
        return cs_fail(CS_ERR_INPUT,
                       "layer %" PRId64 ": %" PRId64 " rows %s, but %" PRId64
                       " %s; the texts must be the same",
                       l->layer, with->rows, mask_set_name(cs_mask_rank_with(r)), without->rows,
                       mask_set_name(cs_mask_rank_without(r)));
    }
    bool jackknife = with->left_out && without->left_out;
    for (int m = 0; m < CS_RANK_MEASURES; ++m) {
        l->gap[m] = with->value[m] - without->value[m];
        l->gap_se[m] = jackknife && m != CS_RANK_NUMERICAL
                           ? cs_jackknife_difference(r->blocks, with->left_out + m,
                                                     without->left_out + m, CS_RANK_MEASURES)
                           : NAN;
    }
    l->gap_se[CS_RANK_TAU] = l->gap_se[CS_RANK_TAU_INTERPOLATED];
    l->gap_se[CS_RANK_TAU_CORRECTED] =
        with->part_out && without->part_out
            ? hypot(cs_jackknife_difference(with->parts, with->part_out, without->part_out, 1),
                    with->bias_left - without->bias_left)
            : NAN;
    return CS_OK;
}

static cs_status study_layer(const cs_mask_rank_sums *s, const cs_mask_rank *r, cs_gram *g,
                             cs_mask_layer *l)
{
    const cs_gram *mask = &g[PART_MASK], *real = &g[PART_REAL], *plain = &g[PART_PLAIN];
    cs_status status;
    if (r->encoder_only) {
        if ((status = study_set(s, real, NULL, CS_SET_DROPPED, l)) == CS_OK &&
            (status = study_set(s, plain, NULL, CS_SET_WITHOUT_KEPT, l)) == CS_OK) {
            status = study_set(s, plain, &g[PART_PLAIN_MASKED], CS_SET_WITHOUT_MASK, l);
        }
        return status == CS_OK ? fill_gap(r, l) : status;
    }
    /* Three sets follow each other in the order of these parts. */
    const cs_gram *const apart[] = {mask, real, &g[PART_SAMPLE]};
    const int first = r->rare ? CS_SET_RARE_ONLY : CS_SET_MASK_ONLY;
    status = study_set(s, mask, real, r->rare ? CS_SET_WITHOUT_MASK : CS_SET_WITH_MASK, l);
    if (status == CS_OK && !r->rare) status = study_set(s, plain, NULL, CS_SET_WITHOUT_MASK, l);
    for (int k = 0; k < 3 && status == CS_OK; ++k) {
        status = study_set(s, apart[k], NULL, (cs_mask_set)(first + k), l);
    }
    if (status == CS_OK) status = fill_gap(r, l);
    if (status == CS_OK) {
        status = cs_containment_of(real, mask, &s->options.rank, &l->containment);
        l->contained = status == CS_OK;
    }
    return status;
}

cs_status cs_mask_rank_finish(cs_mask_rank_sums *s, cs_mask_rank *out)
{
    const cs_hidden_options *h = &s->options.hidden;
    const bool rare = s->options.rare != NULL;
    cs_mask_rank r = {.encoder_only = s->options.encoder_only && !rare,
                      .rare = rare,
                      .layers = h->layers,
                      .width = s->width,
                      .blocks = s->options.blocks};
    if (rare && (s->masked == 0 || s->others == 0)) {
        return cs_fail(CS_ERR_INPUT, "%s row belongs to a rare token",
                       s->masked == 0 ? "no" : "every");
    }
    if (!rare && !r.encoder_only && s->masked == 0) {
        return cs_fail(CS_ERR_INPUT, "no token is masked: every piece has fewer than two tokens");
    }
    r.layer = cs_calloc(r.layers, sizeof *r.layer);
    cs_status status = r.layer ? CS_OK : CS_ERR_MEMORY;
    for (int64_t l = 0; l < r.layers && status == CS_OK; ++l) {
        r.layer[l].layer = h->layer[l];
        if ((status = cs_interrupt_check()) == CS_OK) {
            status = cs_blame(study_layer(s, &r, &s->gram[l * PARTS], &r.layer[l]),
                              "layer %" PRId64, h->layer[l]);
        }
        for (int p = 0; p < PARTS; ++p) {
            cs_gram_free(&s->gram[l * PARTS + p]);
        }
        cs_progress_report(h->progress, "layers", l + 1, r.layers);
    }
    return CS_DELIVER(status, out, r, cs_mask_rank_free);
}

void cs_mask_rank_free(cs_mask_rank *r)
{
    for (int64_t l = 0; l < r->layers && r->layer; ++l) {
        for (int k = 0; k < CS_MASK_SETS; ++k) {
            cs_effective_rank_free(&r->layer[l].rank[k]);
        }
    }
    cs_free(r->layer);
    *r = (cs_mask_rank){0};
}

/* --- a model ------------------------------------------------------------------------------------
 */

cs_status cs_mask_rank_of(cs_model *model, const cs_corpus *corpus,
                          const cs_mask_rank_options *options, cs_mask_rank *out)
{
    cs_mask_rank_options o = *options;
    cs_mask_rank_sums *sums = NULL;
    CS_AUTO_FREE int32_t *block = NULL;
    if (o.rare) {
        o.hidden.mask_ratio = 0;
    } else if (!(o.hidden.mask_ratio > 0 && o.hidden.mask_ratio < 1)) {
        return cs_fail(CS_ERR_USAGE, "mask ratio %g is not in (0, 1)", o.hidden.mask_ratio);
    }
    o.hidden.pooling = CS_POOL_NONE;
    o.hidden.drop_masked = o.encoder_only && !o.rare;
    cs_status status = cs_document_blocks(corpus->documents, o.hidden.keep, o.blocks, &block);
    if (status == CS_OK)
        status =
            cs_mask_rank_begin(model->config.shape.width, model->config.ids.mask, block, &o, &sums);
    if (status == CS_OK)
        status = cs_hidden_states(model, corpus, &o.hidden, cs_mask_rank_take_masked, sums);
    if (status == CS_OK && !o.rare) { /* the text as it is, its rows classified by the same draw */
        o.hidden.drop_masked = false;
        o.hidden.mask_keep = 1;
        o.hidden.mask_random = 0;
        status = cs_hidden_states(model, corpus, &o.hidden, cs_mask_rank_take_plain, sums);
    }
    if (status == CS_OK) status = cs_mask_rank_finish(sums, out);
    cs_mask_rank_end(&sums);
    return status;
}

/* --- the record -------------------------------------------------------------------------------- */

static cs_item *add_metric(cs_item *list, const char *name, const char *definition, double value,
                           double se)
{
    cs_item *metric = cs_item_object(list, NULL);
    cs_item_text(metric, "name", name);
    if (definition) cs_item_text(metric, "definition", definition);
    cs_item_real(metric, "value", value);
    cs_item_real(metric, "se", se);
    return metric;
}

/* One set of rows of a layer. */
static void add_set(const char *model, const cs_rank_options *options, const cs_mask_layer *l,
                    cs_mask_set set, cs_item *states)
{
    const cs_effective_rank *r = &l->rank[set];
    const char *name = mask_set_name(set);
    CS_AUTO_FREE char *where =
        cs_format("%s, layer %" PRId64 ", %s", model, l->layer, name); /* of warnings */
    cs_item *item = cs_item_object(states, name);
    cs_item_text(item, "~states", name);
    cs_item_take(item, "~series", cs_format("%s %s", model, name));
    cs_item_int(item, "n", r->rows);
    cs_item_ranks(item, where ? where : name, options, &l->about[set], r);
}

static void add_gap(const cs_mask_rank *r, const cs_mask_layer *l, cs_item *layer)
{
    const cs_mask_set with = cs_mask_rank_with(r), without = cs_mask_rank_without(r);
    cs_item_int(layer, "~gap_n", l->rank[with].rows);
    cs_item_take(layer, "~gap_definition",
                 cs_format("%s less %s; se: delete-block jackknife of the difference",
                           mask_set_name(with), mask_set_name(without)));
    cs_item *list = cs_item_array(layer, "gap");
    for (int k = 0; k < CS_RANK_MEASURES; ++k) {
        cs_item *metric =
            add_metric(list, cs_rank_name((cs_rank_measure)k), NULL, l->gap[k], l->gap_se[k]);
        cs_item_real(metric, "~with", l->rank[with].value[k]);
        cs_item_real(metric, "~without", l->rank[without].value[k]);
        cs_item_left_out(metric, k, &l->rank[with], &l->rank[without]);
    }
}

static void add_containment(const cs_mask_layer *l, cs_item *layer)
{
    const cs_containment *c = &l->containment;
    cs_item_int(layer, "~contained_n", l->rank[CS_SET_MASK_ONLY].rows);
    cs_item *list = cs_item_array(layer, "containment");
    for (int k = 0; k < CS_CONTAIN_MEASURES; ++k) {
        const cs_contain_measure measure = (cs_contain_measure)k;
        add_metric(list, cs_contain_name(measure), cs_contain_definition(measure), c->value[k],
                   c->se[k]);
    }
    add_metric(list, "dimensions_real", "k_R = rank_tau of the real rows", (double)c->real, NAN);
    add_metric(list, "dimensions_mask", "k_M = rank_tau of the [MASK] rows", (double)c->mask, NAN);
    add_metric(list, "row_space_real", "directions of H_R with sigma^2 above gamma ||H_R||_F^2",
               (double)c->rank, NAN);
    add_metric(list, "outside_share_exact", "share of ||H_M||_F^2 outside those directions",
               c->exact, NAN);
    add_metric(list, "outside_share_exact_error", "bound on its numerical error", c->exact_error,
               NAN);
}

void cs_mask_rank_record(const char *name, const cs_rank_options *options, const cs_mask_rank *r,
                         cs_item *model)
{
    cs_item *layers = cs_item_array(model, "layers");
    for (int64_t i = 0; i < r->layers; ++i) {
        const cs_mask_layer *l = &r->layer[i];
        cs_item *layer = cs_item_object(layers, NULL);
        cs_item_int(layer, "layer", l->layer);
        cs_item *states = cs_item_object(layer, "states");
        for (int set = 0; set < CS_MASK_SETS; ++set) {
            if (l->has[set]) add_set(name, options, l, (cs_mask_set)set, states);
        }
        add_gap(r, l, layer);
        if (l->contained) add_containment(l, layer);
    }
}
