/* base/plural: counts of 1 in messages. */
#include "base/plural.h"
#include "test.h"

TEST(a_count_of_one_has_the_singular)
{
    static const char *const cases[][2] = {
        {"1 rows", "1 row"},
        {"a.tsv: 1 rows are 0", "a.tsv: 1 row is 0"},
        {"m: 1 training rows have features, but at least 2 are needed",
         "m: 1 training row has features, but at least 2 are needed"},
        {"2 texts, 1 layers of 1 columns take 3 bytes",
         "2 texts, 1 layer of 1 column take 3 bytes"},
        {"more than 1 entries", "more than 1 entry"},
        {"1 classes (1 matrices, 1 probabilities)", "1 class (1 matrix, 1 probability)"},
        {"1 patches, 1 branches, 1 boxes, 1 series", "1 patch, 1 branches, 1 box, 1 series"},
        {"1 rows exceed the limit", "1 row exceeds the limit"},
        {"none of the 1 rows is left", "none of the 1 row is left"},
        /* other numbers, names and words */
        {"11 rows, 0.1 rows, -1 rows, nearest:1 rows", NULL},
        {"2 x 1 patches, 0 to 1 rows, n - 1 rows, 1 is below 2, 1 rowss", NULL},
        {"my 1 rows.tsv: 1 rows.", "my 1 rows.tsv: 1 row."},
        {"1", NULL},
        {"1 ", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s", cases[i][0]);
        cs_plural_agree(text);
        assert_string_equal(text, cases[i][1] ? cases[i][1] : cases[i][0]);
    }
}

TEST(reasons_agree_with_their_counts)
{
    (void)cs_fail(CS_ERR_INPUT, "%d columns", 1);
    assert_string_equal(cs_reason(), "1 column");
    (void)cs_blame(CS_ERR_INPUT, "%d rows", 1);
    assert_string_equal(cs_reason(), "1 row: 1 column");
    cs_reason_clear();
}
