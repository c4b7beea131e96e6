/* Rows moved and added: embeddings, gather, sums with dropout.
 *
 * What is scattered back is summed in rising order of rows without atomics: the host sorted the
 * rows by index. Blocks take fixed pieces of the sorted list; a stretch of equal indices within a
 * piece is finished there, one that crosses pieces leaves a partial sum a piece, and a second
 * kernel adds those up, several at once in a fixed order (long stretches: [MASK], token types).
 */
#include "cuda/state.cuh"

enum { PIECE = 64, PIECE_COLS = 128, JOIN_WIDE = 32, JOIN_DEEP = 8 };

/* --- scatter ---------------------------------------------------------------------------------- */

/* Sorted places: rows with a negative index come last. */
struct Sorted {
    const int32_t *index, *order;
    int64_t rows;
};

/* The index at a place, the largest number for none, so that the list rises. */
static __device__ inline int32_t at_place(const Sorted &s, int64_t place)
{
    int32_t index = place < s.rows ? s.index[s.order[place]] : -1;
    return index < 0 ? INT32_MAX : index;
}

template <typename In, typename Out>
static __global__ void scatter_pieces(Sorted s, int64_t cols, const In *from, int64_t ld_from,
                                      Out *to, int64_t ld_to, float *part)
{
    __shared__ int32_t index[PIECE], row[PIECE];
    int64_t first = (int64_t)blockIdx.x * PIECE,
            col = (int64_t)blockIdx.y * PIECE_COLS + threadIdx.x;
    if (threadIdx.x < PIECE) {
        int64_t place = first + threadIdx.x;
        index[threadIdx.x] = at_place(s, place);
        row[threadIdx.x] = place < s.rows ? s.order[place] : 0;
    }
    __syncthreads();
    if (col >= cols || index[0] == INT32_MAX) {
        return;
    }
    int32_t before = first > 0 ? at_place(s, first - 1) : -1;
    int32_t after = at_place(s, first + PIECE);
    float sum = 0.0F;
    for (int p = 0; p < PIECE && index[p] != INT32_MAX; ++p) {
        sum += to_float(from[(int64_t)row[p] * ld_from + col]);
        int32_t next = p + 1 < PIECE ? index[p + 1] : after;
        if (p + 1 < PIECE && next == index[p]) {
            continue;
        }
        bool from_before = index[p] == before, goes_on = p + 1 == PIECE && next == index[p];
        if (from_before || goes_on) {
            part[((int64_t)blockIdx.x * 2 + (from_before ? 0 : 1)) * cols + col] = sum;
        } else {
            Out *out = to + (int64_t)index[p] * ld_to + col;
            *out = from_float<Out>(to_float(*out) + sum);
        }
        sum = 0.0F;
    }
}

