/* Forms as expressions, and their split into a sparse matrix and one of rank one.
 *
 * Method. Rules on the expression (plan/expression.h) say whether f(0, p, q) is a function g of the
 * row times a function h of the column. Then, with a pair (x, y) where it is not 0,
 *
 *   f(0, p, q) = f(0, p, q_y) f(0, p_x, q) / f(0, p_x, q_y),
 *
 * which needs neither g nor h. S is f(a, p, q) - f(0, p, q) on the pairs that occur.
 *
 * Limits: the rules refuse some products that they do not recognise, such as exp(p + q). */
#include "cooc/matrix_form.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/reduce.h"
#include "io/number.h"
#include "plan/expression.h"

/* In the order of the values of a `point`. */
static const char VARIABLES[] = "apqndvs";
enum { A, P, Q, N, D, V, S, COUNT };
typedef double point[COUNT];

static const cs_matrix_form_kind KINDS[] = {
    {"normalised", "a / sqrt(p*q)", NULL, "the matrix of the theorems", true},
    {"centred", "(a - p*q) / sqrt(p*q)", NULL, "correspondence analysis", true},
    {"conditional", "a / sqrt(p)", NULL, "targets of cross-entropy, rows weighted by sqrt(p)",
     false},
    {"ppmi", "max(0, log(a/(p*q)))", NULL, "Levy and Goldberg 2014", false},
    {"sppmi", "max(0, log(a/(p*q)) - log(K))", "K", "Levy and Goldberg 2014", false},
    {"ppmi-smoothed", "max(0, log(a/(p*s)))", NULL, "Levy, Goldberg and Dagan 2015", false},
    {"qwem", "(a - p*q) / ((a + p*q)/2)", NULL, "Karkada et al. 2025", false},
    {"support", "ceil(a) - d/v", NULL, "Zhao and Thrampoulidis 2025", false},
    {"log", "log1p(n*a)", NULL, "log counts, as in latent semantic analysis", false},
};

struct cs_matrix_form {
    const cs_matrix_form_kind *kind; /* NULL: an expression of the user */
    char *text, *entry;
    cs_expression *value;
    double unit; /* mass of a stored 1 */
};

const cs_matrix_form_kind *cs_matrix_form_kind_at(int i)
{
    return i >= 0 && i < (int)(sizeof KINDS / sizeof *KINDS) ? &KINDS[i] : NULL;
}

void cs_matrix_form_free(cs_matrix_form **held)
{
    cs_matrix_form *form = *held;
    if (form) {
        cs_expression_free(form->value);
        CS_FREE_FIELDS(form, text, entry);
    }
    cs_free(form);
    *held = NULL;
}

const char *cs_matrix_form_text(const cs_matrix_form *form)
{
    return form->text;
}

const char *cs_matrix_form_entry(const cs_matrix_form *form)
{
    return form->entry;
}

void cs_matrix_form_set_unit(cs_matrix_form *form, double unit)
{
    if (form) form->unit = unit;
}

bool cs_matrix_form_is_normalised(const cs_matrix_form *form)
{
    return !form || form->kind == KINDS;
}

bool cs_matrix_form_lumps(const cs_matrix_form *form)
{
    return form->kind && form->kind->lumps;
}

/* f where a = 0, as a function of the row and the column. */
static cs_factors where_absent(const cs_matrix_form *f, double n, double v, double *constant)
{
    static const cs_factors group[COUNT] = {[P] = CS_FACTORS_LEFT,
                                            [D] = CS_FACTORS_LEFT,
                                            [Q] = CS_FACTORS_RIGHT,
                                            [S] = CS_FACTORS_RIGHT};
    const point value = {[N] = n, [V] = v};
    return cs_expression_factors(f->value, group, value, constant);
}

static cs_status refuse_mixed(const cs_matrix_form *f)
{
    return cs_fail(CS_ERR_USAGE,
                   "form \"%s\": where a = 0 it must be a function of p and d times a function of "
                   "q and s (such as 0, -2 or sqrt(p*q)), or the matrix would be dense",
                   f->text);
}

