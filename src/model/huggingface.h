/* Which tensors of a Hugging Face checkpoint hold a parameter.
 *
 * The rows of architectures have the names (model/arch_private.h), those of the ...ForMaskedLM,
 * ...ForCausalLM and ...ForSequenceClassification classes of transformers. What no class has is
 * stored as "cospec." and our name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "tensor/params.h"

enum { CS_HF_PIECES = 3, CS_HF_NAME = 160 };

/* One tensor of the file: rows first .. first+rows-1 of the parameter. */
typedef struct {
    char name[CS_HF_NAME],
        other[CS_HF_NAME]; /* other: what some versions of the class call it; "": nothing */
    bool transposed;       /* cols x rows in the file */
    int64_t by_head; /* heads whose query, key and value rows stand together in the file; 0: no */
    bool vector;     /* one dimension in the file */
    bool boxed;      /* three dimensions in the file, of which the first is 1 */
    int64_t
        channels;  /* four: rows x channels x patch x patch, whose columns are channels last here */
    bool optional; /* files may lack it: then it is zero */
    bool copy;     /* of the piece before it; files may lack it, but the class computes with it */
    int64_t first, rows, cols;
} cs_hf_piece;

/* The pieces of a parameter: their number. The masked heads have their bias twice; where the output
 * matrix is not tied, the one beside it is the one that counts. */
int cs_hf_pieces(const cs_model_config *config, const cs_param *param,
                 cs_hf_piece piece[CS_HF_PIECES]);

/* "transformer.", "roberta." ...: files of the bare model lack it. Empty where there is none. */
const char *cs_hf_prefix(cs_arch arch);

/* A tensor that files carry beside the parameters: buffers, poolers, copies of the tied table. */
bool cs_hf_ignored(const cs_model_config *config, const char *name);
