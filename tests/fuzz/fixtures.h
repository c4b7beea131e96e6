/* Folders with an input as one of their files, and the other files that readers need. All is in one
 * folder, removed when the program ends; each function aborts when it cannot be made. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "text/tokenizer.h"

const char *fuzz_folder(void);

/* A file of these bytes whose name ends so. */
const char *fuzz_file(const char *ending, const void *bytes, size_t size);

/* Folders with the input in its place: model.safetensors.index.json with one shard of tensors "a"
 * and "b"; matrix.index.json without shards; config.json with the weights of a golden GPT-2; trainer.json of checkpoint-5, its own
 * digest corrected, with files of one letter "x"; one file of a built matrix, chosen by the first
 * byte (cs_cooc_file), with the others as they were built; manifest.json, its own digest corrected,
 * with a table; the records of a checkpoint of counts, their digest in its checkpoint.json; files of
 * a tokenizer's folder, the members of an object, with a tokenizer.json of words if it names none;
 * small images under the names that are its lines, text under those that begin with '!'. */
const char *fuzz_index_folder(const char *bytes, int64_t size);
const char *fuzz_shards_folder(const char *bytes, int64_t size);
const char *fuzz_model_folder(const char *bytes, int64_t size);
const char *fuzz_trainer_folder(const char *bytes, int64_t size);
const char *fuzz_store_folder(const char *bytes, int64_t size);
const char *fuzz_result_folder(const char *bytes, int64_t size);
const char *fuzz_counts_folder(const char *bytes, int64_t size);
const char *fuzz_tokenizer_files(const char *bytes, int64_t size);
const char *fuzz_image_names(const char *bytes, int64_t size);

/* A study of two steps. */
const char *fuzz_study_file(void);

/* Of a few words. */
const cs_tokenizer *fuzz_small_tokenizer(void);
