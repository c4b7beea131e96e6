/* The causal masks that GVP prints in its appendix A (S = 2 extra tokens, T = 5), rebuilt from
 * plans: 1 where it has 0, '.' where it has minus infinity. Some printed matrices have 6 of their 7
 * rows; the printed rows must then be all but one of ours, in their order. Rows of group 0 in its
 * query masks are those of its content masks, and nothing is asked there: ours see nothing. */
#include "plan/content_masks.h"
#include "plan_support.h"
#include "test.h"

enum { N = 7 };

typedef struct {
    const char *equation;
    int32_t group[N]; /* of y1, y2, x1 .. x5 */
    const char *content[N], *query[N];
} printed;

static const printed masks[] = {
    {"14",
     {0, 0, 1, 2, 3, 4, 5},
     {"11.....", "11.....", "111....", "1111...", "11111..", "111111."},
     {"11.....", "11.....", "11.....", "111....", "1111...", "11111..", "111111."}},
    {"16",
     {0, 0, 0, 1, 2, 3, 4},
     {"111....", "111....", "111....", "11111..", "111111.", "1111111"},
     {"111....", "111....", "111....", "1111...", "11111..", "111111."}},
    {"17",
     {0, 0, 0, 1, 1, 2, 2},
     {"111....", "111....", "111....", "11111..", "11111..", "1111111"},
     {"111....", "111....", "111....", "111....", "111....", "11111.."}},
    {"19",
     {0, 0, 2, 0, 1, 1, 2},
     /* z = [2, 3, 4, 5, 1] */
     {"11.1...", "11.1...", "1111111", "11.1...", "11.111.", "11.111.", "1111111"},
     {"11.1...", "11.1...", "11.111.", "11.1...", "11.1...", "11.1...", "11.111."}},
};

/* The printed rows among ours, in order; how many of ours are not printed. */
static int missing(const char *const rows[N], char ours[N][N + 1])
{
    int left = 0, at = 0;
    for (int i = 0; i < N; ++i) {
        if (at < N && rows[at] && strcmp(rows[at], ours[i]) == 0) {
            at += 1;
        } else {
            left += 1;
        }
    }
    assert_true(at == N || !rows[at]);
    return left;
}

/* The objective whose only plan has these groups. */
static cs_objective the_plan(const int32_t group[N], cs_plan_file *file)
{
    char path[64], text[128];
    (void)snprintf(text, sizeof text,
                   "{\"plans\": [{\"probability\": 1, \"groups\": [%d, %d, %d, %d, %d, %d, %d]}]}",
                   group[0], group[1], group[2], group[3], group[4], group[5], group[6]);
    plan_temporary(path);
    plan_write(path, text);
    OK(cs_plan_file_read(path, file));
    assert_int_equal(unlink(path), 0);
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    objective.file = file;
    return objective;
}

TEST(appendix_a_follows_from_the_plans)
{
    int short_of_a_row = 0;
    for (size_t k = 0; k < sizeof masks / sizeof *masks; ++k) {
        const printed *p = &masks[k];
        CS_AUTO(cs_plan_file) file = {0};
        int32_t rank[N];
        char content[N][N + 1] = {{0}}, query[N][N + 1] = {{0}};
        const cs_objective objective = the_plan(p->group, &file);
        const cs_content_masks of_plan = {
            .attention = CS_ATTENTION_PLAN, .objective = &objective, .draws = 1};
        OK(cs_content_ranks(&of_plan, 0, 0, N, rank));
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j < N; ++j) {
                content[i][j] = rank[j] <= rank[i] ? '1' : '.';
                query[i][j] = rank[j] < rank[i] ? '1' : '.';
            }
            if (p->group[i] == 0) {
                assert_string_equal(query[i], ".......");
                memcpy(query[i], content[i], N);
            }
        }
        const int left = missing(p->content, content), asked = missing(p->query, query);
        assert_in_range(left, 0, 1);
        assert_in_range(asked, 0, 1);
        short_of_a_row += left + asked;
    }
    assert_int_equal(short_of_a_row, 5); /* M_h of 14, both of 16 and 17 */
}
