/* base/scratch: memory in files keeps its contents as it grows and when its pages are let go,
 * allocates its space on the disk at once, and reports a full disk. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "test.h"

static int64_t expected(int64_t i)
{
    return i * i + 7;
}

TEST(contents_stay)
{
    CS_AUTO_BY(cs_scratch_free, cs_scratch_memory) m = {0};
    int64_t held = 0;
    for (int64_t items = 3; items < 3000000; items *= 10) {
        OK(cs_scratch_grow(&m, NULL, items * (int64_t)sizeof(int64_t)));
        int64_t *at = m.at;
        assert_each(i, 0, held, at[i] == expected(i));
        for (int64_t i = held; i < items; ++i) {
            assert_int_equal(at[i], 0);
            at[i] = expected(i);
        }
        /* any part of it, on page boundaries or not */
        cs_scratch_let_go(&m, held * (int64_t)sizeof(int64_t),
                          (items - held) * (int64_t)sizeof(int64_t));
        held = items;
    }
    struct stat s;
    assert_int_equal(fstat(m.fd, &s), 0);
    assert_int_equal(s.st_nlink, 0); /* no name */
    assert_true((int64_t)s.st_blocks * 512 >= m.bytes);
    int64_t bytes = m.bytes;
    OK(cs_scratch_grow(&m, NULL, 8));
    assert_int_equal(m.bytes, bytes);
    assert_each(i, 0, held, ((int64_t *)m.at)[i] == expected(i));
    cs_scratch_free(&m);
    assert_null(m.at);
}

TEST(what_cannot_be_had_is_said)
{
    CS_AUTO_BY(cs_scratch_free, cs_scratch_memory) m = {0};
    assert_fails(cs_scratch_grow(&m, "/nowhere", 100), CS_ERR_IO, "/nowhere");
    assert_null(m.at);
    cs_reason_clear();

    (void)cs_mem_fail_at(1);
    assert_int_equal(cs_scratch_grow(&m, NULL, 100), CS_ERR_MEMORY);
    (void)cs_mem_fail_at(0);
    cs_reason_clear();
    assert_null(m.at);

    /* as a full disk: files may not grow beyond a MiB */
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 1 << 20;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_fails(cs_scratch_grow(&m, NULL, 2 << 20), CS_ERR_IO, "2097152 bytes");
    assert_null(m.at);
    cs_reason_clear();
    OK(cs_scratch_grow(&m, NULL, 1 << 20));
    ((char *)m.at)[(1 << 20) - 1] = 5;
    assert_int_equal(cs_scratch_grow(&m, NULL, 2 << 20), CS_ERR_IO);
    assert_int_equal(m.bytes, 1 << 20);
    assert_int_equal(((char *)m.at)[(1 << 20) - 1], 5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}
