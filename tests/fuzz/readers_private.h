/* Shared by the files of readers: the readers themselves. */
#pragma once

#include "fixtures.h"
#include "linalg/csr.h"
#include "readers.h"

/* Name, ending of the file (NULL: bytes in memory), function. */
#define FUZZ_READERS(X)                                                                            \
    X("npy", ".npy", fuzz_npy)                                                                     \
    X("npz", ".npz", fuzz_npz)                                                                     \
    X("npz-rows", ".npz", fuzz_npz_rows)                                                           \
    X("matrix-npz", ".npz", fuzz_matrix)                                                           \
    X("matrix-npy", ".npy", fuzz_matrix)                                                           \
    X("mtx", ".mtx", fuzz_matrix)                                                                  \
    X("gram", ".npz", fuzz_gram)                                                                   \
    X("safetensors", ".safetensors", fuzz_safetensors)                                             \
    X("index", NULL, fuzz_index)                                                                   \
    X("shards", NULL, fuzz_shards)                                                                 \
    X("json", ".json", fuzz_json)                                                                  \
    X("config", NULL, fuzz_config)                                                                 \
    X("model", NULL, fuzz_model)                                                                   \
    X("processor", ".json", fuzz_processor)                                                        \
    X("codes", ".safetensors", fuzz_codes)                                                         \
    X("trainer", NULL, fuzz_trainer)                                                               \
    X("manifest", NULL, fuzz_manifest)                                                             \
    X("counts", NULL, fuzz_counts)                                                                 \
    X("dropped-rows", ".txt", fuzz_dropped_rows)                                                   \
    X("patch-order", ".txt", fuzz_patch_order)                                                     \
    X("plan", ".json", fuzz_plan)                                                                  \
    X("study", ".json", fuzz_study)                                                                \
    X("template", ".html", fuzz_template)                                                          \
    X("drawing", NULL, fuzz_drawing)                                                               \
    X("law", ".json", fuzz_synthetic)                                                              \
    X("store", NULL, fuzz_store)                                                                   \
    X("tokenizer", ".json", fuzz_tokenizer)                                                        \
    X("tokenizer-folder", NULL, fuzz_tokenizer_folder)                                             \
    X("token-lines", NULL, fuzz_token_lines)                                                       \
    X("txt", ".txt", fuzz_corpus)                                                                  \
    X("tsv", ".tsv", fuzz_corpus)                                                                  \
    X("jsonl", ".jsonl", fuzz_corpus)                                                              \
    X("labelled", ".tsv", fuzz_labelled)                                                           \
    X("labels", ".txt", fuzz_labels)                                                               \
    X("squad", ".json", fuzz_squad)                                                                \
    X("csv", ".csv", fuzz_csv)                                                                     \
    X("word-scores", ".txt", fuzz_word_scores)                                                     \
    X("gzip", ".gz", fuzz_gzip)                                                                    \
    X("expression", NULL, fuzz_expression)                                                         \
    X("spec", NULL, fuzz_spec)                                                                     \
    X("number", NULL, fuzz_number)                                                                 \
    X("regex", NULL, fuzz_regex)                                                                   \
    X("charsmap", NULL, fuzz_charsmap)                                                             \
    X("visible", NULL, fuzz_visible)                                                               \
    X("picture", NULL, fuzz_picture)                                                               \
    X("image-folder", NULL, fuzz_image_folder)                                                     \
    X("idx", "-ubyte", fuzz_images)                                                                \
    X("idx-gz", "-ubyte.gz", fuzz_images)                                                          \
    X("cifar", ".bin", fuzz_images)                                                                \
    X("images-npy", ".npy", fuzz_images)                                                           \
    X("images-npz", ".npz", fuzz_images)

#define FUZZ_DECLARED(name, ending, function)                                                      \
    cs_status function(const char *path, const char *bytes, int64_t size);
FUZZ_READERS(FUZZ_DECLARED)
#undef FUZZ_DECLARED

/* Reads every byte. */
void fuzz_touch(const void *memory, int64_t size);

/* A further reading of the same input, whose status is not the result; its reason is forgotten. */
void fuzz_also(cs_status status);
