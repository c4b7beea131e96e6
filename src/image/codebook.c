/* k-means of patches. Distances are sums of floats in doubles, in the order of the values, of several
 * rows at once, since each addition waits for the one before; blocks of rows are assigned in parallel,
 * centres are summed in the order of the rows. */
#include "image/codebook.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"
#include "base/threads.h"
#include "image/patches.h"

enum { MOST_ROWS = 1 << 15, MOST_ITERATIONS = 100, BLOCK = 256, LANES = 8 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef float halves __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t whole __attribute__((vector_size(LANES * sizeof(int64_t))));

void cs_codebook_free(cs_codebook *book)
{
    cs_free(book->centre);
    *book = (cs_codebook){0};
}

static double distance(const float *a, const float *b, int64_t width)
{
    double sum = 0;
    for (int64_t v = 0; v < width; ++v) {
        const double d = (double)a[v] - (double)b[v];
        sum += d * d;
    }
    return sum;
}

/* The nearest centre of each of LANES rows, the first one if several are; value v of row j is at
 * value[v * LANES + j]. `least` is in and out: the distances, and infinite at first. */
CS_CLONES static void nearest(const cs_codebook *book, const float *value, int64_t *code,
                              double *least)
{
    whole best = {0};
    lanes far;
    memcpy(&far, least, sizeof far);
    for (int64_t c = 0; c < book->codes; ++c) {
        const float *centre = book->centre + c * book->width;
        lanes sum = {0};
        for (int64_t v = 0; v < book->width; ++v) {
            halves x;
            memcpy(&x, value + v * LANES, sizeof x);
            const lanes d = __builtin_convertvector(x, lanes) - (double)centre[v];
            sum += d * d;
        }
        const whole nearer = sum < far;
        best = (c & nearer) | (best & ~nearer);
        far = (lanes)(((whole)sum & nearer) | ((whole)far & ~nearer));
    }
    memcpy(code, &best, sizeof best);
    memcpy(least, &far, sizeof far);
}

/* far: squared distances of the rows from their centres, or NULL. */
static cs_status assign_rows(const cs_codebook *book, const float *rows, int64_t count,
                             int32_t *code, double *far)
{
    const int64_t width = book->width;
    CS_AUTO_FREE float *value = cs_calloc(width * LANES, sizeof *value);
    if (!value) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; i += LANES) {
        const int64_t some = cs_least(LANES, count - i);
        int64_t best[LANES];
        double least[LANES];
        for (int64_t j = 0; j < some; ++j) {
            for (int64_t v = 0; v < width; ++v) {
                value[v * LANES + j] = rows[(i + j) * width + v];
            }
        }
        for (int j = 0; j < LANES; ++j) {
            least[j] = (double)INFINITY;
        }
        nearest(book, value, best, least);
        for (int64_t j = 0; j < some; ++j) {
            code[i + j] = (int32_t)best[j];
            if (far) far[i + j] = least[j];
        }
    }
    return CS_OK;
}

typedef struct {
    const cs_codebook *book;
    const float *rows;
    int64_t count;
    int32_t *code;
    double *far;
} assignment;

static cs_status assign_block(void *ctx, int64_t block)
{
    const assignment *a = ctx;
    const int64_t from = block * BLOCK;
    return assign_rows(a->book, a->rows + from * a->book->width, cs_least(BLOCK, a->count - from),
                       a->code + from, a->far ? a->far + from : NULL);
}

static cs_status assign(const assignment *a, int threads)
{
    assignment work = *a;
    return cs_parallel((a->count + BLOCK - 1) / BLOCK, threads, assign_block, &work);
}

cs_status cs_codebook_assign(const cs_codebook *book, const float *rows, int64_t count, int threads,
                             int32_t *code)
{
    return assign(&(assignment){book, rows, count, code, NULL}, threads);
}

typedef struct {
    const float *rows;
    int64_t count;
    cs_codebook book;
    int32_t *code; /* count: the centre of each row */
    double *far;   /* count: its squared distance */
    double *sum;   /* codes x width */
    int64_t *size; /* codes */
} fit;

/* --- k-means++ -------------------------------------------------------------------------------- */

