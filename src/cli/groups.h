/* Option groups that several commands share, each with the function that turns it into the struct
 * of the library. A command lists the groups it takes; requesting the struct of a group that it
 * does not list is a bug (assert). */
#pragma once

#include "cli/args.h"
#include "cli/opt.h"
#include "cooc/build_sequences.h"
#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "image/codes.h"
#include "image/images.h"
#include "image/processor.h"
#include "plan/plan_file.h"
#include "plan/sweep.h"
#include "text/corpus.h"
#include "text/labelled_text.h"
#include "text/tokenizer.h"
#include "toy/toy.h"

/* --objective; its parameters that are choices (--event-weight --empty-prefix --offset-weights
 * --segmentation --plan-file); --target-position; those that are numbers (--unmasked --mask-ratio
 * --t --groups), one value each, or sweeps A:B:STEP. */
extern const cs_opt cs_group_objective[];
extern const cs_opt cs_group_plan[];
extern const cs_opt cs_group_target[];
extern const cs_opt cs_group_plan_numbers[];
extern const cs_opt cs_group_plan_sweeps[];

/* --classes --length --tokens (sweeps allowed) and --token-sets. */
extern const cs_opt cs_group_toy[];

/* Options of commands that read images. */
#define CS_OPT_IMAGE_SIZES                                                                         \
    CS_HEADING("Images"),                                                                          \
        CS_TEXT("size", "N|HxW", NULL,                                                             \
                "Images: resize them, bilinear: the shorter side to N pixels, or to height H and " \
                "width W. Default: what preprocessor_config.json of the model says."),             \
        CS_TEXT("crop", "N|HxW", NULL,                                                             \
                "Images: then crop the centre, a square of side N or H x W pixels.")

/* --corpus --tokenizer --vocab --min-tokens --whole-file --label-column --text-column --test-share.
 * The second lacks --corpus, for commands that name corpora by argument. */
extern const cs_opt cs_group_corpus[];
extern const cs_opt cs_group_corpus_reading[];

/* --corpus --whole-file --label-column --text-column --test-share: for commands that read text
 * itself. The second lacks --corpus. */
extern const cs_opt cs_group_corpus_text[];
extern const cs_opt cs_group_corpus_form[];

/* The same for labelled texts, with --pair --pair-column --pair-field. */
extern const cs_opt cs_group_labelled[];

/* --context --max-length --stride --weight --split --memory --scratch. */
extern const cs_opt cs_group_cooc[];

/* --normalised --solver --tol --max-iterations --no-reduction. */
extern const cs_opt cs_group_solver[];

/* --moment-budget: limit on the cost of the exact sum of sigma^4. */
extern const cs_opt cs_group_moments[];

/* --certify, for commands that check the certificates (cs_spectrum_require). */
extern const cs_opt cs_group_form[];
extern const cs_opt cs_group_certify[];

/* The sweep of cs_group_toy and cs_group_plan_sweeps. */
cs_status cs_args_sweep(const cs_args *args, cs_sweep *out) CS_MUST_CHECK;

/* The objective at one sweep point (sweep NULL: the options as given). `file` must be zeroed; it is
 * read when the objective is `file`, and borrowed by *out. Options that the objective does not take
 * are CS_ERR_USAGE naming the objectives that do. */
cs_status cs_args_objective(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            const char *fallback_objective, cs_plan_file *file,
                            cs_objective *out) CS_MUST_CHECK;

/* The objective of a specification. Here and above a required parameter that is not given takes its
 * default in training, with a note. */
cs_status cs_args_objective_text(const cs_args *args, const char *spec, cs_plan_file *file,
                                 cs_objective *out) CS_MUST_CHECK;

/* The objective of a specification chosen by the command, with the values of training for
 * parameters that are not given. */
cs_status cs_args_trained_objective(const cs_args *args, const char *spec, cs_plan_file *file,
                                    cs_objective *out) CS_MUST_CHECK;

/* Records the files that were read for an objective as inputs. */
cs_status cs_args_plan_inputs(cs_args *args, const cs_plan_file *file) CS_MUST_CHECK;

/* The toy model at one sweep point. Reads the plan file only when `file` is still empty. */
cs_status cs_args_toy(const cs_args *args, const cs_sweep *sweep, int64_t point,
                      const char *fallback_objective, cs_plan_file *file,
                      cs_toy *out) CS_MUST_CHECK;

bool cs_args_target_given(const cs_args *args);

/* Reads a matrix as cs_matrix_read_filled and records it as an input: for a directory its
 * matrix.npz or the index of its shards (which has their digests), and the matrix.json that
 * cs_item_stored reads. *path is the file. */
