/* cooc/packed: entries in a compact form. Whatever stretch is unpacked has the columns and units that
 * were packed; and a matrix of a compact build is stored in the bytes of an ordinary one. */
#include "base/ints.h"
#include "base/rng.h"
#include "cooc/packed_private.h"
#include "cooc/store.h"
#include "cooc_compare.h"
#include "io/file.h"
#include "io_support.h"
#include "linalg/matrix_index.h"
#include "plan/spec.h"
#include "small_corpus.h"

enum { ROWS = 900, PARTS = 3, LONGEST = 100 };

/* --- stretches -------------------------------------------------------------------------------- */

typedef struct {
    int64_t ptr[ROWS + 1];
    int32_t col[ROWS * LONGEST];
    int64_t units[ROWS * LONGEST];
    double bits[ROWS * LONGEST];
} plain;

/* Gaps on both sides of 16 bits; multiples of `quantum`, numbers of 32 and of 62 bits. */
static void make_plain(int64_t quantum, plain *out)
{
    cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, (uint64_t)quantum);
    int64_t e = 0;
    for (int64_t i = 0; i < ROWS; ++i) {
        int64_t col = -1;
        for (int64_t n = i % 7 == 0 ? 0 : cs_rng_below(&rng, LONGEST); n > 0; --n, ++e) {
            static const int64_t gaps[] = {1, 3, 400, 65535, 65536, 65537, 70000, 3000000};
            const int64_t kind = cs_rng_below(&rng, 8), times = cs_rng_below(&rng, 300);
            col += gaps[cs_rng_below(&rng, 8)];
            out->col[e] = (int32_t)col;
            out->units[e] = kind < 5    ? times * quantum
                            : kind == 5 ? times + 1
                            : kind == 6 ? UINT32_MAX + times - 150
                                        : (INT64_C(1) << 61) - times;
            memcpy(&out->bits[e], &out->units[e], sizeof out->bits[e]);
        }
        out->ptr[i + 1] = e;
    }
}

static void assert_stretch(const plain *a, const cs_packed *p, int64_t row, int64_t first,
                           int64_t count)
{
    const double unit = 0.375;
    const cs_packed_rows rows = {p, a->ptr, a->ptr[row], unit};
    const int64_t begin = a->ptr[row] + first;
    ARRAY(int32_t, col, count + 1, i, -7);
    ARRAY(int64_t, units, count + 1, i, -7);
    ARRAY(double, real, count + 1, i, -7);
    cs_packed_columns(&rows, first, count, col);
    cs_packed_integers(&rows, first, count, units);
    cs_packed_reals(&rows, first, count, real);
    assert_memory_equal(col, a->col + begin, (size_t)count * sizeof *col);
    assert_memory_equal(units, a->units + begin, (size_t)count * sizeof *units);
    assert_each(i, 0, count, real[i] == (double)a->units[begin + i] * unit);
    assert_true(col[count] == -7 && units[count] == -7 && real[count] == -7);
}

TEST(stretches_are_what_was_packed)
{
    static const int64_t quanta[] = {1, 252, INT64_C(3435973837), (INT64_C(1) << 53) - 1};
    static plain a;
    for (size_t q = 0; q < sizeof quanta / sizeof *quanta; ++q) {
        cs_packed p = {.quantum = quanta[q]};
        cs_rng rng = cs_rng_at(12, CS_STREAM_TEST, q);
        make_plain(quanta[q], &a);
        for (int64_t i = 0, e = 0; i < ROWS; e = a.ptr[++i]) {
            OK(cs_packed_add(&p, i, e, a.ptr[i + 1] - e, a.col + e, a.bits + e));
        }
        assert_true(p.marks > 1 && p.marks < 10); /* at most one in 16384 entries, and one */
        const int64_t all = a.ptr[ROWS];
        assert_stretch(&a, &p, 0, 0, all);
        assert_stretch(&a, &p, 0, all, 0);
        for (int i = 0; i < 300; ++i) {
            const int64_t row = cs_rng_below(&rng, ROWS), rest = all - a.ptr[row],
                          first = cs_rng_below(&rng, rest + 1);
            assert_stretch(&a, &p, row, first, cs_rng_below(&rng, rest - first + 1));
        }
        CS_FREE_FIELDS(&p, gap, byte, mark);
    }
}