/* Each next centre is a row drawn by its squared distance from those there are. */
static cs_status begin(fit *f, uint64_t seed)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_IMAGE, 0);
    const int64_t width = f->book.width;
    int64_t chosen = cs_rng_below(&rng, f->count);
    for (int64_t c = 0; c < f->book.codes; ++c) {
        const float *centre = f->rows + chosen * width;
        double total = 0;
        memcpy(f->book.centre + c * width, centre, (size_t)width * sizeof *centre);
        for (int64_t i = 0; i < f->count; ++i) {
            const double d = distance(f->rows + i * width, centre, width);
            f->far[i] = c == 0 || d < f->far[i] ? d : f->far[i];
            total += f->far[i];
        }
        if (total <= 0 && c + 1 < f->book.codes) {
            return cs_fail(CS_ERR_INPUT,
                           "%lld codes requested, but only %lld distinct patches are available",
                           (long long)f->book.codes, (long long)c + 1);
        }
        double left = total * cs_rng_uniform(&rng);
        for (chosen = 0; chosen < f->count - 1 && left >= f->far[chosen]; ++chosen) {
            left -= f->far[chosen];
        }
        while (chosen > 0 && f->far[chosen] <= 0) { /* the sum was rounded past the last */
            --chosen;
        }
        cs_status status = cs_interrupt_check();
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* --- Lloyd ------------------------------------------------------------------------------------ */

/* A centre without rows takes the row furthest from its own, each another one. */
static void refill(fit *f, int64_t c)
{
    int64_t furthest = 0;
    for (int64_t i = 1; i < f->count; ++i) {
        furthest = f->far[i] > f->far[furthest] ? i : furthest;
    }
    f->far[furthest] = 0;
    memcpy(f->book.centre + c * f->book.width, f->rows + furthest * f->book.width,
           (size_t)f->book.width * sizeof *f->book.centre);
}

static void move_centres(fit *f)
{
    const int64_t width = f->book.width;
    memset(f->sum, 0, (size_t)(f->book.codes * width) * sizeof *f->sum);
    memset(f->size, 0, (size_t)f->book.codes * sizeof *f->size);
    for (int64_t i = 0; i < f->count; ++i) {
        f->size[f->code[i]] += 1;
        for (int64_t v = 0; v < width; ++v) {
            f->sum[f->code[i] * width + v] += (double)f->rows[i * width + v];
        }
    }
    for (int64_t c = 0; c < f->book.codes; ++c) {
        for (int64_t v = 0; v < width && f->size[c] > 0; ++v) {
            f->book.centre[c * width + v] = (float)(f->sum[c * width + v] / (double)f->size[c]);
        }
        if (f->size[c] == 0) {
            refill(f, c);
        }
    }
}

static cs_status iterate(fit *f, int threads)
{
    const assignment nearest_centres = {&f->book, f->rows, f->count, f->code, f->far};
    CS_AUTO_FREE int32_t *before = cs_alloc(f->count, sizeof *before);
    cs_status status = before ? assign(&nearest_centres, threads) : CS_ERR_MEMORY;
    bool moved = true;
    while (status == CS_OK && moved && f->book.iterations < MOST_ITERATIONS) {
        memcpy(before, f->code, (size_t)f->count * sizeof *before);
        move_centres(f);
        status = assign(&nearest_centres, threads);
        moved = memcmp(before, f->code, (size_t)f->count * sizeof *before) != 0;
        f->book.iterations += 1;
    }
    for (int64_t i = 0; status == CS_OK && i < f->count; ++i) {
        f->book.error += f->far[i] / (double)(f->count * f->book.width);
    }
    return status;
}

cs_status cs_codebook_fit(const float *rows, int64_t count, int64_t width, int64_t codes,
                          uint64_t seed, int threads, cs_codebook *out)
{
    if (codes < 1 || count < 1 || width < 1 || codes > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "%lld codes of %lld rows of %lld values", (long long)codes,
                       (long long)count, (long long)width);
    }
    CS_AUTO(cs_pool) memory = {0};
    fit f = {.rows = rows, .count = count, .book = {.codes = codes, .width = width}};
    CS_POOL_FIELDS(&memory, count, &f, code, far);
    f.sum = cs_pool_take(&memory, codes * width, sizeof *f.sum);
    f.size = cs_pool_take(&memory, codes, sizeof *f.size);
    f.book.centre = cs_alloc(codes * width, sizeof *f.book.centre);
    cs_status status = f.book.centre ? memory.status : CS_ERR_MEMORY;
    if (status == CS_OK) status = begin(&f, seed);
    if (status == CS_OK) status = iterate(&f, threads);
    return CS_DELIVER(status, out, f.book, cs_codebook_free);
}

/* --- pictures --------------------------------------------------------------------------------- */

typedef struct {
    const cs_images *images;
    const cs_codebook *book;
    int64_t patch, patches;
    int32_t *code; /* count x patches */
} coding;

static cs_status code_picture(void *ctx, int64_t i)
{
    const coding *c = ctx;
    const int64_t width = c->book->width;
    CS_AUTO_FREE float *rows = cs_alloc(c->patches * width, sizeof *rows);
    cs_status status = rows ? cs_patches_read(c->images, i, c->patch, rows) : CS_ERR_MEMORY;
    return status == CS_OK ? assign_rows(c->book, rows, c->patches, c->code + i * c->patches, NULL)
                           : status;
}

