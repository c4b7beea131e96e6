/* cospec features: hidden states of a corpus as NPY files. */
#include <string.h>

#include "analysis/hidden_states.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "io/json.h"
#include "io/npy_stream.h"

enum { ROW_COLUMNS = 5, MASKED = 1, SPECIAL = 2 };

typedef struct {
    cs_model_text text;
    cs_hidden_options options;
    int64_t *layer;
    cs_npy_stream **file; /* options.layers */
    cs_npy_stream *rows, *labels;
    int64_t count;
} run;

/* --- options --- */

static bool chosen(const cs_args *args, const char *option, const char *value)
{
    return strcmp(cs_args_text(args, option), value) == 0;
}

static cs_status take_options(const cs_args *args, run *r)
{
    cs_hidden_options *o = &r->options;
    cs_around around = {0};
    o->pooling = chosen(args, "pooling", "mean")    ? CS_POOL_MEAN
                 : chosen(args, "pooling", "first") ? CS_POOL_FIRST
                 : chosen(args, "pooling", "last")  ? CS_POOL_LAST
                                                    : CS_POOL_NONE;
    o->raw = chosen(args, "final-norm", "no");
    o->causal = chosen(args, "attention", "auto") ? cs_kind_is_causal(r->text.kind.kind)
                                                  : chosen(args, "attention", "causal");
    o->split = chosen(args, "long", "split");
    o->max_length = cs_args_given(args, "max-length") ? cs_args_int(args, "max-length") : 0;
    o->batch = cs_args_int(args, "batch");
    o->mask_ratio = cs_args_real(args, "mask-ratio");
    o->mask_seed = (uint64_t)cs_args_int(args, "mask-seed");
    o->drop_masked = cs_args_flag(args, "drop-masked");
    o->keep = r->text.keep;
    o->progress = cs_output_progress(args);
    cs_status status =
        cs_args_layers(args, "layers", r->text.model.config.layers, &o->layers, &r->layer);
    o->layer = r->layer;
    if (status == CS_OK && o->drop_masked && !(o->mask_ratio > 0)) {
        status = cs_fail(CS_ERR_USAGE, "--drop-masked goes with --mask-ratio");
    }
    if (status == CS_OK && (status = cs_args_around(args, &r->text, &around)) == CS_OK) {
        o->before = around.before;
        o->befores = around.befores;
        o->after = around.after;
        o->afters = around.afters;
    }
    return status;
}

/* --- files --- */

static cs_status open_file(cs_args *args, const char *name, cs_dtype dtype, int64_t columns,
                           cs_npy_stream **out)
{
    char *path = NULL;
    cs_status status = cs_output_claim(args, name);
    if (status == CS_OK && (status = cs_output_path(args, name, &path)) == CS_OK) {
        status = cs_npy_stream_open(path, dtype, columns, out);
    }
    cs_free(path);
    return status;
}

static cs_status open_files(cs_args *args, run *r)
{
    bool half = chosen(args, "dtype", "float16");
    cs_status status = CS_OK;
    r->file = cs_calloc(r->options.layers, sizeof(cs_npy_stream *));
    if (!r->file) {
        return CS_ERR_MEMORY;
    }
    for (int64_t l = 0; l < r->options.layers && status == CS_OK; ++l) {
        char *name = cs_format("layer-%lld.npy", (long long)r->layer[l]);
        status = name ? open_file(args, name, half ? CS_F16 : CS_F32, r->text.model.config.width,
                                  &r->file[l])
                      : CS_ERR_MEMORY;
        cs_free(name);
    }
    if (status == CS_OK) {
        status = open_file(args, "rows.npy", CS_I64, ROW_COLUMNS, &r->rows);
    }
    if (status == CS_OK && r->text.corpus.labels > 0) {
        status = open_file(args, "labels.npy", CS_I64, 0, &r->labels);
    }
    return status;
}

static cs_status close_files(run *r)
{
    cs_status status = CS_OK;
    for (int64_t l = 0; l < r->options.layers && status == CS_OK; ++l) {
        status = cs_npy_stream_close(&r->file[l]);
    }
    if (status == CS_OK) {
        status = cs_npy_stream_close(&r->rows);
    }
    if (status == CS_OK && r->labels) {
        status = cs_npy_stream_close(&r->labels);
    }
    return status;
}

