/* A counted row becomes columns in order and their values (windows.c).
 *
 * A row of few columns knows them, in the order they were met. They are ordered through a bitmap: a
 * bit a column in words of 64, and a byte a word that says whether it has any. Bits are written out
 * four at a time whether there are four or not, and the list advances by as many as there were:
 * how many bits a word has cannot be foretold, and a branch on it would be mistaken once a word
 * (Lemire's way to decode bitmaps). The values come in a second pass, whose reads do not wait for
 * one another. A fuller row is read out from end to end, again without a branch on what is there.
 *
 * Cost of a row: O(touched + vocab / 64), or O(vocab).
 */
#include <string.h>

#include "cooc/windows_private.h"

/* The same bodies with the instructions that count and find bits, chosen when the program starts.
 * Off under sanitizers, whose run time is not ready when the choice is made. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CS_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CS_CLONES
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of eight is the lowest");

/* Writes base + i for each bit i, ascending; up to CS_WINDOW_SLACK - 1 more items are scribbled on.
 */
static inline int64_t list_bits(uint64_t bits, int32_t base, int32_t *out)
{
    const uint64_t last = UINT64_C(1) << 63; /* something to find where no bit is left */
    int64_t count = __builtin_popcountll(bits);
    for (int64_t i = 0; i < count; i += CS_WINDOW_SLACK) {
        for (int j = 0; j < CS_WINDOW_SLACK; ++j) {
            out[i + j] = base + __builtin_ctzll(bits | last);
            bits &= bits - 1;
        }
    }
    return count;
}

/* Bit i is byte i, 0 or 1, of 64; the bytes become 0. */
static inline uint64_t take_bytes(uint8_t *byte)
{
    uint64_t mask = 0;
    for (int64_t i = 0; i < 8; ++i) {
        uint64_t eight;
        memcpy(&eight, byte + 8 * i, sizeof eight);
        /* byte j times 2^(56 - 7j) is bit j of the highest byte; no two of the products meet */
        mask |= (eight * UINT64_C(0x0102040810204080)) >> 56 << 8 * i;
    }
    memset(byte, 0, 64);
    return mask;
}

CS_CLONES int64_t cs_window_take_touched(cs_window_tally *y, int64_t vocab, int64_t touched,
                                         double unit, int32_t *col, double *val)
{
    uint64_t *bits = y->bits;
    int64_t *row = y->row, words = 0, taken = 0;
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
    for (int64_t i = 0; i < taken; ++i) {
        val[i] = (double)row[col[i]] * unit;
        row[col[i]] = 0;
    }
    return taken;
}

int64_t cs_window_take_all(cs_window_tally *y, int64_t vocab, double unit, int32_t *col,
                           double *val)
{
    int64_t *row = y->row, taken = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        int64_t units = row[v];
        row[v] = 0;
        col[taken] = (int32_t)v;
        val[taken] = (double)units * unit;
        taken += units != 0;
    }
    return taken;
}
