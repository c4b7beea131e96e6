/* cospec tokenize train of pictures: codes of patches, by k-means or with an encoder and a decoder. */
#include "cli/tokenize_pictures.h"

#include <math.h>
#include <string.h>

#include "cli/groups.h"
#include "cli/output.h"
#include "train/vq.h"

const cs_opt cs_group_tokenize_pictures[] = {
    CS_HEADING("Codes of images"),
    CS_INT("patch", "P", "4", 1, 65535, "Side in pixels of the patches that get codes."),
    CS_INT("codes", "N", "256", 1, 1 << 20, "Number of codes."),
    CS_INT("width", "D", "64", 1, 1 << 16, "vq: width of encoder and decoder."),
    CS_INT("layers", "L", "2", 0, 64, "vq: layers of encoder and decoder, each."),
    CS_INT("heads", "H", "4", 1, 64, "vq: heads of each layer."),
    CS_INT("steps", "N", "1000", 1, 1e9, "vq: number of updates."),
    CS_INT("batch", "B", "16", 1, 1 << 16, "vq: images per update."),
    CS_REAL("lr", "RATE", "2e-3", 0, 1e30, "vq: peak learning rate."),
    {0},
};

bool cs_tokenize_of_pictures(const cs_args *args)
{
    return cs_args_is(args, "model", "kmeans") || cs_args_is(args, "model", "vq");
}

/* A row of the table: what codes leave of the pictures on both sides. */
static cs_status put_row(cs_item *rows, const char *name, const cs_codes *codes,
                         const cs_images *images, int threads)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_codes_score score[2] = {{0}};
    cs_status status = cs_codes_compare(codes, images, false, threads, &score[0]);
    if (status == CS_OK) status = cs_codes_compare(codes, images, true, threads, &score[1]);
    cs_item_text(row, "codes", name);
    cs_item_real(row, "train_error", score[0].error);
    cs_item_real(row, "test_error", score[1].error);
    cs_item_real(row, "test_psnr", -10 * log10(score[1].error));
    cs_item_real(row, "test_used", (double)score[1].used / (double)codes->book.codes);
    return status;
}

cs_status cs_tokenize_train_pictures(cs_args *args)
{
    static const cs_view view = {"results[]", "codes train_error test_error test_psnr test_used"};
    const bool vq = cs_args_is(args, "model", "vq");
    const char *path = NULL, *source = cs_args_text(args, "corpus");
    cs_vq_options o = {.progress = cs_output_progress(args)};
    cs_images images = {0};
    cs_codes *plain = NULL, *made = NULL;
    cs_vq_result trained = {0};
    CS_ARGS_FIELDS(args, &o, patch, codes, width, layers, heads, steps, batch, seed, threads);
    o.learning_rate = cs_args_real(args, "lr");
    cs_status status =
        cs_args_refuse(args, "vocab min-frequency special add-prefix-space split", "needs texts");
    if (status == CS_OK && !vq)
        status = cs_args_refuse(args, "width layers heads steps batch lr", "needs --model vq");
    if (status == CS_OK && !source)
        status = cs_fail(CS_ERR_USAGE, "--model %s needs --corpus with pictures",
                         cs_args_text(args, "model"));
    if (status == CS_OK && !cs_images_are(source))
        status = cs_args_no_pictures("--model kmeans and vq read", source);
    if (status == CS_OK) status = cs_args_load_images(args, source, &images);
    if (status == CS_OK)
        status = cs_codes_fit(&images, o.patch, o.codes, o.seed, o.threads, &plain);
    if (status == CS_OK && vq) status = cs_vq_train(&images, &o, &made, &trained);
    if (status == CS_OK) status = cs_output_path(args, "codes.safetensors", &path);
    if (status == CS_OK) status = cs_codes_write(vq ? made : plain, path);
    if (status == CS_OK) {
        cs_item *root = cs_output_root(args), *rows = NULL;
        cs_item_text(root, "tokenizer", path);
        cs_item_text(root, "model", cs_args_text(args, "model"));
        cs_item_int(root, "size", o.codes);
        cs_item_int(root, "patch", o.patch);
        cs_item_int(root, "revived", trained.revived);
        rows = cs_item_array(root, "results");
        status = put_row(rows, "kmeans", plain, &images, o.threads);
        if (status == CS_OK && vq) status = put_row(rows, "vq", made, &images, o.threads);
    }
    if (status == CS_OK) status = cs_output_record(args, "train", &view);
    cs_codes_free(&plain);
    cs_codes_free(&made);
    cs_images_free(&images);
    return status;
}
