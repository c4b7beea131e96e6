/* Agreement of two partitions: values of scikit-learn 1.x (adjusted_mutual_info_score, arithmetic
 * mean), purity by hand, and the test on partitions with and without agreement. */
#include "stats/partition.h"
#include "test.h"

static cs_partition_agreement agreement(int64_t n, const int32_t *a, int64_t clusters,
                                        const int32_t *b, int64_t classes)
{
    cs_partition_agreement out;
    OK(cs_partition_agreement_of(&(cs_partition_pair){n, a, b, clusters, classes, 199, 1}, &out));
    return out;
}

TEST(small_partitions)
{
    const int32_t a[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 1};
    const int32_t b[] = {0, 0, 1, 1, 1, 0, 2, 2, 2, 1, 0, 1};
    const cs_partition_agreement x = agreement(12, a, 3, b, 3);
    assert_near(x.ami, 0.3299689044272481, 1e-12);
    assert_near(x.purity, 9.0 / 12, 1e-15);
    const cs_partition_agreement same = agreement(12, a, 3, a, 3);
    assert_near(same.ami, 1, 1e-12);
    assert_near(same.purity, 1, 1e-15);
    assert_near(same.p, 1.0 / 200, 1e-15);
}

TEST(larger_partitions)
{
    enum { N = 200 };
    int32_t a[N], other[N], near[N];
    for (int i = 0; i < N; ++i) {
        a[i] = i * 7 % 5;
        other[i] = (i / 3 + i % 5) % 4;
        near[i] = i % 4 == 0 ? i * 3 % 5 : a[i];
    }
    const cs_partition_agreement none = agreement(N, a, 5, other, 4);
    assert_near(none.ami, -0.02004550106343109, 1e-12);
    assert_true(none.p > 0.5 && none.ami < none.limit && none.limit < none.detectable);
    const cs_partition_agreement most = agreement(N, a, 5, near, 5);
    assert_near(most.ami, 0.7131134724196233, 1e-12);
    assert_true(most.p < 0.01 && most.ami > most.detectable && most.purity > most.null_purity);
}

/* The test has its level and its power: classes that follow the cluster in a share of the objects. */
TEST(detectable_is_detected)
{
    enum { N = 300, TRIALS = 100 };
    int64_t found[2] = {0}, trials[2] = {0};
    for (int t = 0; t < TRIALS; ++t) {
        int32_t a[N], b[N];
        cs_rng rng = cs_rng_at((uint64_t)t, CS_STREAM_TEST, 0);
        const double share = t % 2 ? 0.35 : 0;
        for (int i = 0; i < N; ++i) {
            a[i] = (int32_t)cs_rng_below(&rng, 4);
            b[i] = cs_rng_uniform(&rng) < share ? a[i] : (int32_t)cs_rng_below(&rng, 4);
        }
        const cs_partition_agreement x = agreement(N, a, 4, b, 4);
        found[t % 2] += x.p <= 0.05;
        trials[t % 2] += 1;
    }
    assert_true((double)found[0] / (double)trials[0] < 0.15);
    assert_true((double)found[1] / (double)trials[1] > 0.8);
}

/* One cluster says nothing. */
TEST(one_cluster)
{
    const int32_t a[] = {0, 0, 0, 0}, b[] = {0, 1, 0, 1};
    const cs_partition_agreement x = agreement(4, a, 1, b, 2);
    assert_near(x.ami, 0, 1e-12);
    assert_near(x.p, 1, 1e-15);
    assert_near(x.purity, 0.5, 1e-15);
}
