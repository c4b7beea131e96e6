/* One function body for several instruction sets, chosen when the program starts. Off under
 * sanitizers, whose run time is not ready when the choice is made. */
#ifndef CS_BASE_CLONES_H
#define CS_BASE_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CS_CLONES
#endif

#endif
