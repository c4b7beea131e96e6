/* What cospec svd prints and writes. */
#ifndef CS_CLI_SVD_REPORT_H
#define CS_CLI_SVD_REPORT_H

#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum.h"
#include "linalg/gpu.h"

/* The spectrum: svd.json and svd.csv (or stdout), tail.csv, with --vectors u.npy, v.npy and
 * sigma.npy; a summary on stderr. gpu: where it was solved, NULL for the CPU. Errors of the files;
 * CS_ERR_MEMORY. */
cs_status cs_svd_print(cs_args *args, const cs_gpu *gpu, const cs_spectrum *s) CS_MUST_CHECK;

/* --dry-run: sizes, costs and memory of k triplets (0: all), with a GPU also of each way there. */
cs_status cs_svd_estimate(cs_args *args, cs_gpu *gpu, const cs_csr *a, int64_t k) CS_MUST_CHECK;

#endif
