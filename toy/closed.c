/* Closed spectra of the toy model (theorem-4-2.md; LA Theorem 4.2 is the row `masked`).
 *
 * A permutation-invariant objective has, per class, 1 once and sqrt(lambda) s - 1 times; with mass
 * q_0 on an empty set shared by all classes, 1 once in all, sqrt(1 - q_0) r - 1 times and
 * sqrt(lambda) r (s - 1) times. lambda is a formula of the objective's parameters, not of its pair
 * distribution. Fixed orders with a formula: ar, and group-ar and diverse-ar at the windows below.
 * With the target position given, every position is its own block and every sigma is 1 (a shared
 * empty set excepted).
 *
 * Printed: LA gives ar rs ones in all. True are r (s-1) without an empty prefix, r (s-1) + 1 with a
 * shared one, rs with a class-tagged one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "plan/sizes.h"
#include "toy/toy_spectrum_private.h"

enum { MIXED_LIMIT = 10000, ROOTS_LIMIT = 1 << 20 };

typedef struct {
    const cs_toy *toy;
    cs_toy_values values;
    const char *source; /* NULL: no closed form */
} closed;

static long double harmonic(int64_t n)
{
    long double h = 0;
    for (int64_t i = n; i >= 1; --i) {
        h += 1 / (long double)i;
    }
    return h;
}

/* 1 - (1 - x)^n and 1 - x^n without cancelling. */
static long double one_minus_power(long double log_base, int64_t n)
{
    return -expm1l((long double)n * log_base);
}

/* --- permutation-invariant objectives: mass of the empty set, and lambda --- */

/* An objective with the distribution of sizes of permuted-ar has its spectrum: masked diffusion. */
static cs_objective_kind distribution_of(const cs_objective *o)
{
    const bool permuted =
        cs_objective_table(o->kind)->sizes == cs_objective_table(CS_OBJ_PERMUTED_AR)->sizes;
    return permuted ? CS_OBJ_PERMUTED_AR : o->kind;
}

/* q(0): 0 without an empty prefix and for objectives that always leave a token; NaN where no
 * formula is known. */
static double empty_mass(const cs_toy *toy)
{
    const cs_objective *o = &toy->objective;
    bool mask = o->event_weight == CS_EVENT_MASK;
    double s = (double)toy->length, rho = o->mask_ratio_lo;
    if (o->empty_prefix == CS_PREFIX_NONE) {
        return 0;
    }
    switch (distribution_of(o)) {
    case CS_OBJ_PERMUTED_AR:
        return 1 / s;
    case CS_OBJ_BERNOULLI_MASKED:
        return mask ? pow(rho, s) / (double)one_minus_power(log1pl(-(long double)rho), toy->length)
                    : pow(rho, s - 1);
    case CS_OBJ_MASKED:
    case CS_OBJ_VARIABLE_MASKED: {
        double count = (double)(o->unmasked_hi - o->unmasked_lo + 1);
        double mean = (double)(o->unmasked_lo + o->unmasked_hi) / 2;
        return o->unmasked_lo != 0 ? 0 : mask ? 1 / count : s / (count * (s - mean));
    }
    case CS_OBJ_GVP:
        return 0;
    default:
        return NAN;
    }
}

/* Masks of a number of tokens in lo..hi. */
static const char *lambda_masked(const cs_toy *toy, long double *lambda)
{
    int64_t s = toy->length, lo, hi;
    if (cs_objective_unmasked(&toy->objective, s, &lo, &hi) != CS_OK) {
        return NULL; /* the length was checked: cannot happen */
    }
    if (toy->objective.event_weight == CS_EVENT_TOKEN || lo == hi) {
        long double mean = (long double)(lo + hi) / 2;
        *lambda = mean / ((long double)(s - 1) * ((long double)s - mean));
        return lo == hi ? "masked: 1; sqrt(m/((s-m)(s-1))) x (s-1) (LA Theorem 4.2)"
                        : "variable-masked, token weights: 1; sqrt(mu/((s-1)(s-mu))) x (s-1), "
                          "mu = E m (theorem-4-2.md)";
    }
    *lambda = 0;
    for (int64_t m = lo; m <= hi; ++m) {
        *lambda += (long double)m / (long double)(s - m);
    }
    *lambda /= (long double)(hi - lo + 1) * (long double)(s - 1);
    return "variable-masked, mask weights: 1; sqrt(E m/((s-m)(s-1))) x (s-1) (theorem-4-2.md)";
}

