/* The space of a block solver (linalg/space.h) on a GPU.
 *
 * Method: a panel is rows x 8 doubles, row by row, as on the CPU. A and A^T are two matrices of
 * linalg_sparse.cu; what is deflated is kept as panels U diag(-s) and V. Inner products and updates
 * of panels are own kernels: they read each panel once, where a product of cuBLAS for each panel
 * would read and write W as often as there are panels; sums are formed over fixed runs of rows and
 * added in their order. Rotations are arithmetic: squares of 8 x 8 on the tensor cores, whose results
 * wait in one packed copy of a run of rows until all of the run has been read. Random entries are
 * drawn by the host, whose bits they have.
 *
 * Limits: one stream, one caller.
 */
#include "cuda/linalg.cuh"
#include "cuda/mma.cuh"

static constexpr int B = CS_PANEL, SQUARE = B * B;
static constexpr int SLICES = 4;               /* of a run, summed side by side */
static constexpr int64_t GROUP = 64;           /* panels that a kernel takes at once */
static constexpr int64_t LEAST_RUN = 512;      /* rows */
static constexpr int64_t MOST_RUNS = 1024;     /* more would only make more partial sums */
static constexpr int64_t ROTATED_ROWS = 16384; /* rows taken at once by a rotation */

static_assert(SQUARE <= (int)MAX_BLOCK && SLICES * SQUARE <= 1024,
              "a block of threads holds a square");

struct cs_panel {
    const Gpu *g;
    cs_side side;
    int64_t rows;
    double *data; /* device, rows x 8 */
};

struct Space {
    Gpu *g;
    SparseMatrix a, at;
    int64_t deflated; /* panels a side */
    cs_panel **left, **right;
    double *sums, *squares; /* partial sums; coefficients */
    int64_t sums_capacity, squares_capacity;
    double *turned, *turn; /* of a rotation: its results, its matrix */
    double **places;       /* and where its panels lie */
    int64_t turned_capacity, turn_capacity, places_capacity;
};

/* By value to a kernel. */
struct Panels {
    double *at[GROUP];
};

struct alignas(16) Two {
    double x, y;
};

static Space *space_of(cs_space *s)
{
    return static_cast<Space *>(s->ctx);
}

/* Grows *buffer to at least `count` items. */
template <typename T> static cs_status grow(const Gpu *g, int64_t count, T **buffer, int64_t *has)
{
    if (count <= *has) {
        return CS_OK;
    }
    gpu_release(g, {*buffer});
    *buffer = NULL;
    *has = 0;
    cs_status status = gpu_alloc(g, count, buffer);
    *has = status == CS_OK ? count : 0;
    return status;
}

/* --- panels ----------------------------------------------------------------------------------- */

static void destroy(cs_panel *panel)
{
    if (panel) {
        const Gpu *g = panel->g;
        gpu_release(g, {panel->data});
        g->host->free(panel);
    }
}

static cs_status create(cs_space *s, cs_side side, cs_panel **out)
{
    const Gpu *g = space_of(s)->g;
    cs_panel *p = static_cast<cs_panel *>(g->host->alloc(1, sizeof *p));
    if (!p) return CS_ERR_MEMORY;
    p->g = g;
    p->side = side;
    p->rows = side == CS_LEFT ? s->rows : s->cols;
    cs_status status = gpu_alloc(g, p->rows * B, &p->data);
    status = status ? status : gpu_zero(g, p->data, p->rows * B * (int64_t)sizeof *p->data);
    if (status != CS_OK) {
        destroy(p);
        return status;
    }
    *out = p;
    return CS_OK;
}

/* The panel's rows as they are to be on the device: fill(rows), rows x 8 zeros on the host. */
template <typename Fill> static cs_status put_rows(cs_panel *x, Fill fill)
{
    double *rows = static_cast<double *>(x->g->host->alloc(x->rows * B, sizeof *rows));
    cs_status status = rows ? fill(rows) : CS_ERR_MEMORY;
    status = status ? status : gpu_put(x->g, x->data, rows, x->rows * B * 8);
    x->g->host->free(rows);
    return status;
}

static cs_status random_panel(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x)
{
    (void)s;
    return put_rows(x,
                    [=](double *rows) { return x->g->host->random(seed, index, x->rows, rows); });
}

static cs_status get_columns(cs_space *s, const cs_panel *x, int64_t count, int64_t first,
                             cs_dense *to)
{
    (void)s;
    double *rows = static_cast<double *>(x->g->host->alloc(x->rows * B, sizeof *rows));
    cs_status status = rows ? gpu_get(x->g, rows, x->data, x->rows * B * 8) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < x->rows; ++i) {
        for (int64_t j = 0; j < count; ++j) {
            to->data[i + (first + j) * to->ld] = rows[i * B + j];
        }
    }
    x->g->host->free(rows);
    return status;
}

