/* Readers of files that hold arrays or JSON: everything that was read is touched to its last byte,
 * so that a size beyond its memory shows under the sanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/row_blocks.h"
#include "analysis/study/claims.h"
#include "analysis/study/figure.h"
#include "analysis/study/report.h"
#include "analysis/study/study.h"
#include "base/auto.h"
#include "base/mem.h"
#include "cooc/store.h"
#include "image/codes.h"
#include "image/patches.h"
#include "image/processor.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npz.h"
#include "io/rows.h"
#include "io/safetensors.h"
#include "linalg/gram.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_index.h"
#include "linalg/shard_portion_private.h"
#include "model/model.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "readers_private.h"
#include "tensor/backend.h"
#include "text/labelled_text.h"
#include "text/synthetic.h"
#include "train/checkpoint.h"
#include "train/model_kind.h"

static void touch_csr(const cs_csr *a)
{
    if (a->ptr) {
        fuzz_touch(a->ptr, (a->rows + 1) * (int64_t)sizeof *a->ptr);
        fuzz_touch(a->col, a->ptr[a->rows] * (int64_t)sizeof *a->col);
        fuzz_touch(a->val, a->ptr[a->rows] * (int64_t)sizeof *a->val);
    }
}

/* --- arrays --- */

static cs_status read_rows(const char *path)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    CS_AUTO_FREE double *to = NULL;
    cs_status status = cs_rows_open(path, &rows);
    if (status == CS_OK) {
        const int64_t some = rows.rows < 8 ? rows.rows : 8;
        to = cs_alloc(some * rows.cols, sizeof *to);
        status = to ? cs_rows_read_finite(&rows, rows.rows - some, some, to) : CS_ERR_MEMORY;
    }
    return status;
}

cs_status fuzz_npy(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    cs_array a = {0};
    const cs_status status = cs_npy_read(path, 0, &a);
    if (status == CS_OK) {
        fuzz_touch(a.data, a.size * a.item_size);
        for (int64_t i = 0; i < a.size && i < 64; ++i) {
            int64_t whole = 0;
            fuzz_also(cs_array_i64(&a, i, &whole));
        }
    }
    cs_array_free(&a);
    cs_reason_clear();
    if (status == CS_OK) {
        fuzz_also(read_rows(path));
        CS_AUTO(cs_corpus) c = {0};
        fuzz_also(cs_corpus_load(path, NULL, &c));
        CS_AUTO(cs_labelled_text) labels = {0};
        fuzz_also(cs_label_file_read(path, true, NULL, &labels));
        CS_AUTO(cs_dense) vectors = {0};
        const cs_nonempty_rows all = cs_nonempty_rows_all(3);
        fuzz_also(cs_vectors_read(path, &all, &vectors));
    }
    return status == CS_OK ? CS_OK : cs_npy_read(path, 0, &a);
}

/* In pieces a member is what it is as a whole. */
static void compare_pieces(cs_npz_items *items, int64_t count, const cs_array *whole)
{
    const int64_t most = count / 3 + 1;
    const cs_array *piece = NULL;
    for (int64_t at = 0; at < count; at += most) {
        const int64_t some = count - at < most ? count - at : most;
        const cs_status status = cs_npz_items_next(items, some, &piece);
        if (status == CS_OK) fuzz_touch(piece->data, some * piece->item_size);
        if (whole->data && (status != CS_OK ||
                            memcmp(piece->data, (const char *)whole->data + at * whole->item_size,
                                   (size_t)(some * whole->item_size)) != 0)) {
            abort();
        }
        fuzz_also(status);
        if (status != CS_OK) break;
    }
}

cs_status fuzz_npz(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    cs_npz *npz = NULL;
    cs_status status = cs_npz_open(path, (int64_t)1 << 26, &npz);
    for (int64_t i = 0; status == CS_OK && i < cs_npz_count(npz); ++i) {
        char name[256];
        (void)snprintf(name, sizeof name, "%s", cs_npz_member(npz, i));
        if (cs_has_suffix(name, ".npy")) {
            name[strlen(name) - 4] = '\0';
        }
        CS_AUTO(cs_array) a = {0};
        cs_npz_items *items = NULL;
        int64_t count = 0;
        fuzz_also(cs_npz_items_open(npz, name, &items, &count));
        status = cs_npz_read(npz, name, &a);
        if (status == CS_OK) {
            fuzz_touch(a.data, a.size * a.item_size);
        }
        if (items) {
            compare_pieces(items, count, &a);
            if (status != CS_OK) status = cs_npz_read(npz, name, &a); /* for its reason */
        }
        cs_npz_items_close(items);
    }
    cs_npz_close(npz);
    return status;
}

cs_status fuzz_npz_rows(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    return read_rows(path);
}

cs_status fuzz_matrix(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    cs_status status = cs_matrix_read(path, &a);
    if (status == CS_OK) {
        touch_csr(&a);
        cs_csr_free(&a);
        status = cs_matrix_read_filled(path, &rows, &a);
        touch_csr(&a);
    }
    return status;
}

