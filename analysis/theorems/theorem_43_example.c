/* Theorem 4.3: fixed models on which the printed statements fail. Every number is computed by the
 * audit; theorem-4-3.md gives it in closed form.
 *
 *   distinct tokens   x_1, x_2, x_3 with q_u . k_v = c (2 [u = v] - 1) and v = 1, W = -a for x_2, else 0.
 *                     N = 2. Two different tokens have f = 0, so that delta_mask = 0 whatever X_- is, and
 *                     x_1 alone has f = c. X_- is x_3; as x_2 it would only enlarge the left side.
 *                     p = 3, c = 1000, a = 1/14: L_gen = a c / 2 = 35.7 > (49 + 7 a^2 2 c) / 4 + 1 = 31.1.
 *                     p = 2, c = 100, a = 1/6: 8.33 > (9 + 3 a^2 2 c) / 4 + 1 = 7.42
 *   all others        one feature, q = k = v = the token's value
 */
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_43_private.h"

enum { VOCAB = 2, LONGEST = 3 };

cs_status cs_generation_bound_scalar(int64_t vocab, const double *value, const double *w,
                                     cs_generation_bound_model *out)
{
    cs_generation_bound_model m = {.vocab = vocab, .width = 1, .heads = 1, .pooling = 0};
    m.token = cs_pool_take(&m.pool, vocab, sizeof *m.token);
    m.qkv = cs_pool_take(&m.pool, 3, sizeof *m.qkv);
    m.w = cs_dense_in(&m.pool, vocab, 1);
    cs_status status = m.pool.status;
    if (status == CS_OK) {
        m.qkv[0] = m.qkv[1] = m.qkv[2] = 1;
        memcpy(m.token, value, (size_t)vocab * sizeof *value);
        memcpy(m.w.data, w, (size_t)vocab * sizeof *w);
        status = cs_generation_bound_model_measure(&m);
    }
    return CS_DELIVER(status, out, m, cs_generation_bound_model_free);
}

/* The model of distinct tokens, whose token vectors are unit vectors. */
static cs_status distinct_tokens(double c, double a, cs_generation_bound_model *out)
{
    enum { D = 3 };
    cs_generation_bound_model m = {.vocab = D, .width = D, .heads = 1, .pooling = 0};
    m.token = cs_pool_take(&m.pool, D * D, sizeof *m.token);
    m.qkv = cs_pool_take(&m.pool, 3 * D * D, sizeof *m.qkv);
    m.w = cs_dense_in(&m.pool, D, D);
    cs_status status = m.pool.status;
    for (int i = 0; i < D && status == CS_OK; ++i) {
        for (int j = 0; j < D; ++j) {
            const int at = i * D + j;
            m.token[at] = m.qkv[D * D + at] = i == j;
            m.qkv[at] = i == j ? c : -c;
            m.qkv[2 * D * D + at] = i == 0;
            m.w.data[at] = 0;
        }
    }
    if (status == CS_OK) {
        m.w.data[1] = -a;
        status = cs_generation_bound_model_measure(&m);
    }
    return CS_DELIVER(status, out, m, cs_generation_bound_model_free);
}

typedef struct {
    double value[VOCAB], w[VOCAB];
    int64_t length, unmasked, last;
    int32_t token[LONGEST];
    double c, a; /* c 0: one feature */
} example;

static cs_status evaluate(const example *e, cs_generation_bound_model *m,
                          cs_generation_bound_audit *a)
{
    static const double second[VOCAB] = {0, 1}, third[LONGEST] = {0, 0, 1};
    const int32_t *const token[] = {e->token};
    const cs_generation_bound_text text = {.count = 1, .token = token, .length = &e->length};
    const cs_generation_bound_options o = {
        .unmasked = e->unmasked, .last = e->last, .negative = e->c > 0 ? third : second};
    cs_status status = e->c > 0 ? distinct_tokens(e->c, e->a, m)
                                : cs_generation_bound_scalar(VOCAB, e->value, e->w, m);
    return status == CS_OK ? cs_generation_bound_audit_of(m, &text, &o, a) : status;
}

/* An example evaluated, and where its statements go. */
typedef struct {
    cs_generation_bound_model m;
    cs_generation_bound_audit a;
    const char *input;
    cs_statements *out;
} evaluated;

static void triangle(const evaluated *e)
{
    cs_generation_bound_state_case(
        &e->a.form[1].worst.triangle, "4.3-example-triangle", CS_PRINTED,
        "||a-c||^2/2 <= ||a-b||^2/2 + ||b-c||^2/2: a = 0, b = 1/4, c = 1", e->input, e->out);
    cs_generation_bound_state_case(&e->a.form[1].worst.triangle_two, "4.3-example-triangle",
                                   CS_CORRECTED, "||a-c||^2/2 <= ||a-b||^2 + ||b-c||^2", e->input,
                                   e->out);
}

static void epsilon(const evaluated *e)
{
    cs_generation_bound_state_case(&e->a.form[1].worst.epsilon, "4.3-example-epsilon", CS_PRINTED,
                                   "||eps_k||^2 <= w_k eta: 19^2 against 7 x 7", e->input, e->out);
    cs_generation_bound_state_case(&e->a.form[1].worst.epsilon_norm, "4.3-example-epsilon",
                                   CS_CORRECTED, "||eps_k|| <= w_k eta_i: 19 against 49", e->input,
                                   e->out);
}

