/* cooc/checkpoint: an interrupted build goes on and ends with the same bits, under other threads
 * and budgets, interrupted again and again; other builds, damaged files and full disks are named.
 */
#include <signal.h>
#include <sys/stat.h>

#include "base/threads.h"
#include "checkpoint_support.h"
#include "cooc/build_checkpoint_private.h"
#include "cooc_compare.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

TEST_PROGRAM(checkpoint_folder_make, checkpoint_folder_remove)

/* With a checkpoint contributions are collected, without one windows are counted: of frequent words,
 * and of words so rare that a row has few of the columns; at the ends of short documents too. */
TEST(windows_are_those_that_are_collected)
{
    static const char *const cases[][2] = {{"ar", "each:3"},
                                           {"ar", "nearest:1"},
                                           {"masked:unmasked=1", "each:2"},
                                           {"masked:mask-ratio=0.5", "each:4"},
                                           {"masked:mask-ratio=0.5", "each:4:linear"},
                                           {"permuted-ar", "each:30:flat"},
                                           {"ar", "each:5:harmonic"}};
    static const int64_t vocab[] = {7, 50, 3000};
    ARRAY(int64_t, length, 60, d, 1 + d % 23);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int v = 0; v < 3; ++v) {
            CS_AUTO(cs_corpus) corpus = small_corpus(60, length, vocab[v], v, 5);
            cs_cooc_options o = checkpoint_options(cases[i][0], cases[i][1]);
            o.subsample = o.context.pairs && v > 0 ? 0.01 : 0;
            cs_cooc collected = {0}, counted = {0};
            OK(cs_cooc_build(&corpus, &o, &collected));
            OK(cs_cooc_checkpoint_remove(checkpoint_dir));
            o.checkpoint = NULL;
            for (o.threads = 1; o.threads < 4; o.threads += 2) {
                OK(cs_cooc_build(&corpus, &o, &counted));
                assert_same_cooc(&counted, &collected);
                cs_cooc_free(&counted);
            }
            cs_cooc_free(&collected);
        }
    }
}

static json_t *identity_of(const cs_corpus *corpus)
{
    const cs_cooc_options o = checkpoint_options("ar", "nearest:2");
    json_t *identity = NULL;
    OK(cs_checkpoint_identity(corpus, &o, 1, 1, &identity));
    return identity;
}

/* A word, where documents end, a class, the split, the language of a population: each distinguishes
 * corpora of the same sizes; the language's name alone does not. */
TEST(corpora_are_distinguished_by_their_content)
{
    int64_t length[] = {3, 4, 5};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 10, 2, 1);
    json_auto_t *identity = identity_of(&corpus);
    for (int change = 0; change < 6; ++change) {
        CS_AUTO(cs_corpus) other = small_corpus(3, length, 10, 2, 1);
        other.token[11] ^= change == 1;
        other.doc_ptr[2] -= change == 2;
        other.label[2] ^= change == 3;
        other.held_out[2] ^= change == 4;
        memset(other.sha256, change ? 'a' : 'b', sizeof other.sha256 - 1);
        other.population = change == 5 ? test_zeros(1, 1) : NULL;
        json_auto_t *its = identity_of(&other);
        assert_int_equal(json_equal(identity, its), change == 0);
        other.population = NULL;
    }
}

