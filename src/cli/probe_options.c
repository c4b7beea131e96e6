/* The options of cospec probe. */
#include "cli/probe_options.h"

#include <string.h>

#include "analysis/vision/picture_features.h"
#include "cli/groups.h"
#include "cli/output.h"

enum { USUAL_SEEDS = 5 };

const cs_opt cs_group_probe[] = {
    CS_HEADING("Probe"),
    CS_TEXT("labels", "FILE", NULL,
            "Labels of TRAIN, one per row: FILE.npy (integers; with --regression any numbers), or "
            "FILE.txt, FILE.tsv with one label per line."),
    CS_TEXT("test-labels", "FILE", NULL, "Labels of TEST."),
    CS_TEXT("groups", "FILE.npy", NULL,
            "Group (document) of each row of TRAIN, as in cospec rank: a group is held out as a "
            "whole, and folds are not stratified."),
    CS_TEXT("test-groups", "FILE.npy", NULL,
            "Group of each row of TEST: blocks of the jackknife hold whole groups."),
    CS_FLAG("regression", "Labels are numbers, predicted by ridge regression."),
    CS_TEXT("metric", "LIST", "auto",
            "Metrics: accuracy, f1 (two classes), f1-macro, matthews; with --regression pearson, "
            "spearman, mse. auto: all."),
    CS_TEXT("few", "all|P%|N", "all",
            "Training examples to use: all, a share of each class, or N of each class (with "
            "--regression: in total), drawn by the seed."),
    CS_INT("seeds", "S", NULL, 1, 10000,
           "Number of repetitions with consecutive seeds, which draw the few examples and the "
           "folds. Default: 5, or 1 with --few all."),
    CS_INT("folds", "K", "5", 2, 1000000,
           "Number of stratified folds of the training examples that choose the penalty."),
    CS_REAL("validation-share", "P", NULL, CS_ABOVE_0, CS_BELOW_1,
            "Choose the penalty on this share of the training examples, held out once, instead of "
            "folds."),
    CS_TEXT("penalties", "LIST", NULL,
            "Penalties to choose from, in decreasing order; a single one is used as given. "
            "Default: 10,1,0.1,0.01,1e-3,1e-4,1e-5."),
    CS_FLAG("balanced", "Weight examples by n / (classes x examples of their class)."),
    CS_REAL("tolerance", "X", "1e-6", CS_ABOVE_0, 1,
            "Largest norm of the gradient at the end of a fit."),
    CS_INT("max-iterations", "N", "2000", 1, 1e9, "Most iterations of a fit."),
    {0},
};

const cs_opt cs_group_probe_texts[] = {
    CS_HEADING("Features from a model"),
    CS_TEXT("layer", "LIST|all|last", "last",
            "Layers to probe, as 0,3,6: 0 is the embeddings, N the output of layer N. Each gets a "
            "probe."),
    CS_CHOICE("pooling", CS_PICTURE_POOLINGS, "mean",
              "Features of a text: mean, first or last row. Images also: all patches, their means "
              "over 4 x 4 cells, or auto (the best on training examples)."),
    CS_INT("limit", "N", NULL, 1, 1e15,
           "Use only the first N texts of each side, whatever their classes. For files sorted by "
           "class use --few."),
    CS_SPECIAL,
    CS_INT("max-length", "L", NULL, 1, 1 << 20,
           "Most tokens of a text, special tokens included. Default: the positions of the model, "
           "at most 512."),
    CS_INT("batch", "B", "16", 1, 65536, "Most texts per forward pass."),
    CS_EXTRA,
    CS_CHOICE("head", "class|segmentation|detection", "class",
              "Images: predict their class, the class of every pixel (mIoU) or boxes (AP50). The "
              "last two predict patch by patch."),
    CS_INT("places", "N", "32768", 2, 1e9,
           "segmentation, detection: most training pixels or patches, drawn by the seed from the "
           "images of --few."),
    CS_CHOICE("baselines", "yes|no", "yes",
              "Images: also probe the untrained network and the pixels. With --tasks: no."),
    CS_FLAG("tokens",
            "Bag-of-words baseline: the features are the share of each token in the text, not the "
            "model's states."),
    {0},
};

cs_status cs_args_probe(cs_args *args, cs_probe_study *s, double **penalty)
{
    cs_linear_probe_options *fit = &s->fit;
    CS_ARGS_FIELDS(args, s, few);
    CS_ARGS_FIELDS(args, &s->scoring, seed);
    s->scoring.seeds = cs_args_int_or(args, "seeds", strcmp(s->few, "all") == 0 ? 1 : USUAL_SEEDS);
    *fit = (cs_linear_probe_options){.share = cs_args_real_or(args, "validation-share", 0.0),
                                     .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, fit, folds, balanced, tolerance, max_iterations, threads);
    if (cs_args_given(args, "folds") && cs_args_given(args, "validation-share")) {
        return cs_fail(CS_ERR_USAGE, "--folds and --validation-share exclude each other");
    }
    if (fit->balanced && cs_args_flag(args, "regression")) {
        return cs_fail(CS_ERR_USAGE, "--balanced weights classes, but --regression has none");
    }
    const char *list = cs_args_text(args, "penalties");
    cs_status status =
        list ? cs_parse_real_list(list, "--penalties", 0, 1e300, &fit->penalties, penalty) : CS_OK;
    for (int64_t i = 0; i < fit->penalties && status == CS_OK; ++i) {
        const double x = (*penalty)[i];
        if (!(x > 0) || (i > 0 && x >= (*penalty)[i - 1]))
            status = cs_fail(CS_ERR_USAGE,
                             "--penalties: %g: penalties must be positive and descending", x);
    }
    fit->penalty = *penalty;
    return status;
}
