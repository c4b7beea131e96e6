/* base: reasons, allocation, counter-based random numbers, parallel loops, hashes. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <cblas.h>

#include "base/hash.h"
#include "base/sort.h"
#include "base/threads.h"
#include "io_support.h"

TEST(first_reason_wins)
{
    cs_reason_clear();
    assert_int_equal(cs_fail(CS_ERR_INPUT, "value %d", 7), CS_ERR_INPUT);
    assert_int_equal(cs_fail(CS_ERR_IO, "later"), CS_ERR_IO);
    assert_string_equal(cs_reason(), "value 7");
    assert_int_equal(cs_blame(CS_ERR_INPUT, "file:%d", 3), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "file:3: value 7");
    /* a place that the reason begins with is not named twice */
    assert_int_equal(cs_blame(CS_ERR_INPUT, "file:3"), CS_ERR_INPUT);
    assert_int_equal(cs_blame(CS_ERR_INPUT, "file"), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "file:3: value 7");
    assert_int_equal(cs_blame(CS_ERR_INPUT, "fil"), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "fil: file:3: value 7");
    cs_reason_clear();
    assert_string_equal(cs_reason(), "");
}

TEST(allocation_is_checked)
{
    cs_reason_clear();
    assert_null(cs_alloc(-1, 8));
    assert_null(cs_alloc(INT64_MAX, 8));
    assert_true(strlen(cs_reason()) > 0);
    cs_reason_clear();
    (void)cs_mem_fail_at(2);
    CS_AUTO_FREE void *a = cs_alloc(1, 1);
    void *b = cs_alloc(1, 1);
    assert_non_null(a);
    assert_null(b);
    assert_int_equal(cs_mem_fail_at(0), 2);
    cs_reason_clear();
}

/* Known answer of Random123: philox4x32-10, counter 0, key 0. */
TEST(a_pool_is_freed_at_once_and_its_first_failure_stays)
{
    CS_AUTO(cs_pool) pool = {0};
    for (int64_t n = 0; n < 40; ++n) {
        char *buffer = cs_pool_take(&pool, n, 3);
        assert_non_null(buffer);
        assert_int_equal((uintptr_t)buffer % _Alignof(max_align_t), 0);
        for (int64_t i = 0; i < 3 * n; ++i) {
            assert_int_equal(buffer[i]++, 0);
        }
    }
    OK(pool.status);
    assert_null(cs_pool_take(&pool, INT64_MAX, 1));
    assert_int_equal(pool.status, CS_ERR_MEMORY);
    assert_null(cs_pool_take(&pool, 1, 1));
    cs_pool_free(&pool);
    assert_non_null(cs_pool_take(&pool, 1, 1));
    cs_pool_free(&pool);
    (void)cs_mem_fail_at(1);
    assert_null(cs_pool_take(&pool, 1, 1));
    assert_int_equal(pool.status, CS_ERR_MEMORY);
    cs_reason_clear();
}

TEST(philox_known_answer)
{
    cs_rng rng = {.key = {0, 0}, .counter = {0, 0, 0, 0}, .used = 4};
    assert_true(cs_rng_u64(&rng) == ((uint64_t)0xe169c58du << 32 | 0x6627e8d5u));
    assert_true(cs_rng_u64(&rng) == ((uint64_t)0x9b00dbd8u << 32 | 0xbc57ac4cu));
}