TEST(other_builds_are_refused)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options first = checkpoint_options("ar", "all"), o;
    interrupted(&corpus, first, 2, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    first.resume = true;
    static const struct {
        const char *words;
        cs_cooc_options o; /* in addition to those of `first` */
    } other[] = {{"a build with target_position \"blind\", not \"given\"", {.context.given = true}},
                 {"a build with max_length 0, not 20", {.max_length = 20}},
                 {"a build with weight \"token\", not \"document\"", {.weight_by_document = true}},
                 {"a build with split \"all\", not \"train\"", {.split = CS_SPLIT_TRAIN}},
                 {"a build with draws 0, not 5", {.draws = 5}},
                 {"a build with seed \"0\", not \"7\"", {.seed = 7}},
                 {"a build with tail 1e-06, not 0.001", {.tail = 1e-3}}};
    for (size_t i = 0; i < sizeof other / sizeof *other; ++i) {
        const cs_cooc_options *x = &other[i].o;
        o = first;
        o.context.given = o.context.given != x->context.given; /* turned */
        o.max_length = x->max_length;
        o.weight_by_document = x->weight_by_document;
        o.split = x->split;
        o.draws = x->draws;
        o.seed = x->seed;
        o.tail = x->tail > 0 ? x->tail : o.tail;
        assert_build_fails(&corpus, &o, CS_ERR_USAGE, other[i].words);
    }
    o = first;
    o.objective.mask_ratio_lo = 0.25; /* not of ar */
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "with parameters: mask_ratio_lo unset, not 0.25");
    o = checkpoint_options("diverse-ar:t=2", "all");
    o.resume = true;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE,
                       "with parameters: name \"ar\", not \"diverse-ar\"");
    o = first;
    o.objective.target_weight = CS_TARGETS_UNIFORM;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "target_weight \"plan\", not \"uniform\"");
    o = first;
    o.context = (cs_context){.mode = CS_CONTEXT_NEAREST, .n = 3};
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "context \"all\", not \"nearest:3\"");
    o.context.columns = 3;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "context \"all\", not \"nearest:3@3\"");
    int32_t token = corpus.token[17];
    corpus.token[17] = (token + 1) % 300;
    assert_build_fails(&corpus, &first, CS_ERR_USAGE, "a build with corpus \"");
    corpus.token[17] = token;
    o = checkpoint_options("ar", "nearest:2"); /* without resume: anew, whatever exists */
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

TEST(damage_is_named)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:3");
    CS_AUTO_FREE char *good = NULL;
    int64_t size = 0;
    interrupted(&corpus, o, 2, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    o.resume = true;
    OK(cs_file_read(checkpoint_records, INT64_C(1) << 30, &good, &size));
    const int64_t at[] = {0, 8, 16, 24, 40, 48, 48 + 8, 48 + 16, size / 2, size - 20, size - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; ++i) {
        good[at[i]] ^= 0x11;
        OK(cs_file_write(checkpoint_records, good, size));
        good[at[i]] ^= 0x11;
        assert_build_fails(&corpus, &o, CS_ERR_INPUT, "records-0.bin: the checkpoint is damaged");
    }
    OK(cs_file_write(checkpoint_records, good, size - 1));
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "records-0.bin: the checkpoint is damaged");
    assert_int_equal(unlink(checkpoint_records), 0);
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "this file is missing");
    static const struct {
        const char *from, *to, *words;
        cs_status status;
    } index[] = {
        {"records-0.bin", "records-2.bin", "is damaged: a field is missing or invalid",
         CS_ERR_INPUT},
        {"\"records\": ", "\"recordz\": ", "is damaged", CS_ERR_INPUT},
        {"\"digest\": \"", "\"digest\": \"0", "is damaged", CS_ERR_INPUT},
        {"\"digest\": ", "\"digesz\": ", "is damaged", CS_ERR_INPUT},
        {"\"bytes\": ", "\"bytes\": 0.", "is damaged", CS_ERR_INPUT},
        {"\"bytes\": ", "\"bytes\": -", "is damaged", CS_ERR_INPUT},
        {"\"build\": {", "\"build\": 3, \"was\": {", "is damaged", CS_ERR_INPUT},
        {"\"version\": ", "\"version\": 9", "is a checkpoint of version 92, written by cospec ",
         CS_ERR_USAGE},
        {"\"format\": \"", "\"format\": \"not ", "not a checkpoint", CS_ERR_INPUT},
    };
    CS_AUTO_FREE char *listed = NULL;
    int64_t listed_size = 0;
    OK(cs_file_read(checkpoint_index, 1 << 20, &listed, &listed_size));
    for (size_t i = 0; i < sizeof index / sizeof *index; ++i) {
        const char *place_of = strstr(listed, index[i].from);
        assert_non_null(place_of);
        CS_AUTO_FREE char *edited = cs_format("%.*s%s%s", (int)(place_of - listed), listed,
                                              index[i].to, place_of + strlen(index[i].from));
        OK(cs_file_write(checkpoint_index, edited, (int64_t)strlen(edited)));
        assert_build_fails(&corpus, &o, index[i].status, index[i].words);
    }
    OK(cs_file_write(checkpoint_index, "{\"format\": 3}", 13));
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "checkpoint.json: not a checkpoint");
    OK(cs_file_write(checkpoint_index, "{", 1));
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "checkpoint.json:1");
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

/* A disk that is full at the second checkpoint: the failure is reported, the first checkpoint
 * remains. */
