/* base/visible: control characters of text that is shown. */
#include "base/visible.h"

#include <stdlib.h>

#include "test.h"

/* The text of a name cannot command the terminal that shows it; other scripts stay. */
TEST(control_characters_are_shown)
{
    static const char *const pairs[][2] = {
        {"\33[31mred\7", "\\u001b[31mred\\u0007"},
        {"\177\302\233", "\\u007f\\u009b"},
        {"a\342\200\256b\342\201\246", "a\\u202eb\\u2066"},
        {"\377\300\200", "\\xff\\xc0\\x80"},
        {"\355\240\200", "\\xed\\xa0\\x80"}, /* a surrogate */
        {"na\303\257f \360\237\230\200 \\ \303", "na\303\257f \360\237\230\200 \\ \\xc3"},
        {"a\tb\nc", "a\tb\nc"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        char shown[64], *written = NULL;
        size_t size = 0;
        cs_visible_copy(shown, sizeof shown, pairs[i][0], "\n\t");
        assert_string_equal(shown, pairs[i][1]);
        FILE *out = open_memstream(&written, &size);
        assert_non_null(out);
        cs_visible_write(out, pairs[i][0], strlen(pairs[i][0]), "\n\t");
        assert_int_equal(fclose(out), 0);
        assert_string_equal(written, pairs[i][1]);
        free(written);
        cs_reason_clear();
        (void)cs_fail_lines(CS_ERR_INPUT, pairs[i][0]);
        assert_string_equal(cs_reason(), pairs[i][1]);
    }
    cs_reason_clear();
    (void)cs_blame(cs_fail(CS_ERR_INPUT, "%s", "a\n\33b\tc"), "%s", "d\ncospec: e");
    assert_string_equal(cs_reason(), "d\\u000acospec: e: a\\u000a\\u001bb\tc");
    char cut[8];
    cs_visible_copy(cut, sizeof cut, "abcd\33", ""); /* a character is shown whole or not */
    assert_string_equal(cut, "abcd");
    cs_reason_clear();
}