static const char *lambda_bernoulli(const cs_toy *toy, long double *lambda)
{
    if (toy->objective.event_weight != CS_EVENT_TOKEN) {
        return NULL;
    }
    int64_t s = toy->length;
    long double rho = toy->objective.mask_ratio_lo;
    *lambda = (1 - rho) * one_minus_power(log1pl(-rho), s - 1) / (rho * (long double)(s - 1));
    if (toy->objective.empty_prefix == CS_PREFIX_NONE) {
        /* m = 0, which adds nothing to lambda, is left out: the rest is divided by its mass. */
        *lambda /= one_minus_power(logl(rho), s - 1);
        return "bernoulli: sigma^2 = (1-rho)(1-(1-rho)^(s-1)) / (rho (s-1)(1-rho^(s-1))) x (s-1) "
               "(theorem-4-2.md, m >= 1)";
    }
    return "bernoulli: sigma^2 = (1-rho)(1-(1-rho)^(s-1)) / (rho (s-1)) x (s-1) (theorem-4-2.md)";
}

static const char *lambda_permuted(const cs_toy *toy, long double *lambda)
{
    int64_t s = toy->length;
    long double n = (long double)(s - 1);
    if (toy->objective.empty_prefix == CS_PREFIX_NONE) {
        *lambda = ((long double)s * harmonic(s - 1) - n) / (n * n);
        return "permuted-ar: sigma^2 = (s H_(s-1) - (s-1)) / (s-1)^2 x (s-1) "
               "(theorem-4-2.md, K = s-1)";
    }
    *lambda = (harmonic(s) - 1) / n;
    return "permuted-ar, empty prefix: sigma^2 = (H_s - 1) / (s-1) x (s-1) (theorem-4-2.md, E_q)";
}

/* GVP mixed: numerator and denominator averaged apart over n_{K-1} = N. */
static const char *lambda_mixed(const cs_toy *toy, const long double *last, long double *lambda)
{
    int64_t s = toy->length, groups = toy->objective.groups;
    long double above = 0, below = 0;
    for (int64_t n = groups; n < s; ++n) {
        long double sum = (long double)n, miss = 1; /* C(m-1, K-1) / C(N-1, K-1) */
        for (int64_t m = n - 1; m >= 1; --m) {
            long double stay = (long double)(m + 1 - groups);
            miss *= (stay > 0 ? stay : 0) / (long double)m;
            sum += (long double)m / (long double)(s - m) * (1 - miss);
        }
        above += last[n] * sum;
        below += last[n] * ((long double)s - (long double)n / (long double)groups);
    }
    *lambda = above / below / (long double)(s - 1);
    return "gvp mixed: sigma^2 (s-1) = E[N + sum_(m<N) m/(s-m) (1 - C(m-1,K-1)/C(N-1,K-1))] / "
           "E[s - N/K] x (s-1) (theorem-4-2.md)";
}

static cs_status lambda_gvp(const cs_toy *toy, long double *lambda, const char **source)
{
    const cs_objective *o = &toy->objective;
    int64_t s = toy->length, groups = o->groups;
    /* Under mask weights only where every plan predicts the same number of tokens. */
    bool token = o->event_weight == CS_EVENT_TOKEN || groups == s - 1;
    bool even = o->segmentation == CS_SEGMENT_FIXED && s % (groups + 1) == 0;
    if (even || (o->segmentation == CS_SEGMENT_RANDOM && token)) {
        long double k = (long double)groups;
        *lambda = ((k + 1) * harmonic(groups) - k) / (k * (long double)(s - 1));
        *source = even ? "gvp fixed, (K+1) | s: sigma^2 = ((K+1)H_K - K)/(K(s-1)) x (s-1) "
                         "(theorem-4-2.md)"
                       : "gvp random: sigma^2 = ((K+1)H_K - K)/(K(s-1)) x (s-1) (theorem-4-2.md)";
    } else if (o->segmentation == CS_SEGMENT_MIXED && o->event_weight == CS_EVENT_TOKEN &&
               s <= MIXED_LIMIT) {
        double clamped;
        CS_AUTO_FREE long double *last = cs_alloc(s + 1, sizeof *last);
        if (!last) return CS_ERR_MEMORY;
        cs_gvp_last(o, s, last, &clamped);
        *source = lambda_mixed(toy, last, lambda);
    }
    return CS_OK;
}

