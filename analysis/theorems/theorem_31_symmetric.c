/* Eq. 7 of the appendix: the symmetric spectral loss against P_T.
 *
 *   P_T(X, X') = sum_{X+} P_G(X+) P(X|X+) P(X'|X+),   P~_T = P_T / sqrt(P_C P_C')
 *   L(f) = -b E_{P_T} f(X).f(X') + E_{X, X'} (f(X).f(X'))^2,   claimed ||P~_T - F F^T||^2 + const
 *
 * Printed: b = 1 and F = f / sqrt(P_C). Both are slips; each is also tested alone. Corrected: b = 2
 * and F = sqrt(P_C) f, the constant being -||P~_T||^2. Everything is formed entry by entry, so only
 * for matrices of at most ROW_LIMIT rows (P_T is rows x rows).
 */
#include <float.h>
#include <math.h>

#include "analysis/theorems/theorem_31.h"

enum { ROW_LIMIT = 1024, DEFAULT_FEATURES = 4 };

typedef struct {
    const char *id, *text;
    double factor;
    bool divide;
} variant;

/* P_T from A = joint probabilities. */
static cs_status transition(const cs_31_problem *p, cs_dense *pt)
{
    cs_dense b = {0};
    cs_status status = cs_csr_to_dense(&p->a, &b);
    for (int64_t j = 0; status == CS_OK && j < b.cols; ++j) {
        for (int64_t i = 0; i < b.rows; ++i) {
            b.data[i + j * b.ld] /= p->root_col[j];
        }
    }
    if (status == CS_OK) status = cs_gemm(false, true, 1, &b, &b, 0, pt);
    cs_dense_free(&b);
    return status;
}

/* lhs = the loss, rhs = ||P~_T - F F^T||^2, their error bound; *norm2 = ||P~_T||^2. */
static cs_31_sides sides_of(const cs_31_problem *p, const cs_dense *pt, const cs_dense *f,
                            double factor, bool divide, double *norm2)
{
    double first = 0, second = 0, norm = 0, features2 = 0, loss2 = 0;
    *norm2 = 0;
    for (int64_t i = 0; i < pt->rows; ++i) {
        for (int64_t j = 0; j < pt->rows; ++j) {
            double product = 0, ri = p->root_row[i], rj = p->root_row[j];
            for (int64_t q = 0; q < f->cols; ++q) {
                product += f->data[i + q * f->ld] * f->data[j + q * f->ld];
            }
            double entry = pt->data[i + j * pt->ld] / (ri * rj);
            double factors = divide ? product / (ri * rj) : product * (ri * rj);
            first += pt->data[i + j * pt->ld] * product;
            second += ri * ri * rj * rj * product * product;
            norm += (entry - factors) * (entry - factors);
            *norm2 += entry * entry;
        }
        double square = 0;
        for (int64_t q = 0; q < f->cols; ++q) {
            square += f->data[i + q * f->ld] * f->data[i + q * f->ld];
        }
        double root = p->root_row[i];
        features2 += divide ? square / (root * root) : square * root * root;
        loss2 += square * root * root;
    }
    /* One chain of rows^2 additions of terms whose magnitudes Cauchy-Schwarz bounds. */
    double chain = (double)pt->rows * (double)pt->rows + (double)p->a.cols + (double)f->cols + 16;
    double size =
        factor * sqrt(*norm2) * loss2 + loss2 * loss2 + 2 * (*norm2 + features2 * features2);
    return (cs_31_sides){
        .lhs = -factor * first + second, .rhs = norm, .error = DBL_EPSILON * chain * size};
}

static void one_constant(const cs_31_problem *p, const cs_dense *pt, const cs_dense f[2],
                         const variant *v, const char *input, cs_statements *out)
{
    double norm2 = 0;
    cs_31_sides a = sides_of(p, pt, &f[0], v->factor, v->divide, &norm2);
    cs_31_sides b = sides_of(p, pt, &f[1], v->factor, v->divide, &norm2);
    cs_statement *s =
        cs_statements_claim(out, &(cs_claim){v->id, CS_PRINTED, CS_RELATION_EQUAL, v->text, input,
                                             a.lhs - a.rhs, b.lhs - b.rhs, a.error + b.error});
    cs_statement_counterexample(s, "two standard normal f give the constants %.12g and %.12g",
                                a.lhs - a.rhs, b.lhs - b.rhs);
}

cs_status cs_31_symmetric(const cs_31_problem *p, const char *input,
                          const cs_theorem_input *options, cs_statements *out, bool *done)
{
    static const variant printed[] = {
        {"3.1-eq7",
         "Eq. 7 as printed: -E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - F F^T||^2 + const with F = f / "
         "sqrt(P_C) (lhs and rhs: the constants of two f)",
         1, true},
        {"3.1-eq7-factor",
         "Eq. 7 with F = sqrt(P_C) f but the printed factor: -E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - "
         "F F^T||^2 + const",
         1, false},
        {"3.1-eq7-divide",
         "Eq. 7 with the factor 2 but the printed F = f / sqrt(P_C): -2 E_PT[f.f'] + E[(f.f'-)^2] "
         "= ||P~_T - F F^T||^2 + const",
         2, true},
    };
    *done = p->a.rows <= ROW_LIMIT;
    if (!*done) {
        return CS_OK;
    }
    int64_t features = options->features > 0 ? options->features : DEFAULT_FEATURES;
    cs_pool pool = {0};
    cs_dense pt = cs_dense_in(&pool, p->a.rows, p->a.rows);
    cs_dense f[] = {cs_dense_in(&pool, p->a.rows, features),
                    cs_dense_in(&pool, p->a.rows, features)};
    cs_status status = pool.status;
    if (status == CS_OK) status = transition(p, &pt);
    for (int i = 0; status == CS_OK && i < 2; ++i) {
        cs_31_normal(options->seed, 2 * (uint64_t)i, &f[i]);
    }
    for (size_t i = 0; status == CS_OK && i < sizeof printed / sizeof *printed; ++i) {
        one_constant(p, &pt, f, &printed[i], input, out);
    }
    if (status == CS_OK) {
        double norm2 = 0;
        const cs_31_sides x = sides_of(p, &pt, &f[0], 2, false, &norm2);
        cs_statement *s = cs_statements_claim(
            out,
            &(cs_claim){"3.1-eq7", CS_CORRECTED, CS_RELATION_EQUAL,
                        "-2 E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - F F^T||^2 - ||P~_T||^2 with F "
                        "= sqrt(P_C) f",
                        input, x.lhs, x.rhs - norm2, x.error});
        cs_statement_real(s, "norm2_pt", norm2);
        cs_statement_counterexample(s, "a standard normal f of seed %llu",
                                    (unsigned long long)options->seed);
    }
    cs_pool_free(&pool);
    return status;
}
