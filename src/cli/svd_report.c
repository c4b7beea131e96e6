/* The result of cospec svd: JSON, table, vectors, and what is said of it. */
#include "cli/svd_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/tail_report.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/table.h"

static const char *state_name(cs_cert_state state)
{
    switch (state) {
    case CS_CERT_PASSED:
        return "passed";
    case CS_CERT_FAILED:
        return "failed";
    case CS_CERT_INCONCLUSIVE:
        return "inconclusive";
    default:
        return "not run";
    }
}

static json_t *certificate_json(const cs_certificate *c, const char *meaning)
{
    bool ran = c->state != CS_CERT_NOT_RUN;
    return json_pack("{s:s, s:o, s:o, s:o, s:s*, s:s}", "state", state_name(c->state), "value",
                     cs_json_number(ran ? c->value : (double)NAN), "bound",
                     cs_json_number(ran ? c->bound : (double)NAN), "none_missing_above",
                     cs_json_number(ran ? c->reach : (double)NAN), "why", c->why[0] ? c->why : NULL,
                     "meaning", meaning);
}

/* near_ones counts what the theorem says is not 1 though no solver can tell. */
static json_t *components_json(const cs_spectrum *s)
{
    json_t *json =
        certificate_json(&s->cert_components,
                         "sigma within 1e-9 of 1, against the components: passed when equal, or "
                         "when all of fewer wanted; inconclusive above (near_ones: values of "
                         "connected parts that only come near 1)");
    if (s->cert_components.state != CS_CERT_NOT_RUN &&
        cs_json_set(json, "near_ones", json_integer(s->near_ones)) != CS_OK) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

static json_t *certificates_json(const cs_spectrum *s)
{
    cs_status status = CS_OK;
    json_t *o = json_object();
    json_t *probe = certificate_json(&s->cert_probe,
                                     "largest Ritz value of the doubly deflated operator from a "
                                     "random start, against the smallest sigma returned with its "
                                     "slack: sqrt(sigma_k^2 (1 + 2e-9) + 64 eps sigma_1^2)");
    cs_json_put(&status, o, "components", components_json(s));
    cs_json_put(&status, o, "moments",
                certificate_json(
                    &s->cert_moments,
                    s->rank >= 0 ? "|sum sigma_j^2 - ||Abar||_F^2|, against its rounding bound"
                                 : "bound on sigma_{k+1} from sum sigma^2 and sum sigma^4, against "
                                   "sigma_k (1 + 1e-9)"));
    if (s->cert_probe.state != CS_CERT_NOT_RUN) {
        cs_json_put(&status, probe, "failure_probability", cs_json_number(s->probe_failure));
    }
    cs_json_put(&status, o, "probe", probe);
    cs_json_put(
        &status, o, "inertia",
        certificate_json(&s->cert_inertia,
                         "singular values above a tau just below sigma_k, counted by L D L^T, "
                         "against k: passed when equal"));
    cs_json_put(
        &status, o, "residual",
        certificate_json(&s->cert_residual, "largest two-sided residual, against the tolerance"));
    if (status != CS_OK) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

/* The multiplicity of sigma = 1 is the number of components where that theorem holds; elsewhere
 * only the values themselves can tell. */
static int64_t multiplicity_of_one(const cs_spectrum *s)
{
    int64_t count = 0;
    for (int64_t j = 0; j < s->k; ++j) {
        count += fabs(s->sigma[j] - 1.0) <= 1e-9;
    }
    return s->perron ? s->components : count;
}

/* AUTO stands for none that had to run. */
static const char *solver_name(const cs_spectrum *s)
{
    return s->solver == CS_SOLVER_AUTO ? "closed form" : cs_solver_name(s->solver);
}

static json_t *result_json(const cs_args *args, const cs_gpu *gpu, const cs_spectrum *s)
{
    cs_status status = CS_OK;
    json_t *o = json_object();
    bool normalised = cs_args_flag(args, "normalised");
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        {"rows", s->rows},
        {"cols", s->cols},
        {"nonzeros", s->nnz},
        {"zero_rows", s->zero_rows},
        {"zero_cols", s->zero_cols},
        {"components", s->components},
        {"multiplicity_of_one", multiplicity_of_one(s)},
        {"lumped_rows", s->lumped_rows},
        {"lumped_cols", s->lumped_cols},
        {"k", s->k},
        {"zeros", s->zeros},
    };
    const struct {
        const char *key;
        double value;
    } reals[] = {
        {"mass", s->mass},
        {"sum_sigma2", s->sum_sigma2},
        {"sum_sigma4", s->sum_sigma4},
        {"sum_sigma4_error", s->sum_sigma4_error},
        {"sum_sigma4_cost", s->sum_sigma4_cost},
        {"sum_sigma4_budget", cs_args_real(args, "moment-budget")},
        {"floor", s->floor},
        {"tolerance", cs_args_real(args, "tol")},
        {"departure", s->departure},
    };
    cs_json_put(&status, o, "matrix", json_string(cs_args_positional(args, 0)));
    cs_json_put(&status, o, "definition",
                json_string(normalised ? "singular values of the matrix as it stands"
                                       : "singular values of A / sqrt(P_C P_G)"));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        cs_json_put(&status, o, counts[i].key, json_integer(counts[i].value));
    }
    cs_json_put(&status, o, "rank", s->rank >= 0 ? json_integer(s->rank) : json_null());
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; ++i) {
        cs_json_put(&status, o, reals[i].key, cs_json_number(reals[i].value));
    }
    cs_json_put(&status, o, "solver", json_string(solver_name(s)));
    cs_json_put(&status, o, "device", json_string(gpu ? gpu->name : "cpu"));
    cs_json_put(&status, o, "seed", json_integer((json_int_t)cs_args_seed(args)));
    cs_json_put(&status, o, "converged", json_boolean(s->converged));
    cs_json_put(&status, o, "interrupted", json_boolean(s->interrupted));
    cs_json_put(&status, o, "certificates", certificates_json(s));
    cs_json_put(&status, o, "sigma", cs_json_numbers(s->k, s->sigma));
    cs_json_put(&status, o, "residual", cs_json_numbers(s->k, s->residual));
    if (status != CS_OK) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static cs_status result_table(const cs_spectrum *s, cs_table *table)
{
    cs_status status = cs_table_init(table, "index,sigma,residual");
    for (int64_t i = 0; i < s->k && status == CS_OK; ++i) {
        status = cs_table_row(table);
        if (status == CS_OK) {
            status = cs_table_int(table, "index", i + 1);
        }
        if (status == CS_OK) {
            status = cs_table_real(table, "sigma", s->sigma[i]);
        }
        if (status == CS_OK) {
            status = cs_table_real(table, "residual", s->residual[i]);
        }
    }
    return status;
}