/* Columns of a dense matrix, each times -scale[j] where that is not NULL. */
static cs_status put_scaled(const cs_dense *from, int64_t first, int64_t count, const double *scale,
                            cs_panel *x)
{
    return put_rows(x, [=](double *rows) {
        for (int64_t i = 0; i < x->rows; ++i) {
            for (int64_t j = 0; j < count; ++j) {
                double value = from->data[i + (first + j) * from->ld];
                rows[i * B + j] = scale ? -scale[first + j] * value : value;
            }
        }
        return CS_OK;
    });
}

static cs_status put_columns(cs_space *s, const cs_dense *from, int64_t first, int64_t count,
                             cs_panel *x)
{
    (void)s;
    return put_scaled(from, first, count, NULL, x);
}

/* --- inner products and updates --------------------------------------------------------------- */

static int64_t run_rows(int64_t rows)
{
    int64_t run = ceil_div(rows, MOST_RUNS);
    return run < LEAST_RUN ? LEAST_RUN : run;
}

/* A block of SLICES x 64 threads: a run of rows (blockIdx.x) of one panel (blockIdx.y); thread (l,
 * j) of a slice sums every SLICES-th row. */
static __global__ void gram_kernel(int64_t rows, int64_t run, Panels panels, const double *w,
                                   double *sums)
{
    __shared__ double part[SLICES][SQUARE];
    int e = (int)threadIdx.x % SQUARE, slice = (int)threadIdx.x / SQUARE;
    int64_t begin = (int64_t)blockIdx.x * run;
    int64_t end = begin + run < rows ? begin + run : rows;
    const double *p = panels.at[blockIdx.y] + e / B;
    const double *v = w + e % B;
    double sum = 0;
#pragma unroll 4
    for (int64_t i = begin + slice; i < end; i += SLICES) {
        sum += p[i * B] * v[i * B];
    }
    part[slice][e] = sum;
    __syncthreads();
    if (slice == 0) {
        double all = part[0][e];
        for (int t = 1; t < SLICES; ++t) {
            all += part[t][e];
        }
        sums[((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * SQUARE + e] = all;
    }
}

/* A block a panel: the runs in their order. */
static __global__ void add_runs_kernel(int64_t runs, const double *sums, double *h)
{
    const double *own = sums + blockIdx.x * runs * SQUARE + threadIdx.x;
    double sum = 0;
    for (int64_t r = 0; r < runs; ++r) {
        sum += own[r * SQUARE];
    }
    h[(int64_t)blockIdx.x * SQUARE + threadIdx.x] = sum;
}

/* A thread a row of W. */
static __global__ void combine_kernel(int64_t rows, int count, Panels panels, const double *c,
                                      int keep, double *w)
{
    __shared__ double square[SQUARE];
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    double sum[B];
#pragma unroll
    for (int j = 0; j < B; ++j) {
        sum[j] = keep && i < rows ? w[i * B + j] : 0.0;
    }
    for (int q = 0; q < count; ++q) {
        __syncthreads();
        if (threadIdx.x < SQUARE) {
            square[threadIdx.x] = c[q * SQUARE + (int)threadIdx.x];
        }
        __syncthreads();
        if (i < rows) {
            const Two *row = reinterpret_cast<const Two *>(panels.at[q] + i * B);
#pragma unroll
            for (int l = 0; l < B; l += 2) {
                Two x = row[l / 2];
#pragma unroll
                for (int j = 0; j < B; ++j) {
                    sum[j] += x.x * square[l * B + j];
                    sum[j] += x.y * square[(l + 1) * B + j];
                }
            }
        }
    }
    if (i < rows) {
#pragma unroll
        for (int j = 0; j < B; ++j) {
            w[i * B + j] = sum[j];
        }
    }
}

/* run(group, count, first): GROUP panels at a time. */
template <typename Run> static cs_status by_groups(int64_t p, cs_panel *const *panels, Run run)
{
    cs_status status = CS_OK;
    for (int64_t first = 0; status == CS_OK && first < p; first += GROUP) {
        Panels group = {};
        int count = (int)(p - first < GROUP ? p - first : GROUP);
        for (int q = 0; q < count; ++q) {
            group.at[q] = panels[first + q]->data;
        }
        status = run(group, count, first);
    }
    return status;
}

/* h (device, p squares) = P^T W. */
static cs_status gram_on_device(Space *s, int64_t p, cs_panel *const *panels, const cs_panel *w,
                                double *h)
{
    const Device *c = &s->g->cuda;
    int64_t run = run_rows(w->rows), runs = ceil_div(w->rows, run);
    cs_status status = grow(s->g, GROUP * runs * SQUARE, &s->sums, &s->sums_capacity);
    return status ? status : by_groups(p, panels, [=](Panels group, int count, int64_t first) {
        cs_status made = launch(c, "gram", gram_kernel, dim3((unsigned)runs, (unsigned)count),
                                dim3(SLICES * SQUARE), 0, w->rows, run, group, w->data, s->sums);
        return made ? made
                    : launch(c, "sum of runs", add_runs_kernel, dim3((unsigned)count), dim3(SQUARE),
                             0, runs, s->sums, h + first * SQUARE);
    });
}

/* W = keep W + sum P C, C on the device. */
static cs_status combine_on_device(const Space *s, int64_t p, cs_panel *const *panels,
                                   const double *c, bool keep, cs_panel *w)
{
    if (p == 0) {
        return keep ? CS_OK : gpu_zero(s->g, w->data, w->rows * B * 8);
    }
    return by_groups(p, panels, [=](Panels group, int count, int64_t first) {
        return launch_items(&s->g->cuda, "combine", combine_kernel, w->rows, w->rows, count, group,
                            c + first * SQUARE, keep || first > 0 ? 1 : 0, w->data);
    });
}

static cs_status gram_panels(cs_space *space, int64_t p, cs_panel *const *panels, const cs_panel *w,
                             double *h)
{
    Space *s = space_of(space);
    cs_status status = grow(s->g, p * SQUARE, &s->squares, &s->squares_capacity);
    status = status ? status : gram_on_device(s, p, panels, w, s->squares);
    return status ? status : gpu_get(s->g, h, s->squares, p * SQUARE * 8);
}

static cs_status combine_panels(cs_space *space, int64_t p, cs_panel *const *panels,
                                const double *c, bool keep, cs_panel *w)
{
    Space *s = space_of(space);
    cs_status status = grow(s->g, p * SQUARE, &s->squares, &s->squares_capacity);
    status = status ? status : gpu_put(s->g, s->squares, c, p * SQUARE * 8);
    return status ? status : combine_on_device(s, p, panels, s->squares, keep, w);
}

/* --- rotations -------------------------------------------------------------------------------- */

static constexpr int TILE = 64,
                     DEPTH = 2 * B;       /* a block makes TILE x TILE, DEPTH terms at a time */
static constexpr int PITCH = DEPTH + 4;   /* eight rows of a tile in different banks */
static constexpr int WARPS = 4, SPAN = 4; /* of a block; a warp makes SPAN x SPAN squares */
static constexpr int CHUNKS = TILE * DEPTH / 2 / (WARPS * WARP); /* of 16 bytes, a thread's */

static_assert(WARPS * SPAN * SPAN * SQUARE == TILE * TILE && WARPS == 4, "2 x 2 warps make a tile");

/* Y = X C for the rows from `first` on: X the p panels, C of 8 p x narrow by columns; Y by panels.
 * Blocks along rows (x) and columns (y). */
static __global__ void rotate_kernel(int64_t first, int64_t rows, int64_t p,
                                     const double *const *panels, int64_t narrow, const double *c,
                                     double *y)
{
    __shared__ Two x_tile[2][TILE * PITCH / 2], c_tile[2][TILE * PITCH / 2];
    int64_t row0 = (int64_t)blockIdx.x * TILE, col0 = (int64_t)blockIdx.y * TILE;
    int64_t stages = (p + 1) / 2;
    int thread = (int)threadIdx.x, lane = thread % WARP, group = lane / 4, in = lane % 4;
    int down = thread / WARP % 2 * (TILE / 2), across = thread / WARP / 2 * (TILE / 2);
    double sum[SPAN][SPAN][2] = {};
    Two x[CHUNKS], w[CHUNKS];

    auto fetch = [&](int64_t stage) {
#pragma unroll
        for (int t = 0; t < CHUNKS; ++t) {
            int i = thread + t * WARPS * WARP;
            int64_t row = row0 + i / 4 % TILE, panel = 2 * stage + i / (4 * TILE);
            int64_t col = col0 + i / B, k = stage * DEPTH + i % B * 2;
            x[t] =
                row < rows && panel < p
                    ? *reinterpret_cast<const Two *>(panels[panel] + (first + row) * B + i % 4 * 2)
                    : Two{};
            w[t] = col < narrow && k < p * B ? *reinterpret_cast<const Two *>(c + col * p * B + k)
                                             : Two{};
        }
    };
    auto keep = [&](int64_t stage) {
#pragma unroll
        for (int t = 0; t < CHUNKS; ++t) {
            int i = thread + t * WARPS * WARP;
            x_tile[stage % 2][i / 4 % TILE * (PITCH / 2) + i / (4 * TILE) * 4 + i % 4] = x[t];
            c_tile[stage % 2][i / B * (PITCH / 2) + i % B] = w[t];
        }
    };

    fetch(0);
    keep(0);
    __syncthreads();
    for (int64_t stage = 0; stage < stages; ++stage) {
        if (stage + 1 < stages) {
            fetch(stage + 1); /* on their way while this stage is computed */
        }
        const double *xs = &x_tile[stage % 2][0].x + (down + group) * PITCH + in;
        const double *cs = &c_tile[stage % 2][0].x + (across + group) * PITCH + in;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 4) {
            double a[SPAN], b[SPAN];
#pragma unroll
            for (int s = 0; s < SPAN; ++s) {
                a[s] = xs[s * B * PITCH + k];
                b[s] = cs[s * B * PITCH + k];
            }
#pragma unroll
            for (int s = 0; s < SPAN; ++s) {
#pragma unroll
                for (int t = 0; t < SPAN; ++t) {
                    mma(sum[s][t], a[s], b[t]);
                }
            }
        }
        if (stage + 1 < stages) {
            keep(stage + 1);
        }
        __syncthreads();
    }
#pragma unroll
    for (int s = 0; s < SPAN; ++s) {
        int64_t row = row0 + down + s * B + group;
#pragma unroll
        for (int t = 0; t < SPAN; ++t) {
            int64_t col = col0 + across + t * B;
            if (row < rows && col < narrow) {
                *reinterpret_cast<Two *>(y + (col / B * rows + row) * B + 2 * in) =
                    Two{sum[s][t][0], sum[s][t][1]};
            }
        }
    }
}

/* The run's rows to a panel (blockIdx.y): a thread 16 bytes. */
static __global__ void put_back_kernel(int64_t first, int64_t rows, const double *y,
                                       double *const *panels)
{
    int64_t i = 2 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x), items = rows * B;
    if (i < items) {
        *reinterpret_cast<Two *>(panels[blockIdx.y] + first * B + i) =
            *reinterpret_cast<const Two *>(y + (int64_t)blockIdx.y * items + i);
    }
}