cs_status cs_codebook_encode(const cs_codebook *book, const cs_images *m, int64_t patch,
                             int threads, int32_t *code)
{
    coding work = {m, book, patch, m->height / patch * (m->width / patch), code};
    return cs_parallel(m->count, threads, code_picture, &work);
}

/* The patches of picture number[i] from chosen[first[i]] on, below chosen[first[i + 1]]. */
typedef struct {
    const cs_images *images;
    int64_t patch, patches;
    const int64_t *number, *first;
    const int32_t *chosen;
    float *rows; /* of all that were chosen */
} drawing;

static cs_status take_chosen(void *ctx, int64_t i)
{
    const drawing *d = ctx;
    const int64_t width = d->patch * d->patch * d->images->channels;
    CS_AUTO_FREE float *all = cs_alloc(d->patches * width, sizeof *all);
    cs_status status =
        all ? cs_patches_read(d->images, d->number[i], d->patch, all) : CS_ERR_MEMORY;
    for (int64_t k = d->first[i]; k < d->first[i + 1] && status == CS_OK; ++k) {
        memcpy(d->rows + k * width, all + d->chosen[k] * width, (size_t)width * sizeof *all);
    }
    return status;
}

/* Patches of the training side, all or MOST_ROWS drawn from them. */
cs_status cs_codebook_of_images(const cs_images *m, int64_t patch, int64_t codes, uint64_t seed,
                                int threads, cs_codebook *out)
{
    cs_status status = cs_patch_check(m, patch);
    if (status != CS_OK) return status;
    const int64_t width = patch * patch * m->channels;
    const int64_t patches = m->height / patch * (m->width / patch);
    int64_t left = 0, count = 0;
    for (int64_t i = 0; i < m->count; ++i) {
        left += m->held_out[i] ? 0 : patches;
    }
    int64_t wanted = cs_least(left, MOST_ROWS), pictures = 0;
    CS_AUTO_FREE float *rows = cs_alloc(wanted * width, sizeof *rows);
    CS_AUTO_FREE int64_t *number = cs_alloc(m->count, sizeof *number),
                         *first = cs_calloc(m->count + 1, sizeof *first);
    CS_AUTO_FREE int32_t *chosen = cs_alloc(wanted, sizeof *chosen);
    if (!rows || !number || !first || !chosen) return CS_ERR_MEMORY;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_IMAGE, 1);
    for (int64_t i = 0; i < m->count; ++i) {
        for (int64_t t = 0; t < patches && !m->held_out[i]; ++t) {
            if (cs_rng_selects(&rng, &left, &wanted)) chosen[count++] = (int32_t)t;
        }
        if (count == first[pictures]) continue;
        number[pictures++] = i;
        first[pictures] = count;
    }
    drawing d = {m, patch, patches, number, first, chosen, rows};
    status = cs_parallel(pictures, threads, take_chosen, &d);
    if (status != CS_OK) return status;
    status = count > 0 ? cs_codebook_fit(rows, count, width, codes, seed, threads, out)
                       : cs_fail(CS_ERR_INPUT, "%s: no picture is in the training split", m->name);
    return status;
}

/* Windows of r x c patches at every place of a grid, or (window NULL) the grid itself. */
static cs_status find_window(const char *window, int64_t rows, int64_t columns, int64_t *r,
                             int64_t *c)
{
    char end = '\0';
    long long y = rows, x = columns;
    if (window && (sscanf(window, "%lldx%lld%c", &y, &x, &end) != 2 || y < 1 || x < 1 || y > rows ||
                   x > columns)) {
        return cs_fail(CS_ERR_USAGE, "window \"%s\": expected RxC within %lld x %lld patches",
                       window, (long long)rows, (long long)columns);
    }
    *r = y;
    *c = x;
    return CS_OK;
}

cs_status cs_codes_windows(const cs_images *m, int64_t patch, const int32_t *code, int64_t codes,
                           const char *window, cs_corpus *out)
{
    const int64_t rows = m->height / patch, columns = m->width / patch;
    int64_t r = 0, c = 0;
    cs_corpus corpus = {0};
    cs_status status = find_window(window, rows, columns, &r, &c);
    if (status != CS_OK) return status;
    const int64_t down = rows - r + 1, across = columns - c + 1, length = down * across * r * c;
    status = cs_images_documents(m, length, codes, &corpus);
    for (int64_t i = 0; status == CS_OK && i < m->count; ++i) {
        int32_t *to = corpus.token + i * length;
        for (int64_t k = 0; k < length; ++k) {
            const int64_t place = k / (r * c), in = k % (r * c);
            const int64_t y = place / across + in / c, x = place % across + in % c;
            to[k] = code[i * rows * columns + y * columns + x];
        }
    }
    corpus.columns = c;
    corpus.window = r * c;
    return CS_DELIVER(status, out, corpus, cs_corpus_free);
}