TEST(full_disks_keep_the_older_checkpoint)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:3");
    AUTO_OK(cs_cooc, whole, cs_cooc_build(&corpus, &o, &whole));
    interrupted(&corpus, o, 1, 100000, CS_ERR_IO,
                "interrupted, and no checkpoint could be written");
    assert_false(cs_path_exists(checkpoint_index));
    interrupted(&corpus, o, 1, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    interrupted(&corpus, o, 2, 100000, CS_ERR_IO, "records-1.bin");
    o.resume = true;
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_same_cooc(&whole, &m);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

/* A folder of the name of a file of ours: neither a new checkpoint nor removal passes over it. */
TEST(what_cannot_be_removed_is_named)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    const cs_cooc_options o = checkpoint_options("ar", "nearest:2");
    CS_AUTO_FREE char *in_the_way = cs_format("%s/records-1.bin", checkpoint_dir);
    interrupted(&corpus, o, 1, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    assert_int_equal(mkdir(in_the_way, 0700), 0);
    assert_fails(cs_cooc_checkpoint_remove(checkpoint_dir), CS_ERR_IO,
                 "records-1.bin: cannot remove: ");
    interrupted(&corpus, o, 1, 0, CS_ERR_IO, "records-1.bin: cannot remove: ");
    assert_int_equal(rmdir(in_the_way), 0);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
    assert_false(cs_path_exists(checkpoint_dir));
}

/* A checkpoint that is written of a few records, and what a build is given back. */
enum { KEPT = 50, KEPT_WORDS = 30, KEPT_CLASSES = 2, KEPT_SEQUENCES = 20 };

typedef struct {
    cs_runs runs;
    cs_collector held, *collector[1];
    cs_block block[2];
    cs_checkpoint_state state;
} kept;

static void kept_init(kept *k)
{
    *k = (kept){.block = {{.done = true, .dropped = {5, 2}}, {.done = false, .dropped = {7, 0}}},
                .state = {.blocks = 2,
                          .collectors = 1,
                          .vocab = KEPT_WORDS,
                          .labels = KEPT_CLASSES,
                          .sequences = KEPT_SEQUENCES,
                          .contributions = KEPT + 5,
                          .units = KEPT}};
    cs_runs_init(&k->runs, NULL);
    OK(cs_collector_init(&k->held, &k->runs, 1 << 16));
    for (int32_t i = 0; i < KEPT; ++i) {
        const cs_record r = {.key = {(uint64_t)i * 77, 1},
                             .col = i % KEPT_WORDS,
                             .label = i % (KEPT_CLASSES + 1) - 1,
                             .units = 1,
                             .sequence = i % KEPT_SEQUENCES};
        OK(cs_collector_add(&k->held, &r));
    }
    OK(cs_collector_finish(&k->held));
    k->collector[0] = &k->held;
    k->state.runs = &k->runs;
    k->state.block = k->block;
    k->state.collector = k->collector;
}

static void kept_free(kept *k)
{
    cs_collector_free(&k->held);
    cs_runs_free(&k->runs);
}

static cs_status load(const json_t *identity, const cs_checkpoint_state *build,
                      cs_checkpoint_state *out, cs_block *block, cs_runs *runs)
{
    CS_AUTO_BY(cs_checkpoint_close, cs_checkpoint) *read = NULL;
    json_auto_t *same = json_deep_copy(identity);
    cs_runs_init(runs, NULL);
    *out = *build;
    out->runs = runs;
    out->block = block;
    out->contributions = out->units = 0;
    OK(cs_checkpoint_open(checkpoint_dir, same, &read));
    cs_status status = cs_checkpoint_load(read, out);
    return status;
}

/* Words, classes, sequences and blocks that the build lacks, and sums that are not those of the
 * records: refused, one more or one less than there are. */
TEST(what_a_build_cannot_have_made_is_refused)
{
    static const struct {
        const char *words;
        int64_t vocab, labels, sequences, blocks, units, contributions; /* more than there are */
    } cases[] = {{NULL, 0, 0, 0, 0, 0, 0},
                 {NULL, 1, 1, 1, 0, 0, 0},
                 {"it contains a record that the build cannot have written", -1, 0, 0, 0, 0, 0},
                 {"it contains a record that the build cannot have written", 0, -1, 0, 0, 0, 0},
                 {"it contains a record that the build cannot have written", 0, 0, -1, 0, 0, 0},
                 {"its sizes are impossible", 0, 0, 0, -1, 0, 0},
                 {"its sums do not match its records", 0, 0, 0, 0, 1, 0},
                 {"its sums do not match its records", 0, 0, 0, 0, -1, 0},
                 {"its sums do not match its records", 0, 0, 0, 0, 0, -KEPT - 6},
                 {NULL, 0, 0, 0, 0, 0, -KEPT - 5}};
    CS_AUTO(cs_corpus) corpus = random_corpus(20, 9, 30, 2);
    const cs_cooc_options o = checkpoint_options("masked:unmasked=1", "nearest:2");
    json_auto_t *identity = NULL;
    OK(cs_checkpoint_identity(&corpus, &o, 1, 2, &identity));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(kept) k = {0};
        CS_AUTO(cs_runs) back = {0};
        cs_block block[2] = {{.done = false, .dropped = {3, 3}}, {.done = true, .dropped = {3, 3}}};
        cs_checkpoint_state given;
        kept_init(&k);
        k.state.units += cases[i].units;
        k.state.contributions += cases[i].contributions;
        k.state.overflow = i == 1;
        OK(cs_checkpoint_write(checkpoint_dir, identity, &k.state));
        json_auto_t *index = NULL;
        OK(cs_json_read(checkpoint_index, &index));
        assert_int_equal(json_integer_value(json_object_get(index, "finished_blocks")), 1);
        cs_checkpoint_state reader = k.state;
        reader.vocab += cases[i].vocab;
        reader.labels += cases[i].labels;
        reader.sequences += cases[i].sequences;
        reader.blocks += cases[i].blocks;
        if (cases[i].words) {
            assert_fails(load(identity, &reader, &given, block, &back), CS_ERR_INPUT,
                         cases[i].words);
        } else {
            OK(load(identity, &reader, &given, block, &back));
            assert_int_equal(given.contributions, KEPT + 5 + cases[i].contributions);
            assert_true(given.units == KEPT && given.overflow == (i == 1));
            assert_true(block[0].done && !block[1].done);
            assert_true(block[0].dropped.high == 5 && block[0].dropped.low == 2);
            assert_true(block[1].dropped.high == 0 && block[1].dropped.low == 0);
            assert_true(back.count == 1 && back.run[0].count == KEPT);
        }
    }
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

/* More runs than the file has lengths of: refused before memory is taken for them. */
TEST(sizes_beyond_the_file_are_refused_first)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(20, 9, 30, 2);
    const cs_cooc_options o = checkpoint_options("masked:unmasked=1", "nearest:2");
    json_auto_t *identity = NULL;
    CS_AUTO(kept) k = {0};
    cs_runs back;
    cs_block block[2] = {{.done = false}};
    cs_checkpoint_state given;
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    kept_init(&k);
    OK(cs_checkpoint_identity(&corpus, &o, 1, 2, &identity));
    OK(cs_checkpoint_write(checkpoint_dir, identity, &k.state));
    OK(cs_file_read(checkpoint_records, 1 << 20, &bytes, &size));
    const int64_t runs[] = {-1, size / 8 + 1, size, INT64_MAX};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        memcpy(bytes, &runs[i], sizeof runs[i]);
        OK(cs_file_write(checkpoint_records, bytes, size));
        assert_fails(load(identity, &k.state, &given, block, &back), CS_ERR_INPUT,
                     "its sizes are impossible");
        cs_runs_free(&back);
    }
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