/* Where the panels lie, to the device. */
static cs_status put_places(Space *s, int64_t p, cs_panel *const *panels)
{
    double **at = static_cast<double **>(s->g->host->alloc(p, sizeof *at));
    cs_status status = at ? grow(s->g, p, &s->places, &s->places_capacity) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < p; ++i) {
        at[i] = panels[i]->data;
    }
    status = status ? status : gpu_put(s->g, s->places, at, p * (int64_t)sizeof *at);
    s->g->host->free(at);
    return status;
}

static cs_status rotate_panels(cs_space *space, int64_t p, int64_t q, cs_panel *const *panels,
                               const cs_dense *c)
{
    Space *s = space_of(space);
    const Device *device = &s->g->cuda;
    if (q == 0) {
        return CS_OK;
    }
    int64_t rows = panels[0]->rows, wide = p * B, narrow = q * B;
    int64_t run = rows < ROTATED_ROWS ? rows : ROTATED_ROWS;
    cs_dense used = *c;
    used.rows = wide;
    used.cols = narrow;
    cs_status status = grow(s->g, wide * narrow, &s->turn, &s->turn_capacity);
    status = status ? status : grow(s->g, run * narrow, &s->turned, &s->turned_capacity);
    status = status ? status : put_places(s, p, panels);
    status = status ? status : gpu_put_columns(s->g, s->turn, &used, NULL);
    for (int64_t first = 0; status == CS_OK && first < rows; first += run) {
        int64_t now = rows - first < run ? rows - first : run;
        status =
            launch(device, "rotation", rotate_kernel,
                   dim3((unsigned)ceil_div(now, TILE), (unsigned)ceil_div(narrow, TILE)),
                   dim3(WARPS * WARP), 0, first, now, p, s->places, narrow, s->turn, s->turned);
        status = status ? status
                        : launch(device, "rotated rows", put_back_kernel,
                                 dim3((unsigned)ceil_div(now * B / 2, MAX_BLOCK), (unsigned)q),
                                 dim3(MAX_BLOCK), 0, first, now, s->turned, s->places);
    }
    return status;
}

