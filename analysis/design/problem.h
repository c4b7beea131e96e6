/** \file
 * The problem of a designed objective (analysis/design/design.h): its family, its matrix and its
 * constraints.
 */
#pragma once

#include "plan/pairs.h"

/** The matrix M. */
typedef enum {
    /** toy */
    CS_DESIGN_TOY,
    /** kernel */
    CS_DESIGN_KERNEL,
    /** stream */
    CS_DESIGN_STREAM,
} cs_design_matrix;

/** The minimised sum. */
typedef enum {
    /** Sum of sigma^4. */
    CS_DESIGN_SIGMA4,
    /** Sum of sigma^2. */
    CS_DESIGN_SIGMA2,
} cs_design_sum;

/** Marginal weights that are fixed. */
typedef enum {
    /** Weights of contexts, as in the objective (with reach: equal). */
    CS_FIX_CONTEXTS,
    /** Weights of targets: equal for all positions that are targets in the family. */
    CS_FIX_TARGETS,
    /** Both. */
    CS_FIX_BOTH,
    /** Neither. */
    CS_FIX_NONE,
} cs_design_fixed;

/** A problem. */
typedef struct {
    /** s. */
    int64_t length;
    /** Positive: the family of one distribution of distances 1..reach, the same for every prefix
     * with enough tokens left, 1 <= reach < s. 0: the family of `objective`.
     */
    int64_t reach;
    /** The family of its events with free weights; of a mixture, its parts with free shares. */
    cs_objective objective;
    /** M. */
    cs_design_matrix matrix;
    /** stream: s x s inner products of C_0 = I, C_1, ..., C_{s-1}; borrowed. */
    const double *gram;
    /** The minimised sum. */
    cs_design_sum sum;
    /** Fixed weights. For parts with different contexts only targets can be fixed. */
    cs_design_fixed fixed;
    /** Least weight of the events ({0..k-1}, k); 0: no constraint. */
    double next_token;
    /** Largest expected length misalignment; infinity: no constraint. */
    double misalignment;
} cs_design_problem;