/* The kind of a name, and the text of its parameter behind a colon, or NULL. */
static const cs_matrix_form_kind *kind_of(const char *text, const char **parameter)
{
    const size_t length = strcspn(text, ":");
    *parameter = text[length] ? text + length + 1 : NULL;
    for (const cs_matrix_form_kind *k = KINDS; k < KINDS + sizeof KINDS / sizeof *KINDS; ++k) {
        if (strlen(k->name) == length && strncmp(k->name, text, length) == 0) {
            return k;
        }
    }
    return NULL;
}

/* The entry of a named form with its parameter filled in. */
static cs_status entry_of(const cs_matrix_form_kind *kind, const char *parameter, char **out)
{
    double value = 0;
    const bool number = parameter && cs_real_scan(parameter, &value) && value > 0;
    if (!kind->parameter && parameter) {
        return cs_fail(CS_ERR_USAGE, "form %s has no parameter, but \"%s\" was given", kind->name,
                       parameter);
    }
    if (kind->parameter && !number) {
        return cs_fail(CS_ERR_USAGE, "form %s needs a positive number %s: %s:5", kind->name,
                       kind->parameter, kind->name);
    }
    const char *place = kind->parameter ? strstr(kind->entry, kind->parameter) : NULL;
    *out = place ? cs_format("%.*s%s%s", (int)(place - kind->entry), kind->entry, parameter,
                             place + strlen(kind->parameter))
                 : cs_strdup(kind->entry);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* A word that is no form, which could only fail as an expression. */
static cs_status check_name(const char *text)
{
    cs_hint hint = {0};
    const size_t length = strcspn(text, ":");
    for (size_t i = 0; i < length; ++i) {
        if (!isalpha((unsigned char)text[i]) || length < 2) return CS_OK;
    }
    char names[256] = "";
    for (int i = 0; cs_matrix_form_kind_at(i); ++i) {
        const cs_matrix_form_kind *kind = cs_matrix_form_kind_at(i);
        const size_t used = strlen(names);
        cs_hint_consider(text, kind->name, &hint);
        (void)snprintf(names + used, sizeof names - used, "%s%s%s%s", i ? ", " : "", kind->name,
                       kind->parameter ? ":" : "", kind->parameter ? kind->parameter : "");
    }
    return length == 0 ? CS_OK
                       : cs_fail(CS_ERR_USAGE,
                                 "unknown form %s: it is neither one of %s, nor an expression in "
                                 "a, p, q, n, d, v and s%s",
                                 text, names, cs_hint_text("", &hint));
}

cs_status cs_matrix_form_parse(const char *text, cs_matrix_form **out)
{
    cs_matrix_form *f = cs_calloc(1, sizeof *f);
    if (!f) return CS_ERR_MEMORY;
    f->unit = 1;
    const char *parameter = NULL;
    double constant = 0;
    f->kind = kind_of(text, &parameter);
    f->text = cs_strdup(text);
    cs_status status = f->text ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && f->kind) {
        status = entry_of(f->kind, parameter, &f->entry);
    } else if (status == CS_OK) {
        f->entry = cs_strdup(text);
        status = f->entry ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && !f->kind) status = check_name(text);
    if (status == CS_OK)
        status = cs_blame(cs_expression_parse_in(VARIABLES, f->entry, &f->value), "form");
    /* any numbers that are not special */
    if (status == CS_OK && where_absent(f, 1000.25, 100.25, &constant) == CS_FACTORS_MIXED)
        status = refuse_mixed(f);
    return CS_DELIVER(status, out, f, cs_matrix_form_free);
}

/* --- the matrix ------------------------------------------------------------------------------- */

typedef struct {
    const cs_matrix_form *form;
    const cs_csr *a;
    cs_csr *to; /* the result; a itself, or of all pairs */
    double sum, n, v;
    double *row, *col; /* P_C, P_G */
    double *seen;      /* d */
    double *smoothed;  /* s */
    double *left, *right;
} application;

static double value_at(const application *m, double a, int64_t i, int64_t j)
{
    const point x = {[A] = a,          [P] = m->row[i], [Q] = m->col[j],     [N] = m->n,
                     [D] = m->seen[i], [V] = m->v,      [S] = m->smoothed[j]};
    return cs_expression_at_all(m->form->value, x);
}

