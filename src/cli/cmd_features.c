/* cospec features: hidden states of a corpus as NPY files. */

#include <math.h>

#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "infer/hidden_states.h"
#include "io/file.h"
#include "io/npy.h"

typedef struct {
    cs_model_text text;
    cs_hidden_options options;
    cs_npy_stream **file; /* options.layers, once for each pooling */
    int64_t files;
    cs_npy_stream *rows, *labels;
    float *losses; /* of the tokens of the corpus; NULL: not requested */
    int64_t count;
} run;

/* --- options --- */

static cs_status take_options(const cs_args *args, run *r)
{
    cs_hidden_options *o = &r->options;
    o->pooling = cs_args_is(args, "pooling", "none")
                     ? CS_POOL_NONE
                     : (cs_pooling)(CS_POOL_MEAN + cs_args_choice(args, "pooling"));
    o->raw = cs_args_is(args, "final-norm", "no");
    CS_ARGS_FIELDS(args, o, mask_ratio, mask_seed, drop_masked);
    o->keep = r->text.keep;
    if (o->drop_masked && !(o->mask_ratio > 0))
        return cs_fail(CS_ERR_USAGE, "--drop-masked needs --mask-ratio");
    if (cs_args_flag(args, "losses")) {
        o->losses = r->losses = cs_alloc(r->text.corpus.tokens, sizeof *r->losses);
        if (!r->losses) return CS_ERR_MEMORY;
        for (int64_t i = 0; i < r->text.corpus.tokens; ++i) {
            r->losses[i] = NAN;
        }
    }
    return cs_args_hidden(args, &r->text, "layers", o);
}

/* --- files --- */

static cs_status open_file(cs_args *args, const char *name, cs_dtype dtype, int64_t columns,
                           cs_npy_stream **out)
{
    const char *path = NULL;
    cs_status status = cs_output_claim(args, name);
    if (status == CS_OK && (status = cs_output_path(args, name, &path)) == CS_OK)
        status = cs_npy_stream_open(path, dtype, columns, out);
    return status;
}

static char *layer_file(const run *r, int64_t file)
{
    const cs_hidden_options *o = &r->options;
    const bool each = o->pooling == CS_POOL_EACH;
    const int pooling = CS_POOL_MEAN + (int)(file / o->layers);
    return cs_format("layer-%lld%s%s.npy", (long long)o->layer[file % o->layers], each ? "-" : "",
                     each ? cs_pooling_name((cs_pooling)pooling) : "");
}

static cs_status open_files(cs_args *args, run *r)
{
    bool half = cs_args_is(args, "dtype", "float16");
    cs_status status = CS_OK;
    r->file = cs_calloc(r->files, sizeof(cs_npy_stream *));
    if (!r->file) return CS_ERR_MEMORY;
    for (int64_t l = 0; l < r->files && status == CS_OK; ++l) {
        CS_AUTO_FREE char *name = layer_file(r, l);
        status = name ? open_file(args, name, half ? CS_F16 : CS_F32,
                                  r->text.model.config.shape.width, &r->file[l])
                      : CS_ERR_MEMORY;
    }
    if (status == CS_OK && r->losses) status = cs_output_claim(args, "losses.npy");
    if (status == CS_OK) status = open_file(args, "rows.npy", CS_I64, CS_ROW_COLUMNS, &r->rows);
    if (status == CS_OK && r->text.corpus.labels > 0)
        status = open_file(args, "labels.npy", CS_I64, 0, &r->labels);
    return status;
}

static cs_status close_files(run *r)
{
    cs_status status = CS_OK;
    for (int64_t l = 0; l < r->files && status == CS_OK; ++l) {
        status = cs_npy_stream_close(&r->file[l]);
    }
    if (status == CS_OK) status = cs_npy_stream_close(&r->rows);
    if (status == CS_OK && r->labels) status = cs_npy_stream_close(&r->labels);
    return status;
}

