/* cooc/checkpoint: an interrupted build goes on and ends with the same bits, under other threads
 * and budgets, interrupted again and again; other builds, damaged files and full disks are named.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/builder.h"
#include "cooc/checkpoint_private.h"
#include "checkpoint_support.h"
#include "cooc_compare.h"
#include "io/file.h"
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
                                           {"masked:mask-ratio=0.5", "each:4"}};
    static const int64_t vocab[] = {7, 50, 3000};
    int64_t length[60];
    for (int d = 0; d < 60; ++d) {
        length[d] = 1 + d % 23;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int v = 0; v < 3; ++v) {
            cs_corpus corpus = small_corpus(60, length, vocab[v], v, 5);
            cs_cooc_options o = checkpoint_options(cases[i][0], cases[i][1]);
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
            cs_corpus_free(&corpus);
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

/* A word, where documents end, a class, the split, the law of a population: each tells corpora apart
 * that have the same sizes; the law's name alone does not. */
TEST(corpora_are_told_by_their_content)
{
    int64_t length[] = {3, 4, 5};
    cs_corpus corpus = small_corpus(3, length, 10, 2, 1);
    json_t *identity = identity_of(&corpus);
    for (int change = 0; change < 6; ++change) {
        cs_corpus other = small_corpus(3, length, 10, 2, 1);
        other.token[11] ^= change == 1;
        other.doc_ptr[2] -= change == 2;
        other.label[2] ^= change == 3;
        other.held_out[2] ^= change == 4;
        memset(other.sha256, change ? 'a' : 'b', sizeof other.sha256 - 1);
        other.population = change == 5 ? test_room(1, 1) : NULL;
        json_t *its = identity_of(&other);
        assert_int_equal(json_equal(identity, its), change == 0);
        json_decref(its);
        other.population = NULL;
        cs_corpus_free(&other);
    }
    json_decref(identity);
    cs_corpus_free(&corpus);
}

TEST(other_builds_are_refused)
{
    cs_corpus corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options first = checkpoint_options("ar", "nearest:3"), o;
    interrupted(&corpus, first, 2, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    first.resume = true;
    static const struct {
        const char *words;
        cs_cooc_options o; /* beside those of `first` */
    } other[] = {{"its context_size is 3, not 2", {.context.n = 2}},
                 {"its target_given is true, not false", {.context.given = true}},
                 {"its max_length is 0, not 20", {.max_length = 20}},
                 {"its weight_by_document is false, not true", {.weight_by_document = true}},
                 {"its split is \"all\", not \"train\"", {.split = CS_SPLIT_TRAIN}},
                 {"its draws is 0, not 5", {.draws = 5}},
                 {"its seed is \"0\", not \"7\"", {.seed = 7}},
                 {"its tail is ", {.tail = 1e-3}}};
    for (size_t i = 0; i < sizeof other / sizeof *other; ++i) {
        const cs_cooc_options *x = &other[i].o;
        o = first;
        o.context.n = x->context.n > 0 ? x->context.n : o.context.n;
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
    o.objective.mask_ratio_lo = 0.25; /* not of ar: its hash alone shows it */
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "its objective_hash is");
    o = checkpoint_options("diverse-ar:t=2", "nearest:3");
    o.resume = true;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "its objective is \"ar");
    o = first;
    o.objective.target_weight = CS_TARGETS_UNIFORM;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "its objective");
    o = first;
    o.context.mode = CS_CONTEXT_EACH;
    assert_build_fails(&corpus, &o, CS_ERR_USAGE, "its context is \"nearest\", not \"each\"");
    int32_t token = corpus.token[17];
    corpus.token[17] = (token + 1) % 300;
    assert_build_fails(&corpus, &first, CS_ERR_USAGE, "its corpus_hash is");
    corpus.token[17] = token;
    cs_cooc m = {0};
    o = checkpoint_options("ar", "nearest:2"); /* without resume: anew, whatever stands there */
    OK(cs_cooc_build(&corpus, &o, &m));
    cs_cooc_free(&m);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
    cs_corpus_free(&corpus);
}