static cs_status closed_invariant(closed *c)
{
    const cs_toy *toy = c->toy;
    int64_t s = toy->length, classes = toy->classes;
    long double lambda = 0;
    cs_status status = CS_OK;
    if (s == 1) { /* nothing but the empty set */
        bool one = toy->objective.empty_prefix == CS_PREFIX_SHARED;
        cs_toy_values_add(&c->values, 1, one ? 1 : classes);
        c->source = "one position: 1, from the empty set alone";
        return CS_OK;
    }
    switch (distribution_of(&toy->objective)) {
    case CS_OBJ_PERMUTED_AR:
        c->source = lambda_permuted(toy, &lambda);
        break;
    case CS_OBJ_BERNOULLI_MASKED:
        c->source = lambda_bernoulli(toy, &lambda);
        break;
    case CS_OBJ_GVP:
        status = lambda_gvp(toy, &lambda, &c->source);
        break;
    case CS_OBJ_MASKED:
    case CS_OBJ_VARIABLE_MASKED:
        c->source = lambda_masked(toy, &lambda);
        break;
    default: /* none is known */
        break;
    }
    if (status != CS_OK || !c->source) return status;
    cs_toy_values_add_ones(&c->values, toy, empty_mass(toy), 1);
    cs_toy_values_add(&c->values, (double)sqrtl(lambda), classes * (s - 1));
    return CS_OK;
}

/* --- fixed orders --- */

/* Whether every prefix predicts its next token and nothing else. */
static bool is_next_token(const cs_toy *toy)
{
    const cs_objective *o = &toy->objective;
    if (toy->length == 1 || (toy->length == 2 && o->empty_prefix == CS_PREFIX_NONE)) {
        return true;
    }
    if (o->kind == CS_OBJ_OFFSET_AR) {
        return o->offset_value == 1 && o->offset != CS_OFFSET_POWER;
    }
    return o->kind == CS_OBJ_AR || o->t == 1;
}

static void closed_ar(closed *c)
{
    static const char *const source[] = {
        [CS_PREFIX_NONE] = "ar: 1 x r(s-1) in all (theorem-4-2.md; LA prints rs)",
        [CS_PREFIX_SHARED] =
            "ar, shared empty prefix: 1 x (r(s-1) + 1) in all (theorem-4-2.md; LA prints rs)",
        [CS_PREFIX_CLASS] = "ar, class-tagged empty prefix: 1 x rs in all (LA Theorem 4.2)"};
    const cs_empty_prefix prefix = c->toy->objective.empty_prefix;
    int64_t classes = c->toy->classes, first = prefix == CS_PREFIX_SHARED ? 1 : classes;
    cs_toy_values_add(&c->values, 1,
                      classes * (c->toy->length - 1) + (prefix == CS_PREFIX_NONE ? 0 : first));
    c->source = source[prefix];
}

/* The root of 3 sin(a x) = sin((a-2) x) next to j pi / a, a = 2s-3: |sin(a x)| <= 1/3 keeps it
 * within asin(1/3) / a, where the difference is monotone. Bisection to the last bit. */
static double diverse_root(int64_t s, int64_t j)
{
    const long double pi = 3.141592653589793238462643383279502884L;
    long double a = (long double)(2 * s - 3);
    long double lo = ((long double)j * pi - asinl(1 / 3.0L)) / a;
    long double hi = ((long double)j * pi + asinl(1 / 3.0L)) / a;
    bool rises = j % 2 == 0;
    for (int i = 0; i < 70; ++i) {
        long double x = (lo + hi) / 2;
        bool above = 3 * sinl(a * x) - sinl((a - 2) * x) > 0;
        if (above == rises) {
            hi = x;
        } else {
            lo = x;
        }
    }
    return (double)((lo + hi) / 2);
}