/* For the stretch that begins in piece blockIdx.x and goes on after it. */
template <typename Out>
static __global__ void scatter_join(Sorted s, int64_t cols, Out *to, int64_t ld_to,
                                    const float *part)
{
    __shared__ float room[JOIN_DEEP][JOIN_WIDE];
    int64_t piece = blockIdx.x, pieces = gridDim.x;
    int64_t first = piece * PIECE, col = (int64_t)blockIdx.y * JOIN_WIDE + threadIdx.x;
    int32_t index = at_place(s, first + PIECE - 1);
    bool begins = index != (first > 0 ? at_place(s, first - 1) : -1);
    if (index == INT32_MAX || !begins || at_place(s, first + PIECE) != index) {
        return; /* the same for the whole block */
    }
    int64_t low = piece + 1, high = pieces; /* the first later piece that begins otherwise */
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (at_place(s, middle * PIECE) == index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    float sum = 0.0F;
    if (col < cols) {
        for (int64_t p = piece + 1 + threadIdx.y; p < low; p += JOIN_DEEP) {
            sum += part[p * 2 * cols + col];
        }
    }
    room[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        float total = part[(piece * 2 + 1) * cols + col];
        for (int deep = 0; deep < JOIN_DEEP; ++deep) {
            total += room[deep][threadIdx.x];
        }
        Out *out = to + (int64_t)index * ld_to + col;
        *out = from_float<Out>(to_float(*out) + total);
    }
}

/* to[index[r]] += from[r] */
template <typename In, typename Out>
static cs_status scatter(const cs_run *run, int index, const cs_matrix *from, Out *to,
                         int64_t ld_to)
{
    Cuda *c = cuda_of(run);
    Sorted s = {c->host->ints(run, index), c->host->order(run, index), from->rows};
    int64_t pieces = ceil_div(from->rows, PIECE), cols = from->cols;
    void *part = NULL;
    cs_status status = cuda_scratch(c, pieces * 2 * cols * (int64_t)sizeof(float), &part);
    if (status == CS_OK) {
        status = launch(c, "scatter", scatter_pieces<In, Out>,
                        dim3((unsigned)pieces, (unsigned)ceil_div(cols, PIECE_COLS), 1),
                        dim3(PIECE_COLS, 1, 1), 0, s, cols, static_cast<const In *>(from->grad),
                        from->ld, to, ld_to, static_cast<float *>(part));
    }
    if (status == CS_OK && pieces > 1) {
        status = launch(c, "scatter, long stretches", scatter_join<Out>,
                        dim3((unsigned)pieces, (unsigned)ceil_div(cols, JOIN_WIDE), 1),
                        dim3(JOIN_WIDE, JOIN_DEEP, 1), 0, s, cols, to, ld_to,
                        static_cast<const float *>(part));
    }
    return status;
}

/* --- embed ------------------------------------------------------------------------------------ */

struct Tables {
    int count;
    const float *table[CS_EMBED_TABLES];
    const int32_t *index[CS_EMBED_TABLES];
    int64_t ld[CS_EMBED_TABLES], rows[CS_EMBED_TABLES];
};

template <typename T, int N>
static __global__ void embed_kernel(int64_t rows, int64_t packs, const T *x, int64_t ldx, T *y,
                                    int64_t ldy, Tables tables)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float sum[N] = {};
    if (x) {
        load<T, N>(x + row * ldx + pack * N, sum);
    }
    for (int t = 0; t < tables.count; ++t) {
        int32_t index = tables.index[t][row];
        if (index >= 0) {
            float item[N];
            load<float, N>(tables.table[t] + index * tables.ld[t] + pack * N, item);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                sum[i] += item[i];
            }
        }
    }
    store<T, N>(y + row * ldy + pack * N, sum);
}

/* to = from, or += */
template <typename T, int N>
static __global__ void pass_kernel(int64_t rows, int64_t packs, const T *from, int64_t ld_from,
                                   T *to, int64_t ld_to, int add)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float x[N], old[N] = {};
    load<T, N>(from + row * ld_from + pack * N, x);
    if (add) {
        load<T, N>(to + row * ld_to + pack * N, old);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        x[i] += old[i];
    }
    store<T, N>(to + row * ld_to + pack * N, x);
}

template <typename T, int N>
static cs_status embed(Cuda *c, const cs_matrix *x, const cs_matrix *y, const Tables *tables)
{
    Tiling t = tile(y->rows, y->cols / N);
    return launch(c, "embed", embed_kernel<T, N>, t.grid, t.block, 0, y->rows, y->cols / N,
                  static_cast<const T *>(x->x), x->ld, static_cast<T *>(y->x), y->ld, *tables);
}

template <typename T>
static cs_status embed_any(Cuda *c, const cs_matrix *x, const cs_matrix *y, const Tables *tables)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    bool wide = aligned(y->x, y->ld, y->cols, size, 16) &&
                (!x->x || aligned(x->x, x->ld, x->cols, size, 16));
    for (int t = 0; t < tables->count; ++t) {
        wide = wide && aligned(tables->table[t], tables->ld[t], y->cols, 4, 4 * N);
    }
    return wide ? embed<T, N>(c, x, y, tables) : embed<T, 1>(c, x, y, tables);
}

cs_status embed_forward(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    Tables tables = {};
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE; ++t) {
        cs_matrix m = c->host->matrix(run, o->table[t].tensor);
        tables.table[t] = static_cast<const float *>(m.x);
        tables.ld[t] = m.ld;
        tables.index[t] = c->host->ints(run, o->index[t]);
        ++tables.count;
    }
    return c->half ? embed_any<bf16>(c, &x, &y, &tables) : embed_any<float>(c, &x, &y, &tables);
}