static void release(run *r)
{
    for (int64_t l = 0; r->file && l < r->options.layers; ++l) {
        cs_npy_stream_abort(&r->file[l]);
    }
    cs_npy_stream_abort(&r->rows);
    cs_npy_stream_abort(&r->labels);
    cs_free(r->file);
    cs_free(r->layer);
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
        const int64_t about[ROW_COLUMNS] = {row->document, row->piece, row->position, row->token,
                                            (row->masked ? MASKED : 0) |
                                                (row->special ? SPECIAL : 0)};
        int64_t label = r->text.corpus.label[row->document];
        status = cs_npy_stream_append(r->rows, about, 1);
        if (status == CS_OK && r->labels) {
            status = cs_npy_stream_append(r->labels, &label, 1);
        }
    }
    r->count += block->rows;
    return status;
}

/* --- the result --- */

static json_t *describe(const cs_args *args, const run *r)
{
    const cs_hidden_options *o = &r->options;
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:[], s:[]}", "model", r->text.dir,
        "corpus", cs_args_positional(args, 1), "kind", cs_kind_name(r->text.kind.kind), "attention",
        o->causal ? "causal" : "bidirectional", "pooling", cs_args_text(args, "pooling"),
        "final_norm", cs_args_text(args, "final-norm"), "dtype", cs_args_text(args, "dtype"),
        "documents", (json_int_t)r->text.documents, "rows", (json_int_t)r->count, "width",
        (json_int_t)r->text.model.config.width, "layers", "labels");
    bool ok = json != NULL;
    for (int64_t l = 0; l < o->layers && ok; ++l) {
        ok = json_array_append_new(json_object_get(json, "layers"), json_integer(r->layer[l])) == 0;
    }
    for (int64_t c = 0; c < r->text.corpus.labels && ok; ++c) {
        ok = json_array_append_new(json_object_get(json, "labels"),
                                   json_string(r->text.corpus.label_name[c])) == 0;
    }
    if (!ok) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

static cs_status report(cs_args *args, const run *r)
{
    json_t *json = describe(args, r);
    cs_table table = {0};
    cs_status status = json ? cs_table_init(&table, "layer,file,rows,columns")
                            : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (int64_t l = 0; l < r->options.layers && status == CS_OK; ++l) {
        char *name = cs_format("layer-%lld.npy", (long long)r->layer[l]);
        if (!name) {
            status = CS_ERR_MEMORY;
        } else if ((status = cs_table_row(&table)) == CS_OK &&
                   (status = cs_table_int(&table, "layer", r->layer[l])) == CS_OK &&
                   (status = cs_table_text(&table, "file", name)) == CS_OK &&
                   (status = cs_table_int(&table, "rows", r->count)) == CS_OK) {
            status = cs_table_int(&table, "columns", r->text.model.config.width);
        }
        cs_free(name);
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "features", json, &table);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

static cs_status estimate(cs_args *args, run *r)
{
    cs_status status = cs_hidden_rows(&r->text.model, &r->text.corpus, &r->options, &r->count);
    int64_t size = chosen(args, "dtype", "float16") ? 2 : 4;
    int64_t bytes = r->count * r->options.layers * r->text.model.config.width * size;
    json_t *json = status == CS_OK ? describe(args, r) : NULL;
    if (status == CS_OK) {
        status = json ? cs_json_set(json, "bytes", json_integer((json_int_t)bytes)) : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "features", json, NULL);
    }
    json_decref(json);
    return status;
}