/* --- memory given back ------------------------------------------------------------------------ */

enum { MANY = 6000, EACH = 1000 }; /* 12 MB of gaps and 6 MB of bytes */

static int32_t column_of(int64_t e)
{
    return (int32_t)(e % EACH * 3 + 2);
}

static int64_t units_of(int64_t e)
{
    return e % 250 + 1;
}

static void assert_rest(const cs_packed_rows *rows, int64_t first, int64_t count)
{
    ARRAY(int32_t, col, count, i, -7);
    ARRAY(int64_t, units, count, i, -7);
    cs_packed_columns(rows, first, count, col);
    cs_packed_integers(rows, first, count, units);
    assert_each(i, 0, count, col[i] == column_of(rows->begin + first + i));
    assert_each(i, 0, count, units[i] == units_of(rows->begin + first + i));
}

/* Bytes from `p` on that are zero, as memory is that was given back; no gap and no value is. */
static int64_t zeros(const void *p, int64_t bytes)
{
    int64_t count = 0;
    for (int64_t i = 0; i < bytes; ++i) {
        count += ((const char *)p)[i] == 0;
    }
    return count;
}

/* Two files of rows, the second one written first, in pieces of odd sizes: what is given back was
 * written, and of each file all large pages but those at its ends are. */
TEST(memory_of_written_entries_is_given_back)
{
    enum { PIECE = 262139 };
    const int64_t page = 2 << 20;
    ARRAY(int64_t, ptr, MANY + 1, i, i * EACH);
    ARRAY(int32_t, col, EACH, i, column_of(i));
    cs_packed p = {.quantum = 1};
    for (int64_t i = 0; i < MANY; ++i) {
        double bits[EACH];
        for (int64_t e = 0; e < EACH; ++e) {
            const int64_t units = units_of(i * EACH + e);
            memcpy(&bits[e], &units, sizeof bits[e]);
        }
        OK(cs_packed_add(&p, i, ptr[i], EACH, col, bits));
    }
    /* The second file begins after the first row that begins in a large page, but its mark may not. */
    int64_t half = (page - (int64_t)((uintptr_t)p.gap % (uintptr_t)page)) / 2 / EACH + 1;
    while (p.mark[1].row > 0 && half % p.mark[1].row == 0) {
        half += page / 2 / EACH;
    }
    const cs_packed_rows file[] = {{&p, ptr, 0, 1}, {&p, ptr, ptr[half], 1}};
    const int64_t count[] = {ptr[half], ptr[MANY] - ptr[half]};
    const int64_t before = zeros(p.gap, p.gaps * 2), zero_bytes = zeros(p.byte, p.bytes);
    assert_int_equal(before, p.gaps); /* the higher half of each */
    assert_int_equal(zero_bytes, 0);
    for (int f = 1; f >= 0; --f) {
        for (int64_t at = 0; at < count[f]; at += PIECE) {
            const int64_t rest = count[f] - at, size = cs_least(rest, PIECE);
            assert_rest(&file[f], at, cs_least(rest, 2 * PIECE));
            cs_packed_columns_written(&file[f], at, size);
            cs_packed_values_written(&file[f], at, size);
        }
    }
    assert_true(zeros(p.gap, p.gaps * 2) - before >= p.gaps - 2 * page);
    assert_true(zeros(p.byte, p.bytes) >= p.bytes - 4 * page && zeros(p.byte, p.bytes) > 0);
    CS_FREE_FIELDS(&p, gap, byte, mark);
}

/* --- files ------------------------------------------------------------------------------------ */

static void assert_same_bytes(void **state, const char *name)
{
    char inner[64];
    CS_AUTO_FREE char *x = NULL, *y = NULL;
    int64_t n = 0, m = 0;
    (void)snprintf(inner, sizeof inner, "plain/%s", name);
    OK(cs_file_read(in_dir(state, inner), INT64_C(1) << 30, &x, &n));
    (void)snprintf(inner, sizeof inner, "compact/%s", name);
    OK(cs_file_read(in_dir(state, inner), INT64_C(1) << 30, &y, &m));
    assert_int_equal(n, m);
    assert_memory_equal(x, y, (size_t)n);
}

