/* cospec reconstruct: hidden patches of pictures, predicted by a model and by what knows no network. */
#include "analysis/vision/reconstruct.h"
#include "base/auto.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "image/image_sources.h"

static cs_status read_decode(const cs_args *args, int64_t *groups, int64_t *draws)
{
    const char *text = cs_args_text(args, "decode");
    *groups = strcmp(text, "token") == 0 ? 0 : 1;
    *draws = 0;
    if (strncmp(text, "confidence:", 11) == 0) {
        return cs_parse_int(text + 11, "--decode confidence:K", 1, 1 << 20, draws);
    }
    if (strncmp(text, "groups:", 7) == 0) {
        return cs_parse_int(text + 7, "--decode groups:K", 1, 1 << 20, groups);
    }
    return *groups == 0 || strcmp(text, "once") == 0
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "--decode must be once, groups:K, token or confidence:K, not '%s'", text);
}

/* train NULL: the baselines are fitted on the training side of `images`. */
static cs_status reconstruct(cs_args *args, cs_model_text *t, const cs_images *train,
                             const cs_images *images)
{
    static const cs_view means = {"metrics[]", "by metric=name definition value se n"},
                         scores = {"scores[]", "picture label by l2 psnr ssim perceptual"},
                         blocks = {"metrics[].~left_out[]",
                                   "by=^by metric=^name block=# value=. partition=^~partition"};
    cs_reconstruct_options o = {0};
    cs_patch_reader reader = {0};
    CS_AUTO(cs_reconstruction) made = {0};
    CS_AUTO(cs_model_text) classifier = {0};
    const char *sheet = NULL, *of = cs_args_text(args, "perceptual");
    CS_ARGS_FIELDS(args, &o, mask_ratio, limit, shown, batch, seed, threads);
    cs_status status = read_decode(args, &o.groups, &o.draws);
    o.blocks = cs_args_is(args, "masks", "blocks");
    if (status == CS_OK) status = cs_patch_reader_open(&t->model, &t->kind, o.batch, &reader);
    if (status == CS_OK && of) status = cs_args_model_open(args, of, &classifier);
    o.classifier = of ? &classifier : NULL;
    o.objective = t->kind.spec;
    if (status == CS_OK && cs_args_given(args, "output"))
        status = cs_output_path(args, "reconstruction.png", &sheet);
    if (status == CS_OK) status = cs_reconstruct(&reader, train, images, &o, sheet, &made);
    if (status == CS_OK) {
        cs_item *root = cs_output_root(args);
        cs_item_text(root, "model", t->dir);
        cs_item_text(root, "baselines", train ? cs_args_positional(args, 1) : NULL);
        cs_item_text(root, "corpus", cs_args_positional(args, train ? 2 : 1));
        cs_item_text(root, "target", cs_target_name(t->model.config.head.target));
        cs_item_real(root, "mask_ratio", o.mask_ratio);
        cs_item_text(root, "masks", cs_args_text(args, "masks"));
        cs_item_text(root, "decode", cs_args_text(args, "decode"));
        cs_item_text(root, "perceptual", of);
        cs_reconstruction_record(&made, images, root);
        status = cs_output_csv(args, "scores.csv", &scores);
        if (status == CS_OK) status = cs_output_csv(args, "reconstruct-blocks.csv", &blocks);
    }
    if (status == CS_OK) status = cs_output_record(args, "reconstruct", &means);
    cs_patch_reader_close(&reader);
    return status;
}

/* The images of a positional argument. */
static cs_status load(cs_args *args, const cs_model *model, int at, cs_images *out)
{
    const cs_image_fit fit = cs_model_image_fit(model);
    const char *source = cs_args_positional(args, at);
    bool are = false;
    cs_status status = cs_images_are(source, &are);
    if (status != CS_OK) return status;
    return are ? cs_args_load_images(args, source, &fit, 1, out)
               : cs_args_no_pictures("reconstruct fills", source);
}

/* The side of a source: all of its images unless it is a corpus with a name. */
static cs_status load_side(cs_args *args, const cs_model *model, int side, cs_images *out)
{
    CS_AUTO(cs_images) all = {0};
    const bool named = cs_images_named(cs_args_positional(args, 1 + side)) != NULL;
    cs_status status = load(args, model, 1 + side, &all);
    if (status == CS_OK) status = cs_images_side(&all, named ? side : -1, 0, out);
    if (status == CS_OK) memset(out->held_out, side, (size_t)out->count);
    return status;
}

static cs_status run_reconstruct(cs_args *args)
{
    CS_AUTO(cs_model_text) t = {0};
    CS_AUTO(cs_images) images = {0}, train = {0};
    const bool two = cs_args_positionals(args) > 2;
    cs_status status =
        two ? cs_args_refuse(args, "test-share", "does not apply if TEST is given") : CS_OK;
    if (status == CS_OK) status = cs_args_model_open(args, cs_args_positional(args, 0), &t);
    if (status == CS_OK && two) status = load_side(args, &t.model, 0, &train);
    if (status == CS_OK)
        status = two ? load_side(args, &t.model, 1, &images) : load(args, &t.model, 1, &images);
    return status == CS_OK ? reconstruct(args, &t, two ? &train : NULL, &images) : status;
}

static const cs_opt reconstruct_options[] = {
    CS_EXTRA,
    CS_REAL("mask-ratio", "R", "0.75", 0, 1,
            "Share of each image's patches that are hidden, rounded: at least one, never all."),
    CS_CHOICE("masks", "uniform|blocks", "uniform",
              "Hide patches uniformly, or in blocks as block-masked does."),
    CS_TEXT("decode", "once|groups:K|token|confidence:K", "once",
            "Predict hidden patches at once, in K groups of a random order, one by one, or in K "
            "steps, the most confident codes first (MaskGIT). Later patches see those predicted "
            "before."),
    CS_TEXT("perceptual", "MODEL", NULL,
            "A classifier of such images (cospec finetune --save-model, in DIR/runs): adds the "
            "distance in its features, which is not LPIPS."),
    CS_INT("limit", "N", NULL, 1, 1e9, "Use at most N of the held-out images, drawn by --seed."),
    CS_INT("shown", "N", "12", 1, 1000, "Number of images in reconstruction.png."),
    CS_INT("batch", "B", "64", 1, 65536, "Most images per forward pass."),
    CS_REAL("test-share", "P", "0.2", 0, 1,
            "Share of held-out images, chosen by a hash of each image."),
    CS_OPT_IMAGE_SIZES,
    {0},
};

const cs_command cs_cmd_reconstruct = {
    .name = "reconstruct",
    .help = &cs_help_reconstruct,
    .positional = "MODEL CORPUS [TEST]",
    .groups = (const cs_opt *const[]){reconstruct_options, NULL},
    .run = run_reconstruct,
    .files =
        "reconstruct.json reconstruct.csv reconstruct-blocks.csv scores.csv reconstruction.png",
    .without = "resume dry-run",
    .gpu = true,
};
