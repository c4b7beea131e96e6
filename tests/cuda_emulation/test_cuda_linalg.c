/* The plug-in's singular value decompositions, its own sources and library calls executed by the
 * emulator: against LAPACK, in orders of threads and blocks that change from launch to launch; the
 * space against that in memory; every allocation and every call of a library failed in turn; too
 * little memory, missing libraries, solvers that do not converge, foreign plug-ins.
 */
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "../linalg_support.h"
#include "../test.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum.h"
#include "svd_cases.h"

const cs_gpu_table *cs_cuda_linalg(void);
void emulate_shuffle(bool on);
void emulate_memory(int64_t bytes);
void emulate_memory_failure(int count);
int emulate_memory_calls(void);
void emulate_library_failure(int calls);
int emulate_library_calls(void);
void emulate_largest(int64_t side);
void emulate_not_converged(int gesvd, int gesvdj, int syevd);
void emulate_wrong_values(bool on);
void emulate_without(const char *names);
int64_t emulate_pieces(void);

static cs_gpu *open_gpu(void)
{
    cs_gpu *gpu = NULL;
    OK(cs_gpu_table_open(cs_cuda_linalg(), 0, &gpu));
    emulate_shuffle(true);
    return gpu;
}

static const cs_svd_case *case_named(const char *name)
{
    for (const cs_svd_case *c = cs_svd_cases; c->name; ++c) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    fail_msg("no case %s", name);
    return NULL;
}

TEST(every_case)
{
    cs_gpu *gpu = open_gpu();
    int64_t pieces = emulate_pieces();
    int bad = 0;
    assert_string_equal(gpu->name, "emulation");
    for (const cs_svd_case *c = cs_svd_cases; c->name; ++c) {
        char why[CS_SVD_WHY] = "";
        if (!cs_svd_compare(gpu, c, why)) {
            print_error("%s: %s\n", c->name, why);
            ++bad;
        }
        assert_int_equal(emulate_pieces(), pieces);
    }
    cs_gpu_close(&gpu);
    assert_null(gpu);
    assert_int_equal(emulate_pieces(), 0);
    assert_int_equal(bad, 0);
}

/* --- the space -------------------------------------------------------------------------------- */

/* The same steps on both: random panels (the same bits), products, inner products, updates,
 * rotations of more panels than a kernel takes at once. */
static void walk(cs_space *s, int panels, double *entries, cs_dense *out)
{
    enum { B = CS_PANEL };
    cs_panel *p[80], *y = NULL;
    CS_AUTO(cs_dense) c = {0};
    OK(cs_dense_init(&c, (int64_t)panels * B, (int64_t)(panels - 1) * B));
    fill_normal(&c, 77);
    CS_AUTO_FREE double *h = cs_alloc((int64_t)panels * B * B, sizeof *h);
    assert_non_null(h);
    for (int q = 0; q < panels; ++q) {
        OK(s->create(s, CS_RIGHT, &p[q]));
        OK(s->random(s, 5, (uint64_t)q, p[q]));
    }
    OK(s->get(s, p[0], B, 0, out));
    memcpy(entries, out->data, (size_t)(s->cols * B) * sizeof *entries);
    OK(s->create(s, CS_LEFT, &y));
    OK(s->apply(s, p[0], y));
    OK(s->apply(s, y, p[1]));
    OK(s->gram(s, panels, p, p[1], h));
    for (int e = 0; e < panels * B * B; ++e) {
        h[e] *= 1e-3;
    }
    OK(s->combine(s, panels - 2, p + 2, h, true, p[0]));
    OK(s->combine(s, 1, p + 1, h, false, p[2]));
    OK(s->combine(s, 0, NULL, NULL, false, p[3]));
    OK(s->rotate(s, panels, panels - 1, p, &c));
    OK(s->rotate(s, panels, 0, p, &c));
    for (int q = 0; q < panels; ++q) {
        OK(s->get(s, p[q], q == 0 ? 3 : B, (int64_t)q * B, out));
    }
    OK(s->put(s, out, B, 5, p[0]));
    OK(s->get(s, p[0], B, 0, out));
    for (int q = 0; q < panels; ++q) {
        s->destroy(p[q]);
    }
    s->destroy(y);
    s->destroy(NULL);
}

