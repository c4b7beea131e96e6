/* A counted row becomes columns in order and their values (windows.c).
 *
 * A row of few columns knows them, in the order they were met. They are ordered through a bitmap: a
 * bit a column in words of 64, and a byte a word that says whether it has any. Of a fuller row the
 * bits are found by comparing its units with 0, from end to end. Bits are written out several at a
 * time whether there are as many or not, and the list advances by as many as there were, for how
 * many bits a word has cannot be foretold, and a branch on it would be mistaken once a word
 * (Lemire's way to decode bitmaps); first two, for most words of a row of few columns have one. The
 * values come in a second pass, whose reads do not wait for one another.
 *
 * Cost of a row: O(touched + vocab / 64), or O(vocab).
 */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "cooc/windows_private.h"

/* The same bodies with the instructions that count and find bits, chosen when the program starts.
 * Off under sanitizers, whose run time is not ready when the choice is made. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BIT_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define BIT_CLONES
#endif

/* Writes base + i for each of the first `most` bits i of *bits, or something, and clears them. */
static inline void list_some(uint64_t *bits, int32_t base, int most, int32_t *out)
{
    const uint64_t last = UINT64_C(1) << 63; /* something to find where no bit is left */
    for (int j = 0; j < most; ++j) {
        out[j] = base + __builtin_ctzll(*bits | last);
        *bits &= *bits - 1;
    }
}

/* Writes base + i for each bit i, ascending; up to CS_WINDOW_SLACK - 1 more items are scribbled on.
 */
static inline int64_t list_bits(uint64_t bits, int32_t base, int32_t *out)
{
    int64_t count = __builtin_popcountll(bits);
    list_some(&bits, base, 2, out);
    for (int64_t i = 2; i < count; i += CS_WINDOW_SLACK) {
        list_some(&bits, base, CS_WINDOW_SLACK, out + i);
    }
    return count;
}

#ifdef __SSE2__ /* all of x86-64 */

/* Bit i is byte i, 0 or 1, of 64; the bytes become 0. */
static inline uint64_t take_bytes(uint8_t *byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 4; ++i) {
        __m128i *at = (__m128i *)byte + i, set = _mm_cmpgt_epi8(_mm_loadu_si128(at), (__m128i){0});
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(set) << 16 * i;
        _mm_storeu_si128(at, (__m128i){0});
    }
    return mask;
}

/* Of four units, 32 bits each: all of them where they are 0, none elsewhere. */
static inline __m128i zeros(const int64_t *units)
{
    const __m128 a = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)units));
    const __m128 b = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)units + 1));
    const __m128i low = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
    const __m128i high = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
    return _mm_cmpeq_epi32(_mm_or_si128(low, high), (__m128i){0});
}

/* Bit i: whether units[i] is not 0, of 64. */
static inline uint64_t find_units(const int64_t *units)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; i += 16) {
        const __m128i a = _mm_packs_epi32(zeros(units + i), zeros(units + i + 4));
        const __m128i b = _mm_packs_epi32(zeros(units + i + 8), zeros(units + i + 12));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << i;
    }
    return ~mask;
}

#else

static inline uint64_t take_bytes(uint8_t *byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
        mask |= (uint64_t)byte[i] << i;
    }
    memset(byte, 0, 64);
    return mask;
}

static inline uint64_t find_units(const int64_t *units)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
        mask |= (uint64_t)(units[i] != 0) << i;
    }
    return mask;
}

#endif

/* The values of the listed columns, which leave the row. */
static inline void take_values(int64_t *row, int64_t taken, double unit, const int32_t *col,
                               double *val)
{
#pragma GCC unroll 4
    for (int64_t i = 0; i < taken; ++i) {
        val[i] = (double)row[col[i]] * unit;
        row[col[i]] = 0;
    }
}

BIT_CLONES int64_t cs_window_take_touched(cs_window_tally *y, int64_t vocab, int64_t touched,
                                          double unit, int32_t *col, double *val)
{
    uint64_t *bits = y->bits;
    int64_t words = 0, taken = 0;
    for (int64_t i = 0; i < touched; ++i) {
        uint32_t v = (uint32_t)y->touched[i];
        bits[v / 64] |= UINT64_C(1) << v % 64;
        y->used[v / 64] = 1;
    }
    for (int64_t w = 0; w < CS_WINDOW_WORDS(vocab); w += 64) {
        words += list_bits(take_bytes(y->used + w), (int32_t)w, y->word + words);
    }
    for (int64_t i = 0; i < words; ++i) {
        int32_t w = y->word[i];
        taken += list_bits(bits[w], w * 64, col + taken);
        bits[w] = 0;
    }
    take_values(y->row, taken, unit, col, val);
    return taken;
}

BIT_CLONES int64_t cs_window_take_all(cs_window_tally *y, int64_t vocab, double unit, int32_t *col,
                                      double *val)
{
    int64_t taken = 0;
    for (int64_t v = 0; v < vocab; v += 64) {
        taken += list_bits(find_units(y->row + v), (int32_t)v, col + taken);
    }
    take_values(y->row, taken, unit, col, val);
    return taken;
}