/* --- products with A -------------------------------------------------------------------------- */

/* With L = U diag(-s): A X + L (V^T X), or A^T X + V (L^T X). */
static cs_status apply(cs_space *space, const cs_panel *x, cs_panel *y)
{
    Space *s = space_of(space);
    bool transposed = x->side == CS_LEFT;
    cs_panel **inner = transposed ? s->left : s->right, **outer = transposed ? s->right : s->left;
    cs_status status = sparse_product(s->g, transposed ? &s->at : &s->a, x->data, y->data);
    if (status == CS_OK && s->deflated > 0) {
        status = grow(s->g, s->deflated * SQUARE, &s->squares, &s->squares_capacity);
        status = status ? status : gram_on_device(s, s->deflated, inner, x, s->squares);
        status = status ? status : combine_on_device(s, s->deflated, outer, s->squares, true, y);
    }
    return status;
}

/* --- open and close --------------------------------------------------------------------------- */

void space_free(cs_space *space)
{
    Space *s = space_of(space);
    if (s) {
        const Gpu *g = s->g;
        for (int64_t q = 0; q < s->deflated; ++q) {
            destroy(s->left ? s->left[q] : NULL);
            destroy(s->right ? s->right[q] : NULL);
        }
        g->host->free(s->left);
        g->host->free(s->right);
        sparse_free(g, &s->a);
        sparse_free(g, &s->at);
        gpu_release(g, {s->sums, s->squares, s->turned, s->turn, s->places});
        g->host->free(s);
    }
    memset(space, 0, sizeof *space);
}

