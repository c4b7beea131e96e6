/* The options of cospec probe. */
#include "cli/probe_options.h"

#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/number.h"

enum { USUAL_SEEDS = 5 };

const cs_opt cs_group_probe[] = {
    {.name = "labels",
     .kind = CS_OPT_TEXT,
     .argument = "FILE",
     .help = "Labels of TRAIN, one a row: FILE.npy (whole numbers; with --regression any), or "
             "FILE.txt, FILE.tsv with a label a line."},
    {.name = "test-labels", .kind = CS_OPT_TEXT, .argument = "FILE", .help = "Labels of TEST."},
    {.name = "regression",
     .kind = CS_OPT_FLAG,
     .help = "Labels are numbers, predicted by ridge regression."},
    {.name = "metric",
     .kind = CS_OPT_TEXT,
     .argument = "LIST",
     .fallback = "auto",
     .help = "Of accuracy, f1 (two classes), f1-macro, matthews; with --regression of pearson, "
             "spearman, mse. auto: all."},
    {.name = "few",
     .kind = CS_OPT_TEXT,
     .argument = "all|P%|N",
     .fallback = "all",
     .help =
         "Training examples used: all, a share of each class, or N of each class (--regression: "
         "in all), drawn by the seed."},
    {.name = "seeds",
     .kind = CS_OPT_INT,
     .argument = "S",
     .low = 1,
     .high = 10000,
     .help =
         "Repetitions with the seeds N, N + 1, ... of --seed N, which draw the few examples and "
         "the folds. Default: 5, or 1 with --few all, where they move the folds alone."},
    {.name = "folds",
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "5",
     .low = 2,
     .high = 1000000,
     .help = "Stratified folds of the training examples that choose the penalty."},
    {.name = "validation-share",
     .kind = CS_OPT_REAL,
     .argument = "P",
     .low = 0,
     .high = 1,
     .help = "Choose it by this share of the training examples, held out once, instead of folds."},
    {.name = "penalties",
     .kind = CS_OPT_TEXT,
     .argument = "LIST",
     .help = "Penalties to choose from, falling; one alone is taken as it is. Default: "
             "10,1,0.1,0.01,1e-3,1e-4,1e-5."},
    {.name = "balanced",
     .kind = CS_OPT_FLAG,
     .help = "Weigh examples by n / (classes x examples of their class)."},
    {.name = "tolerance",
     .kind = CS_OPT_REAL,
     .argument = "X",
     .fallback = "1e-6",
     .low = 0,
     .high = 1,
     .help = "Largest norm of the gradient at the end of a fit."},
    {.name = "max-iterations",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "2000",
     .low = 1,
     .high = 1e9,
     .help = "Most iterations of a fit."},
    {0},
};

const cs_opt cs_group_probe_texts[] = {
    {.name = "pair",
     .kind = CS_OPT_FLAG,
     .help = "Examples are pairs of texts: features (u, v, |u - v|, u * v)."},
    {.name = "layer",
     .kind = CS_OPT_TEXT,
     .argument = "LIST|all|last",
     .fallback = "last",
     .help = "Which layers, as 0,3,6: 0 is the embeddings, N the output of layer N. Each gets a "
             "probe."},
    {.name = "pooling",
     .kind = CS_OPT_CHOICE,
     .argument = "mean|first|last",
     .fallback = "mean",
     .help = "The row of a text: the mean of all rows that the model reads, its first row, its "
             "last."},
    {.name = "label-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "1",
     .low = 1,
     .high = 1e6,
     .help = "TSV: column of the label."},
    {.name = "text-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "2",
     .low = 1,
     .high = 1e6,
     .help = "TSV: column of the text."},
    {.name = "pair-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "3",
     .low = 1,
     .high = 1e6,
     .help = "TSV: column of the second text of a pair; implies --pair."},
    {.name = "limit",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1e15,
     .help = "The first N lines of either file only, whatever their classes: of what is sorted by "
             "class, --few draws from every one."},
    {.name = "special",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|yes|no",
     .fallback = "auto",
     .help = "Put the tokenizer's special tokens around every text. auto: for masked models that "
             "cospec train did not make."},
    {.name = "max-length",
     .kind = CS_OPT_INT,
     .argument = "L",
     .low = 1,
     .high = 1 << 20,
     .help = "Most tokens of a text that are read, special ones included. Default: the positions "
             "of the model, at most 512."},
    {.name = "batch",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "16",
     .low = 1,
     .high = 65536,
     .help = "Most texts a forward pass."},
    {0},
};

static const char *next_part(const char *at, char *part, size_t room)
{
    size_t length = strcspn(at, ",");
    size_t kept = length < room - 1 ? length : room - 1;
    memcpy(part, at, kept);
    part[kept] = '\0';
    return at[length] == ',' ? at + length + 1 : NULL;
}

static cs_status take_penalties(const cs_args *args, cs_linear_probe_options *fit, double **held)
{
    const char *text = cs_args_text(args, "penalties");
    double *penalty = NULL;
    int64_t count = 1;
    if (!text) {
        return CS_OK;
    }
    for (const char *c = text; *c; ++c) {
        count += *c == ',';
    }
    penalty = cs_alloc(count, sizeof *penalty);
    *held = penalty;
    cs_status status = penalty ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        char part[CS_REAL_TEXT];
        text = next_part(text, part, sizeof part);
        status = cs_parse_real(part, "--penalties", 0, 1e300, &penalty[i]);
        if (status == CS_OK && (!(penalty[i] > 0.0) || (i > 0 && penalty[i] >= penalty[i - 1]))) {
            status = cs_fail(CS_ERR_USAGE, "--penalties: %s: they must be positive and fall", part);
        }
    }
    fit->penalty = penalty;
    fit->penalties = count;
    return status;
}

cs_status cs_args_probe(cs_args *args, cs_probe_study *s, cs_linear_probe_options *fit,
                        double **penalty)
{
    s->few = cs_args_text(args, "few");
    s->judge.seed = cs_args_seed(args);
    s->judge.seeds = cs_args_given(args, "seeds") ? cs_args_int(args, "seeds")
                     : strcmp(s->few, "all") == 0 ? 1
                                                  : USUAL_SEEDS;
    *fit = (cs_linear_probe_options){.folds = cs_args_int(args, "folds"),
                                     .share = cs_args_given(args, "validation-share")
                                                  ? cs_args_real(args, "validation-share")
                                                  : 0.0,
                                     .balanced = cs_args_flag(args, "balanced"),
                                     .tolerance = cs_args_real(args, "tolerance"),
                                     .max_iterations = cs_args_int(args, "max-iterations"),
                                     .threads = cs_args_threads(args),
                                     .progress = cs_output_progress(args)};
    if (cs_args_given(args, "folds") && cs_args_given(args, "validation-share")) {
        return cs_fail(CS_ERR_USAGE, "--folds and --validation-share exclude each other");
    }
    if (cs_args_given(args, "validation-share") && !(fit->share > 0.0 && fit->share < 1.0)) {
        return cs_fail(CS_ERR_USAGE, "--validation-share: %g not in (0, 1)", fit->share);
    }
    if (fit->balanced && cs_args_flag(args, "regression")) {
        return cs_fail(CS_ERR_USAGE, "--balanced weighs classes, --regression has none");
    }
    if (!(fit->tolerance > 0.0)) {
        return cs_fail(CS_ERR_USAGE, "--tolerance: 0 not above 0");
    }
    return take_penalties(args, fit, penalty);
}