cs_status cs_args_matrix(cs_args *args, const char *given, const char **path,
                         cs_nonempty_rows *rows, cs_csr *out) CS_MUST_CHECK;
/* Only the file, NULL: out of memory. */
const char *cs_args_matrix_file(cs_args *args, const char *given) CS_MUST_CHECK;
/* Only the inputs. */
cs_status cs_args_matrix_input(cs_args *args, const char *given) CS_MUST_CHECK;

/* Reads a directory of cospec cooc and records it as an input. */
cs_status cs_args_store(cs_args *args, const char *dir, cs_cooc_store *out) CS_MUST_CHECK;

/* The matrix.json of a directory of cospec cooc; NULL for another matrix, whose rows are unknown.
 * CS_ERR_INPUT: a directory of cospec cooc that has lost it. */
cs_status cs_stored_sidecar(const char *path, json_t **out) CS_MUST_CHECK;

/* "objective", "context", "target_position" of a directory of cospec cooc, in the form common to
 * all results (docs/reference/results-of-commands.md); nothing for another matrix. */
cs_status cs_item_stored(cs_item *in, const char *path) CS_MUST_CHECK;

/* Loads a corpus by name, file or directory (a named one is prepared first if needed), and records
 * it as an input. */
cs_status cs_args_load_corpus(cs_args *args, const char *source, cs_corpus *out) CS_MUST_CHECK;

/* An option of commands that read images for a model. */
#define CS_EXTRA                                                                                   \
    CS_TEXT("extra", "FILE", NULL,                                                                 \
            "Images: a matrix (.npy, .npz, .safetensors) with one row per image, which the model " \
            "reads with its class token (GVP's y_extra).")

/* An option of commands that read texts for a model. */
#define CS_SPECIAL                                                                                 \
    CS_CHOICE("special", "auto|yes|no", "auto",                                                    \
              "Put the tokenizer's special tokens around a text. auto: yes for models from "       \
              "elsewhere; models of cospec train get the begin token they had in training.")

/* --mask-token --pad-token --unk-token --bos-token --eos-token: roles of tokens, for tokenizers with
 * other names. A command without the group gives none. */
extern const cs_opt cs_group_roles[];
void cs_args_roles(const cs_args *args, const char *role[CS_TOKEN_ROLES]);

/* Notes parts of its class that a tokenizer lacks. */
void cs_tokenizer_note(const cs_args *args, const char *path, const cs_tokenizer *t);

/* cs_tokenizer_read or cs_tokenizer_read_for_model, with these roles and this note. */
cs_status cs_args_read_tokenizer(const cs_args *args, const char *path, bool for_model,
                                 cs_tokenizer **out) CS_MUST_CHECK;

/* The reason why `source` has no images: "<what> pictures, and SOURCE has none" (CS_ERR_USAGE), or
 * there is no such source (CS_ERR_INPUT). what: "--arch vit reads". */
cs_status cs_args_no_pictures(const char *what, const char *source) CS_MUST_CHECK;

/* --size and --crop for images of `channels`; without them *out has no file. */
cs_status cs_args_processor(const cs_args *args, int64_t channels, cs_processor *out) CS_MUST_CHECK;

/* The images of a source, resized and cropped by --size and --crop, or else, those of a directory, as
 * a model says; of_model NULL: none. Those of a directory that take more than most_bytes as values
 * are decoded when they are read; 1: all. */
cs_status cs_args_load_images(cs_args *args, const char *source, const cs_image_fit *of_model,
                              int64_t most_bytes, cs_images *out) CS_MUST_CHECK;

/* Codes of patches: those of --tokenizer FILE.safetensors, or k-means of the images. */
cs_status cs_args_codes(cs_args *args, const cs_images *images, cs_codes **out) CS_MUST_CHECK;

/* The corpus of --corpus, or under --population that of the synthetic language it names
 * (cs_synthetic_population_of). */
cs_status cs_args_load_built(cs_args *args, cs_cooc_options *options, cs_comm *comm,
                             cs_corpus *out) CS_MUST_CHECK;

/* Whether the ranks of a group can share the reading of --corpus: then cs_args_load_built with a
 * group is collective, and reads the part of this rank. */
bool cs_args_corpus_divides(const cs_args *args);

/* Options of cs_group_corpus_form for reading a source. */
cs_corpus_options cs_args_corpus_form(const cs_args *args) CS_MUST_CHECK;

/* cs_corpus_load, with a note on stderr about the amount of text that was not UTF-8; and only the
 * note. */
cs_status cs_args_read_corpus(const cs_args *args, const char *source,
                              const cs_corpus_options *options, cs_corpus *out) CS_MUST_CHECK;
void cs_args_note_read(const cs_args *args, const char *source, int64_t bytes, int64_t documents,
                       const cs_columns *read);

