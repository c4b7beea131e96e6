#include "toy/toy_record.h"

#include <math.h>

/* The model of a point, in its object and in every row. */
static void add_model(const cs_toy_point *p, cs_item *item)
{
    const cs_toy *toy = p->toy;
    char position[32];
    cs_toy_position(toy, position);
    CS_ITEM_FIELDS(item, p, objective, method);
    CS_ITEM_FIELDS(item, toy, classes, length, tokens);
    cs_item_text(item, "token_sets", toy->literal ? "literal" : "disjoint");
    cs_item_text(item, "empty_prefix", cs_prefix_name(toy->objective.empty_prefix));
    cs_item_text(item, "target_position", position);
}

/* Whole numbers of rows are written as such. */
static void add_number(cs_item *row, const char *key, double x)
{
    if (x == floor(x) && fabs(x) < 1e15) {
        cs_item_int(row, key, (int64_t)x);
    } else {
        cs_item_real(row, key, x);
    }
}

static void add_rows(const cs_toy_point *p, cs_item *rows)
{
    const cs_toy_spectrum *s = &p->spectrum;
    int64_t lo = 0, hi = 0;
    const bool fixed = /* the number of unmasked tokens */
        cs_objective_unmasked(&p->toy->objective, p->toy->length, &lo, &hi) == CS_OK && lo == hi;
    cs_reason_clear();
    for (int64_t i = 0, first = 1; i < s->values; first += s->multiplicity[i++]) {
        cs_item *row = cs_item_object(rows, NULL);
        add_model(p, row);
        if (fixed) {
            cs_item_int(row, "unmasked", lo);
        } else {
            cs_item_text(row, "unmasked", "");
        }
        cs_item_int(row, "position", i + 1);
        cs_item_int(row, "index", first);
        add_number(row, "sigma", s->sigma[i]);
        cs_item_int(row, "multiplicity", s->multiplicity[i]);
        add_number(row, "sum_sigma2", s->sum_sigma2);
        add_number(row, "sum_sigma4", s->sum_sigma4);
        cs_item_int(row, "rank", s->rank);
        add_number(row, "residual", s->residual);
    }
}

void cs_toy_record(const cs_toy_point *p, cs_item *item, cs_item *rows)
{
    const cs_toy_spectrum *s = &p->spectrum;
    add_model(p, item);
    CS_ITEM_FIELDS(item, p, rows, cols, nnz);
    if (!s->sigma) {
        return;
    }
    cs_item *pairs = cs_item_array(item, "spectrum");
    for (int64_t i = 0; i < s->values; ++i) {
        cs_item *pair = cs_item_array(pairs, NULL);
        cs_item_real(pair, NULL, s->sigma[i]);
        cs_item_int(pair, NULL, s->multiplicity[i]);
    }
    CS_ITEM_FIELDS(item, s, sum_sigma2, sum_sigma4, rank, residual, source);
    add_rows(p, rows);
}