/* Forms with a part of rank one and without, by the solvers of the device. */
TEST(forms_as_on_the_cpu)
{
    static const char *const forms[] = {"qwem", "ppmi", "a*n - 3*p*q"};
    CS_AUTO(cs_csr) a = random_sparse(120, 70, 0.1, 12);
    for (int64_t e = 0; e < cs_csr_nnz(&a); ++e) {
        a.val[e] = ceil(fabs(a.val[e]) * 5);
    }
    for (int f = 0; f < 3; ++f) {
        CS_AUTO(cs_matrix_form) *form = NULL;
        OK(cs_matrix_form_parse(forms[f], &form));
        cs_spectrum_options o = {.k = 6, .form = form, .no_reduction = true};
        AUTO_OK(cs_spectrum, want, cs_spectrum_of(&a, &o, &want));
        for (int block = 0; block < 2; ++block) {
            cs_gpu *gpu = open_gpu();
            o.gpu = gpu;
            o.solver = block ? CS_SOLVER_BLOCK : CS_SOLVER_CUSOLVER;
            AUTO_OK(cs_spectrum, s, cs_spectrum_of(&a, &o, &s));
            assert_true(s.solution.converged && !cs_spectrum_failed(&s));
            assert_each(j, 0, 6, fabs(s.sigma[j] - want.sigma[j]) < 1e-11 * want.sigma[0]);
            cs_gpu_close(&gpu);
        }
        o.gpu = NULL;
    }
}

TEST(space_as_in_memory)
{
    enum { PANELS = 70, B = CS_PANEL };
    static const char *const names[] = {"block, sparse, deflated", "block, sparse and wide",
                                        "block, minus an outer product"};
    for (int n = 0; n < 3; ++n) {
        cs_gpu *gpu = open_gpu();
        cs_svd_world w;
        cs_space mine, theirs;
        cs_dense x, y;
        OK(cs_svd_world_open(case_named(names[n]), &w));
        OK(cs_space_cpu(&w.op, 1, &mine));
        OK(gpu->space(gpu, &w.op, &theirs));
        OK(cs_dense_init(&x, w.op.cols, PANELS * B));
        OK(cs_dense_init(&y, w.op.cols, PANELS * B));
        double *one = cs_alloc(w.op.cols * B, sizeof *one),
               *two = cs_alloc(w.op.cols * B, sizeof *two);
        walk(&mine, PANELS, one, &x);
        walk(&theirs, PANELS, two, &y);
        assert_memory_equal(one, two, (size_t)(w.op.cols * B) * sizeof *one);
        double scale = 0;
        for (int64_t e = 0; e < x.rows * x.cols; ++e) {
            scale = fmax(scale, fabs(x.data[e]));
        }
        /* sums of at most 560 + 400 products, twice over, of entries at most `scale` */
        assert_true(scale > 1);
        assert_true(max_abs_difference(&x, &y) <= 2e3 * 2.3e-16 * scale * 1e2);
        cs_free(one);
        cs_free(two);
        cs_dense_free(&x);
        cs_dense_free(&y);
        cs_space_cpu_free(&mine);
        gpu->space_free(&theirs);
        gpu->space_free(&theirs);
        cs_svd_world_close(&w);
        cs_gpu_close(&gpu);
        assert_int_equal(emulate_pieces(), 0);
    }
}

/* --- trouble ---------------------------------------------------------------------------------- */