/* The labelled texts for training and for testing, recorded as inputs, by cs_group_labelled and
 * --regression, from the sources after the model on the command line; a single source provides both
 * sides (cs_labelled_options.split). limit 0: all. */
cs_status cs_args_labelled(cs_args *args, const int64_t limit[2],
                           cs_labelled_text out[2]) CS_MUST_CHECK;

/* Remembers DIR/FILE as an input; *there: it exists. */
cs_status cs_args_input_part(cs_args *args, const char *dir, const char *file,
                             bool *there) CS_MUST_CHECK;

/* Remembers a tokenizer.json as an input, or all files that a folder's tokenizer is read from. */
cs_status cs_args_tokenizer_input(cs_args *args, const char *path) CS_MUST_CHECK;

/* Whether --tokenizer names a file: anything that looks like one and is no splitter. */
bool cs_args_tokenizer_file(const cs_args *args);

/* The tokenizer of a corpus from cs_args_load_corpus: that of --tokenizer FILE.json, or one of the
 * words of the corpus (cs_tokenizer_of_corpus). */
cs_status cs_args_tokenizer(const cs_args *args, const cs_corpus *corpus,
                            cs_tokenizer **out) CS_MUST_CHECK;

/* Options of cs_group_corpus_text for reading a source, which is prepared if needed and recorded as
 * an input: for cs_corpus_visit and cs_corpus_load. */
cs_status cs_args_open_corpus(cs_args *args, const char *source,
                              cs_corpus_options *out) CS_MUST_CHECK;

/* The options of a build from cs_group_cooc: everything except objective, target position and
 * draws. */
cs_status cs_args_build(const cs_args *args, cs_cooc_options *out) CS_MUST_CHECK;

/* The same with the objective and the target position of cs_group_plan. */
cs_status cs_args_cooc(const cs_args *args, cs_plan_file *file, cs_cooc_options *out) CS_MUST_CHECK;

/* Notes on stderr the share of masked tokens (for the lower and the higher end of the mask ratio)
 * if rounding to whole tokens changes it. The first is for one length of sequences; the second is
 * for a build, and reports the number of sequences that are too short for the ratio
 * (cs_objective_clamps). */
void cs_args_note_share_of_length(const cs_args *args, const cs_objective *objective,
                                  int64_t length);
void cs_args_note_masked(const cs_args *args, const cs_corpus *corpus,
                         const cs_cooc_options *options);

/* Notes on stderr the number of tokens of the split that are in no sequence of the build; silent if
 * there is none. */
void cs_args_note_uncovered(const cs_args *args, int64_t stride, int64_t uncovered, int64_t tokens);

/* All options of the spectrum except `k` and the GPU. CS_ERR_USAGE: a solver that is not available
 * on --device. */
cs_status cs_args_spectrum(const cs_args *args, cs_spectrum_options *out) CS_MUST_CHECK;

/* CS_ERR_USAGE for --normalised: `what` ("the theorems") needs the counts. */
cs_status cs_args_need_counts(const cs_args *args, const char *what) CS_MUST_CHECK;

/* A form of a matrix by its text; NULL: *out is NULL. CS_ERR_USAGE also for options that exclude it.
 */
cs_status cs_args_form(const cs_args *args, const char *text, cs_matrix_form **out) CS_MUST_CHECK;

/* Gives a form, or NULL, the mass of a stored 1 in a directory of cospec cooc. */
cs_status cs_form_of_stored(const char *path, cs_matrix_form *form) CS_MUST_CHECK;

/* cs_group_certify in the form of cs_spectrum_options; `fallback` if it is not given. CS_ERR_USAGE
 * names an unknown certificate. */
cs_status cs_args_certify(const cs_args *args, unsigned fallback, unsigned *out) CS_MUST_CHECK;

/* cs_group_moments in the form of cs_spectrum_options. */
double cs_args_moment_budget(const cs_args *args);

/* Notes on stderr, before the work, the cost of the exact sum of sigma^4 and whether it will be
 * computed (sparing: cs_spectrum_options.moment4_sparing); *cost receives the multiply-adds. */
cs_status cs_args_note_moment4(const cs_args *args, const cs_csr *a, bool sparing,
                               double *cost) CS_MUST_CHECK;

/* --threads in the form of the library, 0 when unset; --seed. */
int cs_args_threads(const cs_args *args);
uint64_t cs_args_seed(const cs_args *args);

/* The objectives of --compare, or `usual` (ending with NULL), in normal form; CS_ERR_USAGE: two
 * specifications of the same objective. */
cs_status cs_args_compared(const cs_args *args, const char *const *usual,
                           cs_words *out) CS_MUST_CHECK;
