/* A model: its configuration and parameters, initialised or read from a checkpoint.
 *
 * Parameters have our own names ("layer.3.attention.qkv.weight"), O x I row-major with rows =
 * outputs; model/huggingface.c maps them to the names and transposes of Hugging Face checkpoints.
 * In roberta-*, query, key and value matrices are joined to one 3d x d matrix here.
 */
#ifndef CS_MODEL_MODEL_H
#define CS_MODEL_MODEL_H

#include "base/status.h"
#include "model/config.h"
#include "tensor/backend.h"
#include "tensor/params.h"

typedef struct cs_model {
    cs_model_config config;
    cs_params params;
} cs_model;

/* Table and memory of parameters, zero. training: gradients and moments too. */
cs_status cs_model_init(const cs_model_config *config, cs_backend *backend, bool training,
                        cs_model *out) CS_MUST_CHECK;
void cs_model_free(cs_model *model);

/* Initial values: normal with init_range (residual projections divided by sqrt(2 layers), GPT-2),
 * ones for gains, zeros for biases; a function of (seed, parameter name, item), the same on every
 * backend. */
cs_status cs_model_randomise(cs_model *model, uint64_t seed) CS_MUST_CHECK;

/* DIR/model.safetensors and DIR/config.json in Hugging Face form (ours only: extra names, "cospec."
 * prefix). Writing is atomic file by file. */
cs_status cs_model_write(const cs_model *model, const char *dir) CS_MUST_CHECK;

/* Reads a directory written by cs_model_write or by Hugging Face (sharded too). CS_ERR_INPUT names
 * missing or extra tensors and shapes that do not fit. Heads that the class lacks (a bare
 * GPT2Model) are filled as tied. */
cs_status cs_model_read(const char *dir, cs_backend *backend, bool training,
                        cs_model *out) CS_MUST_CHECK;

#endif
