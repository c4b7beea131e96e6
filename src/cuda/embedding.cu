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
static __global__ void scatter_pieces(Sorted s, int64_t cols, Rows<const In> from, Rows<Out> to,
                                      float *part)
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
        sum += to_float(from.row(row[p])[col]);
        int32_t next = p + 1 < PIECE ? index[p + 1] : after;
        if (p + 1 < PIECE && next == index[p]) {
            continue;
        }
        bool from_before = index[p] == before, goes_on = p + 1 == PIECE && next == index[p];
        if (from_before || goes_on) {
            part[((int64_t)blockIdx.x * 2 + (from_before ? 0 : 1)) * cols + col] = sum;
        } else {
            Out *out = to.row(index[p]) + col;
            *out = from_float<Out>(to_float(*out) + sum);
        }
        sum = 0.0F;
    }
}

/* For the stretch that begins in piece blockIdx.x and goes on after it. */
template <typename Out>
static __global__ void scatter_join(Sorted s, int64_t cols, Rows<Out> to, const float *part)
{
    __shared__ float shared[JOIN_DEEP][JOIN_WIDE];
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
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        float total = part[(piece * 2 + 1) * cols + col];
        for (int deep = 0; deep < JOIN_DEEP; ++deep) {
            total += shared[deep][threadIdx.x];
        }
        Out *out = to.row(index) + col;
        *out = from_float<Out>(to_float(*out) + total);
    }
}

/* to[index[r]] += from[r] */
template <typename In, typename Out>
static cs_status scatter(const cs_run *run, int index, const cs_matrix &from, Rows<Out> to)
{
    Cuda *c = cuda_of(run);
    Sorted s = {c->host->ints(run, index), c->host->order(run, index), from.rows};
    int64_t pieces = ceil_div(from.rows, PIECE), cols = from.cols;
    float *part = NULL;
    cs_status status = cuda_scratch(c, pieces * 2 * cols, &part);
    if (status == CS_OK)
        status = launch(c, "scatter", scatter_pieces<In, Out>,
                        dim3((unsigned)pieces, (unsigned)ceil_div(cols, PIECE_COLS)),
                        dim3(PIECE_COLS), 0, s, cols, grads_of<const In>(from, true), to, part);
    if (status == CS_OK && pieces > 1)
        status = launch(c, "scatter, long stretches", scatter_join<Out>,
                        dim3((unsigned)pieces, (unsigned)ceil_div(cols, JOIN_WIDE)),
                        dim3(JOIN_WIDE, JOIN_DEEP), 0, s, cols, to, part);
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
static cs_status add_rows(Cuda *c, const char *what, const cs_matrix &y, const Sum<T> &f)
{
    bool wide = all_wide(y.cols, f.a, f.b, f.y);
    return launch_packs(c, what, wide ? PACK<T> : 1,
                        wide ? sum_kernel<T, PACK<T>> : sum_kernel<T, 1>, y.rows, y.cols, f);
}

/* The gradient of y, dropped, over that of the operand or added to it. */
template <typename T>
static cs_status pass(const cs_run *run, const cs_op *op, int y, const cs_operand &x, double p)
{
    Cuda *c = cuda_of(run);
    cs_matrix from = c->host->matrix(run, y);
    Rows<T> to = grads_of<T>(c->host->matrix(run, x.tensor), x.grad), none = {};
    return to.x ? add_rows<T>(
                      c, "pass a gradient on", from,
                      {x.add ? to : none, grads_of<T>(from, true), to, drop_of(run, op, 0, p)})
                : CS_OK;
}

/* --- embed ------------------------------------------------------------------------------------ */

template <typename T> struct Embed {
    Rows<T> x, y; /* x absent: zero */
    int tables = 0;
    Rows<const float> table[CS_EMBED_TABLES] = {};
    const int32_t *index[CS_EMBED_TABLES] = {};
};

template <typename T, int N>
static __global__ void embed_kernel(int64_t rows, int64_t packs, Embed<T> f)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
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

template <typename T> cs_status embed_forward(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix y = host->matrix(run, o->y);
    Embed<T> f = {rows_of<T>(host->matrix(run, o->x.tensor)), rows_of<T>(y)};
    bool wide = all_wide(y.cols, f.x, f.y);
    for (; f.tables < CS_EMBED_TABLES && o->table[f.tables].tensor != CS_NONE; ++f.tables) {
        Rows<const float> *table = &f.table[f.tables];
        *table = rows_of<const float>(host->matrix(run, o->table[f.tables].tensor));
        f.index[f.tables] = host->ints(run, o->index[f.tables]);
        wide = wide && wide_rows(*table, y.cols, PACK<T> * (int64_t)sizeof(float));
    }
    return launch_packs(cuda_of(run), "embed", wide ? PACK<T> : 1,
                        wide ? embed_kernel<T, PACK<T>> : embed_kernel<T, 1>, y.rows, y.cols, f);
}

template <typename T> cs_status embed_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_status status = pass<T>(run, op, o->y, o->x, 0.0);
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE && status == CS_OK; ++t) {
        Rows<float> to = grads_of<float>(host->matrix(run, o->table[t].tensor), o->table[t].grad);
        status = to.x ? scatter<T>(run, o->index[t], host->matrix(run, o->y), to) : CS_OK;
    }
    return status;
}

BY_TYPE(embed)

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

template <typename T> cs_status gather_forward(const cs_run *run, const cs_op *op)
{
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix y = host->matrix(run, op->gather.y);
    Rows<T> from = rows_of<T>(host->matrix(run, op->gather.x.tensor)), to = rows_of<T>(y);
    bool wide = all_wide(y.cols, from, to);
    return launch_packs(cuda_of(run), "gather", wide ? PACK<T> : 1,
                        wide ? gather_kernel<T, PACK<T>> : gather_kernel<T, 1>, y.rows, y.cols,
                        from, to, host->ints(run, op->gather.index));
}

template <typename T> cs_status gather_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_gather *o = &op->gather;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (!o->x.add)
        status =
            cuda_check(c,
                       cudaMemset2DAsync(x.grad, (size_t)x.ld * sizeof(T), 0,
                                         (size_t)x.cols * sizeof(T), (size_t)x.rows, c->stream),
                       "zero a gradient");
    return status ? status : scatter<T>(run, o->index, y, grads_of<T>(x, true));
}

BY_TYPE(gather)

/* --- add -------------------------------------------------------------------------------------- */

template <typename T> cs_status add_forward(const cs_run *run, const cs_op *op)
{
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix y = host->matrix(run, op->add.y);
    return add_rows<T>(cuda_of(run), "add", y,
                       {rows_of<T>(host->matrix(run, op->add.a.tensor)),
                        rows_of<T>(host->matrix(run, op->add.b.tensor)), rows_of<T>(y),
                        drop_of(run, op, 0, op->add.p)});
}

template <typename T> cs_status add_backward(const cs_run *run, const cs_op *op)
{
    cs_status status = pass<T>(run, op, op->add.y, op->add.a, 0.0);
    return status ? status : pass<T>(run, op, op->add.y, op->add.b, op->add.p);
}

BY_TYPE(add)
