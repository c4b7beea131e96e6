/* Shared by the tests of tensor backends: small networks of one or a few operations, run on any
 * backend and compared.
 *
 * A case builds a graph at odd shapes; the harness fills parameters, inputs and indices with
 * numbers that depend on the case's name only, poisons memory, runs forward and backward from
 * random gradients of the outputs (and from the losses), and reads back what is defined.
 * Activations are rows of trainable tables, so that every gradient ends in a parameter.
 *
 * Values are odd multiples of 1/128 in (-2, 2): exact in bf16, never zero. No test framework is
 * needed: a failed check returns false and says why. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "tensor/backend.h"
#include "tensor/graph.h"
#include "tensor/params.h"
#include "tensor/run.h"

enum { CS_NET_MOST = 32, CS_NET_OUTPUTS = 4, CS_TENSOR_WHY = 256 };

/* --- building a case -------------------------------------------------------------------------- */

/* Value of an index tensor at row i of sequence b; n is the number given to cs_net_index. */
typedef int32_t (*cs_net_fill)(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n);

typedef struct {
    cs_graph graph;
    cs_params params;
    int64_t batch[CS_NET_MOST], length[CS_NET_MOST]; /* present size of each row set */
    struct {
        int tensor;
        cs_net_fill fill;
        int64_t n;
    } index[CS_NET_MOST];
    struct {
        int tensor;
        double low, high;
    } input[CS_NET_MOST];
    int output[CS_NET_OUTPUTS], loss[CS_NET_OUTPUTS];
    int indices, inputs, outputs, losses;
    uint64_t still; /* parameters (by bit) without gradient: frozen, or ... */
    bool stillness; /* ... trainable, but zero by the case's construction */
    uint64_t seed;
} cs_tensor_net;

typedef struct {
    const char *name;
    void (*build)(cs_tensor_net *net); /* or NULL: */
    void (*build_with)(cs_tensor_net *net, const void *setting);
    const void *setting;
} cs_tensor_case;

/* All operations, all options; ends with a NULL name. */
extern const cs_tensor_case cs_tensor_cases[];
/* Of operations and options that some backends lack (cs_backend.basic), likewise. */
extern const cs_tensor_case cs_tensor_part_cases[];
/* Larger than the blocks of fast kernels: for cs_tensor_compare only. */
extern const cs_tensor_case cs_tensor_large_cases[];

int cs_net_rows(cs_tensor_net *net, int64_t batch, int64_t length); /* present = maximum */
int cs_net_rows_now(cs_tensor_net *net, int64_t batch, int64_t length, int64_t now_batch,
                    int64_t now_length);
int cs_net_param(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols);
int cs_net_frozen(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols);
/* Trainable, with a gradient of zero. */
int cs_net_still(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols);
int cs_net_index(cs_tensor_net *net, int row_set, cs_net_fill fill, int64_t n);
int cs_net_input(cs_tensor_net *net, int row_set, int64_t cols, double low, double high);
/* An activation: row r is row r of the table. */
int cs_net_of_table(cs_tensor_net *net, int row_set, int table);
int cs_net_activation(cs_tensor_net *net, const char *name, int row_set, int64_t cols);
void cs_net_output(cs_tensor_net *net, int tensor); /* an activation that nothing reads */
void cs_net_loss(cs_tensor_net *net, int tensor);

/* Fills. */
int32_t cs_fill_row(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n); /* own number */
int32_t cs_fill_position(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n); /* i + n */
int32_t cs_fill_constant(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n); /* n */
/* Uniform below n, except about every fourth row, which is -1. */
int32_t cs_fill_some(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n);
/* The last b + n places of sequence b are padding: never seen (vis), seeing nothing (lim). */
int32_t cs_fill_padded_vis(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n);
int32_t cs_fill_padded_lim(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n);
/* Groups 0, 1, 2 in some order, plus n. */
int32_t cs_fill_group(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n);

/* --- running it ------------------------------------------------------------------------------- */

typedef struct {
    cs_tensor_net net;
    cs_backend *backend; /* borrowed */
    cs_run *run;
} cs_tensor_world;

/* Aborts with the reason where the case cannot be built. The world must stay where it is: the run
 * points into it. */
void cs_tensor_open(cs_tensor_world *world, const cs_tensor_case *what, cs_backend *backend,
                    bool training);
void cs_tensor_close(cs_tensor_world *world);

