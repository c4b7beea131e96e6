/* Theorem 4.3: fixed models of one feature, q = k = v = the token's value, on which the printed
 * statements fail. Every number is computed by the audit; theory.md gives it in closed form.
 *
 *   equal tokens   values 1, W = (a, 0)^T, X_- the token of z = 0: z(X_<k) = a (k-1)^p. N = 2, k =
 * 2 alone, p = 3: L_gen = -a, bound 49/4 - 8a + 1; a = 2: -2 > -2.75. Over k = 2 and 3, a = 4: -18
 * > -18.75. p = 2, a = 2: -2 > 9/4 - 8 + 1 = -4.75
 */
#include <math.h>
#include <string.h>

#include "analysis/theorem_43_private.h"
#include "base/mem.h"

enum { VOCAB = 2, LONGEST = 3 };

cs_status cs_43_scalar(int64_t vocab, const double *value, const double *w, cs_43_model *out)
{
    cs_43_model m = {.vocab = vocab, .width = 1, .heads = 1, .pooling = 0};
    m.token = cs_alloc(vocab, sizeof *m.token);
    m.qkv = m.token ? cs_alloc(3, sizeof *m.qkv) : NULL;
    cs_status status = m.qkv ? cs_dense_init(&m.w, vocab, 1) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        m.qkv[0] = m.qkv[1] = m.qkv[2] = 1;
        memcpy(m.token, value, (size_t)vocab * sizeof *value);
        memcpy(m.w.data, w, (size_t)vocab * sizeof *w);
        status = cs_43_model_measure(&m);
    }
    if (status != CS_OK) {
        cs_43_model_free(&m);
        return status;
    }
    *out = m;
    return CS_OK;
}

typedef struct {
    double value[VOCAB], w[VOCAB];
    int64_t length, unmasked, last;
    int32_t token[LONGEST];
} example;

static cs_status evaluate(const example *e, cs_43_model *m, cs_43_audit *a)
{
    static const double second[VOCAB] = {0, 1};
    const int32_t *const token[] = {e->token};
    const cs_43_text text = {.count = 1, .token = token, .length = &e->length};
    const cs_43_options o = {.unmasked = e->unmasked, .last = e->last, .negative = second};
    cs_status status = cs_43_scalar(VOCAB, e->value, e->w, m);
    return status == CS_OK ? cs_43_audit_of(m, &text, &o, a) : status;
}

typedef cs_status (*stater)(const cs_43_model *m, const cs_43_audit *a, const char *input,
                            cs_statements *out);

static cs_status bound_three(const cs_43_model *m, const cs_43_audit *a, const char *input,
                             cs_statements *out)
{
    return cs_43_printed(m, a, 1, "4.3-example", input, out);
}

static cs_status bound_two(const cs_43_model *m, const cs_43_audit *a, const char *input,
                           cs_statements *out)
{
    return cs_43_printed(m, a, 0, "4.3-example-two-index", input, out);
}

static cs_status triangle(const cs_43_model *m, const cs_43_audit *a, const char *input,
                          cs_statements *out)
{
    (void)m;
    cs_status status = cs_43_state_case(
        &a->form[1].triangle, "4.3-example-triangle", CS_PRINTED,
        "||a-c||^2/2 <= ||a-b||^2/2 + ||b-c||^2/2: a = 0, b = 1/4, c = 1", input, out);
    return status == CS_OK
               ? cs_43_state_case(&a->form[1].triangle_two, "4.3-example-triangle", CS_CORRECTED,
                                  "||a-c||^2/2 <= ||a-b||^2 + ||b-c||^2", input, out)
               : status;
}

static cs_status epsilon(const cs_43_model *m, const cs_43_audit *a, const char *input,
                         cs_statements *out)
{
    (void)m;
    cs_status status = cs_43_state_case(&a->form[1].epsilon, "4.3-example-epsilon", CS_PRINTED,
                                        "||eps_k||^2 <= w_k eta: 19^2 against 7 x 7", input, out);
    return status == CS_OK
               ? cs_43_state_case(&a->form[1].epsilon_norm, "4.3-example-epsilon", CS_CORRECTED,
                                  "||eps_k|| <= w_k eta_i: 19 against 49", input, out)
               : status;
}

