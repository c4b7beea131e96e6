/* The Lanczos runs of a spectral density, private to src/linalg. */
#pragma once

#include "linalg/density.h"
#include "linalg/jacobi_private.h"

/* Samples that share each product. More than one, so that the bits of a sample do not depend on its
 * group (csr_apply.c sums a single column in another order). */
enum { CS_DENSITY_GROUP = 8 };

/* Memory of one group; j[c] is the measure of sample first + c after a run. */
typedef struct {
    cs_dense basis[CS_DENSITY_GROUP]; /* cols x degree */
    cs_dense x, y, half;              /* panels: cols, cols, rows x GROUP */
    cs_jacobi j[CS_DENSITY_GROUP];
    cs_pool pool; /* owns all of these */
} cs_density_group;

cs_status cs_density_group_init(const cs_linop *a, int64_t degree,
                                cs_density_group *out) CS_MUST_CHECK;
void cs_density_group_free(cs_density_group *group);

/* Runs samples first .. first + count - 1, count <= GROUP. */
cs_status cs_density_group_run(const cs_linop *a, const cs_density_options *options, int64_t first,
                               int64_t count, cs_density_group *group) CS_MUST_CHECK;