static cs_status run_features(cs_args *args)
{
    run r = {0};
    bool dry = cs_args_flag(args, "dry-run");
    cs_status status = CS_OK;
    if (cs_args_positionals(args) != 2) {
        return cs_fail(CS_ERR_USAGE, "features takes a MODEL and a CORPUS");
    }
    if (!dry && !cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "features needs -o DIR");
    }
    if ((status = cs_args_model_open(args, cs_args_positional(args, 0), &r.text)) == CS_OK &&
        (status = cs_model_text_has_states(&r.text)) == CS_OK &&
        (status = cs_args_model_corpus(args, cs_args_positional(args, 1), &r.text)) == CS_OK &&
        (status = take_options(args, &r)) == CS_OK && dry) {
        status = estimate(args, &r);
    } else if (status == CS_OK && (status = open_files(args, &r)) == CS_OK &&
               (status = cs_hidden_states(&r.text.model, &r.text.corpus, &r.options, take_block,
                                          &r)) == CS_OK &&
               (status = close_files(&r)) == CS_OK) {
        status = report(args, &r);
    }
    release(&r);
    return status;
}

static const cs_opt features_options[] = {
    {.name = "layers",
     .kind = CS_OPT_TEXT,
     .argument = "LIST|all|last",
     .fallback = "all",
     .help = "Which layers, as 0,3,6: 0 is the embeddings, N the output of layer N."},
    {.name = "pooling",
     .kind = CS_OPT_CHOICE,
     .argument = "mean|first|last|none",
     .fallback = "mean",
     .help = "A row a document (the mean of all rows that the model reads, its first row, its "
             "last), or none: a row a token."},
    {.name = "final-norm",
     .kind = CS_OPT_CHOICE,
     .argument = "hf|yes|no",
     .fallback = "hf",
     .help = "Whether the last layer comes through the final norm of gpt2 and "
             "roberta-prelayernorm; hf: as hidden_states of transformers 5 has it, which is yes. "
             "bert and roberta have none."},
    {.name = "attention",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|causal|bidirectional",
     .fallback = "auto",
     .help = "Which rows a row sees. auto: as the model was trained."},
    {.name = "long",
     .kind = CS_OPT_CHOICE,
     .argument = "truncate|split",
     .fallback = "truncate",
     .help = "What becomes of a document longer than --max-length: its beginning is taken, or "
             "all of its pieces."},
    {.name = "mask-ratio",
     .kind = CS_OPT_REAL,
     .argument = "P",
     .fallback = "0",
     .low = 0,
     .high = 1,
     .help = "Share of each piece's tokens that become [MASK]; rows.npy marks them."},
    {.name = "mask-seed",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "1",
     .low = 0,
     .high = 9007199254740992.0,
     .help = "Seed of the choice of those tokens."},
    {.name = "drop-masked",
     .kind = CS_OPT_FLAG,
     .help = "Leave these tokens out instead, as the encoder of MAE-LM does; the others keep "
             "their positions."},
    {.name = "dtype",
     .kind = CS_OPT_CHOICE,
     .argument = "float32|float16",
     .fallback = "float32",
     .help = "Type of the states in the files."},
    {0},
};

const cs_command cs_cmd_features = {
    .name = "features",
    .summary = "Hidden states of a corpus, layer by layer, as NPY files",
    .description =
        "MODEL is a directory of cospec train or of Hugging Face (config.json, one or sharded "
        "safetensors, tokenizer.json) with a model of type gpt2, bert, roberta or "
        "roberta-prelayernorm. CORPUS is a corpus by name (cospec data list), a .tsv or .txt file, "
        "a directory with a folder a class, or an .npy file of token ids (then MODEL needs no "
        "tokenizer).\n\n"
        "DIR receives layer-L.npy (rows x width) for each layer, rows.npy (rows x 5: document, "
        "piece of the document, position in the piece, token id, 1 if masked + 2 if special) and, "
        "of labelled corpora, labels.npy (a class number a row; features.json has their names). "
        "Rows stand in the order of the corpus. Files are written as the states come; memory does "
        "not grow with them.",
    .positional = "MODEL CORPUS",
    .groups =
        (const cs_opt *const[]){features_options, cs_group_model_text, cs_group_corpus_form, NULL},
    .examples =
        "# a small model, and the mean state of each document in every layer\n"
        "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 --layers 2 "
        "--batch 8 -o small\n"
        "cospec features small verses.txt -o states\n"
        "# a row a token of the last layer, 15% of them masked\n"
        "cospec features small verses.txt --layers last --pooling none --mask-ratio 0.15 -o masked",
    .run = run_features,
    .without = "resume",
    .gpu = true,
};
