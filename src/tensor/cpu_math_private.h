/* Part of cpu_kernels.c: functions of vectors.
 *
 * exp: n = round(x / ln 2), r = x - n ln 2 in two parts, Taylor to r^7: relative error below 3e-7
 * on -87 .. 88; 0 below, the value at 88 above, NaN is kept. tanh: by exp, and for |x| < 0.625 the
 * odd polynomial of Cephes' tanhf (Moshier): relative error below 4e-7. Phi (GELU): Abramowitz and
 * Stegun 7.1.26: absolute error below 2e-7. */
ALWAYS vf exp_of(vf x)
{
    const float shifter = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
    vf y = greater(all(-87.0F), lesser(all(88.0F), x)); /* NaN is kept */
    vf moved = fused(y, all(1.44269504F), all(shifter));
    vf n = moved - all(shifter);
    vf r = fused(n, all(-0.693359375F), y);
    r = fused(n, all(2.12194440e-4F), r);
    vf p = all(1.0F / 5040);
    p = fused(p, r, all(1.0F / 720));
    p = fused(p, r, all(1.0F / 120));
    p = fused(p, r, all(1.0F / 24));
    p = fused(p, r, all(1.0F / 6));
    p = fused(p, r, all(0.5F));
    p = fused(p, r, all(1.0F));
    p = fused(p, r, all(1.0F));
#if CS_SIMD == 512
    return (vf)_mm512_maskz_scalef_ps(
        _mm512_cmp_ps_mask((__m512)x, (__m512)all(-87.0F), _CMP_NLT_UQ), (__m512)p, (__m512)n);
#else
    vf e = (vf)((vi)p + ((vi)moved << 23)); /* the shifter's own bits leave at the top */
    e = choose(x < all(-87.0F), all(0.0F), e);
    return choose(x == x, e, x); /* NOLINT(misc-redundant-expression): is it a number? */
#endif
}

/* 1 / (1 + exp(-x)) */
ALWAYS vf logistic(vf x)
{
    return all(1.0F) / (all(1.0F) + exp_of(-x));
}

ALWAYS vf tanh_of(vf x)
{
    vf s = x * x;
    vf p = all(-5.70498872745e-3F);
    p = fused(p, s, all(2.06390887954e-2F));
    p = fused(p, s, all(-5.37397155531e-2F));
    p = fused(p, s, all(1.33314422036e-1F));
    p = fused(p, s, all(-3.33332819422e-1F));
    p = fused(p * s, x, x);
    vf big = all(1.0F) - all(2.0F) * logistic(all(-2.0F) * x);
    return choose(s < all(0.390625F), p, big);
}

/* The argument of the logistic function in GELU's tanh form: (1 + tanh(u)) / 2 = logistic(2u). */
ALWAYS vf gelu_argument(vf z)
{
    const float c = 1.5957691216057308F; /* 2 sqrt(2 / pi) */
    return z * fused(all(c * 0.044715F), z * z, all(c));
}

/* Phi(z) and phi(z) of the normal distribution. */
ALWAYS vf normal(vf z, vf *density)
{
    vf e = exp_of(all(-0.5F) * z * z);
    vf x = choose(z < all(0.0F), -z, z);
    vf t = all(1.0F) / fused(all(0.3275911F * 0.70710678F), x, all(1.0F));
    vf p = all(1.061405429F);
    p = fused(p, t, all(-1.453152027F));
    p = fused(p, t, all(1.421413741F));
    p = fused(p, t, all(-0.284496736F));
    p = fused(p, t, all(0.254829592F));
    vf tail = all(0.5F) * p * t * e;
    *density = all(0.3989422804F) * e;
    return choose(z < all(0.0F), tail, all(1.0F) - tail);
}

ALWAYS vf act_of(cs_activation act, vf z)
{
    vf density;
    switch (act) {
    case CS_ACT_GELU_TANH:
        return z * logistic(gelu_argument(z));
    case CS_ACT_GELU_ERF:
        return z * normal(z, &density);
    case CS_ACT_RELU:
        return choose(z < all(0.0F), all(0.0F), z);
    case CS_ACT_TANH:
        return tanh_of(z);
    case CS_ACT_SILU:
        return z * logistic(z);
    case CS_ACT_RELU2:
        return choose(z < all(0.0F), all(0.0F), z) * z;
    case CS_ACT_QUICK_GELU:
        return z * logistic(all(1.702F) * z);
    default:
        return z;
    }
}

ALWAYS vf slope_of(cs_activation act, vf z)
{
    vf s, density;
    switch (act) {
    case CS_ACT_GELU_TANH: /* s + z s (1 - s) u', u the argument */
        s = logistic(gelu_argument(z));
        return fused(
            z * s * (all(1.0F) - s),
            fused(all(3 * 0.044715F * 1.5957691216057308F), z * z, all(1.5957691216057308F)), s);
    case CS_ACT_GELU_ERF:
        s = normal(z, &density);
        return fused(z, density, s);
    case CS_ACT_RELU:
        return choose(z > all(0.0F), all(1.0F), all(0.0F));
    case CS_ACT_TANH:
        s = tanh_of(z);
        return all(1.0F) - s * s;
    case CS_ACT_SILU:
        s = logistic(z);
        return fused(z * s, all(1.0F) - s, s);
    case CS_ACT_RELU2:
        return choose(z > all(0.0F), z + z, all(0.0F));
    case CS_ACT_QUICK_GELU:
        s = logistic(all(1.702F) * z);
        return fused(all(1.702F) * z * s, all(1.0F) - s, s);
    default:
        return all(1.0F);
    }
}
