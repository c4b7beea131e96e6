/* A model written as a directory: model.safetensors and config.json in Hugging Face form
 * (huggingface.h), with codes and preprocessing of images where it has them. */
#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "image/codes.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "model/arch_private.h"
#include "model/huggingface.h"
#include "model/model.h"

static cs_status put_all(const cs_model *model, cs_safetensors_writer *writer)
{
    int64_t most = cs_params_most_items(&model->params);
    CS_AUTO_FREE float *param = cs_alloc(most, sizeof *param), *file = cs_alloc(most, sizeof *file);
    cs_status status = param && file ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < model->params.count && status == CS_OK; ++i) {
        cs_hf_piece piece[CS_HF_PIECES];
        char name[CS_HF_NAME];
        cs_param part;
        if (!cs_hf_stored(&model->config, &model->params.param[i])) {
            continue;
        }
        const cs_param *written = &model->params.param[i];
        status = cs_params_get(&model->params, i, CS_PARAM_VALUE, param);
        const bool less_one =
            model->config.layer.gain_from_one && cs_has_suffix(written->name, ".gain");
        for (int64_t c = 0; c < written->cols && less_one; ++c) {
            param[c] -= 1;
        }
        for (int64_t e = 0; cs_hf_part(&model->config, written, e, name, &part); ++e) {
            const int count = cs_hf_pieces(&model->config, &part, piece);
            for (int p = 0; p < count && status == CS_OK; ++p) {
                cs_hf_rearrange(&piece[p], false, param + e * part.rows * part.cols, file);
                status = cs_safetensors_writer_put(
                    writer, file, piece[p].rows * piece[p].cols * (int64_t)sizeof *file);
            }
        }
    }
    return status;
}

static cs_status write_weights(const cs_model *model, const char *path)
{
    const cs_safetensors_pair format = {"format", "pt"}; /* transformers refuses files without it */
    const int64_t parts = cs_most(1, model->config.experts.count),
                  capacity = model->params.count * parts * CS_HF_PIECES;
    int64_t count = 0;
    CS_AUTO_FREE cs_hf_piece *piece = cs_alloc(capacity, sizeof *piece);
    CS_AUTO_FREE cs_safetensors_entry *entry = cs_calloc(capacity, sizeof *entry);
    cs_safetensors_writer *writer = NULL;
    cs_status status = piece && entry ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < model->params.count && status == CS_OK; ++i) {
        if (!cs_hf_stored(&model->config, &model->params.param[i])) {
            continue;
        }
        char name[CS_HF_NAME];
        cs_param part;
        for (int64_t e = 0; cs_hf_part(&model->config, &model->params.param[i], e, name, &part);
             ++e) {
            const int pieces = cs_hf_pieces(&model->config, &part, &piece[count]);
            for (int p = 0; p < pieces; ++p, ++count) {
                entry[count].name = piece[count].name;
                entry[count].dtype = CS_F32;
                cs_hf_shape(&piece[count], &entry[count].ndim, entry[count].shape);
            }
        }
    }
    if (status == CS_OK &&
        (status = cs_safetensors_writer_open(path, count, entry, 1, &format, &writer)) == CS_OK &&
        (status = put_all(model, writer)) == CS_OK) {
        status = cs_safetensors_writer_commit(&writer);
    }
    cs_safetensors_writer_abort(&writer);
    return status;
}

cs_status cs_model_write(const cs_model *model, const char *dir)
{
    CS_AUTO_FREE char *weights = cs_path_join(dir, "model.safetensors"),
                      *config = cs_path_join(dir, "config.json"),
                      *codes = cs_path_join(dir, CS_CODES_FILE),
                      *processor = cs_path_join(dir, CS_PROCESSOR_FILE);
    const cs_model_config *c = &model->config;
    json_t *source = cs_arch_row_of(c->arch)->trained ? NULL : model->source;
    json_auto_t *json = cs_model_config_json_of(c, source, model->trained);
    cs_status status = weights && config && codes && processor && json ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dir_make(dir);
    if (status == CS_OK && (status = write_weights(model, weights)) == CS_OK)
        status = cs_json_write(config, json);
    if (status == CS_OK && model->codes) status = cs_codes_write(model->codes, codes);
    if (status == CS_OK && cs_arch_row_of(c->arch)->pictures)
        status = cs_processor_write(&model->processor, c->picture.height, c->picture.width,
                                    c->picture.channels, processor);
    return status;
}