static cs_status not_finite(const application *m, double value, double a, int64_t i, int64_t j)
{
    return cs_fail(CS_ERR_INPUT, "form \"%s\" is %g where a = %.6g, p = %.6g, q = %.6g%s",
                   m->form->text, isnan(value) ? (double)NAN : value, a, m->row[i], m->col[j],
                   a == 0 ? ", a pair that does not occur" : "");
}

enum { ROWS = 1024 }; /* of an item */

/* The entries of S in some rows. */
static cs_status apply_rows(void *ctx, int64_t item)
{
    const application *m = ctx;
    const int64_t end = cs_least((item + 1) * ROWS, m->a->rows);
    for (int64_t i = item * ROWS; i < end; ++i) {
        for (int64_t e = m->a->ptr[i]; e < m->a->ptr[i + 1]; ++e) {
            const int64_t j = m->a->col[e];
            const double a = m->a->val[e] / m->sum, x = a > 0 ? value_at(m, a, i, j) : 0;
            if (!isfinite(x)) return not_finite(m, x, a, i, j);
            m->to->val[e] = a > 0 ? x + m->left[i] * m->right[j] : 0;
        }
    }
    return CS_OK;
}

/* Some rows of the form of all pairs with mass. */
static cs_status apply_pairs(void *ctx, int64_t item)
{
    const application *m = ctx;
    const int64_t end = cs_least((item + 1) * ROWS, m->a->rows);
    for (int64_t i = item * ROWS; i < end; ++i) {
        int64_t e = m->a->ptr[i], at = m->to->ptr[i];
        for (int64_t j = 0; at < m->to->ptr[i + 1]; ++j) {
            const bool stored = e < m->a->ptr[i + 1] && m->a->col[e] == j;
            const double a = stored ? m->a->val[e] / m->sum : 0;
            e += stored;
            if (m->col[j] <= 0) continue;
            const double x = value_at(m, a, i, j);
            if (!isfinite(x)) return not_finite(m, x, a, i, j);
            m->to->col[at] = (int32_t)j;
            m->to->val[at++] = x;
        }
    }
    return CS_OK;
}

/* A row with mass, or a column with mass, whose f(0, p, q) with the other has the largest modulus;
 * *largest is that. */
static int64_t largest_at(const application *m, cs_side side, int64_t other, double *largest)
{
    const double *mass = side == CS_LEFT ? m->row : m->col;
    const int64_t count = side == CS_LEFT ? m->a->rows : m->a->cols;
    int64_t at = -1;
    *largest = 0;
    for (int64_t x = 0; x < count; ++x) {
        const double value = mass[x] <= 0      ? 0
                             : side == CS_LEFT ? fabs(value_at(m, 0, x, other))
                                               : fabs(value_at(m, 0, other, x));
        if (mass[x] > 0 && (at < 0 || value > *largest)) {
            at = x;
            *largest = value;
        }
    }
    return at;
}

enum { TRIES = 64 };

/* A pair where f(0, p, q) is large; *largest is 0 if it seems to vanish everywhere. */
static void find_pair(const application *m, int64_t *x, int64_t *y, double *largest)
{
    int tries = 0;
    *largest = 0;
    for (int64_t j = 0; j < m->a->cols && tries < TRIES && *largest == 0; ++j) {
        if (m->col[j] > 0) {
            *x = largest_at(m, CS_LEFT, j, largest);
            *y = largest_at(m, CS_RIGHT, *x, largest);
            ++tries;
        }
    }
}