TEST(damage_is_named)
{
    cs_corpus corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:3");
    char *good = NULL;
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
        {"records-0.bin", "records-2.bin", "is damaged: a field is missing or bad", CS_ERR_INPUT},
        {"\"records\": ", "\"recordz\": ", "is damaged", CS_ERR_INPUT},
        {"\"digest\": \"", "\"digest\": \"0", "is damaged", CS_ERR_INPUT},
        {"\"digest\": ", "\"digesz\": ", "is damaged", CS_ERR_INPUT},
        {"\"bytes\": ", "\"bytes\": 0.", "is damaged", CS_ERR_INPUT},
        {"\"bytes\": ", "\"bytes\": -", "is damaged", CS_ERR_INPUT},
        {"\"build\": {", "\"build\": 3, \"was\": {", "is damaged", CS_ERR_INPUT},
        {"\"version\": ", "\"version\": 9", "is of another build: its format is version 9",
         CS_ERR_USAGE},
        {"\"format\": \"", "\"format\": \"not ", "is no checkpoint", CS_ERR_INPUT},
    };
    char *listed = NULL;
    int64_t listed_size = 0;
    OK(cs_file_read(checkpoint_index, 1 << 20, &listed, &listed_size));
    for (size_t i = 0; i < sizeof index / sizeof *index; ++i) {
        const char *place_of = strstr(listed, index[i].from);
        assert_non_null(place_of);
        char *edited = cs_format("%.*s%s%s", (int)(place_of - listed), listed, index[i].to,
                                 place_of + strlen(index[i].from));
        OK(cs_file_write(checkpoint_index, edited, (int64_t)strlen(edited)));
        assert_build_fails(&corpus, &o, index[i].status, index[i].words);
        cs_free(edited);
    }
    cs_free(listed);
    OK(cs_file_write(checkpoint_index, "{\"format\": 3}", 13));
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "checkpoint.json: is no checkpoint");
    OK(cs_file_write(checkpoint_index, "{", 1));
    assert_build_fails(&corpus, &o, CS_ERR_INPUT, "checkpoint.json:1");
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
    cs_free(good);
    cs_corpus_free(&corpus);
}

/* A disk that is full at the second checkpoint: its failure is told, the first one stands. */
TEST(full_disks_keep_the_older_checkpoint)
{
    cs_corpus corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:3");
    cs_cooc whole = {0}, m = {0};
    OK(cs_cooc_build(&corpus, &o, &whole));
    interrupted(&corpus, o, 1, 100000, CS_ERR_IO,
                "interrupted, and no checkpoint could be written");
    assert_false(cs_path_exists(checkpoint_index));
    interrupted(&corpus, o, 1, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    interrupted(&corpus, o, 2, 100000, CS_ERR_IO, "records-1.bin");
    o.resume = true;
    OK(cs_cooc_build(&corpus, &o, &m));
    assert_same_cooc(&whole, &m);
    cs_cooc_free(&m);
    cs_cooc_free(&whole);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
    cs_corpus_free(&corpus);
}

/* A folder of the name of a file of ours: neither a new checkpoint nor removal passes over it. */
TEST(what_cannot_be_removed_is_named)
{
    cs_corpus corpus = random_corpus(8000, 40, 300, 3);
    const cs_cooc_options o = checkpoint_options("ar", "nearest:2");
    char in_the_way[96];
    (void)snprintf(in_the_way, sizeof in_the_way, "%s/records-1.bin", checkpoint_dir);
    interrupted(&corpus, o, 1, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    assert_int_equal(mkdir(in_the_way, 0700), 0);
    assert_fails(cs_cooc_checkpoint_remove(checkpoint_dir), CS_ERR_IO,
                 "records-1.bin: cannot remove: ");
    interrupted(&corpus, o, 1, 0, CS_ERR_IO, "records-1.bin: cannot remove: ");
    assert_int_equal(rmdir(in_the_way), 0);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
    assert_false(cs_path_exists(checkpoint_dir));
    cs_corpus_free(&corpus);
}