/* U diag(-s) and V as panels; columns beyond theirs are zero. */
static cs_status deflate(cs_space *space, Space *s, const cs_linop_data *a)
{
    int64_t columns = a->u ? a->u->cols : 0;
    s->deflated = ceil_div(columns, B);
    if (s->deflated == 0) {
        return CS_OK;
    }
    s->left = static_cast<cs_panel **>(s->g->host->alloc(s->deflated, sizeof *s->left));
    s->right = static_cast<cs_panel **>(s->g->host->alloc(s->deflated, sizeof *s->right));
    cs_status status = s->left && s->right ? CS_OK : CS_ERR_MEMORY;
    for (int64_t q = 0; status == CS_OK && q < s->deflated; ++q) {
        int64_t count = columns - q * B < B ? columns - q * B : B;
        status = create(space, CS_LEFT, &s->left[q]);
        status = status ? status : create(space, CS_RIGHT, &s->right[q]);
        status = status ? status : put_scaled(a->u, q * B, count, a->s, s->left[q]);
        status = status ? status : put_scaled(a->v, q * B, count, NULL, s->right[q]);
    }
    return status;
}

/* Both matrices, and a panel a side, before any of it is allocated. */
static cs_status check_memory(const Gpu *g, const cs_linop *a)
{
    int64_t nnz = cs_csr_nnz(a->data.a);
    int64_t need = cs_gpu_sparse_bytes(a->rows, a->cols, nnz) + (a->rows + a->cols) * B * 8;
    return gpu_check_memory(g, need,
                            "a sparse matrix of %lld x %lld with %lld nonzeros, its transpose and "
                            "two panels take",
                            (long long)a->rows, (long long)a->cols, (long long)nnz);
}

cs_status space_open(cs_gpu *gpu, const cs_linop *a, cs_space *out)
{
    Gpu *g = gpu_of(gpu);
    cs_status status = check_memory(g, a);
    if (status != CS_OK) return status;
    Space *s = static_cast<Space *>(g->host->alloc(1, sizeof *s));
    if (!s) return CS_ERR_MEMORY;
    s->g = g;
    cs_space space = {};
    space.rows = a->rows;
    space.cols = a->cols;
    space.block = B;
    space.ctx = s;
    space.create = create;
    space.destroy = destroy;
    space.random = random_panel;
    space.apply = apply;
    space.gram = gram_panels;
    space.combine = combine_panels;
    space.rotate = rotate_panels;
    space.get = get_columns;
    space.put = put_columns;
    cs_panel *left = NULL, *right = NULL;
    status = create(&space, CS_LEFT, &left);
    status = status ? status : create(&space, CS_RIGHT, &right);
    status = status ? status : sparse_open(g, a->data.a, right->data, left->data, &s->a);
    status = status ? status : sparse_open(g, a->data.at, left->data, right->data, &s->at);
    status = status ? status : gpu_wait(g);
    destroy(left);
    destroy(right);
    status = status ? status : deflate(&space, s, &a->data);
    if (status != CS_OK) {
        space_free(&space);
        return status;
    }
    *out = space;
    return CS_OK;
}
