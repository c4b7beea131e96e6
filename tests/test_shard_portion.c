/* linalg/shard: ranks that read a matrix in shards, against ranks that read it from one file. */
#include "comm_threads.h"
#include "cooc_matrices.h"
#include "io/file.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_index.h"
#include "linalg/shard.h"
#include "linalg/shard_portion_private.h"

enum { MOST = 7 };

/* Stores the rows of `a` in shards that begin at the given rows; *dir as from in_dir(). */
static const char *store(void **state, const char *name, const cs_csr *a, int64_t shards,
                         const int64_t *first)
{
    const char *dir = put_dir(state, name);
    cs_matrix_index x = {
        .rows = a->rows, .cols = a->cols, .nonzeros = cs_csr_nnz(a), .shards = shards};
    x.shard = test_zeros(shards, sizeof *x.shard);
    for (int64_t i = 0; i < shards; ++i) {
        char shard[CS_SHARD_NAME];
        const int64_t end = i + 1 < shards ? first[i + 1] : a->rows;
        cs_shard_name(CS_SHARD_MATRIX, i, shards, shard);
        CS_AUTO_FREE char *path = cs_path_join(dir, shard);
        OK(cs_matrix_write_rows(path, a, first[i], end, true, NULL));
        x.shard[i] = (cs_shard_record){.first_row = first[i],
                                       .rows = end - first[i],
                                       .nonzeros = a->ptr[end] - a->ptr[first[i]]};
        OK(cs_shard_file_of(path, &x.shard[i].file[CS_SHARD_MATRIX]));
        x.shard[i].file[CS_SHARD_ROWS] = x.shard[i].file[CS_SHARD_MATRIX]; /* not read here */
    }
    OK(cs_matrix_index_write(dir, &x));
    return dir;
}

typedef struct {
    const char *path;
    cs_shard shard[MOST_RANKS];
} job;

static cs_status read_part(cs_comm *c, void *ctx)
{
    job *j = ctx;
    return cs_shard_read(c, j->path, true, &j->shard[c->rank]);
}

static void read_all(int ranks, const char *path, job *out)
{
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    *out = (job){.path = path};
    (void)run_ranks(ranks, read_part, out, status, reason);
    for (int r = 0; r < ranks; ++r) {
        if (status[r] != CS_OK) fail_msg("rank %d of %d: %s", r, ranks, reason[r]);
    }
}

static void free_all(job *j)
{
    for (int r = 0; r < MOST_RANKS; ++r) {
        cs_shard_free(&j->shard[r]);
    }
}

/* Each nonempty row of `a` is on one rank, whole. */
static void assert_rows(const cs_csr *a, int ranks, const job *j)
{
    int64_t *seen = test_zeros(a->rows, sizeof *seen);
    for (int r = 0; r < ranks; ++r) {
        const cs_shard *s = &j->shard[r];
        assert_true(!s->transposed && s->rows == a->rows && s->cols == a->cols);
        for (int64_t i = 0; i < s->a.rows; ++i) {
            const int64_t row = s->index[i], n = a->ptr[row + 1] - a->ptr[row];
            assert_true(i == 0 || row > s->index[i - 1]);
            ++seen[row];
            assert_int_equal(s->a.ptr[i + 1] - s->a.ptr[i], n);
            assert_memory_equal(s->a.col + s->a.ptr[i], a->col + a->ptr[row], (size_t)n * 4);
            assert_memory_equal(s->a.val + s->a.ptr[i], a->val + a->ptr[row], (size_t)n * 8);
        }
    }
    assert_each(i, 0, a->rows, seen[i] == (a->ptr[i + 1] > a->ptr[i]));
}

/* The same on every rank, bit for bit. */
static void assert_same(int ranks, const job *one, const job *many)
{
    for (int r = 0; r < ranks; ++r) {
        const cs_shard *s = &one->shard[r], *t = &many->shard[r];
        assert_true(t->transposed && s->transposed);
        assert_int_equal(s->kept.count, t->kept.count);
        assert_int_equal(s->kept.rows, t->kept.rows);
        assert_int_equal(s->width, t->width);
        assert_each(i, 0, s->kept.count,
                    cs_nonempty_rows_at(&s->kept, i) == cs_nonempty_rows_at(&t->kept, i));
        assert_int_equal(s->a.rows, t->a.rows);
        assert_memory_equal(s->index, t->index, (size_t)s->a.rows * sizeof *s->index);
        assert_memory_equal(s->a.ptr, t->a.ptr, (size_t)(s->a.rows + 1) * sizeof *s->a.ptr);
        assert_memory_equal(s->a.col, t->a.col, (size_t)cs_csr_nnz(&s->a) * sizeof *s->a.col);
        assert_memory_equal(s->a.val, t->a.val, (size_t)cs_csr_nnz(&s->a) * sizeof *s->a.val);
    }
}

/* More rows than columns and the reverse, empty rows, shards without rows, of unequal sizes, and more
 * or fewer than there are ranks. */
