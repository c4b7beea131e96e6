/* Part of backend_ref.c: the scalar type of the reference backend and helpers of its operations.
 *
 * backend_ref.c and these parts are compiled twice, for double and (CS_REF_FLOAT) for float;
 * <tgmath.h> selects the functions of the type. All sums are in the type itself, rows in ascending
 * order. */
#pragma once

#include <string.h>
#include <tgmath.h>

#include "tensor/dropout.h"
#include "tensor/run.h"

#ifdef CS_REF_FLOAT
typedef float cs_real;
#else
typedef double cs_real;
#endif

/* A tensor, rows of `cols` items `ld` apart; x NULL if it is absent, grad NULL if no gradient is
 * needed. */
typedef struct {
    cs_real *x, *grad;
    int64_t batch, length, rows, cols, ld;
} ref_matrix;

static inline ref_matrix ref_of(const cs_run *run, int tensor)
{
    cs_matrix m = cs_run_matrix(run, tensor);
    return (ref_matrix){m.x, m.grad, m.batch, m.length, m.rows, m.cols, m.ld};
}

/* An operand in backward. Its gradient, if needed, starts at zero unless an earlier one exists;
 * gradients of parameters always add up. So every backward function below only adds. */
static inline ref_matrix ref_operand(const cs_run *run, cs_operand operand)
{
    ref_matrix m = ref_of(run, operand.tensor);
    if (!operand.grad) {
        m.grad = NULL;
    }
    if (m.grad && !operand.add && run->graph->tensor[operand.tensor].space != CS_SPACE_PARAM) {
        for (int64_t r = 0; r < m.rows; ++r) {
            memset(m.grad + r * m.ld, 0, (size_t)m.cols * sizeof *m.grad);
        }
    }
    return m;
}

/* The factor of dropout on an item: 1 / (1 - p) if it is kept, else 0. */
typedef struct {
    cs_run_key key;
    uint32_t purpose;
    double p; /* 0 (always without training): everything is kept */
} ref_dropout;

static inline ref_dropout ref_dropout_of(const cs_run *run, const cs_op *op, int64_t head, double p)
{
    uint32_t purpose = cs_drop_purpose(op - run->graph->op, head);
    return (ref_dropout){*run->key, purpose, p};
}

static inline cs_real ref_keep(const ref_dropout *drop, int64_t row, int64_t col)
{
    if (drop->p <= 0.0) {
        return 1;
    }
    cs_four_words w = cs_drop_words(drop->key.seed, drop->key.step, drop->key.micro, drop->purpose,
                                    (uint32_t)row, (uint32_t)(col / 4));
    bool kept = w.word[col % 4] >= cs_drop_threshold(drop->p);
    return kept ? (cs_real)(1.0 / (1.0 - drop->p)) : 0;
}
