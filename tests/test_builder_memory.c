/* cooc/builder: a build stays within its budget of memory. */
#include <malloc.h>
#include <sys/resource.h>

#include "cooc/merge_private.h"
#include "cooc_compare.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

/* GCC says so by a macro, clang by a feature. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static cs_corpus corpus_of(int64_t documents, int64_t each, int64_t vocab, int64_t labels)
{
    CS_AUTO_FREE int64_t *length = malloc((size_t)documents * sizeof *length);
    assert_non_null(length);
    for (int64_t d = 0; d < documents; ++d) {
        length[d] = each;
    }
    cs_corpus c = small_corpus(documents, length, vocab, labels, 5);
    return c;
}

static cs_cooc_options options_of(const char *spec, const char *context, int64_t budget)
{
    cs_cooc_options o = {.threads = 2, .memory_budget = budget};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

/* First: it forks, before there is any thread. */
static int64_t peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* In a child, so that what other tests have held does not hide it: 0 when the resident size grew
 * by no more than the budget for records, that for the matrix, and 8 MiB for tables, stacks and
 * what the allocator keeps. The matrix is larger. */
static int build_within(const cs_corpus *corpus, int64_t budget)
{
    cs_cooc m = {0};
    cs_cooc_options o = options_of("ar", "nearest:3", budget);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 18); /* fixed: what is freed goes back */
    int64_t before = peak();
    if (cs_cooc_build(corpus, &o, &m) != CS_OK || m.runs == 0) {
        return 2;
    }
    int64_t rows = m.matrix.a.rows, grown = peak() - before;
    int64_t result = cs_csr_nnz(&m.matrix.a) * (int64_t)(sizeof(double) + sizeof(int32_t)) +
                     rows * (int64_t)(sizeof *m.key + 4 * sizeof(int64_t));
    bool in_files = m.files != NULL;
    (void)fprintf(stderr, "grown by %lld bytes: budget %lld, result %lld\n", (long long)grown,
                  (long long)budget, (long long)result);
    cs_cooc_free(&m);
    const int64_t allowed = 2 * budget + (8 << 20);
    return in_files && result > allowed && grown <= allowed ? 0 : 1;
}

TEST(memory_stays_within_the_budget)
{
    if (SANITIZED) {
        print_message("skipped: AddressSanitizer keeps what is freed\n");
        skip();
    }
    const int64_t budget = 4 << 20;
    CS_AUTO(cs_corpus) corpus = corpus_of(1000, 500, 2000, 0);
    /* Held in memory, the records alone would pass the bound. */
    assert_true(500000 * (int64_t)sizeof(cs_record) > budget + (8 << 20));
    pid_t child = test_fork();
    if (child == 0) {
        _exit(build_within(&corpus, budget));
    }
    assert_int_equal(exit_code(child), 0);
}