/* l and r; *term: whether they are not 0. */
static cs_status fill_term(application *m, bool *term)
{
    double constant = 0, largest = 0;
    int64_t x = 0, y = 0;
    const cs_factors on = where_absent(m->form, m->n, m->v, &constant);
    if (on == CS_FACTORS_MIXED) return refuse_mixed(m->form);
    if (on == CS_FACTORS_NONE) {
        largest = constant; /* by the rules also where some of its terms are not finite */
    } else {
        find_pair(m, &x, &y, &largest);
    }
    *term = largest != 0;
    if (!*term) return CS_OK;
    const double scale = on == CS_FACTORS_NONE ? constant : value_at(m, 0, x, y);
    for (int64_t i = 0; i < m->a->rows; ++i) {
        const double value = on == CS_FACTORS_NONE ? constant : value_at(m, 0, i, y);
        m->left[i] = m->row[i] > 0 ? -value : 0;
        if (!isfinite(m->left[i])) return not_finite(m, value, 0, i, y);
    }
    for (int64_t j = 0; j < m->a->cols; ++j) {
        const double value = on == CS_FACTORS_NONE ? constant : value_at(m, 0, x, j);
        m->right[j] = m->col[j] > 0 ? value / scale : 0;
        if (!isfinite(m->right[j])) return not_finite(m, value, 0, x, j);
    }
    return CS_OK;
}

/* Exponent of the smoothed distribution, as word2vec draws negative samples. */
static const double SMOOTHING = 0.75;

/* The variables that are not those of an entry. */
static cs_status fill_masses(application *m)
{
    cs_status status = cs_masses(m->a, m->row, m->col);
    if (status != CS_OK) return status;
    m->sum = cs_sum(m->a->rows, m->row);
    m->n = m->sum * m->form->unit;
    if (!isfinite(m->sum)) return cs_fail(CS_ERR_INPUT, "the sum of the matrix overflows");
    for (int64_t i = 0; i < m->a->rows; ++i) {
        for (int64_t e = m->a->ptr[i]; e < m->a->ptr[i + 1]; ++e) {
            m->seen[i] += m->a->val[e] > 0;
        }
    }
    for (int64_t j = 0; j < m->a->cols; ++j) {
        m->v += m->col[j] > 0;
    }
    cs_divide(m->a->rows, m->sum, m->row);
    cs_divide(m->a->cols, m->sum, m->col);
    for (int64_t j = 0; j < m->a->cols; ++j) {
        m->smoothed[j] = pow(m->col[j], SMOOTHING);
    }
    cs_divide(m->a->cols, cs_sum(m->a->cols, m->smoothed), m->smoothed);
    return CS_OK;
}

cs_status cs_matrix_form_apply(const cs_matrix_form *form, cs_csr *a, double *left, double *right,
                               bool *term)
{
    CS_AUTO(cs_pool) pool = {0};
    application m = {.form = form, .a = a, .to = a, .left = left, .right = right};
    CS_POOL_FIELDS(&pool, a->rows, &m, row, seen);
    CS_POOL_FIELDS(&pool, a->cols, &m, col, smoothed);
    cs_status status = pool.status;
    memset(left, 0, (size_t)a->rows * sizeof *left);
    memset(right, 0, (size_t)a->cols * sizeof *right);
    if (status == CS_OK) status = fill_masses(&m);
    if (status == CS_OK) status = fill_term(&m, term);
    return status ? status : cs_parallel((a->rows + ROWS - 1) / ROWS, 0, apply_rows, &m);
}

cs_status cs_matrix_form_whole(const cs_matrix_form *form, const cs_csr *a, cs_csr *out)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_csr whole = {0};
    application m = {.form = form, .a = a, .to = &whole};
    CS_POOL_FIELDS(&pool, a->rows, &m, row, seen);
    CS_POOL_FIELDS(&pool, a->cols, &m, col, smoothed);
    int64_t contexts = 0;
    cs_status status = pool.status;
    if (status == CS_OK) status = fill_masses(&m);
    for (int64_t i = 0; status == CS_OK && i < a->rows; ++i) {
        contexts += m.row[i] > 0;
    }
    if (status == CS_OK) status = cs_csr_init(&whole, a->rows, a->cols, contexts * (int64_t)m.v);
    for (int64_t i = 0; status == CS_OK && i < a->rows; ++i) {
        whole.ptr[i + 1] = whole.ptr[i] + (m.row[i] > 0 ? (int64_t)m.v : 0);
    }
    if (status == CS_OK) status = cs_parallel((a->rows + ROWS - 1) / ROWS, 0, apply_pairs, &m);
    return CS_DELIVER(status, out, whole, cs_csr_free);
}
