/* Collective operations over a group of threads, against their meaning. */
#include "comm_threads.h"
#include "test.h"

enum { MOST = 20000 };

static const int64_t LENGTHS[] = {1, 2, 5, 7, 100, 8192, 8193, MOST};
enum { COUNT = sizeof LENGTHS / sizeof *LENGTHS };

/* Items of each rank, which operations read many times. */
static double items[MOST_RANKS][3 * MOST];

static void draw_items(void)
{
    for (int r = 0; r < MOST_RANKS; ++r) {
        cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, (uint64_t)r);
        for (int64_t i = 0; i < 3 * MOST; ++i) {
            items[r][i] = cs_rng_normal(&rng) * (i % 3 == 0 ? 1e8 : 1);
        }
    }
}

/* Item i of rank r. */
static double item(int r, int64_t i)
{
    return items[r][i];
}

static void expect_ok(int ranks, rank_fn fn, void *ctx)
{
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    (void)run_ranks(ranks, fn, ctx, status, reason);
    for (int r = 0; r < ranks; ++r) {
        if (status[r] != CS_OK) {
            print_message("rank %d of %d: %s\n", r, ranks, reason[r]);
        }
        OK(status[r]);
    }
}

static cs_status slices_cover(cs_comm *c, void *ctx)
{
    (void)ctx;
    for (int t = 0; t < COUNT; ++t) {
        int64_t next = 0, first = 0, count = 0;
        for (int r = 0; r < c->ranks; ++r) {
            cs_comm_slice(c, r, LENGTHS[t], &first, &count);
            if (first != next || count < LENGTHS[t] / c->ranks ||
                count > LENGTHS[t] / c->ranks + 1) {
                return cs_fail(CS_ERR_INPUT, "slice %d of %lld", r, (long long)LENGTHS[t]);
            }
            next = first + count;
        }
        if (next != LENGTHS[t]) {
            return cs_fail(CS_ERR_INPUT, "slices of %lld end at %lld", (long long)LENGTHS[t],
                           (long long)next);
        }
    }
    return CS_OK;
}

static cs_status gathers(cs_comm *c, void *ctx)
{
    (void)ctx;
    static const int64_t three = 3;
    for (int t = 0; t < COUNT; ++t) {
        int64_t n = LENGTHS[t], first = 0, count = 0;
        cs_comm_slice(c, c->rank, n, &first, &count);
        CS_AUTO_FREE double *mine = cs_calloc(three * count, sizeof *mine);
        CS_AUTO_FREE double *all = cs_calloc(three * n, sizeof *all);
        for (int64_t i = 0; i < three * count; ++i) {
            mine[i] = item(0, three * first + i);
        }
        cs_comm_gather(c, n, (size_t)three * sizeof *mine, mine, all);
        for (int64_t i = 0; i < three * n; ++i) {
            if (all[i] != item(0, i)) {
                return cs_fail(CS_ERR_INPUT, "item %lld of %lld", (long long)i, (long long)n);
            }
        }
    }
    int64_t mine = 10 + c->rank, all[MOST_RANKS];
    cs_comm_gather_each(c, sizeof mine, &mine, all);
    for (int r = 0; r < c->ranks; ++r) {
        if (all[r] != 10 + r) {
            return cs_fail(CS_ERR_INPUT, "rank %d has %lld", r, (long long)all[r]);
        }
    }
    const int64_t least = cs_comm_least(c, 5 + (c->rank + 1) % c->ranks);
    return least == 5 ? CS_OK : cs_fail(CS_ERR_INPUT, "least %lld", (long long)least);
}

/* Sums of integers over all ranks, over the lower ones, and on rank 0 alone. */
static cs_status integer_sums(cs_comm *c, void *ctx)
{
    (void)ctx;
    const int64_t r = c->rank, ranks = c->ranks;
    int64_t x[2] = {10 + r, r * r * INT64_C(1000000000000)}, before[2] = {-1, -1};
    cs_comm_before(c, 2, x, before);
    cs_comm_add(c, 2, x);
    if ((double)before[0] != SUM(i, 0, r, 10 + i) ||
        (double)before[1] != SUM(i, 0, r, i * i * INT64_C(1000000000000)) ||
        (double)x[0] != SUM(i, 0, ranks, 10 + i) ||
        (double)x[1] != SUM(i, 0, ranks, i * i * INT64_C(1000000000000))) {
        return cs_fail(CS_ERR_INPUT, "%lld and %lld", (long long)before[0], (long long)x[0]);
    }
    CS_AUTO_FREE int64_t *many = cs_alloc(3 * MOST, sizeof *many);
    for (int64_t i = 0; i < 3 * MOST; ++i) {
        many[i] = i * (r + 1);
    }
    cs_comm_sum_to_first(c, 3 * MOST, many);
    for (int64_t i = 0; r == 0 && i < 3 * MOST; ++i) {
        if (many[i] != i * ranks * (ranks + 1) / 2) {
            return cs_fail(CS_ERR_INPUT, "sum %lld is %lld", (long long)i, (long long)many[i]);
        }
    }
    return CS_OK;
}