static void square(const evaluated *e)
{
    const cs_generation_bound_form *f = &e->a.form[1];
    cs_statements_claim(e->out,
                        &(cs_claim){"4.3-example-delta", CS_PRINTED, CS_RELATION_AT_MOST,
                                    "max -z_+ <= max (-z_+ + z_-)^2: z_+ = -1/2, z_- = 0", e->input,
                                    f->delta.largest_plus, f->delta.literal, 2 * f->delta.error});
}

static void lengths(const evaluated *e)
{
    const cs_generation_bound_form *f = &e->a.form[1];
    cs_statements_claim(
        e->out,
        &(cs_claim){"4.3-example-unit-norm", CS_PRINTED, CS_RELATION_EQUAL,
                    "||W f(X)|| = 1 at every length: with equal tokens it grows as |X|^3 (lhs: "
                    "at N, 1 at k-1 = 1)",
                    e->input, f->norm.high, 1, f->norm.error});
    cs_statement *s = cs_statements_add(
        e->out, "4.3-example-first-prefix", CS_PRINTED, CS_RELATION_AT_MOST,
        "the bound with k = 1 in its sum, whose term divides by (k-1)^6 = 0", e->input);
    if (s) s->trivial = 2;
    cs_statement_evaluate(s, f->sums.gen, pow(pow(2, 3), 2) / pow(0, 6), 0);
}

/* f_ar = 0 has L_gen = delta_ar = 0. Its bound is no larger than that of f_mask, its error is. */
static void order(const evaluated *e)
{
    const cs_generation_bound_form *f = &e->a.form[1];
    const double bound =
        f->first + f->second * e->m.norm * e->m.norm * f->eta.value + f->delta.seen + 1;
    cs_statement *s = cs_statements_claim(
        e->out, &(cs_claim){"4.3-example-order", CS_PRINTED, CS_RELATION_AT_MOST,
                            "Eq. 4: the bound of f_ar is at most that of f_mask, consequently "
                            "L_gen(f_ar) <= L_gen(f_mask) (f_ar = 0, delta_ar = 0)",
                            e->input, 0, f->sums.gen, f->sums.error});
    cs_statement_real(s, "bound_of_f_mask", bound);
}

cs_status cs_generation_bound_examples(cs_statements *out)
{
    static const struct {
        example e;
        const char *input;
        void (*state)(const evaluated *e); /* NULL: the printed bound of form p */
        const char *id, *text;
        int p;
    } list[] = {
        {{.length = 3, .unmasked = 2, .last = 2, .token = {0, 1, 2}, .c = 1000, .a = 1.0 / 14},
         "example: three distinct tokens, c = 1000, W = -1/14 for the second, N = 2, k = 2",
         NULL,
         "4.3-example-term",
         "the term k = 2 alone: L_gen = a c <= (7^2/1^6 + 7 ||W||^2 eta) / 4 + delta_mask + 1, "
         "||W|| = a, eta = 2 c, delta_mask = 0",
         1},
        {{.length = 3, .unmasked = 2, .token = {0, 1, 2}, .c = 1000, .a = 1.0 / 14},
         "example: three distinct tokens, c = 1000, W = -1/14 for the second, N = 2, k = 2, 3",
         NULL,
         "4.3-example",
         "the full sum, k = 2 and 3: L_gen = a c / 2 <= (7^2/1^6 + 0^2/2^6 + (7 + 0) ||W||^2 eta) "
         "/ "
         "4 + delta_mask + 1, ||W|| = a, eta = 2 c, delta_mask = 0",
         1},
        {{.length = 3, .unmasked = 2, .token = {0, 1, 2}, .c = 100, .a = 1.0 / 6},
         "example: three distinct tokens, c = 100, W = -1/6 for the second, N = 2, k = 2, 3, two "
         "free indices",
         NULL,
         "4.3-example-two-index",
         "the full sum, k = 2 and 3: L_gen = a c / 2 <= (3^2/1^4 + 0^2/2^4 + (3 + 0) ||W||^2 eta) "
         "/ "
         "4 + delta_mask + 1, ||W|| = a, eta = 2 c, delta_mask = 0",
         0},
        {{{0, 1}, {0.25, 0}, 3, 2, 2, {0, 0, 1}, 0, 0},
         "example: tokens 0, 0, 1, W = (1/4, 0)^T, N = 2, k = 2",
         .state = triangle},
        {{{1, 2}, {1, 0}, 3, 2, 2, {0, 1, 1}, 0, 0},
         "example: tokens 1, 2, 2, N = 2, k = 2",
         .state = epsilon},
        {{{1, 1}, {-0.5, 0}, 2, 1, 0, {0, 0}, 0, 0},
         "example: equal tokens x = 1, W = (-1/2, 0)^T, N = 1",
         .state = square},
        {{{1, 1}, {1, 0}, 3, 2, 2, {0, 0, 0}, 0, 0},
         "example: equal tokens x = 1, W = (1, 0)^T, N = 2",
         .state = lengths},
        {{{1, 1}, {1, 0}, 2, 1, 0, {0, 0}, 0, 0},
         "example: equal tokens x = 1, W = (1, 0)^T, N = 1",
         .state = order},
    };
    const int64_t first = out->count;
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && status == CS_OK; ++i) {
        evaluated e = {.input = list[i].input, .out = out};
        status = evaluate(&list[i].e, &e.m, &e.a);
        if (status == CS_OK && list[i].state) {
            list[i].state(&e);
        } else if (status == CS_OK) {
            cs_generation_bound_printed(&e.m, &e.a, list[i].p, list[i].id, list[i].text, e.input,
                                        out);
        }
        cs_generation_bound_audit_free(&e.a);
        cs_generation_bound_model_free(&e.m);
    }
    cs_statements_mark(out, first);
    return status == CS_OK ? cs_statements_status(out) : status;
}