/* Everything that can be asked of the plug-in, from opening to closing, in one status. */
static cs_status all_of_it(const cs_svd_world *w)
{
    cs_gpu *gpu = NULL;
    cs_svd s = {0};
    cs_gpu_bytes bytes;
    cs_svd_options o = {.k = 3, .solver = CS_SOLVER_CUSOLVER};
    cs_status status = cs_gpu_table_open(cs_cuda_linalg(), 0, &gpu);
    o.gpu = gpu;
    status = status ? status : cs_gpu_estimate(gpu, &w->a, 3, &bytes);
    status = status ? status : cs_svd_compute(&w->op, &o, &s);
    cs_svd_free(&s);
    o.dense_limit = 1;
    status = status ? status : cs_svd_compute(&w->op, &o, &s);
    cs_svd_free(&s);
    o.solver = CS_SOLVER_BLOCK;
    status = status ? status : cs_svd_compute(&w->op, &o, &s);
    cs_svd_free(&s);
    cs_gpu_close(&gpu);
    return status;
}

static cs_status small(cs_csr *out)
{
    cs_csr a = random_sparse(20, 31, 0.3, 9);
    *out = a;
    return CS_OK;
}

static const cs_svd_case small_case = {"small", small, CS_SOLVER_AUTO, 3, true, false};

TEST(every_allocation_fails)
{
    cs_svd_world w;
    OK(cs_svd_world_open(&small_case, &w));
    (void)cs_mem_fail_at(0);
    emulate_memory_failure(1 << 20);
    OK(all_of_it(&w));
    int64_t host = cs_mem_fail_at(0);
    int device = (1 << 20) - emulate_memory_calls();
    emulate_memory_failure(-1);
    assert_true(host > 100 && device > 40);
    for (int64_t n = 1; n <= host; ++n) {
        (void)cs_mem_fail_at(n);
        assert_fails(all_of_it(&w), CS_ERR_MEMORY, "out of memory");
        assert_int_equal(emulate_pieces(), 0);
    }
    (void)cs_mem_fail_at(0);
    for (int n = 0; n < device; ++n) {
        emulate_memory_failure(n);
        assert_fails(all_of_it(&w), CS_ERR_MEMORY, "GPU memory: ");
        assert_int_equal(emulate_pieces(), 0);
    }
    emulate_memory_failure(-1);
    cs_svd_world_close(&w);
}

TEST(every_library_call_fails)
{
    cs_svd_world w;
    OK(cs_svd_world_open(&small_case, &w));
    emulate_library_failure(1 << 20);
    OK(all_of_it(&w));
    int calls = (1 << 20) - emulate_library_calls();
    assert_true(calls > 50);
    for (int n = 0; n < calls; ++n) {
        emulate_library_failure(n);
        cs_status status = all_of_it(&w);
        assert_true(status == CS_ERR_DEVICE || status == CS_ERR_MEMORY);
        expect_reason("cu"); /* cuBLAS, cuSOLVER, cuSPARSE */
        assert_int_equal(emulate_pieces(), 0);
    }
    emulate_library_failure(-1);
    cs_svd_world_close(&w);
}

/* cuSOLVER has no workspace for matrices as large: they do not fit, which is no error of the
 * device. */
TEST(sizes_refused)
{
    cs_gpu *gpu = open_gpu();
    cs_svd_world w;
    cs_svd s;
    cs_gpu_bytes bytes;
    cs_svd_options o = {.k = 5, .solver = CS_SOLVER_CUSOLVER, .gpu = gpu};
    OK(cs_svd_world_open(case_named("block, sparse"), &w));
    emulate_largest(229);
    OK(cs_gpu_estimate(gpu, &w.a, 5, &bytes));
    assert_true(bytes.dense == CS_GPU_REFUSED && bytes.gram == CS_GPU_REFUSED);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_MEMORY,
                 "cuSOLVER refuses the Gram matrix of 400 x 230");
    o.solver = CS_SOLVER_BLOCK;
    OK(cs_svd_compute(&w.op, &o, &s));
    cs_svd_free(&s);
    emulate_largest(INT64_MAX);
    cs_svd_world_close(&w);
    cs_gpu_close(&gpu);
}