static void closed_fixed(closed *c)
{
    const double pi = 3.14159265358979323846;
    const cs_objective *o = &c->toy->objective;
    int64_t s = c->toy->length, classes = c->toy->classes;
    bool plain = o->empty_prefix == CS_PREFIX_NONE;
    bool token = o->event_weight == CS_EVENT_TOKEN;
    bool pair =
        (o->kind == CS_OBJ_DIVERSE_AR && o->t == 2) ||
        (o->kind == CS_OBJ_OFFSET_AR && o->offset == CS_OFFSET_UNIFORM && o->offset_value == 2);
    if (is_next_token(c->toy)) {
        closed_ar(c);
    } else if (o->target_weight == CS_TARGETS_UNIFORM) {
        return;
    } else if (plain && token && o->kind == CS_OBJ_GROUP_AR && o->t >= s - 1) {
        for (int64_t j = 1; j < s; ++j) {
            cs_toy_values_add(&c->values, 1 / (double)j, classes);
        }
        c->source = "group-ar, t >= s-1: 1/j, j = 1..s-1 (theorem-4-2.md)";
    } else if (plain && token && o->kind == CS_OBJ_GROUP_AR && o->t == 2) {
        for (int64_t j = 0; j <= s - 2; ++j) {
            cs_toy_values_add(&c->values, cos((double)j * pi / (double)(2 * s - 3)), classes);
        }
        c->source = "group-ar, t = 2: cos(j pi/(2s-3)), j = 0..s-2 (theorem-4-2.md)";
    } else if (plain && pair) {
        cs_toy_values_add(&c->values, 1, classes);
        for (int64_t j = 1; j <= s - 2; ++j) {
            cs_toy_values_add(&c->values, cos(diverse_root(s, j)), classes);
        }
        c->source = "diverse-ar, t = 2: cos(x), 3 sin((2s-3)x) = sin((2s-5)x) (theorem-4-2.md)";
    }
}

/* Every column is a separate block: sigma is 1, or sqrt(1 - P(empty, k) / P(k)) on the r - 1
 * directions that a shared empty row does not reach. */
static void closed_given(closed *c)
{
    const cs_toy *toy = c->toy;
    bool fixed = cs_objective_shape(&toy->objective) == CS_PAIRS_PREFIX;
    bool none = toy->objective.empty_prefix == CS_PREFIX_NONE;
    int64_t targets = toy->length - (fixed && none);
    double empty = fixed ? 0 : empty_mass(toy);
    if (isnan(empty)) {
        return;
    }
    if (toy->objective.empty_prefix == CS_PREFIX_SHARED && fixed) {
        if (is_next_token(toy)) {
            closed_ar(c);
        }
        return;
    }
    cs_toy_values_add_ones(&c->values, toy, empty, targets);
    c->source =
        toy->objective.empty_prefix == CS_PREFIX_SHARED && empty > 0
            ? "target given, empty set shared: 1 x s, sqrt(1-q_0) x (r-1)s in all (theorem-4-2.md)"
            : "target given: 1 for every target position and class (theorem-4-2.md)";
}

static cs_status closed_spectrum(const cs_toy *toy, cs_toy_spectrum *out)
{
    closed c = {.toy = toy};
    cs_status status = cs_toy_check(toy);
    if (status != CS_OK) return status;
    cs_pairs_form shape = cs_objective_shape(&toy->objective);
    if (toy->literal) {
        return cs_fail(CS_ERR_USAGE,
                       "no closed form is known for literal token sets; use another method");
    }
    if (shape == CS_PAIRS_PREFIX && !toy->given && toy->length > ROOTS_LIMIT) {
        return cs_fail(CS_ERR_USAGE, "length %" PRId64 " exceeds %d, the limit for a fixed order",
                       toy->length, ROOTS_LIMIT);
    }
    if (shape != CS_PAIRS_SETS) {
        if (toy->given) {
            closed_given(&c);
        } else if (shape == CS_PAIRS_PREFIX) {
            closed_fixed(&c);
        } else {
            status = closed_invariant(&c);
        }
    }
    if (status == CS_OK && !c.source) {
        CS_AUTO_FREE char *name = cs_objective_describe(&toy->objective);
        status =
            name ? cs_fail(CS_ERR_USAGE, "no closed form is known for %s at length %" PRId64 "%s",
                           name, toy->length, toy->given ? ", target given" : "")
                 : CS_ERR_MEMORY;
    }
    status = status == CS_OK ? cs_toy_values_group(&c.values, out) : status;
    if (status == CS_OK) {
        out->formula = true;
        (void)snprintf(out->source, sizeof out->source, "%s", c.source);
    }
    cs_free(c.values.value);
    return status;
}

cs_status cs_toy_closed(const cs_toy *toy, cs_toy_spectrum *out)
{
    return cs_toy_mixed_by(closed_spectrum, toy, out);
}
