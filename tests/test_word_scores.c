/* cooc/word_scores: scores by hand of vectors in the plane, lines of every separator, and failing
 * memory. Files that are refused are in tests/cli/analysis.sh. */
#include <math.h>

#include "cooc/word_scores.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "text/unicode.h"

/* East, north-east, north, north-west and west, and a word without a vector. */
static const char *const NAME[] = {"east", "mid", "north", "far", "west", "none"};
static const double ANGLE[] = {0, 0.25, 0.5, 0.75, 1};
enum { WORDS = 6 };

static cs_status vectors_of(const cs_corpus *corpus, cs_word_vectors *w)
{
    *w = (cs_word_vectors){.corpus = corpus};
    cs_status status = cs_dense_init(&w->vector, 2, WORDS);
    for (int i = 0; i < WORDS && status == CS_OK; ++i) {
        int32_t number = 0;
        w->vector.data[2 * i] = i < 5 ? cos(ANGLE[i] * acos(-1)) : 0;
        w->vector.data[2 * i + 1] = i < 5 ? sin(ANGLE[i] * acos(-1)) : 0;
        status = cs_word_table_find(&w->words, NAME[i], (int64_t)strlen(NAME[i]), &number);
    }
    return status;
}

typedef cs_status (*reader)(const cs_word_vectors *, const char *, cs_item *);

/* The scores of a file, as "section score value items missing" a line. */
static cs_status read_scores(reader read, const char *file, char *out, size_t size)
{
    const cs_corpus corpus = {.vocab = WORDS, .unknown = -1};
    CS_AUTO(cs_result) *result = cs_result_new();
    CS_AUTO(cs_word_vectors) w = {0};
    json_auto_t *json = NULL;
    *out = '\0';
    cs_status status = result ? vectors_of(&corpus, &w) : CS_ERR_MEMORY;
    if (status == CS_OK) status = read(&w, file, cs_item_array(cs_result_root(result), "scores"));
    if (status == CS_OK) status = cs_result_status(result);
    if (status == CS_OK) status = cs_result_json(result, &json);
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(json, "scores")); ++i) {
        const json_t *row = json_array_get(json_object_get(json, "scores"), i);
        const json_t *value = json_object_get(row, "value");
        used += (size_t)snprintf(out + used, size - used, "%s|%s %.4f %d %d\n",
                                 json_string_value(json_object_get(row, "section")),
                                 json_string_value(json_object_get(row, "score")),
                                 json_is_null(value) ? (double)NAN : json_number_value(value),
                                 (int)json_number_value(json_object_get(row, "items")),
                                 (int)json_number_value(json_object_get(row, "missing")));
    }
    return status;
}

static void expect(reader read, const char *file, const char *want)
{
    char got[512];
    OK(read_scores(read, file, got, sizeof got));
    assert_string_equal(got, want);
}

/* Separators may differ from line to line; the score is the first number behind the words. */
TEST_IN_DIR(similarities_by_hand)
{
    const char *file = put(state, "a",
                           "\xEF\xBB\xBFWord 1,Word 2,Human\r\n# x\n\neast, MID ,9,1\r\n"
                           "east\tnorth\tN\t7\n  east   far 1e0\nwest east -2\nnone east 4\nx y 3");
    expect(cs_word_similarity, file, "|spearman 1.0000 4 2\n");
    expect(cs_word_similarity, put(state, "b", "east mid 1\neast north 2\neast far 3\n"),
           "|spearman -1.0000 3 0\n");
    expect(cs_word_similarity, put(state, "c", "east mid 2\neast north 2\neast far 2\n"),
           "|spearman nan 3 0\n");
}

/* East is to north-east as north to north-west by sums; by products west is far from east. */
TEST_IN_DIR(analogies_by_hand)
{
    const char *file = put(state, "a",
                           ": one\neast mid north far\n:two\nEast,mid,north,west\n"
                           "none mid north far\n: three\n\n# x\n");
    expect(cs_word_analogies, file,
           "one|3cosadd 1.0000 1 0\none|3cosmul 0.0000 1 0\ntwo|3cosadd 0.0000 1 1\n"
           "two|3cosmul 1.0000 1 1\ntotal|3cosadd 0.5000 2 1\ntotal|3cosmul 0.5000 2 1\n");
    expect(cs_word_analogies, put(state, "b", "east mid north far"),
           "total|3cosadd 1.0000 1 0\ntotal|3cosmul 0.0000 1 0\n");
}

TEST(text_in_lower_case)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"ABC d", "abc d"},
                                           {"\xC3\x80\xC3\x89", "\xC3\xA0\xC3\xA9"},
                                           {"\xC8\xBA\xC8\xBA", "\xE2\xB1\xA5\xE2\xB1\xA5"},
                                           {"\xE9T\xC3", "\xE9T\xC3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO_FREE char *lower = cs_text_lower(cases[i][0]);
        assert_string_equal(lower, cases[i][1]);
    }
}

static cs_status read_both(const char *path)
{
    char got[512];
    cs_status status = read_scores(cs_word_similarity, path, got, sizeof got);
    CS_AUTO_FREE char *other = cs_format("%s.q", path);
    if (status == CS_OK && !other) status = CS_ERR_MEMORY;
    return status == CS_OK ? read_scores(cs_word_analogies, other, got, sizeof got) : status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    const char *file = put(state, "a", "east mid 1\neast north 2\nfar mid 3\nwest far 4\n");
    (void)put(state, "a.q", "east mid north far\n: x\neast mid north west\n");
    fail_each_allocation(read_both, file);
}
