/* cospec kernel: the position kernel of an objective, its collision probability and eigenvalues. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "linalg/dense.h"
#include "plan/kernel.h"
#include "plan/spec.h"

/* Eigenvalues, descending, closer than rounding are one with a multiplicity. */
static void add_eigenvalues(cs_item *root, int64_t s, const double *value)
{
    cs_item *pairs = cs_item_array(root, "eigenvalues"), *rows = cs_item_array(root, "~rows");
    double slack = 8 * (double)s * DBL_EPSILON * value[s - 1];
    for (int64_t j = s - 1, last; j >= 0; j = last) {
        double sum = 0;
        for (last = j; last >= 0 && value[j] - value[last] <= slack; --last) {
            sum += value[last];
        }
        double mean = sum / (double)(j - last);
        double shown = fabs(mean) <= slack ? 0 : mean;
        cs_item *pair = cs_item_array(pairs, NULL), *row = cs_item_object(rows, NULL);
        cs_item_real(pair, NULL, shown);
        cs_item_int(pair, NULL, j - last);
        cs_item_real(row, "eigenvalue", shown);
        cs_item_int(row, "multiplicity", j - last);
    }
}

static cs_status add_spectrum(cs_item *root, int64_t s, const double *r)
{
    cs_dense copy = {0};
    double *value = cs_alloc(s, sizeof *value);
    cs_status status = value ? cs_dense_init(&copy, s, s) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < s && status == CS_OK; ++k) {
        memcpy(copy.data + k * copy.ld, r + k * s, (size_t)s * sizeof *r);
    }
    if (status == CS_OK) status = cs_dense_eigh(&copy, value, true);
    if (status == CS_OK) {
        add_eigenvalues(root, s, value);
    }
    cs_dense_free(&copy);
    cs_free(value);
    return status;
}

/* Row sums: the weight of each target position, the eigenvalues of the kernel of a model that is
 * told the position. */
static cs_status add_targets(cs_item *root, int64_t s, const double *r)
{
    double *weight = cs_calloc(s, sizeof *weight);
    if (!weight) return CS_ERR_MEMORY;
    for (int64_t k = 0; k < s * s; ++k) {
        weight[k / s] += r[k];
    }
    cs_item_reals(root, "target_weights", s, weight);
    cs_free(weight);
    return CS_OK;
}

/* The kernel by the closed distribution of events beside the one by all plans. */
static cs_status add_check(cs_item *root, const cs_objective *objective, int64_t s, const double *r)
{
    double *other = cs_alloc(s * s, sizeof *other), worst = 0;
    cs_status status = other ? cs_kernel_of_plans(objective, s, other) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < s * s && status == CS_OK; ++i) {
        worst = fmax(worst, fabs(r[i] - other[i]));
    }
    if (status == CS_OK) {
        cs_item *check = cs_item_object(root, "enumerated");
        cs_item_real(check, "kappa", cs_kernel_collision(other, s));
        cs_item_real(check, "largest_difference", worst);
    }
    cs_free(other);
    return status;
}

static cs_status run(cs_args *args)
{
    static const cs_view view = {"~rows[]", "objective=/objective length=/length kappa=/kappa "
                                            "eigenvalue multiplicity"};
    int64_t s = cs_args_int(args, "length");
    const char *spec = cs_args_positional(args, 0);
    cs_item *root = cs_output_root(args);
    cs_objective objective;
    cs_plan_file parts = {0};
    cs_pairs pairs = {0};
    double *r = NULL;
    cs_status status = cs_objective_parse_held(spec, &parts, &objective);
    if (status == CS_OK) status = cs_pairs_of(&objective, s, &pairs);
    if (status != CS_OK) goto done;
    status = (r = cs_alloc(s * s, sizeof *r)) ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK) goto done;
    if ((status = cs_kernel_of_pairs(&pairs, r)) != CS_OK) goto done;
    cs_item_text(root, "objective", spec);
    cs_item_int(root, "length", s);
    cs_item_real(root, "kappa", cs_kernel_collision(r, s));
    status = add_spectrum(root, s, r);
    if (status == CS_OK) status = add_targets(root, s, r);
    if (status == CS_OK && cs_args_flag(args, "enumerate")) {
        status = add_check(root, &objective, s, r);
    }
    if (status == CS_OK) status = cs_output_record(args, "kernel", &view);
done:
    cs_free(r);
    cs_pairs_free(&pairs);
    cs_plan_file_free(&parts);
    return status;
}

static const cs_opt kernel_options[] = {
    CS_INT("length", "S", "16", 1, 10000, "Length s of a sequence."),
    CS_FLAG("enumerate", "Also from all plans one by one (at most 2^18), and the largest "
                         "difference between the two kernels."),
    {0},
};

const cs_command cs_cmd_kernel = {
    .name = "kernel",
    .summary = "The position kernel of an objective: what it keeps of a corpus of unique contexts",
    .description =
        "R = sum_S w(S,.) w(S,.)^T / W(S) over the objective's conditioning sets S, with w(S, k) "
        "the weight of the event that position k is predicted from S, and W(S) their sum. Where "
        "every context of a corpus is seen once, Abar^T Abar is D^{-1/2} (sum_kl R_kl K_kl) "
        "D^{-1/2} with K_kl(u, v) = P(x_k = u, x_l = v); with the position given it is the "
        "identity, whatever the objective. kappa = tr R is the probability that two targets of "
        "one context collide: 1 for ar, 1/n for masked with n masked tokens.",
    .positional = "OBJECTIVE",
    .groups = (const cs_opt *const[]){kernel_options, NULL},
    .examples = "# one eigenvalue 1/s and s - 1 equal ones for permutation-invariant plans\n"
                "cospec kernel 'masked(mask-ratio=0.5)' --length 16 --enumerate\n"
                "# the rest of the weight spread over all distances\n"
                "cospec kernel offset-ar:offset-weights=mix:0.5 --length 32\n",
    .run = run,
    .files = "kernel.json kernel.csv",
    .shown = "kappa eigenvalue multiplicity",
    .most = 12,
};
