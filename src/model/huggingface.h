/* Which tensors of a Hugging Face checkpoint hold a parameter.
 *
 * Names are those of transformers' GPT2LMHeadModel, RobertaPreLayerNormForMaskedLM,
 * RobertaForMaskedLM and BertForMaskedLM. GPT-2 keeps matrices inputs x outputs (Conv1D), the
 * others outputs x inputs like ours; classification heads are those of the ...ForSequence-
 * Classification classes; all but GPT-2 part query, key and value. What no class has is
 * stored as "cospec." and our name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/config.h"
#include "tensor/params.h"

/* One tensor of the file: rows first .. first+rows-1 of the parameter. */
typedef struct {
    char name[160];
    bool transposed; /* cols x rows in the file */
    bool vector;     /* one dimension in the file */
    bool copy;       /* of the piece before it; files may lack it, but the class computes with it */
    int64_t first, rows, cols;
} cs_hf_piece;

enum { CS_HF_PIECES = 3 };

/* The pieces of a parameter: their number. The masked heads have their bias twice; where the output
 * matrix is not tied, the one beside it is the one that counts. */
int cs_hf_pieces(const cs_model_config *config, const cs_param *param,
                 cs_hf_piece piece[CS_HF_PIECES]);

/* "transformer.", "roberta." ...: files of the bare model lack it. Empty where there is none. */
const char *cs_hf_prefix(cs_arch arch);

/* A tensor that files carry beside the parameters: buffers, poolers, copies of the tied table. */
bool cs_hf_ignored(const char *name, bool tied);