template <typename T>
static cs_status pass(Cuda *c, const cs_matrix *from, const cs_matrix *to, bool add)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    const T *source = static_cast<const T *>(from->grad);
    T *target = static_cast<T *>(to->grad);
    if (aligned(source, from->ld, from->cols, size, 16) &&
        aligned(target, to->ld, to->cols, size, 16)) {
        Tiling t = tile(from->rows, from->cols / N);
        return launch(c, "pass a gradient on", pass_kernel<T, N>, t.grid, t.block, 0, from->rows,
                      from->cols / N, source, from->ld, target, to->ld, add ? 1 : 0);
    }
    Tiling t = tile(from->rows, from->cols);
    return launch(c, "pass a gradient on", pass_kernel<T, 1>, t.grid, t.block, 0, from->rows,
                  from->cols, source, from->ld, target, to->ld, add ? 1 : 0);
}

cs_status embed_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (o->x.tensor != CS_NONE && o->x.grad) {
        status = c->half ? pass<bf16>(c, &y, &x, o->x.add) : pass<float>(c, &y, &x, o->x.add);
    }
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE && status == CS_OK; ++t) {
        if (o->table[t].grad) {
            cs_matrix m = c->host->matrix(run, o->table[t].tensor);
            float *to = static_cast<float *>(m.grad);
            status = c->half ? scatter<bf16, float>(run, o->index[t], &y, to, m.ld)
                             : scatter<float, float>(run, o->index[t], &y, to, m.ld);
        }
    }
    return status;
}

/* --- gather ----------------------------------------------------------------------------------- */

template <typename T, int N>
static __global__ void gather_kernel(int64_t rows, int64_t packs, const T *x, int64_t ldx, T *y,
                                     int64_t ldy, const int32_t *index)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float item[N] = {};
    int32_t from = index[row];
    if (from >= 0) {
        load<T, N>(x + from * ldx + pack * N, item);
    }
    store<T, N>(y + row * ldy + pack * N, item);
}

template <typename T>
static cs_status gather(Cuda *c, const cs_matrix *x, const cs_matrix *y, const int32_t *index)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    const T *from = static_cast<const T *>(x->x);
    T *to = static_cast<T *>(y->x);
    if (aligned(from, x->ld, y->cols, size, 16) && aligned(to, y->ld, y->cols, size, 16)) {
        Tiling t = tile(y->rows, y->cols / N);
        return launch(c, "gather", gather_kernel<T, N>, t.grid, t.block, 0, y->rows, y->cols / N,
                      from, x->ld, to, y->ld, index);
    }
    Tiling t = tile(y->rows, y->cols);
    return launch(c, "gather", gather_kernel<T, 1>, t.grid, t.block, 0, y->rows, y->cols, from,
                  x->ld, to, y->ld, index);
}

cs_status gather_forward(const cs_run *run, const cs_op *op)
{
    const cs_op_gather *o = &op->gather;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    const int32_t *index = c->host->ints(run, o->index);
    return c->half ? gather<bf16>(c, &x, &y, index) : gather<float>(c, &x, &y, index);
}

cs_status gather_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_gather *o = &op->gather;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    size_t size = c->half ? sizeof(bf16) : sizeof(float);
    if (!o->x.grad) {
        return CS_OK;
    }
    if (!o->x.add) {
        status = cuda_check(c,
                            cudaMemset2DAsync(x.grad, (size_t)x.ld * size, 0, (size_t)x.cols * size,
                                              (size_t)x.rows, c->stream),
                            "zero a gradient");
    }
    if (status == CS_OK) {
        status = c->half
                     ? scatter<bf16, bf16>(run, o->index, &y, static_cast<bf16 *>(x.grad), x.ld)
                     : scatter<float, float>(run, o->index, &y, static_cast<float *>(x.grad), x.ld);
    }
    return status;
}

/* --- add -------------------------------------------------------------------------------------- */