cs_status fuzz_gram(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO(cs_gram) g = {0};
    const cs_status status = cs_gram_read(path, &g);
    if (status == CS_OK) {
        fuzz_touch(g.block, g.groups * g.cols * g.cols * (int64_t)sizeof *g.block);
    }
    return status;
}

static cs_status all_tensors(const cs_safetensors *s)
{
    cs_status status = cs_safetensors_verify(s);
    for (int64_t i = 0; status == CS_OK && i < cs_safetensors_count(s); ++i) {
        const cs_safetensors_entry *e = cs_safetensors_at(s, i);
        CS_AUTO_FREE char *to = cs_alloc(e->bytes, 1);
        status = to ? cs_safetensors_read(s, e, 0, e->items, to) : CS_ERR_MEMORY;
        if (status == CS_OK) {
            fuzz_touch(to, e->bytes);
        }
    }
    return status;
}

cs_status fuzz_safetensors(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    cs_safetensors *s = NULL;
    cs_status status = cs_safetensors_open(path, &s);
    if (status == CS_OK) status = all_tensors(s);
    cs_safetensors_free(s);
    return status;
}

/* --- JSON --- */

cs_status fuzz_index(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    cs_safetensors *s = NULL;
    const char *dir = fuzz_index_folder(bytes, size);
    cs_status status = cs_safetensors_open_model(dir, &s);
    if (status == CS_OK) status = all_tensors(s);
    cs_safetensors_free(s);
    return status;
}

/* Every row is in the portion of one rank, whatever their number. */
static void check_portions(const cs_matrix_index *x)
{
    enum { MOST = 5 };
    for (int ranks = 1; ranks <= MOST; ++ranks) {
        int64_t rows = 0;
        for (int r = 0; r < ranks; ++r) {
            const cs_portion p = cs_portion_of(x, r, ranks);
            rows += p.high - p.low;
            if (p.low < 0 || p.high < p.low || p.high > x->rows || p.to > x->shards) abort();
        }
        if (rows != x->rows) abort();
    }
}

cs_status fuzz_shards(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    CS_AUTO(cs_matrix_index) x = {0}, again = {0};
    const char *dir = fuzz_shards_folder(bytes, size);
    cs_status status = cs_matrix_index_read(dir, &x);
    if (status != CS_OK) return status;
    check_portions(&x);
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO_FREE char *file = cs_path_join(dir, CS_MATRIX_INDEX);
    fuzz_also(file ? cs_matrix_read(file, &a) : CS_ERR_MEMORY); /* its shards are missing */
    status = cs_matrix_index_write(dir, &x);
    if (status == CS_OK) status = cs_matrix_index_read(dir, &again);
    fuzz_touch(again.shard, again.shards * (int64_t)sizeof *again.shard);
    fuzz_touch(again.corpus, again.corpora * (int64_t)sizeof *again.corpus);
    return status;
}

cs_status fuzz_json(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    json_auto_t *json = NULL;
    const cs_status status = cs_json_read(path, &json);
    return status;
}