TEST_IN_DIR(ranks_read_their_own_shards)
{
    static const int64_t sizes[][2] = {{90, 31}, {31, 90}, {8, 300}};
    for (int m = 0; m < 3; ++m) {
        CS_AUTO(cs_csr) a = untidy_matrix(2, sizes[m][0], sizes[m][1], 3);
        CS_AUTO_FREE char *whole = cs_strdup(in_dir(state, "whole.npz"));
        OK(cs_matrix_write_npz(whole, &a, true));
        for (int64_t shards = 1; shards <= MOST; ++shards) {
            int64_t first[MOST] = {0};
            char name[32];
            for (int64_t i = 1; i < shards; ++i) { /* the third has no rows */
                first[i] = i == 3 ? first[2] : a.rows * i * i / (shards * shards);
            }
            (void)snprintf(name, sizeof name, "m%d-%d", m, (int)shards);
            CS_AUTO_FREE char *dir = cs_strdup(store(state, name, &a, shards, first));
            for (int ranks = 1; ranks <= 5; ++ranks) {
                job one, many;
                read_all(ranks, dir, &many);
                if (a.rows >= a.cols) {
                    assert_rows(&a, ranks, &many);
                } else {
                    read_all(ranks, whole, &one);
                    assert_same(ranks, &one, &many);
                    free_all(&one);
                }
                free_all(&many);
            }
        }
    }
}

/* Portions follow each other and have about equal numbers of nonzeros. */
TEST(portions_cover_the_shards)
{
    enum { SHARDS = 40 };
    cs_shard_record shard[SHARDS] = {{0}};
    cs_matrix_index x = {.shard = shard};
    for (int64_t shards = 1; shards <= SHARDS; shards += 3) {
        x.shards = shards;
        x.rows = x.nonzeros = 0;
        for (int64_t i = 0; i < shards; ++i) {
            shard[i].first_row = x.rows;
            shard[i].rows = 10 + i % 3;
            shard[i].nonzeros = 1000 + 100 * (i % 5);
            x.rows += shard[i].rows;
            x.nonzeros += shard[i].nonzeros;
        }
        for (int ranks = 1; ranks <= 9; ++ranks) {
            int64_t next = 0;
            for (int r = 0; r < ranks; ++r) {
                const cs_portion p = cs_portion_of(&x, r, ranks);
                int64_t nonzeros = 0;
                if (p.from >= p.to) continue;
                assert_int_equal(p.low, next);
                next = p.high;
                for (int64_t i = p.from; i < p.to; ++i) {
                    nonzeros += shard[i].nonzeros;
                }
                assert_true(shards < ranks || nonzeros <= x.nonzeros / ranks + 1500);
            }
            assert_int_equal(next, x.rows);
        }
    }
}

/* A rank opens no shard but its own: the others are missing. */
TEST_IN_DIR(other_shards_are_not_opened)
{
    enum { ROWS = 40, COLS = 10 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, COLS, ROWS));
    for (int64_t i = 0; i < ROWS; ++i) {
        a.ptr[i + 1] = i + 1;
        a.col[i] = (int32_t)(i % COLS);
        a.val[i] = 1;
    }
    const int64_t first[4] = {0, 10, 20, 30};
    CS_AUTO_FREE char *dir = cs_strdup(store(state, "m", &a, 4, first));
    AUTO_OK(cs_matrix_index, x, cs_matrix_index_read(dir, &x));
    assert_int_equal(remove(in_dir(state, "m/matrix-00002-of-00004.npz")), 0);
    for (int r = 0; r < 4; ++r) {
        CS_AUTO(cs_nonempty_rows) rows = {0};
        CS_AUTO(cs_csr) part = {0};
        const cs_status status = cs_portion_read(dir, &x, r, 4, &rows, &part);
        assert_int_equal(status, r == 1 ? CS_ERR_INPUT : CS_OK);
        assert_int_equal(part.rows, r == 1 ? 0 : 10);
        cs_reason_clear();
    }
    /* All ranks learn of it. */
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    job j = {.path = dir};
    (void)run_ranks(4, read_part, &j, status, reason);
    for (int r = 0; r < 4; ++r) {
        assert_int_equal(status[r], CS_ERR_INPUT);
        assert_non_null(strstr(reason[r], "rank 1 of 4: "));
        assert_non_null(strstr(reason[r], "matrix-00002-of-00004.npz: missing"));
    }
    free_all(&j);
}

TEST_IN_DIR(refused_by_all_ranks)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 40, 60, 2);
    const int64_t first[2] = {0, 20};
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    a.val[cs_csr_nnz(&a) - 1] = -3;
    job j = {.path = store(state, "negative", &a, 2, first)};
    (void)run_ranks(2, read_part, &j, status, reason);
    assert_true(status[0] == CS_ERR_INPUT && status[1] == CS_ERR_INPUT);
    assert_non_null(strstr(reason[0], "value -3 is negative"));
    free_all(&j);
}