TEST(too_little_memory)
{
    cs_gpu *gpu = open_gpu();
    cs_svd_world w;
    cs_svd s;
    cs_gpu_bytes bytes;
    OK(cs_svd_world_open(case_named("block, sparse"), &w));
    OK(cs_gpu_estimate(gpu, &w.a, 5, &bytes));
    assert_true(bytes.dense > 8 * (2 * 400 + 230) * 230 && bytes.gram > 8 * 230 * 230);
    assert_true(bytes.sparse > 24 * cs_csr_nnz(&w.a) && bytes.free_bytes > bytes.dense);
    /* Too little for a dense copy: the Gram matrix replaces it, as the floor shows. */
    emulate_memory(bytes.dense - 1);
    cs_svd_options o = {.k = 5, .solver = CS_SOLVER_CUSOLVER, .gpu = gpu};
    emulate_memory(bytes.gram + 8 * 1024 < bytes.dense ? bytes.gram + 8 * 1024 : bytes.dense - 1);
    OK(cs_svd_compute(&w.op, &o, &s));
    assert_true(s.floor > 1e-9 * s.sigma[0]);
    cs_svd_free(&s);
    emulate_memory(bytes.gram / 2);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_MEMORY,
                 "GPU memory: the Gram matrix of 400 x 230 takes");
    o.solver = CS_SOLVER_BLOCK;
    emulate_memory(30000);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_MEMORY,
                 "GPU memory: a sparse matrix of 400 x 230");
    emulate_memory(cs_gpu_sparse_bytes(400, 230, cs_csr_nnz(&w.a)) + 60000);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_MEMORY,
                 "a basis for 5 triplets of 400 x 230 needs");
    emulate_memory(0);
    cs_svd_world_close(&w);
    cs_gpu_close(&gpu);
}

/* gesvd that says it did not converge is followed by gesvdj, on a matrix laid out anew. */
TEST(solvers_that_do_not_converge)
{
    cs_gpu *gpu = open_gpu();
    const cs_svd_case *c = case_named("cusolver, sparse and wide, deflated");
    char why[CS_SVD_WHY] = "";
    cs_svd_world w;
    cs_svd s;
    emulate_not_converged(3, 0, 0);
    if (!cs_svd_compare(gpu, c, why)) {
        fail_msg("gesvdj: %s", why);
    }
    OK(cs_svd_world_open(c, &w));
    cs_svd_options o = {.k = 5, .solver = CS_SOLVER_CUSOLVER, .gpu = gpu};
    emulate_not_converged(3, 231, 0);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_CONVERGE,
                 "cuSOLVER gesvdj did not converge on 400 x 230");
    emulate_not_converged(-7, 0, 0);
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_DEVICE,
                 "cuSOLVER gesvd: its parameter 7 is wrong");
    emulate_not_converged(0, 0, 2);
    o.dense_limit = 1;
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_CONVERGE,
                 "cuSOLVER syevd did not converge on 230 x 230");
    emulate_not_converged(0, 0, 0);
    cs_svd_world_close(&w);
    cs_gpu_close(&gpu);
    assert_int_equal(emulate_pieces(), 0);
}

/* A library that leaves a value out, not among those wanted, and says nothing. */
TEST(silently_wrong_values)
{
    cs_gpu *gpu = open_gpu();
    for (const cs_svd_case *c = cs_svd_cases; c->name; ++c) {
        cs_svd_world w;
        cs_svd s;
        if (c->solver == CS_SOLVER_CUSOLVER && !c->gram && strstr(c->name, "one") == NULL &&
            strstr(c->name, "falling") == NULL) {
            OK(cs_svd_world_open(c, &w));
            cs_svd_options o = {.k = 2, .solver = CS_SOLVER_CUSOLVER, .gpu = gpu};
            emulate_wrong_values(true);
            assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_DEVICE,
                         "cuSOLVER's result is wrong: the squares of the singular values");
            emulate_wrong_values(false);
            cs_svd_world_close(&w);
        }
    }
    cs_gpu_close(&gpu);
}