static void release(run *r)
{
    for (int64_t l = 0; r->file && l < r->files; ++l) {
        cs_npy_stream_abort(&r->file[l]);
    }
    cs_npy_stream_abort(&r->rows);
    cs_npy_stream_abort(&r->labels);
    CS_FREE_FIELDS(r, file, losses);
    cs_model_text_free(&r->text);
}

/* --- rows --- */

static cs_status take_block(void *ctx, const cs_hidden_block *block)
{
    run *r = ctx;
    cs_status status = CS_OK;
    for (int64_t l = 0; l < block->layers && status == CS_OK; ++l) {
        status = cs_npy_stream_floats(r->file[l], block->state[l], block->rows);
    }
    for (int64_t i = 0; i < block->rows && status == CS_OK; ++i) {
        const cs_hidden_row *row = &block->about[i];
        const int64_t about[CS_ROW_COLUMNS] = {row->document, row->piece, row->position, row->token,
                                               (row->masked ? CS_ROW_MASKED : 0) |
                                                   (row->special ? CS_ROW_SPECIAL : 0)};
        int64_t label = r->text.corpus.label[row->document];
        status = cs_npy_stream_append(r->rows, about, 1);
        if (status == CS_OK && r->labels) status = cs_npy_stream_append(r->labels, &label, 1);
    }
    r->count += block->rows;
    return status;
}

/* --- the result --- */

static void describe(const cs_args *args, const run *r, cs_item *root)
{
    const cs_hidden_options *o = &r->options;
    cs_item_text(root, "model", r->text.dir);
    cs_item_text(root, "corpus", cs_args_positional(args, 1));
    cs_item_text(root, "kind", cs_kind_name(r->text.kind.kind));
    cs_item_text(root, "query_position", r->text.kind.query_position);
    cs_item_text(root, "attention", cs_attention_name(o->masks.attention));
    cs_item_text(root, "stack", cs_args_text(args, "stack"));
    cs_item_text(root, "pooling", cs_args_text(args, "pooling"));
    cs_item_text(root, "final_norm", cs_args_text(args, "final-norm"));
    cs_item_text(root, "dtype", cs_args_text(args, "dtype"));
    cs_item_int(root, "documents", r->text.documents);
    cs_item_int(root, "rows", r->count);
    cs_item_int(root, "width", r->text.model.config.shape.width);
    cs_item_ints(root, "layers", o->layers, o->layer);
    cs_item *labels = cs_item_array(root, "labels");
    for (int64_t c = 0; c < r->text.corpus.labels; ++c) {
        cs_item_text(labels, NULL, r->text.corpus.label_name[c]);
    }
}

/* Of the states that `rows` rows have. */
static int64_t state_bytes(const cs_args *args, const run *r, int64_t rows)
{
    return rows * r->files * r->text.model.config.shape.width *
           (cs_args_is(args, "dtype", "float16") ? 2 : 4);
}

static cs_status estimate(const cs_args *args, run *r, cs_item *root)
{
    cs_status status = cs_hidden_rows(&r->text.model, &r->text.corpus, &r->options, &r->count);
    describe(args, r, root);
    cs_item_int(root, "bytes", state_bytes(args, r, r->count));
    return status;
}

static cs_status check_disk(const cs_args *args, const run *r)
{
    int64_t rows = 0;
    cs_status status = cs_hidden_rows(&r->text.model, &r->text.corpus, &r->options, &rows);
    return status ? status
                  : cs_disk_check(cs_args_text(args, "output"), (double)state_bytes(args, r, rows),
                                  "give -o DIR on a larger disk, fewer --layers, --dtype float16 "
                                  "or a --pooling",
                                  "hidden states");
}

static cs_status write_losses(cs_args *args, const run *r)
{
    const char *path = NULL;
    cs_status status = cs_output_path(args, "losses.npy", &path);
    return status == CS_OK ? cs_npy_write(path, CS_F32, 1, &r->text.corpus.tokens, r->losses)
                           : status;
}

