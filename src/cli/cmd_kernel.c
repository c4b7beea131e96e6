/* cospec kernel: the position kernel of an objective, its collision probability and eigenvalues. */
#include "analysis/measures/kernel_spectrum.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"

/* The eigenvalues for the record and for its table. */
static void add_eigenvalues(cs_item *root, const cs_kernel_spectrum *spectrum)
{
    cs_item *pairs = cs_item_array(root, "eigenvalues"), *rows = cs_item_array(root, "~rows");
    for (int64_t j = 0; j < spectrum->values; ++j) {
        cs_item *pair = cs_item_array(pairs, NULL), *row = cs_item_object(rows, NULL);
        cs_item_real(pair, NULL, spectrum->value[j]);
        cs_item_int(pair, NULL, spectrum->multiplicity[j]);
        cs_item_real(row, "eigenvalue", spectrum->value[j]);
        cs_item_int(row, "multiplicity", spectrum->multiplicity[j]);
    }
}

static cs_status run(cs_args *args)
{
    static const cs_view view = {"~rows[]", "objective=/objective length=/length kappa=/kappa "
                                            "eigenvalue multiplicity"};
    int64_t s = cs_args_int(args, "length");
    const char *spec = cs_args_positional(args, 0);
    cs_item *root = cs_output_root(args);
    cs_objective objective;
    CS_AUTO(cs_plan_file) parts = {0};
    CS_AUTO(cs_kernel_spectrum) spectrum = {0};
    double difference = 0;
    cs_status status = cs_args_objective_text(args, spec, &parts, &objective);
    if (status == CS_OK) status = cs_kernel_spectrum_of(&objective, s, &spectrum);
    if (status != CS_OK) return status;
    cs_args_note_share_of_length(args, &objective, s);
    cs_item_take(root, "objective", cs_objective_describe(&objective));
    cs_item_int(root, "length", s);
    cs_item_real(root, "kappa", spectrum.kappa);
    add_eigenvalues(root, &spectrum);
    cs_item_reals(root, "target_weights", s, spectrum.target_weight);
    if (cs_args_flag(args, "enumerate")) {
        status = cs_kernel_difference(&objective, s, &difference);
        cs_item_real(root, "enumeration_difference", difference);
    }
    return status == CS_OK ? cs_output_record(args, "kernel", &view) : status;
}

static const cs_opt kernel_options[] = {
    CS_INT("length", "S", "16", 1, 4000, "Length s of a sequence."),
    CS_FLAG("enumerate",
            "Also sum over all plans one by one (at most 2^18), and print the largest difference."),
    {0},
};

const cs_command cs_cmd_kernel = {
    .name = "kernel",
    .help = &cs_help_kernel,
    .positional = "OBJECTIVE",
    .groups = (const cs_opt *const[]){kernel_options, NULL},
    .run = run,
    .without = "dry-run seed",
    .files = "kernel.json kernel.csv",
    .shown = "kappa eigenvalue multiplicity",
    .most = 12,
};