TEST(missing_libraries)
{
    cs_gpu *gpu = NULL;
    emulate_without("libcusolver.so.12 libcusparse.so.12");
    assert_fails(cs_gpu_table_open(cs_cuda_linalg(), 0, &gpu), CS_ERR_DEVICE,
                 "cannot load libcusolver.so.12, libcusparse.so.12: ");
    emulate_without("libcublas.so.13");
    assert_fails(cs_gpu_table_open(cs_cuda_linalg(), 0, &gpu), CS_ERR_DEVICE,
                 "cannot load libcublas.so.13: ");
    emulate_without("cusparseSpMM_preprocess");
    assert_fails(cs_gpu_table_open(cs_cuda_linalg(), 0, &gpu), CS_ERR_DEVICE,
                 "libcusparse.so.12 has no cusparseSpMM");
    emulate_without("");
    assert_fails(cs_gpu_table_open(cs_cuda_linalg(), 1, &gpu), CS_ERR_DEVICE,
                 "no GPU has number 1; GPUs found: 1");
    assert_null(gpu);
}

TEST(foreign_plugins)
{
    cs_gpu *gpu = NULL;
    cs_gpu_table table = *cs_cuda_linalg();
    table.version += 1;
    assert_fails(cs_gpu_table_open(&table, 0, &gpu), CS_ERR_DEVICE, "version");
    table.version -= 1;
    for (int i = 0; i < CS_GPU_SIZES; ++i) {
        table.size[i] += 8;
        assert_fails(cs_gpu_table_open(&table, 0, &gpu), CS_ERR_DEVICE,
                     "built for another version of this program");
        table.size[i] -= 8;
    }
    assert_fails(cs_gpu_table_open(NULL, 0, &gpu), CS_ERR_DEVICE, "version -1");
    assert_fails(cs_gpu_open("/nonexistent.so", 0, &gpu), CS_ERR_DEVICE,
                 "/nonexistent.so: no GPU: the plug-in /nonexistent.so: No such file");
    assert_null(gpu);
}

TEST(what_a_gpu_is_not_for)
{
    cs_gpu *gpu = open_gpu();
    cs_svd_world w;
    cs_svd s;
    OK(cs_svd_world_open(&small_case, &w));
    cs_svd_options o = {.k = 2, .solver = CS_SOLVER_ARPACK, .gpu = gpu};
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_USAGE, "solver arpack computes on the CPU");
    o.solver = CS_SOLVER_BLOCK;
    cs_linop other = w.op;
    other.data = (cs_linop_data){0};
    assert_fails(cs_svd_compute(&other, &o, &s), CS_ERR_USAGE, "a GPU needs the matrix");
    o = (cs_svd_options){.k = 2, .solver = CS_SOLVER_CUSOLVER};
    assert_fails(cs_svd_compute(&w.op, &o, &s), CS_ERR_USAGE, "solver cusolver needs a GPU");
    cs_svd_world_close(&w);
    cs_gpu_close(&gpu);
}

/* A matrix that is not finite does not come back as a result. */
TEST(not_finite)
{
    cs_gpu *gpu = open_gpu();
    cs_svd_world w;
    cs_svd s = {0};
    OK(cs_svd_world_open(&small_case, &w));
    w.a.val[3] = INFINITY;
    cs_csr_free(&w.at);
    OK(cs_csr_transpose(&w.a, &w.at));
    for (int n = 0; n < 2; ++n) {
        cs_svd_options o = {.k = 2, .solver = n ? CS_SOLVER_BLOCK : CS_SOLVER_CUSOLVER, .gpu = gpu};
        cs_status status = cs_svd_compute(&w.op, &o, &s);
        assert_true(status != CS_OK || !s.converged || s.k == 0);
        cs_reason_clear();
        cs_svd_free(&s);
    }
    cs_svd_world_close(&w);
    cs_gpu_close(&gpu);
}