TEST(draws_have_their_moments)
{
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    enum { N = 200000 };
    double sum = 0, square = 0, below = 0;
    for (int i = 0; i < N; ++i) {
        double x = cs_rng_normal(&rng);
        sum += x;
        square += x * x;
        below += (double)cs_rng_below(&rng, 7);
    }
    /* Five standard errors. */
    assert_true(fabs(sum / N) < 5 / sqrt(N));
    assert_true(fabs(square / N - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(below / N - 3) < 5 * 2 / sqrt(N));
}

static cs_status square_item(void *ctx, int64_t item)
{
    ((int64_t *)ctx)[item] = item * item;
    return CS_OK;
}

static cs_status fail_some(void *ctx, int64_t item)
{
    (void)ctx;
    return item % 10 == 3 ? cs_fail(CS_ERR_INPUT, "item %lld", (long long)item) : CS_OK;
}

TEST(loops_cover_all_items_and_report_failures)
{
    int64_t out[1000];
    OK(cs_parallel(1000, 4, square_item, out));
    assert_each(i, 0, 1000, out[i] == i * i);
    assert_int_equal(cs_parallel(1000, 1, fail_some, NULL), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "item 3");
    cs_reason_clear();
}

/* Items that fail are handed out after item 3 only, whatever the order in which they end. */
TEST(lowest_failure_wins_on_any_thread)
{
    for (int i = 0; i < 300; ++i) {
        assert_int_equal(cs_parallel(1000, 2 + i % 4, fail_some, NULL), CS_ERR_INPUT);
        assert_string_equal(cs_reason(), "item 3");
        cs_reason_clear();
    }
}

enum { WORKERS = 4, OUTER = 6, INNER = 50 };

typedef struct {
    atomic_bool busy[WORKERS]; /* by worker number */
    atomic_int clashes, done;
    int threads; /* of the loop inside, 0: none */
} shared_work;

static cs_status count_item(void *ctx, int64_t item)
{
    (void)item;
    atomic_fetch_add((atomic_int *)ctx, 1);
    return CS_OK;
}

/* Holds its worker's number while it runs its own loop. */
static cs_status use_scratch(void *ctx, int64_t item, int worker)
{
    (void)item;
    shared_work *w = ctx;
    if (worker < 0 || worker >= WORKERS || atomic_exchange(&w->busy[worker], true)) {
        atomic_fetch_add(&w->clashes, 1);
        return CS_OK;
    }
    cs_status status = CS_OK;
    if (w->threads > 0) {
        status = cs_parallel(INNER, w->threads, count_item, &w->done);
    }
    atomic_store(&w->busy[worker], false);
    return status;
}

TEST(workers_have_numbers_of_their_own)
{
    shared_work w = {.threads = 0};
    for (int i = 0; i < 200; ++i) {
        OK(cs_parallel_workers(100, WORKERS, use_scratch, &w));
    }
    assert_int_equal(atomic_load(&w.clashes), 0);
}

TEST(loops_nest)
{
    for (int threads = 1; threads <= 5; ++threads) {
        shared_work w = {.threads = threads};
        for (int i = 0; i < 50; ++i) {
            OK(cs_parallel_workers(OUTER, WORKERS, use_scratch, &w));
        }
        assert_int_equal(atomic_load(&w.clashes), 0);
        assert_int_equal(atomic_load(&w.done), 50 * OUTER * INNER);
    }
}

static void *run_nested(void *arg)
{
    shared_work *w = arg;
    for (int i = 0; i < 50; ++i) {
        if (cs_parallel_workers(OUTER, WORKERS, use_scratch, w) != CS_OK) {
            atomic_fetch_add(&w->clashes, 1);
        }
    }
    return NULL;
}

TEST(threads_of_the_caller_loop_at_once)
{
    enum { CALLERS = 4 };
    pthread_t thread[CALLERS];
    shared_work work[CALLERS] = {{.threads = 1}, {.threads = 2}, {.threads = 3}, {.threads = 4}};
    for (int i = 0; i < CALLERS; ++i) {
        assert_int_equal(pthread_create(&thread[i], NULL, run_nested, &work[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(atomic_load(&work[i].clashes), 0);
        assert_int_equal(atomic_load(&work[i].done), 50 * OUTER * INNER);
    }
}

static cs_status leave_a_reason(void *ctx, int64_t item, int worker)
{
    (void)ctx;
    (void)item;
    if (worker > 0) {
        (void)cs_fail(CS_ERR_IO, "stale");
    }
    return CS_OK;
}

TEST(reasons_do_not_outlive_their_loop)
{
    for (int i = 0; i < 100; ++i) {
        OK(cs_parallel_workers(100, 4, leave_a_reason, NULL));
        assert_int_equal(cs_parallel(100, 4, fail_some, NULL), CS_ERR_INPUT);
        assert_string_equal(cs_reason(), "item 3");
        cs_reason_clear();
    }
}

static int squares_are_right(void)
{
    int64_t out[200];
    if (cs_parallel(200, 4, square_item, out) != CS_OK) {
        return 0;
    }
    for (int64_t i = 0; i < 200; ++i) {
        if (out[i] != i * i) {
            return 0;
        }
    }
    return 1;
}

static pid_t fork_limited(void)
{
    pid_t child = test_fork();
    if (child == 0) {
        sigset_t only;
        (void)sigemptyset(&only);
        (void)sigaddset(&only, SIGALRM);
        (void)pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* workers block it */
        (void)alarm(20);                                 /* a hang is a failure, not a wait */
    }
    return child;
}

/* A child ends with 7, the value that it finds. */
#define assert_child_finds_7(value)                                                                \
    do {                                                                                           \
        pid_t child = fork_limited();                                                              \
        if (child == 0) _exit(value);                                                              \
        assert_int_equal(exit_code(child), 7);                                                     \
    } while (0)

#ifdef __SANITIZE_THREAD__
#define FORK_TEST() skip() /* the thread sanitizer knows no threads in a child of many threads */
#else
#define FORK_TEST() (void)state
#endif

TEST(children_have_workers_of_their_own)
{
    FORK_TEST();
    assert_true(squares_are_right());
    assert_child_finds_7(squares_are_right() && squares_are_right() ? 7 : 1);
    assert_true(squares_are_right());
}

/* Forks in items of workers and of the caller; the child goes on as a thread of a loop whose other
 * threads are gone, and starts another loop. */
static cs_status fork_in_item(void *ctx, int64_t item)
{
    (void)item;
    pid_t child = fork_limited();
    if (child == 0) {
        _exit(squares_are_right() ? 7 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7) {
        atomic_fetch_add((atomic_int *)ctx, 1);
    }
    return CS_OK;
}

TEST(items_may_fork)
{
    FORK_TEST();
    atomic_int good = 0;
    OK(cs_parallel(8, 4, fork_in_item, &good));
    assert_int_equal(atomic_load(&good), 8);
}

/* Threads of one loop that wait for each other, and a child that one of them forks. */
typedef struct {
    int forker; /* the worker that forks, or exits */
    atomic_int inside;
    atomic_bool over;
    atomic_int child; /* its number, 0 in itself */
} meeting;

/* False after 20 s. */
static bool wait_for(meeting *m, int inside)
{
    for (int i = 0; i < 200000 && atomic_load(&m->inside) < inside; ++i) {
        (void)usleep(100);
    }
    return atomic_load(&m->inside) >= inside;
}

static void end_with_7(void)
{
    _exit(7);
}

/* Two items, which two threads hold at once. In the child the forking thread returns from its item
 * and finds that the other is gone. */
static cs_status fork_while_both_are_inside(void *ctx, int64_t item, int worker)
{
    (void)item;
    meeting *m = ctx;
    atomic_fetch_add(&m->inside, 1);
    if (!wait_for(m, 2)) {
        return cs_fail(CS_ERR_USAGE, "the other thread did not come");
    }
    if (worker != m->forker) {
        for (int i = 0; i < 200000 && !atomic_load(&m->over); ++i) {
            (void)usleep(100);
        }
        return CS_OK;
    }
    pid_t child = fork_limited();
    if (child == 0 && worker > 0) {
        (void)atexit(end_with_7); /* the process ends with its last thread, this one */
    }
    atomic_store(&m->child, child);
    atomic_store(&m->over, true);
    return CS_OK;
}

TEST(a_forked_caller_ends_its_loop)
{
    FORK_TEST();
    meeting m = {.forker = 0};
    pid_t self = getpid();
    cs_status status = cs_parallel_workers(2, 2, fork_while_both_are_inside, &m);
    if (getpid() != self) {
        _exit(status == CS_OK && squares_are_right() ? 7 : 1);
    }
    OK(status);
    assert_int_equal(exit_code(atomic_load(&m.child)), 7);
}

TEST(a_forked_worker_ends)
{
    FORK_TEST();
    meeting m = {.forker = 1};
    OK(cs_parallel_workers(2, 2, fork_while_both_are_inside, &m));
    assert_int_equal(exit_code(atomic_load(&m.child)), 7);
}

/* One thread calls exit() while the others hold their items for ever. */
static cs_status exit_while_others_work(void *ctx, int64_t item, int worker)
{
    (void)item;
    meeting *m = ctx;
    atomic_fetch_add(&m->inside, 1);
    if (worker == m->forker && wait_for(m, 3)) {
        exit(7);
    }
    for (;;) {
        (void)pause();
    }
}

TEST(exit_does_not_wait_for_a_loop)
{
    FORK_TEST();
    for (int forker = 0; forker < 2; ++forker) {
        meeting m = {.forker = forker};
        assert_child_finds_7(cs_parallel_workers(3, 3, exit_while_others_work, &m) ? 2 : 1);
    }
}

/* Nobody else holds OpenBLAS once all have let go; while one does, it has one thread. */
static cs_status hold_and_look(void *ctx, int64_t item)
{
    (void)item;
    for (int depth = 1; depth <= 2; ++depth) {
        cs_threads_blas_hold(true);
        if (openblas_get_num_threads() != 1) atomic_fetch_add((atomic_int *)ctx, 1);
    }
    for (int depth = 2; depth >= 1; --depth) {
        if (openblas_get_num_threads() != 1) atomic_fetch_add((atomic_int *)ctx, 1);
        cs_threads_blas_hold(false);
    }
    return CS_OK;
}

TEST(holds_leave_openblas_one_thread_and_give_back_what_it_had)
{
    const int before = openblas_get_num_threads();
    atomic_int wrong = 0;
    cs_threads_set(3);
    assert_int_equal(openblas_get_num_threads(), 3);
    OK(cs_parallel(1000, 4, hold_and_look, &wrong));
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(openblas_get_num_threads(), 3);
    cs_threads_blas_hold(true);
    cs_threads_set(2); /* for afterwards */
    assert_int_equal(openblas_get_num_threads(), 1);
    cs_threads_blas_hold(false);
    assert_int_equal(openblas_get_num_threads(), 2);
    cs_threads_set(0);
    openblas_set_num_threads(before);
}

static cs_status interrupt_item(void *ctx, int64_t item)
{
    if (item >= 20) { /* whichever thread is first: the one with item 20 may start last */
        cs_interrupt_set();
    }
    atomic_fetch_add((atomic_int *)ctx, 1);
    return CS_OK;
}

TEST(interrupts_stop_loops)
{
    FORK_TEST();
    atomic_int done = 0;
    assert_child_finds_7(cs_parallel(100000, 4, interrupt_item, &done) == CS_ERR_INTERRUPT &&
                                 strcmp(cs_reason(), "interrupted") == 0 &&
                                 atomic_load(&done) < 100000
                             ? 7
                             : 1);
}

typedef struct {
    int of, twice;
    atomic_int *began;
} doubling;

static void twice(void *problem)
{
    doubling *d = problem;
    d->twice = 2 * d->of;
}

/* As a library that looks for no interrupt, but not before one has come. */
static void for_ever(void *problem)
{
    doubling *d = problem;
    cs_interrupt_set();
    atomic_store(d->began, 1);
    for (;;) {
        (void)pause();
    }
}

static void interrupted_and_done(void *problem)
{
    cs_interrupt_set();
    twice(problem);
}

static int held_to_its_end(void)
{
    doubling d = {.of = 3};
    cs_interrupt_hold(true);
    cs_status status = cs_run_abandonable(interrupted_and_done, &d, sizeof d);
    cs_interrupt_hold(false);
    if (status != CS_OK || d.twice != 6 || cs_mem_free_is_deferred()) return 2;
    return cs_run_abandonable(twice, &d, sizeof d) == CS_ERR_INTERRUPT ? 7
                                                                       : 3; /* no new one begins */
}

static int left_behind(void)
{
    atomic_int *began = cs_calloc(1, sizeof *began);
    char *kept = cs_strdup("kept");
    doubling d = {.of = 3, .began = began};
    if (cs_run_abandonable(for_ever, &d, sizeof d) != CS_ERR_INTERRUPT || !atomic_load(began))
        return 2;
    if (d.twice != 0 || strcmp(cs_reason(), "interrupted") != 0) return 3;
    cs_free(kept); /* which frees nothing now */
    return cs_mem_free_is_deferred() && strcmp(kept, "kept") == 0 ? 7 : 4;
}

TEST(interrupts_leave_a_library_behind)
{
    FORK_TEST();
    doubling d = {.of = 21};
    OK(cs_run_abandonable(twice, &d, sizeof d));
    assert_int_equal(d.twice, 42);
    int (*const part[])(void) = {held_to_its_end, left_behind};
    for (size_t i = 0; i < sizeof part / sizeof *part; ++i) {
        assert_child_finds_7(part[i]());
    }
}

TEST(sha256_known_answer)
{
    char hex[65];
    cs_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(a_radix_sort_is_in_the_order_of_comparisons)
{
    enum { COUNT = 3000 };
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1074, 1, -1};
    cs_scored list[COUNT], want[COUNT];
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 77);
    for (int64_t n = 0; n <= COUNT; n += n < 3 ? 1 : COUNT - 3) {
        for (int64_t i = 0; i < n; ++i) {
            const double x = i % 7 == 0 ? odd[i / 7 % 8] : cs_rng_normal(&rng);
            list[i] = (cs_scored){i % 5 == 0 && i > 0 ? list[i - 1].value : x, i};
            want[i] = list[i];
        }
        qsort(want, (size_t)n, sizeof *want, cs_scored_compare);
        OK(cs_scored_sort(n, list));
        assert_each(i, 0, n, list[i].index == want[i].index && list[i].value == want[i].value);
    }
}

TEST(hashes_come_in_pieces)
{
    ARRAY(unsigned char, bytes, 3000, i, (i * i % 251));
    for (size_t step = 1; step < 3000; step = 3 * step + 1) {
        AUTO_OK(cs_hasher, h, cs_hasher_make(5, &h));
        for (size_t at = 0; at < 3000; at += step) {
            cs_hasher_add(&h, bytes + at, 3000 - at < step ? 3000 - at : step);
        }
        assert_int_equal(cs_hash_compare(cs_hasher_value(&h), cs_hash(bytes, 3000, 5)), 0);
        cs_hasher_free(&h);
    }
    /* XXH3_128bits of no bytes, seed 0: the test vector of the xxHash specification. */
    char hex[33];
    cs_hash_hex(cs_hash("", 0, 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Limits of control groups above the process's own hold too; files in memory that are not in use count
 * as free. */
TEST_IN_DIR(limits_of_control_groups_count)
{
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(in_dir(state, ".")), 0);
    assert_true(cs_mem_group_left(".") == INT64_MAX);
    assert_int_equal(system("mkdir -p proc/self sys/fs/cgroup/a/b sys/fs/cgroup/memory/a"), 0);
    put_text("proc/self/cgroup", "3:cpu:/a\n0::/a/b\n");
    put_text("sys/fs/cgroup/a/b/memory.max", "max\n");
    put_text("sys/fs/cgroup/a/memory.max", "1000\n");
    put_text("sys/fs/cgroup/a/memory.current", "700\n");
    put_text("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 100\n");
    assert_true(cs_mem_group_left(".") == 400);
    put_text("sys/fs/cgroup/a/b/memory.max", "500\n");
    put_text("sys/fs/cgroup/a/b/memory.current", "600\n");
    assert_true(cs_mem_group_left(".") == 1);
    put_text("proc/self/cgroup", "4:memory,x:/a\n");
    put_text("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    put_text("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "10\n");
    assert_true(cs_mem_group_left(".") == INT64_MAX);
    put_text("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "50\n");
    put_text("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 2\n");
    assert_true(cs_mem_group_left(".") == 42);
    assert_int_equal(chdir(before), 0);
}