static cs_status square(const cs_43_model *m, const cs_43_audit *a, const char *input,
                        cs_statements *out)
{
    (void)m;
    return cs_43_say("4.3-example-delta", CS_PRINTED, CS_RELATION_AT_MOST,
                     "max -z_+ <= max (-z_+ + z_-)^2: z_+ = -1/2, z_- = 0", input,
                     a->form[1].largest_plus, a->form[1].literal, 2 * a->form[1].delta_error, out);
}

static cs_status lengths(const cs_43_model *m, const cs_43_audit *a, const char *input,
                         cs_statements *out)
{
    (void)m;
    cs_status status =
        cs_43_say("4.3-example-unit-norm", CS_PRINTED, CS_RELATION_EQUAL,
                  "||W f(X)|| = 1 at every length: with equal tokens it grows as |X|^3 (lhs: at N, "
                  "1 at k-1 = 1)",
                  input, a->form[1].norm_high, 1, a->form[1].norm_error, out);
    if (status != CS_OK) {
        return status;
    }
    cs_statement *s =
        cs_statements_add(out, "4.3-example-first-prefix", CS_PRINTED, CS_RELATION_AT_MOST,
                          "the bound with k = 1 in its sum, whose term divides by "
                          "(k-1)^6 = 0",
                          input);
    if (!s) {
        return CS_ERR_MEMORY;
    }
    s->trivial = 2;
    cs_statement_judge(s, a->form[1].gen, pow(pow(2, 3), 2) / pow(0, 6), 0);
    return CS_OK;
}

/* f_ar = 0 has L_gen = delta_ar = 0. Its bound is no larger than that of f_mask, its error is. */
static cs_status order(const cs_43_model *m, const cs_43_audit *a, const char *input,
                       cs_statements *out)
{
    const cs_43_form *f = &a->form[1];
    const double bound = f->first + f->second * m->norm * m->norm * f->eta.value + f->delta + 1;
    cs_status status = cs_43_say("4.3-example-order", CS_PRINTED, CS_RELATION_AT_MOST,
                                 "Eq. 4: the bound of f_ar is at most that of f_mask, consequently "
                                 "L_gen(f_ar) <= L_gen(f_mask) (f_ar = 0, delta_ar = 0)",
                                 input, 0, f->gen, f->gen_error, out);
    return status == CS_OK ? cs_statement_detail(&out->item[out->count - 1], "bound_of_f_mask",
                                                 json_real(bound))
                           : status;
}

cs_status cs_43_examples(cs_statements *out)
{
    static const struct {
        example e;
        const char *input;
        stater state;
    } list[] = {
        {{{1, 1}, {2, 0}, 3, 2, 2, {0, 0, 0}},
         "example: equal tokens x = 1, W = (2, 0)^T, N = 2, k = 2",
         bound_three},
        {{{1, 1}, {4, 0}, 3, 2, 0, {0, 0, 0}},
         "example: equal tokens x = 1, W = (4, 0)^T, N = 2, k = 2, 3",
         bound_three},
        {{{1, 1}, {2, 0}, 3, 2, 2, {0, 0, 0}},
         "example: equal tokens x = 1, W = (2, 0)^T, N = 2, k = 2, two free indices",
         bound_two},
        {{{0, 1}, {0.25, 0}, 3, 2, 2, {0, 0, 1}},
         "example: tokens 0, 0, 1, W = (1/4, 0)^T, N = 2, k = 2",
         triangle},
        {{{1, 2}, {1, 0}, 3, 2, 2, {0, 1, 1}}, "example: tokens 1, 2, 2, N = 2, k = 2", epsilon},
        {{{1, 1}, {-0.5, 0}, 2, 1, 0, {0, 0}},
         "example: equal tokens x = 1, W = (-1/2, 0)^T, N = 1",
         square},
        {{{1, 1}, {1, 0}, 3, 2, 2, {0, 0, 0}},
         "example: equal tokens x = 1, W = (1, 0)^T, N = 2",
         lengths},
        {{{1, 1}, {1, 0}, 2, 1, 0, {0, 0}},
         "example: equal tokens x = 1, W = (1, 0)^T, N = 1",
         order},
    };
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && status == CS_OK; ++i) {
        cs_43_model m = {0};
        cs_43_audit a = {0};
        status = evaluate(&list[i].e, &m, &a);
        if (status == CS_OK) {
            status = list[i].state(&m, &a, list[i].input, out);
        }
        cs_43_audit_free(&a);
        cs_43_model_free(&m);
    }
    return status;
}