/* Stores both builds; the files that hold their rows are the same. */
static void assert_stored_alike(void **state, const cs_corpus *corpus, cs_cooc_options o,
                                int64_t shards)
{
    char name[CS_SHARD_NAME];
    AUTO_OK(cs_cooc, plain_build, cs_cooc_build(corpus, &o, &plain_build));
    OK(cs_cooc_write(in_dir(state, "plain"), corpus, &o, &plain_build, false, true));
    o.compact = true;
    for (o.threads = 1; o.threads <= 3; o.threads += 2) {
        AUTO_OK(cs_cooc, m, cs_cooc_build(corpus, &o, &m));
        assert_non_null(m.packed);
        assert_true(!m.matrix.a.col && !m.matrix.a.val);
        assert_int_equal(m.all_nonzeros, plain_build.all_nonzeros);
        assert_int_equal(m.files != NULL, plain_build.files != NULL);
        assert_true(m.packed->gaps * 2 + m.packed->bytes < 12 * m.all_nonzeros);
        OK(cs_cooc_write(in_dir(state, "compact"), corpus, &o, &m, false, true));
        for (int64_t i = 0; i < shards; ++i) {
            cs_shard_name(CS_SHARD_MATRIX, i, shards, name);
            assert_same_bytes(state, shards == 1 ? "matrix.npz" : name);
            cs_shard_name(CS_SHARD_ROWS, i, shards, name);
            assert_same_bytes(state, shards == 1 ? "rows.npz" : name);
        }
        assert_same_bytes(state, "matrix.json");
    }
}

static cs_cooc_options options_of(const char *spec, const char *context)
{
    cs_cooc_options o = {.threads = 2, .seed = 7};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

TEST_IN_DIR(compact_builds_are_stored_as_others)
{
    static const struct {
        const char *spec, *context;
        int64_t max_length, shards;
        double subsample;
    } cases[] = {
        {"ar", "each:3", 0, 1, 0},
        {"ar", "each:10", 0, 2, 0}, /* units of a window's place: exact multiples and others */
        {"permuted-ar", "each:10", 0, 1, 0},
        {"permuted-ar", "each:4:linear", 0, 1, 0},
        {"permuted-ar", "each:4:harmonic", 0, 2, 0},
        {"ar", "each:4:flat", 0, 1, 1e-2},
        {"masked:mask-ratio=0.3", "each:2", 7, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = random_corpus(60, 40, 50, 0);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context);
        o.max_length = cases[i].max_length;
        o.subsample = cases[i].subsample;
        o.shard_size = cases[i].shards == 1 ? 0 : 22000;
        assert_stored_alike(state, &corpus, o, cases[i].shards);
    }
}

/* Scratch files hold what is larger than the budget. */
TEST_IN_DIR(compact_builds_beyond_memory_are_stored_as_others)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(3000, 160, 4000, 0);
    cs_cooc_options o = options_of("ar", "each:10");
    o.memory_budget = INT64_C(5) << 20;
    assert_stored_alike(state, &corpus, o, 1);
}

/* Classes, Gram forms and records are not kept compact. */
TEST_IN_DIR(other_builds_are_not_compact)
{
    static const struct {
        const char *spec, *context;
        int64_t labels;
    } cases[] = {{"ar", "each:3", 2}, {"ar", "unique", 0}, {"ar", "nearest:2", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = random_corpus(60, 40, 50, cases[i].labels);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context);
        o.compact = true;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        assert_null(m.packed);
        assert_non_null(m.matrix.a.val);
    }
}

TEST_IN_DIR(every_allocation_may_fail)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(200, 25, 60, 0);
    cs_cooc_options o = options_of("ar", "each:3");
    o.compact = true;
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_cooc) m = {0};
        cs_status status = cs_cooc_build(&corpus, &o, &m);
        if (status == CS_OK)
            status = cs_cooc_write(in_dir(state, "compact"), &corpus, &o, &m, false, true);
        if (!out_of_memory(status)) assert_non_null(m.packed);
    }
}