/* Column-major data go out as they are, under a Fortran-order header. */
static cs_status write_vectors(cs_args *args, const char *file, const cs_dense *a)
{
    char *path = NULL, *header = NULL;
    int64_t size = 0, shape[2] = {a->rows, a->cols};
    cs_outfile out = {0};
    cs_status status = cs_output_claim(args, file);
    if (status == CS_OK) {
        status = cs_output_path(args, file, &path);
    }
    if (status == CS_OK) {
        status = cs_npy_header(CS_F64, true, 2, shape, &header, &size);
    }
    if (status == CS_OK) {
        status = cs_outfile_open(path, &out);
    }
    if (status == CS_OK) {
        bool ok = fwrite(header, 1, (size_t)size, out.stream) == (size_t)size;
        for (int64_t j = 0; j < a->cols && ok; ++j) {
            size_t rows = (size_t)a->rows;
            ok = fwrite(a->data + j * a->ld, sizeof(double), rows, out.stream) == rows;
        }
        status = ok ? cs_outfile_commit(&out)
                    : cs_fail(CS_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    cs_outfile_abort(&out);
    cs_free(header);
    cs_free(path);
    return status;
}

static cs_status write_all_vectors(cs_args *args, const cs_spectrum *s)
{
    char *path = NULL;
    cs_status status = write_vectors(args, "u.npy", &s->u);
    if (status == CS_OK) {
        status = write_vectors(args, "v.npy", &s->v);
    }
    if (status == CS_OK) {
        status = cs_output_claim(args, "sigma.npy");
    }
    if (status == CS_OK) {
        status = cs_output_path(args, "sigma.npy", &path);
    }
    if (status == CS_OK) {
        status = cs_npy_write(path, CS_F64, 1, &s->k, s->sigma);
    }
    cs_free(path);
    return status;
}

static void note_summary(const cs_args *args, const cs_spectrum *s)
{
    cs_output_note(args, "%lld x %lld, %lld nonzeros, %lld components; lumped %lld x %lld; %s",
                   (long long)s->rows, (long long)s->cols, (long long)s->nnz,
                   (long long)s->components, (long long)s->lumped_rows, (long long)s->lumped_cols,
                   solver_name(s));
    if (s->interrupted) {
        return; /* nothing of it is certified but its residuals */
    }
    char sum[48] = "out of the range of doubles";
    if (!isnan(s->sum_sigma2)) {
        (void)snprintf(sum, sizeof sum, "%.12g", s->sum_sigma2);
    }
    cs_output_note(args,
                   "sum sigma^2 %s; certificates: components %s, moments %s, probe %s, inertia %s, "
                   "residual %s",
                   sum, state_name(s->cert_components.state), state_name(s->cert_moments.state),
                   state_name(s->cert_probe.state), state_name(s->cert_inertia.state),
                   state_name(s->cert_residual.state));
    if (s->cert_inertia.why[0] && cs_args_given(args, "certify")) {
        cs_output_note(args, "inertia: %s", s->cert_inertia.why);
    }
    if (cs_args_flag(args, "normalised") && s->k > 0 && s->sigma[0] > 1.0 + 1e-9) {
        cs_output_note(args,
                       "sigma_1 = %.6g is above 1, so this is no normalised matrix of joint "
                       "probabilities; without --normalised it is normalised first",
                       s->sigma[0]);
    }
    if (!isnan(s->departure)) {
        cs_output_note(args, "vectors: ||X^T X - I|| <= %.2g", s->departure);
    }
    if (s->zeros > 0) {
        cs_output_note(args, "%lld wanted singular values are zero (below %.3g)",
                       (long long)s->zeros, s->floor);
    }
}

cs_status cs_svd_print(cs_args *args, const cs_gpu *gpu, const cs_spectrum *s)
{
    cs_table table = {0};
    json_t *json = result_json(args, gpu, s);
    const char *position = NULL;
    cs_status status =
        json ? cs_stored_position(cs_args_positional(args, 0), &position) : CS_ERR_MEMORY;
    if (position) {
        cs_json_put(&status, json, "target_position", json_string(position));
    }
    if (status == CS_OK) {
        status = cs_sum4_report(args, s, json);
    }
    if (status == CS_OK) {
        status = result_table(s, &table);
    }
    if (status == CS_OK && cs_args_flag(args, "vectors")) {
        status = write_all_vectors(args, s);
    }
    if (status == CS_OK) {
        note_summary(args, s);
        status = cs_output_result(args, "svd", json, &table);
    }
    json_decref(json);
    cs_table_free(&table);
    return status;
}

/* Of the whole matrix: what is left after the reductions takes less. */
static cs_status estimate_gpu(cs_gpu *gpu, const cs_csr *a, int64_t k, json_t *json)
{
    cs_gpu_bytes b = {0};
    cs_status status = cs_gpu_estimate(gpu, a, k, &b);
    if (status == CS_OK) {
        cs_json_put(&status, json, "device", json_string(gpu->name));
        cs_json_put(&status, json, "gpu_free_bytes", cs_json_number((double)b.free_bytes));
        cs_json_put(&status, json, "gpu_dense_bytes", cs_json_number((double)b.dense));
        cs_json_put(&status, json, "gpu_gram_bytes", cs_json_number((double)b.gram));
        cs_json_put(&status, json, "gpu_block_bytes", cs_json_number((double)b.sparse));
    }
    return status;
}

cs_status cs_svd_estimate(cs_args *args, cs_gpu *gpu, const cs_csr *a, int64_t k)
{
    double side = (double)(a->rows < a->cols ? a->rows : a->cols);
    double triplets = k > 0 ? (double)k : side;
    double vectors = triplets * ((double)a->rows + (double)a->cols) * 8.0, cost = 0;
    cs_status status = cs_args_note_moment4(args, a, &cost);
    if (status != CS_OK) {
        return status;
    }
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "rows", (json_int_t)a->rows, "cols",
                  (json_int_t)a->cols, "nonzeros", (json_int_t)cs_csr_nnz(a), "vector_bytes",
                  cs_json_number(vectors), "dense_bytes",
                  cs_json_number((double)a->rows * (double)a->cols * 8.0), "sum_sigma4_cost",
                  cs_json_number(cost), "inertia_bytes", cs_json_number(side * side * 8.0));
    status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the estimate");
    if (status == CS_OK && gpu) {
        status = estimate_gpu(gpu, a, k, json);
    }
    status = status ? status : cs_output_result(args, "svd", json, NULL);
    json_decref(json);
    return status;
}