cs_status fuzz_config(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    json_auto_t *json = NULL;
    cs_model_config config = {0};
    cs_status status = cs_json_parse("config.json", bytes, size, &json);
    if (status == CS_OK) status = cs_model_config_parse("config.json", json, &config);
    if (status == CS_OK) {
        json_decref(json);
        json = cs_model_config_json(&config);
        status = json ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

/* config.json with unchanged weights. */
cs_status fuzz_model(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    static cs_backend *backend;
    CS_AUTO(cs_model) model = {0};
    CS_AUTO(cs_model_kind) kind = {0};
    const char *dir = fuzz_model_folder(bytes, size);
    cs_status status = backend ? CS_OK : cs_backend_cpu(1, &backend);
    if (status == CS_OK) status = cs_model_read(dir, backend, false, &model);
    if (status == CS_OK) status = cs_model_kind_read(dir, &model, &kind);
    return status;
}

/* An image is resized by what is read, and what is written is read again. */
cs_status fuzz_processor(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    enum { HEIGHT = 5, WIDTH = 7, CHANNELS = 3, MOST = 64 };
    static const uint8_t pixel[HEIGHT * WIDTH * CHANNELS] = {1, 2, 3};
    uint8_t to[MOST * MOST * CHANNELS];
    char copy[256];
    CS_AUTO(cs_processor) p = {0}, again = {0};
    cs_status status = cs_processor_read(path, NULL, CHANNELS, &p);
    if (status != CS_OK) return status;
    const cs_image_fit fit = {&p, 8, 8, CHANNELS};
    cs_image_sizes sizes;
    const cs_status fits = cs_image_fit_sizes(&fit, "fuzz", HEIGHT, WIDTH, &sizes);
    fuzz_also(fits);
    if (fits == CS_OK && sizes.crop_height <= MOST && sizes.crop_width <= MOST) {
        fuzz_also(cs_image_fit_pixels(&fit, pixel, HEIGHT, WIDTH, CHANNELS, &sizes, to));
        fuzz_touch(to, sizes.crop_height * sizes.crop_width * CHANNELS);
    }
    (void)snprintf(copy, sizeof copy, "%s/processor.json", fuzz_folder());
    status = cs_processor_write(&p, HEIGHT, WIDTH, CHANNELS, copy);
    return status == CS_OK ? cs_processor_read(copy, NULL, CHANNELS, &again) : status;
}

cs_status fuzz_codes(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    cs_codes *codes = NULL;
    const cs_status status = cs_codes_read(path, 1, &codes);
    if (status == CS_OK) {
        const cs_codebook *book = &codes->book;
        fuzz_touch(book->centre, book->codes * book->width * (int64_t)sizeof *book->centre);
    }
    cs_codes_free(&codes);
    return status;
}

cs_status fuzz_trainer(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    cs_train_state state = {0};
    json_auto_t *run = NULL;
    const cs_status status = cs_train_open(fuzz_trainer_folder(bytes, size), 5, &state, &run);
    return status;
}

cs_status fuzz_manifest(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    json_auto_t *manifest = NULL, *kept = json_array();
    CS_AUTO_FREE char *change = NULL;
    bool whole = true;
    const char *dir = fuzz_result_folder(bytes, size);
    CS_AUTO_FREE char *file = cs_path_join(dir, "manifest.json");
    const cs_status read = cs_json_read(file, &manifest);
    fuzz_also(read);
    if (read == CS_OK) {
        fuzz_also(cs_digest_is_whole(manifest, &whole));
        fuzz_also(cs_digest_changed_input(manifest, &change));
    }
    fuzz_also(cs_digest_keep(kept, dir));
    return cs_digest_check_all(dir);
}

cs_status fuzz_dropped_rows(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO_FREE int32_t *block = NULL;
    int64_t blocks = 3, kept = 0;
    const cs_row_choice choice = {.drop = path};
    const cs_status status = cs_row_blocks(&choice, 8, &block, &blocks, &kept);
    if (block) fuzz_touch(block, 8 * (int64_t)sizeof *block);
    return status;
}

cs_status fuzz_patch_order(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    char name[64];
    CS_AUTO_FREE int32_t *order = NULL;
    cs_status status = cs_patch_order_file(path, 2, 3, sizeof name, name);
    if (status == CS_OK) status = cs_patch_order_named(name, 2, 3, 0, &order);
    if (order) fuzz_touch(order, 6 * (int64_t)sizeof *order);
    return status;
}

cs_status fuzz_plan(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    cs_status status = cs_plan_file_read(path, &file);
    if (status == CS_OK) status = cs_objective_of_file(path, &file, &objective);
    if (status == CS_OK) {
        for (int64_t s = 1; s <= 6; ++s) {
            bool exists = false;
            fuzz_also(cs_objective_exists(&objective, s, &exists));
        }
    }
    return status;
}

cs_status fuzz_study(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO(cs_study) study = {0};
    CS_AUTO(cs_claims) claims = {0};
    cs_status status = cs_study_read(path, fuzz_folder(), NULL, &study);
    if (status == CS_OK) status = cs_claims_read(&study, NULL, &claims);
    if (status == CS_OK) status = cs_claims_decide(&claims);
    return status;
}

cs_status fuzz_template(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO(cs_study) study = {0};
    cs_status status = cs_study_read(fuzz_study_file(), fuzz_folder(), NULL, &study);
    if (status != CS_OK) {
        abort();
    }
    status = cs_report_check(&study, path);
    return status;
}

/* Whether the drawing of another program is complete; its first byte gives the format. */
cs_status fuzz_drawing(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    const char *format = bytes[0] == '<'   ? "svg"
                         : bytes[0] == '%' ? "pdf"
                                           : "png",
               *fault = cs_figure_fault(format, bytes, size);
    return fault ? cs_fail(CS_ERR_INPUT, "%s", fault) : CS_OK;
}

cs_status fuzz_synthetic(const char *path, const char *bytes, int64_t size)
{
    const bool rules = size > 0 && memmem(bytes, (size_t)size, "rules", 5);
    CS_AUTO(cs_synthetic) language = {0};
    CS_AUTO_FREE char *source =
        cs_format("%s:length=4,documents=3,file=%s", rules ? "grammar" : "hmm", path);
    const cs_status status = source ? cs_synthetic_parse(source, &language) : CS_ERR_MEMORY;
    for (int64_t d = 0; status == CS_OK && d < 3; ++d) {
        int64_t label = 0;
        int32_t token[4];
        cs_synthetic_draw(&language, d, &label, token);
    }
    return status;
}

cs_status fuzz_store(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    CS_AUTO(cs_cooc_store) store = {0};
    cs_status status = cs_cooc_read(fuzz_store_folder(bytes, size), &store);
    if (status == CS_OK) {
        touch_csr(&store.cooc.matrix.a);
        for (int64_t row = 0; row < store.cooc.matrix.a.rows && row < 8; ++row) {
            CS_AUTO_FREE char *text = NULL;
            fuzz_also(cs_cooc_row_text(&store, row, &text));
        }
    }
    return status;
}
