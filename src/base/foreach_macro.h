/** \file
 * A macro applied to each of several names, at most 16: `CS_EACH(X, a, b, p, q)` is
 * `X(a, b, p) X(a, b, q)`. For macros of other headers.
 */
#pragma once

/** \cond INTERNAL */
#define CS_EACH(X, a, b, ...)                                                                      \
    CS_EACH_OF(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)              \
    (X, a, b, __VA_ARGS__)
#define CS_EACH_OF(n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15, n16, n, ...)  \
    CS_EACH_##n
#define CS_EACH_1(X, a, b, n) X(a, b, n)
#define CS_EACH_2(X, a, b, n, ...) X(a, b, n) CS_EACH_1(X, a, b, __VA_ARGS__)
#define CS_EACH_3(X, a, b, n, ...) X(a, b, n) CS_EACH_2(X, a, b, __VA_ARGS__)
#define CS_EACH_4(X, a, b, n, ...) X(a, b, n) CS_EACH_3(X, a, b, __VA_ARGS__)
#define CS_EACH_5(X, a, b, n, ...) X(a, b, n) CS_EACH_4(X, a, b, __VA_ARGS__)
#define CS_EACH_6(X, a, b, n, ...) X(a, b, n) CS_EACH_5(X, a, b, __VA_ARGS__)
#define CS_EACH_7(X, a, b, n, ...) X(a, b, n) CS_EACH_6(X, a, b, __VA_ARGS__)
#define CS_EACH_8(X, a, b, n, ...) X(a, b, n) CS_EACH_7(X, a, b, __VA_ARGS__)
#define CS_EACH_9(X, a, b, n, ...) X(a, b, n) CS_EACH_8(X, a, b, __VA_ARGS__)
#define CS_EACH_10(X, a, b, n, ...) X(a, b, n) CS_EACH_9(X, a, b, __VA_ARGS__)
#define CS_EACH_11(X, a, b, n, ...) X(a, b, n) CS_EACH_10(X, a, b, __VA_ARGS__)
#define CS_EACH_12(X, a, b, n, ...) X(a, b, n) CS_EACH_11(X, a, b, __VA_ARGS__)
#define CS_EACH_13(X, a, b, n, ...) X(a, b, n) CS_EACH_12(X, a, b, __VA_ARGS__)
#define CS_EACH_14(X, a, b, n, ...) X(a, b, n) CS_EACH_13(X, a, b, __VA_ARGS__)
#define CS_EACH_15(X, a, b, n, ...) X(a, b, n) CS_EACH_14(X, a, b, __VA_ARGS__)
#define CS_EACH_16(X, a, b, n, ...) X(a, b, n) CS_EACH_15(X, a, b, __VA_ARGS__)
/** \endcond */
