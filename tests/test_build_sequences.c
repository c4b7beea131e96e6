/* cooc/build_sequences: which pieces of a corpus a build reads, against a walk from token to token
 * by the definition in text/sequences.h; and what is said when none can be read.
 */
#include "cooc/build_sequences.h"
#include "io/file.h"
#include "io_support.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "small_corpus.h"

enum { DOCUMENTS = 9, PIECES = 400 };

static const int64_t lengths[DOCUMENTS] = {7, 1, 0, 12, 30, 2, 5, 3, 10};

typedef struct {
    int64_t count, start[PIECES], length[PIECES];
} pieces;

/* Every token begins a piece, or does not. */
static pieces walk(const cs_corpus *c, const cs_cooc_options *o)
{
    pieces p = {0};
    for (int64_t d = 0; d < c->documents; ++d) {
        const int64_t n = lengths[d], most = o->max_length;
        for (int64_t at = 0; at < n && (o->split == CS_SPLIT_ALL ||
                                        (o->split == CS_SPLIT_TEST) == (c->held_out[d] == 1));
             ++at) {
            const bool begins = most == 0 ? at == 0
                                : o->stride == 0
                                    ? at % most == 0
                                    : at % o->stride == 0 && (at == 0 || at + most <= n);
            if (begins) {
                assert_true(p.count < PIECES);
                p.start[p.count] = c->doc_ptr[d] + at;
                p.length[p.count++] = most == 0 || at + most > n ? n - at : most;
            }
        }
    }
    return p;
}

static const struct {
    int64_t max_length, stride;
    cs_split split;
} cuts[] = {{0, 0, CS_SPLIT_ALL},  {4, 0, CS_SPLIT_ALL},  {4, 0, CS_SPLIT_TRAIN},
            {5, 1, CS_SPLIT_ALL},  {5, 3, CS_SPLIT_TEST}, {3, 5, CS_SPLIT_ALL},
            {10, 2, CS_SPLIT_ALL}, {30, 7, CS_SPLIT_ALL}, {0, 0, CS_SPLIT_TEST}};

static cs_cooc_options options_of(const char *spec, size_t cut)
{
    cs_cooc_options o = {.threads = 1,
                         .max_length = cuts[cut].max_length,
                         .stride = cuts[cut].stride,
                         .split = cuts[cut].split};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse("nearest:1", &o.context));
    return o;
}

TEST(pieces_are_those_of_a_walk)
{
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, lengths, 5, 0, 1);
    for (size_t cut = 0; cut < sizeof cuts / sizeof *cuts; ++cut) {
        const cs_cooc_options o = options_of("ar", cut); /* needs two tokens */
        const pieces all = walk(&corpus, &o);
        int64_t kept = 0;
        static bool covered[100];
        memset(covered, 0, sizeof covered);
        AUTO_OK(cs_cooc_prepared, p, cs_cooc_prepare(&corpus, &o, &p));
        const cs_sequences s = p.sequences;
        for (int64_t i = 0; i < all.count; ++i) {
            for (int64_t t = 0; t < all.length[i]; ++t) {
                covered[all.start[i] + t] |= all.length[i] > 1;
            }
            if (all.length[i] > 1) {
                assert_true(kept < s.count && s.start[kept] == all.start[i]);
                assert_int_equal(s.length[kept++], all.length[i]);
            }
        }
        assert_int_equal(kept, s.count);
        for (int64_t d = 0; d < DOCUMENTS; ++d) {
            const bool in = cs_cooc_in_split(&corpus, o.split, d);
            for (int64_t t = corpus.doc_ptr[d]; t < corpus.doc_ptr[d + 1]; ++t) {
                p.tokens -= in;
                p.uncovered -= in && !covered[t];
            }
        }
        assert_true(p.tokens == 0 && p.uncovered == 0);
    }
}

/* round(0.15 s) = 0 of s < 4 tokens: one is masked all the same, and this is said. */
TEST(clamped_pieces_are_counted)
{
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, lengths, 5, 0, 1);
    for (size_t cut = 0; cut < sizeof cuts / sizeof *cuts; ++cut) {
        const cs_cooc_options o = options_of("masked:mask-ratio=0.15", cut);
        const pieces all = walk(&corpus, &o);
        int64_t longest = 0, clamped = 0, most = -1;
        cs_objective which = {0};
        for (int64_t i = 0; i < all.count; ++i) {
            const bool is = all.length[i] > 1 && all.length[i] < 4;
            clamped += is;
            longest = is && all.length[i] > longest ? all.length[i] : longest;
        }
        assert_int_equal(cs_cooc_clamped(&corpus, &o, &most, &which), clamped);
        assert_int_equal(most, longest);
        assert_true(clamped == 0 || which.kind == o.objective.kind);
        const cs_cooc_options none = options_of("ar", cut);
        assert_int_equal(cs_cooc_clamped(&corpus, &none, &most, &which), 0);
        assert_int_equal(most, 0);
    }
}

static void refused(const cs_corpus *corpus, const cs_cooc_options *o, const char *reason)
{
    cs_cooc_prepared p = {0};
    assert_fails(cs_cooc_prepare(corpus, o, &p), CS_ERR_INPUT, reason);
    assert_null(p.sequences.start);
}

TEST_IN_DIR(nothing_to_read_is_said)
{
    const int64_t one[2] = {1, 1};
    CS_AUTO(cs_corpus) corpus = small_corpus(2, one, 5, 0, 1);
    const cs_corpus empty = {0};
    cs_cooc_options o = options_of("ar", 0);
    refused(&corpus, &o, "no sequence is long enough; the longest has 1 token");
    refused(&empty, &o, "corpus given has no documents");
    o.split = CS_SPLIT_TEST; /* the fifth document would be of it */
    refused(&corpus, &o, "corpus small has no documents in the test split");
    corpus.held_out[0] = corpus.held_out[1] = 1;
    o.split = CS_SPLIT_TRAIN;
    refused(&corpus, &o, "corpus small has no documents in the training split");

    /* A file of plans has its own lengths: each is named once, a long list is shortened. */
    CS_AUTO_FREE char *text = cs_strdup("{\"plans\": [");
    for (int n = 2; n < 60; ++n) {
        cs_append(&text, "%s{\"probability\": 1, \"groups\": [0", n > 2 ? ", " : "");
        for (int i = 1; i < (n == 3 ? 2 : n); ++i) {
            cs_append(&text, ", %d", i);
        }
        cs_append(&text, "]}");
    }
    cs_append(&text, "]}");
    AUTO_OK(cs_plan_file, file,
            cs_objective_of_file(put(state, "plans.json", text), &file, &o.objective));
    o.split = CS_SPLIT_ALL;
    refused(&corpus, &o, "has plans of length 2, 4, 5, 6,");
    refused(&corpus, &o, ", ..., but no sequence has such a length (they have 1 to 1 tokens)");
}
