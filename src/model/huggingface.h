/* The tensors of a Hugging Face checkpoint for each parameter.
 *
 * The rows of architectures have the names (model/arch_private.h), those of the ...ForMaskedLM,
 * ...ForCausalLM and ...ForSequenceClassification classes of transformers. Parameters that no class
 * has are stored as "cospec." and our name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "tensor/params.h"

enum { CS_HF_PIECES = 3, CS_HF_NAME = 160, CS_HF_SHAPE = 4 };

/* One tensor of the file: rows first .. first+rows-1 of the parameter. */
typedef struct {
    char name[CS_HF_NAME],
        other[CS_HF_NAME]; /* other: its name in some versions of the class; "": none */
    bool transposed;       /* cols x rows in the file */
    /* heads whose query, key and value rows are adjacent in the file; 0: no */
    int64_t by_head;
    int64_t queries;    /* of each head of keys */
    bool swapped;       /* the file has the second half of the rows first */
    bool vector;        /* one dimension in the file */
    int64_t head_width; /* a vector of all heads, in the file heads x head_width; 0: no */
    bool boxed;         /* three dimensions in the file, the first of size 1 */
    /* Four: rows x channels x patch x patch, whose columns are channels last here. */
    int64_t channels;
    bool optional; /* files may lack it: then it is `fill` */
    float fill;
    /* of the piece before it; files may lack it, but the class computes with it */
    bool copy;
    int64_t first, rows, cols;
} cs_hf_piece;

/* The pieces of a parameter: their number. The masked heads have their bias twice; if the output
 * matrix is not tied, the bias next to it is the one in use. */
int cs_hf_pieces(const cs_model_config *config, const cs_param *param,
                 cs_hf_piece piece[CS_HF_PIECES]);

/* The parameters that files have in place of one: matrix e of those of experts, e = 0, 1, ..., which lie
 * one below the other; else the parameter itself. false: no more. name: memory for its name. */
bool cs_hf_part(const cs_model_config *config, const cs_param *param, int64_t e,
                char name[CS_HF_NAME], cs_param *part);

/* "transformer.", "roberta." ...: files of the bare model lack it. Empty if there is none. */
const char *cs_hf_prefix(cs_arch arch);

/* Whether files have the parameter: of constants, those that its architecture names. */
bool cs_hf_stored(const cs_model_config *config, const cs_param *param);

/* A tensor that files have in addition to the parameters: buffers, poolers, copies of the tied
 * table. */
bool cs_hf_ignored(const cs_model_config *config, const char *name);

/* Rows of a parameter between their place in it and the file's order; `inward` reads the file's. */
void cs_hf_rearrange(const cs_hf_piece *piece, bool inward, float *param, float *file);

/* The shape in the file. */
void cs_hf_shape(const cs_hf_piece *piece, int *ndim, int64_t shape[CS_HF_SHAPE]);