/* y = a + drop(b); a NULL: zero */
template <typename T, int N>
static __global__ void add_kernel(int64_t rows, int64_t packs, const T *a, int64_t lda, const T *b,
                                  int64_t ldb, T *y, int64_t ldy, Drop d)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float sum[N] = {}, x[N];
    if (a) {
        load<T, N>(a + row * lda + pack * N, sum);
    }
    load<T, N>(b + row * ldb + pack * N, x);
    drop<N>(d, (uint32_t)row, (uint32_t)pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        sum[i] += x[i];
    }
    store<T, N>(y + row * ldy + pack * N, sum);
}

/* x' = or += dy keep / (1 - p) */
template <typename T, int N>
static __global__ void add_grad_kernel(int64_t rows, int64_t packs, const T *dy, int64_t ldy, T *dx,
                                       int64_t ldx, Drop d, int add)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float g[N], old[N] = {};
    load<T, N>(dy + row * ldy + pack * N, g);
    drop<N>(d, (uint32_t)row, (uint32_t)pack * N, g);
    if (add) {
        load<T, N>(dx + row * ldx + pack * N, old);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        g[i] += old[i];
    }
    store<T, N>(dx + row * ldx + pack * N, g);
}

template <typename T, int N>
static cs_status add(Cuda *c, const cs_matrix *a, const cs_matrix *b, const cs_matrix *y,
                     const Drop &d)
{
    Tiling t = tile(y->rows, y->cols / N);
    return launch(c, "add", add_kernel<T, N>, t.grid, t.block, 0, y->rows, y->cols / N,
                  static_cast<const T *>(a->x), a->ld, static_cast<const T *>(b->x), b->ld,
                  static_cast<T *>(y->x), y->ld, d);
}

template <typename T>
static cs_status add_any(Cuda *c, const cs_matrix *a, const cs_matrix *b, const cs_matrix *y,
                         const Drop &d)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    bool wide = aligned(y->x, y->ld, y->cols, size, 16) &&
                aligned(b->x, b->ld, b->cols, size, 16) &&
                (!a->x || aligned(a->x, a->ld, a->cols, size, 16));
    return wide ? add<T, N>(c, a, b, y, d) : add<T, 1>(c, a, b, y, d);
}

cs_status add_forward(const cs_run *run, const cs_op *op)
{
    const cs_op_add *o = &op->add;
    Cuda *c = cuda_of(run);
    cs_matrix a = c->host->matrix(run, o->a.tensor), b = c->host->matrix(run, o->b.tensor);
    cs_matrix y = c->host->matrix(run, o->y);
    Drop d = drop_of(run, op, 0, o->p);
    return c->half ? add_any<bf16>(c, &a, &b, &y, d) : add_any<float>(c, &a, &b, &y, d);
}

template <typename T>
static cs_status add_grad(Cuda *c, const cs_matrix *y, const cs_matrix *x, const Drop &d, bool more)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    const T *dy = static_cast<const T *>(y->grad);
    T *dx = static_cast<T *>(x->grad);
    if (aligned(dy, y->ld, y->cols, size, 16) && aligned(dx, x->ld, x->cols, size, 16)) {
        Tiling t = tile(y->rows, y->cols / N);
        return launch(c, "gradient of a sum", add_grad_kernel<T, N>, t.grid, t.block, 0, y->rows,
                      y->cols / N, dy, y->ld, dx, x->ld, d, more ? 1 : 0);
    }
    Tiling t = tile(y->rows, y->cols);
    return launch(c, "gradient of a sum", add_grad_kernel<T, 1>, t.grid, t.block, 0, y->rows,
                  y->cols, dy, y->ld, dx, x->ld, d, more ? 1 : 0);
}

cs_status add_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_add *o = &op->add;
    Cuda *c = cuda_of(run);
    cs_matrix a = c->host->matrix(run, o->a.tensor), b = c->host->matrix(run, o->b.tensor);
    cs_matrix y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (o->a.tensor != CS_NONE && o->a.grad) {
        status = c->half ? pass<bf16>(c, &y, &a, o->a.add) : pass<float>(c, &y, &a, o->a.add);
    }
    if (status == CS_OK && o->b.grad) {
        Drop d = drop_of(run, op, 0, o->p);
        status = c->half ? add_grad<bf16>(c, &y, &b, d, o->b.add)
                         : add_grad<float>(c, &y, &b, d, o->b.add);
    }
    return status;
}