/* Fills activations, statistics and their gradients with bytes 0xff: not-a-number in every type. */
void cs_tensor_poison(cs_tensor_world *world);
void cs_tensor_forward(cs_tensor_world *world);
/* From the outputs' random gradients and the losses; adds to the gradients of parameters. */
void cs_tensor_backward(cs_tensor_world *world);
/* sum of outputs times their random gradients + sum of losses, after forward. */
double cs_tensor_objective(cs_tensor_world *world);

/* The readable values: outputs, statistics (after forward), gradients of parameters; without
 * training outputs and losses. */
typedef struct {
    const char *name;
    int64_t n;
    double *x;
} cs_tensor_block;
typedef struct {
    cs_tensor_block block[3 * CS_NET_MOST];
    int blocks;
} cs_tensor_result;
/* Poison, forward, read, backward, read. */
void cs_tensor_step(cs_tensor_world *world, cs_tensor_result *out);
void cs_tensor_result_free(cs_tensor_result *result);

/* --- checks: false with a reason in `why` ----------------------------------------------------- */

/* Every parameter's gradient against central differences in double, and three joint directions.
 * The step 1e-5 balances truncation, h^2 f''' / 6 ~ 2e-11, against rounding, eps |L| / h ~ 1e-10
 * for values and losses of order one; error = ||g - fd|| / (||g|| + ||fd||) < 1e-6. A gradient that
 * is zero fails unless the case says it is. `backend` is a double one. */
bool cs_tensor_check_gradients(const cs_tensor_case *what, cs_backend *backend,
                               char why[CS_TENSOR_WHY]);

/* The backend against the reference in double, block by block in the 2-norm, memory poisoned and
 * its ends guarded; a second step must give the same bits, a third must add to the gradients. The
 * tolerance, 2 sqrt(2 ops) (2 u_a + n u_p): u_a and u_p are the unit roundoffs of activations and
 * parameters; an operation reads operands rounded once (2 u_a) and sums n terms at most (n u_p,
 * Higham 2002, section 3.1; n = the largest dimension); the errors of its 2 ops passes are
 * independent enough to add in squares; 2 is headroom. Outputs and losses are compared in a graph
 * without training too. Against a bf16 backend a block may be ill-conditioned (gradients that
 * cancel): there the tolerance is at least 4 times what rounding the reference's own activations
 * changes (cs_tensor_round). */
bool cs_tensor_compare(cs_backend *backend, const cs_tensor_case *what, char why[CS_TENSOR_WHY]);

/* A double reference from here on rounds activations and their gradients to bf16 after every
 * operation. One at a time. */
void cs_tensor_round(cs_backend *ref);

/* For a case of one attention, softmax or linear, with tables q, k and v: changing k and v (and q
 * of linear attention) at a key changes no bit of the output of a row that does not see it, and
 * changes that of one that does (but where dropout may hide it). Returns how many pairs were hidden
 * and seen. */
bool cs_tensor_check_leaks(cs_backend *backend, const cs_tensor_case *what, int64_t *hidden,
                           int64_t *seen, char why[CS_TENSOR_WHY]);

/* The norm and five updates against the equations of cs_update in plain double, with decay on a
 * part of the parameters; `clip` 0: none. Error below 200 unit roundoffs of the norms. Then a
 * gradient that is not finite must change nothing. */
bool cs_tensor_check_adamw(cs_backend *backend, double clip, char why[CS_TENSOR_WHY]);

/* --- small parts ------------------------------------------------------------------------------ */

void cs_tensor_must(cs_status status, const char *what); /* aborts with the reason */

/* The norm of the last update (waits for a device). Not finite: the update was skipped. */
double cs_tensor_norm(const cs_params *params);
void *cs_tensor_zeros(int64_t count, size_t size); /* zeroed, or aborts; free() it */
/* Streams of random numbers of a case, distinguished by what they fill and its number. */
enum { CS_FILL_PARAM, CS_FILL_INDEX, CS_FILL_INPUT, CS_FILL_GRAD, CS_FILL_DIRECTION };
cs_rng cs_tensor_stream(const cs_tensor_world *world, int kind, int64_t number);
double cs_tensor_unit_roundoff(cs_real_kind kind);
/* An odd multiple of 1/128 in (low, high), both multiples of 1/64. */
double cs_tensor_value(cs_rng *rng, double low, double high);

/* The gain and bias of a layer norm. */
static inline cs_norm affine(int gain, int bias)
{
    return (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5};
}