/* Memory that ends while a checkpoint is written, or its build is described, is reported; the older
 * one remains, and the next attempt succeeds. */
TEST(writing_survives_failed_allocations)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(20, 9, 30, 2);
    const cs_cooc_options o = checkpoint_options("masked:unmasked=1", "nearest:2");
    for (int round = 0; round < 3; ++round) { /* the first one, and one after another */
        CS_AUTO(kept) k = {0};
        kept_init(&k);
        EACH_ALLOCATION_FAILS(n) {
            json_auto_t *identity = NULL;
            cs_status status = cs_checkpoint_identity(&corpus, &o, 1, 2, &identity);
            if (status == CS_OK) status = cs_checkpoint_write(checkpoint_dir, identity, &k.state);
            const bool failed = out_of_memory(status);
            assert_int_equal(cs_path_exists(checkpoint_index), round > 0 || !failed);
            if (cs_path_exists(checkpoint_index)) {
                cs_block block[2] = {{.done = false}};
                cs_checkpoint_state given;
                json_decref(identity);
                OK(cs_checkpoint_identity(&corpus, &o, 1, 2, &identity));
                AUTO_OK(cs_runs, back, load(identity, &k.state, &given, block, &back));
                assert_int_equal(given.units, KEPT);
            }
        }
    }
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}