/* From this rank, in whose slice i is, down, and then from the last one down. */
static double in_order(const cs_comm *c, int64_t i)
{
    double sum = item(c->rank, i);
    for (int t = 1; t < c->ranks; ++t) {
        sum += item((c->rank - t + c->ranks) % c->ranks, i);
    }
    return sum;
}

/* The sums of all ranks and their scattered slices: within rounding of the plain sum, and the same
 * bits on every rank. */
static cs_status sums(cs_comm *c, void *ctx)
{
    double(*seen)[MOST] = ctx;
    for (int t = 0; t < COUNT; ++t) {
        int64_t n = LENGTHS[t], first = 0, count = 0;
        CS_AUTO_FREE double *x = cs_alloc(n, sizeof *x), *mine = cs_alloc(n, sizeof *mine);
        for (int64_t i = 0; i < n; ++i) {
            x[i] = item(c->rank, i);
        }
        cs_comm_slice(c, c->rank, n, &first, &count);
        cs_status status = CS_OK;
        cs_comm_scatter_sum(c, n, 1, x, mine);
        cs_comm_sum(c, n, x);
        for (int64_t i = 0; status == CS_OK && i < n; ++i) {
            double want = SUM(r, 0, c->ranks, item(r, i));
            double size = SUM(r, 0, c->ranks, item(r, i) < 0 ? -item(r, i) : item(r, i));
            double off = x[i] - want;
            bool slice = i >= first && i < first + count;
            if (off > 8 * size * 0x1p-52 || -off > 8 * size * 0x1p-52 ||
                (slice && mine[i - first] != in_order(c, i))) {
                status = cs_fail(CS_ERR_INPUT, "sum %lld of %lld", (long long)i, (long long)n);
            }
        }
        memcpy(seen[c->rank], x, (size_t)n * sizeof *x);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

TEST(operations_mean_what_they_say)
{
    static double seen[2][MOST_RANKS][MOST];
    draw_items();
    for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
        expect_ok(ranks, slices_cover, NULL);
        expect_ok(ranks, gathers, NULL);
        expect_ok(ranks, integer_sums, NULL);
        expect_ok(ranks, sums, seen[0]);
        expect_ok(ranks, sums, seen[1]);
        assert_each(r, 0, ranks, memcmp(seen[0][r], seen[0][0], sizeof seen[0][0]) == 0);
        assert_memory_equal(seen[1][0], seen[0][0], sizeof seen[0][0]); /* and again */
    }
}

static cs_status spreads(cs_comm *c, void *ctx)
{
    (void)ctx;
    char text[100] = "nothing";
    if (c->rank == 0) {
        (void)snprintf(text, sizeof text, "from rank 0 of %d", c->ranks);
    }
    cs_comm_spread(c, text, (int64_t)sizeof text);
    char want[100] = {0};
    (void)snprintf(want, sizeof want, "from rank 0 of %d", c->ranks);
    return strcmp(text, want) == 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "'%s'", text);
}

static cs_status some_fail(cs_comm *c, void *ctx)
{
    const int *failing = ctx; /* bits */
    cs_status mine = CS_OK;
    if (*failing >> c->rank & 1) {
        mine = cs_fail(c->rank % 2 ? CS_ERR_IO : CS_ERR_INPUT, "%s %d", "no file", c->rank / 2);
    }
    cs_status status = cs_comm_agree(c, mine);
    return c->agreed == (status != CS_OK) ? status : cs_fail(CS_ERR_USAGE, "agreed is wrong");
}

static cs_status all_fail_alike(cs_comm *c, void *ctx)
{
    (void)ctx;
    return cs_comm_agree(c, cs_fail(CS_ERR_INPUT, "m.npz: no such file"));
}

TEST(ranks_agree_on_failures)
{
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024], want[1024];
    for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
        expect_ok(ranks, spreads, NULL);
        for (int failing = 0; failing < 1 << ranks; failing += ranks < 5 ? 1 : 7) {
            (void)run_ranks(ranks, some_fail, &failing, status, reason);
            int first = failing ? __builtin_ctz((unsigned)failing) : -1;
            for (int r = 0; r < ranks; ++r) {
                cs_status code = first < 0 ? CS_OK : first % 2 ? CS_ERR_IO : CS_ERR_INPUT;
                assert_int_equal(status[r], code);
                (void)snprintf(want, sizeof want,
                               ranks == 1 ? "no file 0" : "rank %d of %d: no file %d", first, ranks,
                               first / 2);
                assert_string_equal(reason[r], first < 0 ? "" : want);
            }
        }
        (void)run_ranks(ranks, all_fail_alike, NULL, status, reason);
        assert_each(r, 0, ranks, status[r] == CS_ERR_INPUT);
        assert_each(r, 0, ranks, strcmp(reason[r], "m.npz: no such file") == 0);
    }
}

static cs_status long_sum(cs_comm *c, void *ctx)
{
    CS_AUTO_FREE double *x = cs_calloc(MOST, sizeof *x);
    (void)ctx;
    cs_comm_sum(c, MOST, x);
    return CS_OK;
}

/* The formulas of comm.h. */
TEST(bytes_are_as_stated)
{
    cs_status status[MOST_RANKS];
    for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
        int64_t sent = run_ranks(ranks, long_sum, NULL, status, NULL);
        assert_int_equal(sent, (int64_t)2 * (ranks - 1) * MOST * 8);
    }
}