static cs_status write_states(cs_args *args, run *r, cs_item *root)
{
    cs_status status = check_disk(args, r);
    if (status == CS_OK) status = open_files(args, r);
    if (status == CS_OK)
        status = cs_hidden_states(&r->text.model, &r->text.corpus, &r->options, take_block, r);
    if (status == CS_OK) status = close_files(r);
    if (status == CS_OK && r->losses) status = write_losses(args, r);
    if (status != CS_OK) return status;
    describe(args, r, root);
    cs_item *files = cs_item_array(root, "~files"), *layers = cs_item_array(root, "~layer");
    for (int64_t l = 0; l < r->files; ++l) {
        cs_item_take(files, NULL, layer_file(r, l));
        cs_item_int(layers, NULL, r->options.layer[l % r->options.layers]);
    }
    return CS_OK;
}

static cs_status run_features(cs_args *args)
{
    static const cs_view view = {"~files[]", "layer=^~layer[#] file=. rows=^rows columns=^width"};
    run r = {0};
    bool dry = cs_args_flag(args, "dry-run");
    cs_status status = CS_OK;
    if (!dry && !cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "features needs -o DIR");
    }
    cs_item *root = cs_output_root(args);
    status = cs_args_model_open(args, cs_args_positional(args, 0), &r.text);
    if (status == CS_OK) status = cs_model_text_has_states(&r.text);
    if (status == CS_OK && cs_args_is(args, "init", "random"))
        status = cs_model_randomise(&r.text.model, cs_args_seed(args));
    if (status == CS_OK) status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r.text);
    if (status == CS_OK) status = take_options(args, &r);
    if (status == CS_OK) cs_args_note_share_of_pieces(args, &r.text, &r.options);
    r.files = cs_hidden_planes(&r.options);
    if (status == CS_OK) status = dry ? estimate(args, &r, root) : write_states(args, &r, root);
    if (status == CS_OK) status = cs_output_record(args, "features", dry ? NULL : &view);
    release(&r);
    return status;
}

static const cs_opt features_options[] = {
    CS_EXTRA,
    CS_TEXT("layers", "LIST|all|last", "all",
            "Layers, as 0,3,6: 0 is the embeddings, N the output of layer N."),
    CS_CHOICE("init", "pretrained|random", "pretrained",
              "random: the same network with fresh parameters, by --seed: its states before any "
              "training."),
    CS_CHOICE("pooling", "mean|first|last|each|none", "mean",
              "One row per document: mean, first or last row that the model reads; each: all three "
              "in one pass (layer-L-mean.npy, ...). none: one row per token."),
    CS_CHOICE("final-norm", "hf|yes|no", "hf",
              "Whether the final norm of gpt2 and roberta-prelayernorm applies to the last layer. "
              "hf: yes, as in hidden_states of transformers 5."),
    CS_REAL("mask-ratio", "P", "0", 0, 1,
            "Share of each piece's tokens that become [MASK]; rows.npy marks them."),
    CS_INT("mask-seed", "N", "1", 0, 9007199254740992.0, "Seed of the choice of those tokens."),
    CS_FLAG("drop-masked",
            "Leave these tokens out instead, as the encoder of MAE-LM does; the others keep their "
            "positions."),
    CS_FLAG("losses",
            "Causal models: also write losses.npy, -log p of each token given those before it, for "
            "cospec perplexity --losses. NaN: a token that is not predicted."),
    CS_CHOICE("dtype", "float32|float16", "float32", "Type of the states in the files."),
    {0},
};

const cs_command cs_cmd_features = {
    .name = "features",
    .help = &cs_help_features,
    .positional = "MODEL CORPUS",
    .main = "layers pooling mask-ratio split limit max-length batch dtype device output",
    .groups = (const cs_opt *const[]){features_options, cs_group_stack, cs_group_sources,
                                      cs_group_model_text, cs_group_roles, cs_group_attention,
                                      cs_group_corpus_form, NULL},
    .run = run_features,
    .files = "features.json features.csv rows.npy",
    .without = "resume",
    .gpu = true,
};
