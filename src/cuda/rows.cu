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

/* --- sums ------------------------------------------------------------------------------------- */

/* y = a + drop(b); a absent: zero; y may be a. */
template <typename T> struct Sum {
    Rows<T> a, b, y;
    Drop drop;
};

template <typename T, int N>
static __global__ void sum_kernel(int64_t rows, int64_t packs, Sum<T> f)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float sum[N] = {}, x[N];
    if (f.a.x) {
        load<T, N>(f.a.row(row) + pack * N, sum);
    }
    load<T, N>(f.b.row(row) + pack * N, x);
    drop<N>(f.drop, (uint32_t)row, (uint32_t)pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        sum[i] += x[i];
    }
    store<T, N>(f.y.row(row) + pack * N, sum);
}

template <typename T>
static cs_status add_rows(Cuda *c, const char *what, int64_t rows, int64_t cols, const Sum<T> &f)
{
    constexpr int N = 16 / (int)sizeof(T);
    bool wide = wide_rows(f.a, cols, 16) && wide_rows(f.b, cols, 16) && wide_rows(f.y, cols, 16);
    int64_t packs = wide ? cols / N : cols;
    Tiling t = tile(rows, packs);
    return launch(c, what, wide ? sum_kernel<T, N> : sum_kernel<T, 1>, t.grid, t.block, 0, rows,
                  packs, f);
}

/* The gradient of y dropped to that of x, over it or added to it. */
template <typename T>
static cs_status pass(Cuda *c, const cs_matrix *y, const cs_matrix *x, const Drop &d, bool add)
{
    Rows<T> to = grads_of<T>(*x, true), none = {};
    return add_rows<T>(c, "pass a gradient on", y->rows, y->cols,
                       {add ? to : none, grads_of<T>(*y, true), to, d});
}

/* --- embed ------------------------------------------------------------------------------------ */

template <typename T> struct Embed {
    int64_t rows, packs;
    Rows<T> x, y; /* x absent: zero */
    int tables;
    Rows<const float> table[CS_EMBED_TABLES];
    const int32_t *index[CS_EMBED_TABLES];
};

template <typename T, int N> static __global__ void embed_kernel(Embed<T> f)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= f.rows || pack >= f.packs) {
        return;
    }
    float sum[N] = {};
    if (f.x.x) {
        load<T, N>(f.x.row(row) + pack * N, sum);
    }
    for (int t = 0; t < f.tables; ++t) {
        int32_t index = f.index[t][row];
        if (index >= 0) {
            float item[N];
            load<float, N>(f.table[t].row(index) + pack * N, item);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                sum[i] += item[i];
            }
        }
    }
    store<T, N>(f.y.row(row) + pack * N, sum);
}

template <typename T> static cs_status embed(const cs_run *run, const cs_op_embed *o)
{
    constexpr int N = 16 / (int)sizeof(T);
    Cuda *c = cuda_of(run);
    cs_matrix y = c->host->matrix(run, o->y);
    Embed<T> f = {};
    f.x = rows_of<T>(c->host->matrix(run, o->x.tensor));
    f.y = rows_of<T>(y);
    bool wide = wide_rows(f.x, y.cols, 16) && wide_rows(f.y, y.cols, 16);
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE; ++t) {
        f.table[t] = rows_of<const float>(c->host->matrix(run, o->table[t].tensor));
        f.index[t] = c->host->ints(run, o->index[t]);
        wide = wide && wide_rows(f.table[t], y.cols, 4 * N);
        ++f.tables;
    }
    f.rows = y.rows;
    f.packs = wide ? y.cols / N : y.cols;
    Tiling t = tile(f.rows, f.packs);
    return launch(c, "embed", wide ? embed_kernel<T, N> : embed_kernel<T, 1>, t.grid, t.block, 0,
                  f);
}

cs_status embed_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? embed<bf16>(run, &op->embed) : embed<float>(run, &op->embed);
}

cs_status embed_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (o->x.tensor != CS_NONE && o->x.grad) {
        Drop d = drop_of(run, op, 0, 0.0);
        status = c->half ? pass<bf16>(c, &y, &x, d, o->x.add) : pass<float>(c, &y, &x, d, o->x.add);
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
static __global__ void gather_kernel(int64_t rows, int64_t packs, Rows<T> x, Rows<T> y,
                                     const int32_t *index)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float item[N] = {};
    int32_t from = index[row];
    if (from >= 0) {
        load<T, N>(x.row(from) + pack * N, item);
    }
    store<T, N>(y.row(row) + pack * N, item);
}

template <typename T>
static cs_status gather(Cuda *c, const cs_matrix *x, const cs_matrix *y, const int32_t *index)
{
    constexpr int N = 16 / (int)sizeof(T);
    Rows<T> from = rows_of<T>(*x), to = rows_of<T>(*y);
    bool wide = wide_rows(from, y->cols, 16) && wide_rows(to, y->cols, 16);
    int64_t packs = wide ? y->cols / N : y->cols;
    Tiling t = tile(y->rows, packs);
    return launch(c, "gather", wide ? gather_kernel<T, N> : gather_kernel<T, 1>, t.grid, t.block, 0,
                  y->rows, packs, from, to, index);
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

template <typename T> static cs_status add(const cs_run *run, const cs_op *op)
{
    Cuda *c = cuda_of(run);
    cs_matrix y = c->host->matrix(run, op->add.y);
    return add_rows<T>(c, "add", y.rows, y.cols,
                       {rows_of<T>(c->host->matrix(run, op->add.a.tensor)),
                        rows_of<T>(c->host->matrix(run, op->add.b.tensor)), rows_of<T>(y),
                        drop_of(run, op, 0, op->add.p)});
}

cs_status add_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? add<bf16>(run, op) : add<float>(run, op);
}

cs_status add_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_add *o = &op->add;
    Cuda *c = cuda_of(run);
    cs_matrix a = c->host->matrix(run, o->a.tensor), b = c->host->matrix(run, o->b.tensor);
    cs_matrix y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (o->a.tensor != CS_NONE && o->a.grad) {
        Drop d = drop_of(run, op, 0, 0.0);
        status = c->half ? pass<bf16>(c, &y, &a, d, o->a.add) : pass<float>(c, &y, &a, d, o->a.add);
    }
    if (status == CS_OK && o->b.grad) {
        Drop d = drop_of(run, op, 0, o->p);
        status = c->half ? pass<bf16>(c, &y, &b, d, o->b.add) : pass<float>(c, &y, &b, d, o->b.add);
    }
    return status;
}
