/* cospec mask-rank: the representation study of MAE-LM on any number of models of one text. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/mask_rank.h"
#include "analysis/theorem_22.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/judge.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "cli/rank_warnings.h"
#include "io/json.h"

static const double BERT_SHARE = 0.1;

typedef struct {
    cs_args *args;
    cs_mask_rank_options options; /* of every model; layers and documents are the model's own */
    cs_table ranks, gaps, containment;
    cs_statements statements;
    json_t *models;
} study;

/* A model under way. */
typedef struct {
    char *name;
    cs_model_text text;
    cs_mask_rank_options options;
    int64_t *layer;
    cs_mask_rank result;
    json_t *json;
} subject;

static void free_subject(subject *m)
{
    cs_free(m->name);
    cs_free(m->layer);
    cs_mask_rank_free(&m->result);
    json_decref(m->json);
    cs_model_text_free(&m->text);
}

/* --- options --------------------------------------------------------------------------------- */

static cs_status take_options(cs_args *args, study *s)
{
    const bool bert = cs_args_flag(args, "bert-masking");
    const double ratio = cs_args_real(args, "mask-ratio"), tau = cs_args_real(args, "tau");
    s->args = args;
    s->options = (cs_mask_rank_options){
        .hidden = {.mask_ratio = ratio,
                   .mask_seed = (uint64_t)cs_args_int(args, "mask-seed"),
                   .mask_keep = bert ? BERT_SHARE : 0,
                   .mask_random = bert ? BERT_SHARE : 0,
                   .split = strcmp(cs_args_text(args, "long"), "split") == 0,
                   .raw = strcmp(cs_args_text(args, "final-norm"), "no") == 0,
                   .max_length =
                       cs_args_given(args, "max-length") ? cs_args_int(args, "max-length") : 0,
                   .batch = cs_args_int(args, "batch"),
                   .progress = cs_output_progress(args)},
        .blocks = cs_args_int(args, "blocks"),
        .gram = {.wide = true,
                 .normalise = cs_args_flag(args, "row-norm"),
                 .shift = cs_args_flag(args, "center"),
                 .threads = cs_args_threads(args)},
        .rank = {.tau = tau,
                 .eps = -1,
                 .centred = cs_args_flag(args, "center"),
                 .jackknife = cs_args_int(args, "blocks") > 1,
                 .threads = cs_args_threads(args)}};
    if (!(ratio > 0 && ratio < 1)) {
        return cs_fail(CS_ERR_USAGE, "--mask-ratio: %s not in (0, 1)",
                       cs_args_text(args, "mask-ratio"));
    }
    return CS_OK;
}

/* NAME=MODEL, or MODEL under the last part of its path. */
static cs_status name_of(const char *argument, char **name, const char **dir)
{
    const char *equals = strchr(argument, '='), *slash = NULL;
    *dir = equals ? equals + 1 : argument;
    if (equals) {
        *name = cs_format("%.*s", (int)(equals - argument), argument);
    } else {
        size_t length = strlen(argument);
        while (length > 1 && argument[length - 1] == '/') {
            --length;
        }
        for (const char *p = argument; p < argument + length; ++p) {
            slash = *p == '/' ? p : slash;
        }
        const char *start = slash && slash + 1 < argument + length ? slash + 1 : argument;
        *name = cs_format("%.*s", (int)(argument + length - start), start);
    }
    if (*name && ((*name)[0] == '\0' || strchr(*name, ','))) {
        return cs_fail(CS_ERR_USAGE, "%s: want NAME=MODEL, a name without commas", argument);
    }
    return *name ? CS_OK : CS_ERR_MEMORY;
}

/* The study is of models that read [MASK], or were trained to do without. */
static cs_status check_kind(const study *s, const subject *m)
{
    const cs_model_kind *kind = &m->text.kind;
    if (kind->kind != CS_KIND_MASKED && kind->kind != CS_KIND_MAE) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: a %s model; mask-rank is of masked and mae-lm models, which [MASK] "
                       "means something to",
                       m->text.dir, cs_kind_name(kind->kind));
    }
    if (kind->kind == CS_KIND_MASKED && m->text.model.config.mask_id < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: the model has no mask token", m->text.dir);
    }
    if (kind->kind == CS_KIND_MAE && kind->delta > 0) {
        cs_output_note(s->args,
                       "%s: its encoder was trained with %g of the [MASK]s; here it reads none",
                       m->name, kind->delta);
    }
    if (kind->kind == CS_KIND_MAE && cs_args_flag(s->args, "bert-masking")) {
        cs_output_note(s->args,
                       "%s: --bert-masking is of masked models; its masked tokens are "
                       "dropped",
                       m->name);
    }
    return CS_OK;
}

static cs_status choose_layers(const study *s, subject *m)
{
    cs_hidden_options *o = &m->options.hidden;
    cs_status status =
        cs_args_layers(s->args, "layers", m->text.model.config.layers, &o->layers, &m->layer);
    o->layer = m->layer;
    return status;
}

static cs_status check_memory(const subject *m)
{
    double bytes = cs_mask_rank_bytes(m->text.model.config.width, &m->options);
    double available = (double)cs_mem_available();
    return available > 0 && bytes > available
               ? cs_fail(CS_ERR_MEMORY,
                         "%s: Gram blocks take %.2g GB, more than the %.2g GB of free memory; "
                         "fewer --blocks or --layers take less",
                         m->name, bytes / 1e9, available / 1e9)
               : CS_OK;
}

/* As many blocks as documents, where these are fewer. */
static void fit_blocks(const study *s, subject *m)
{
    const int64_t n = m->text.documents;
    if (m->options.blocks > n) {
        m->options.blocks = n;
        m->options.rank.jackknife = n > 1;
        cs_output_note(s->args, "%s: %" PRId64 " document%s, and so %s", m->name, n,
                       n > 1 ? "s" : "", n > 1 ? "as many blocks" : "no standard errors");
    }
}

static cs_status prepare(study *s, const char *argument, const char *corpus, subject *m)
{
    const char *dir = NULL;
    cs_around around = {0};
    cs_status status = name_of(argument, &m->name, &dir);
    m->options = s->options;
    if (status == CS_OK && (status = cs_args_model_open(s->args, dir, &m->text)) == CS_OK &&
        (status = check_kind(s, m)) == CS_OK && (status = choose_layers(s, m)) == CS_OK &&
        (status = cs_args_model_corpus(s->args, corpus, &m->text)) == CS_OK) {
        fit_blocks(s, m);
        status = check_memory(m);
    }
    if (status == CS_OK) {
        status = cs_args_around(s->args, &m->text, &around);
    }
    cs_hidden_options *o = &m->options.hidden;
    o->before = around.before;
    o->befores = around.befores;
    o->after = around.after;
    o->afters = around.afters;
    o->keep = m->text.keep;
    m->options.encoder_only = m->text.kind.kind == CS_KIND_MAE;
    if (m->options.encoder_only) {
        o->mask_keep = o->mask_random = 0;
    }
    return status;
}

/* --- results --------------------------------------------------------------------------------- */

typedef struct {
    int64_t layer, n;
    const char *states, *metric, *definition;
    double value, se;
} row;

static cs_status add_row(cs_table *t, const subject *m, const row *r)
{
    char *series = r->states ? cs_format("%s %s", m->name, r->states) : cs_strdup(m->name);
    cs_status status = series ? cs_table_row(t) : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_table_text(t, "model", m->name)) == CS_OK &&
        (status = cs_table_int(t, "layer", r->layer)) == CS_OK &&
        (status = cs_table_text(t, "metric", r->metric)) == CS_OK &&
        (status = cs_table_text(t, "definition", r->definition)) == CS_OK &&
        (status = cs_table_real(t, "value", r->value)) == CS_OK &&
        (status = cs_table_real(t, "se", r->se)) == CS_OK &&
        (status = cs_table_int(t, "n", r->n)) == CS_OK &&
        (status = cs_table_text(t, "series", series)) == CS_OK && r->states) {
        status = cs_table_text(t, "states", r->states);
    }
    cs_free(series);
    return status;
}

/* {"name", "value", "se"} */
static cs_status append_metric(json_t *list, const char *name, const char *definition, double value,
                               double se)
{
    json_t *item = definition ? json_pack("{s:s, s:s}", "name", name, "definition", definition)
                              : json_pack("{s:s}", "name", name);
    cs_status status = item && json_array_append_new(list, item) == 0 ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_json_set(item, "value", cs_json_number(value))) == CS_OK) {
        status = cs_json_set(item, "se", cs_json_number(se));
    }
    return status;
}

static cs_status report_set(study *s, const subject *m, const cs_mask_layer *l, cs_mask_set set,
                            json_t *states)
{
    const cs_effective_rank *r = &l->rank[set];
    const char *name = cs_mask_set_name(set);
    json_t *json = json_pack("{s:I, s:[]}", "n", (json_int_t)r->rows, "metrics");
    cs_status status = cs_json_set(states, name, json);
    char *where = cs_format("%s, layer %" PRId64 ", %s", m->name, l->layer, name); /* of warnings */
    for (int k = 0; k < CS_RANK_MEASURES && status == CS_OK; ++k) {
        const cs_rank_measure measure = (cs_rank_measure)k;
        char *definition = cs_rank_definition(measure, &m->options.rank, &l->about[set], r);
        const row line = {l->layer,   r->rows,     name,    cs_rank_name(measure),
                          definition, r->value[k], r->se[k]};
        status = definition ? add_row(&s->ranks, m, &line) : CS_ERR_MEMORY;
        if (status == CS_OK) {
            status = append_metric(json_object_get(json, "metrics"), line.metric, definition,
                                   line.value, line.se);
        }
        cs_free(definition);
    }
    if (status == CS_OK) {
        status = where ? cs_rank_warnings(s->args, where, &l->about[set], r,
                                          m->options.rank.centred, json)
                       : CS_ERR_MEMORY;
    }
    cs_free(where);
    return status;
}

static cs_status report_gap(study *s, const subject *m, const cs_mask_layer *l, json_t *json)
{
    const cs_mask_set with = cs_mask_rank_with(&m->result);
    const cs_mask_set without = cs_mask_rank_without(&m->result);
    json_t *list = json_array();
    cs_status status = cs_json_set(json, "gap", list);
    char *definition = cs_format("%s less %s; se: delete-block jackknife of the difference",
                                 cs_mask_set_name(with), cs_mask_set_name(without));
    for (int k = 0; k < CS_RANK_MEASURES && status == CS_OK; ++k) {
        const row line = {
            l->layer,   l->rank[with].rows, NULL,        cs_rank_name((cs_rank_measure)k),
            definition, l->gap[k],          l->gap_se[k]};
        status = definition ? add_row(&s->gaps, m, &line) : CS_ERR_MEMORY;
        if (status == CS_OK &&
            (status = cs_table_real(&s->gaps, "with", l->rank[with].value[k])) == CS_OK &&
            (status = cs_table_real(&s->gaps, "without", l->rank[without].value[k])) == CS_OK) {
            status = append_metric(list, line.metric, NULL, line.value, line.se);
        }
    }
    cs_free(definition);
    return status;
}

static cs_status report_containment(study *s, const subject *m, const cs_mask_layer *l,
                                    json_t *json)
{
    const cs_containment *c = &l->containment;
    const int64_t n = l->rank[CS_SET_MASK_ONLY].rows;
    json_t *list = json_array();
    cs_status status = cs_json_set(json, "containment", list);
    for (int k = 0; k < CS_CONTAIN_MEASURES && status == CS_OK; ++k) {
        const cs_contain_measure measure = (cs_contain_measure)k;
        const row line = {
            l->layer,    n,       NULL, cs_contain_name(measure), cs_contain_definition(measure),
            c->value[k], c->se[k]};
        status = add_row(&s->containment, m, &line);
        if (status == CS_OK) {
            status = append_metric(list, line.metric, line.definition, line.value, line.se);
        }
    }
    const row counts[] = {{l->layer, n, NULL, "dimensions_real", "k_R = rank_tau of the real rows",
                           (double)c->real, NAN},
                          {l->layer, n, NULL, "dimensions_mask",
                           "k_M = rank_tau of the [MASK] rows", (double)c->mask, NAN},
                          {l->layer, n, NULL, "row_space_real",
                           "directions of H_R with sigma^2 above gamma ||H_R||_F^2",
                           (double)c->rank, NAN},
                          {l->layer, n, NULL, "outside_share_exact",
                           "share of ||H_M||_F^2 outside those directions", c->exact, NAN},
                          {l->layer, n, NULL, "outside_share_exact_error",
                           "bound on its numerical error", c->exact_error, NAN}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts && status == CS_OK; ++k) {
        status = add_row(&s->containment, m, &counts[k]);
        if (status == CS_OK) {
            status =
                append_metric(list, counts[k].metric, counts[k].definition, counts[k].value, NAN);
        }
    }
    return status;
}

static cs_status report_layers(study *s, const subject *m)
{
    json_t *layers = json_array();
    cs_status status = cs_json_set(m->json, "layers", layers);
    for (int64_t i = 0; i < m->result.layers && status == CS_OK; ++i) {
        const cs_mask_layer *l = &m->result.layer[i];
        json_t *json = json_pack("{s:I, s:{}}", "layer", (json_int_t)l->layer, "states");
        status = json && json_array_append_new(layers, json) == 0 ? CS_OK : CS_ERR_MEMORY;
        for (int set = 0; set < CS_MASK_SETS && status == CS_OK; ++set) {
            if (l->has[set]) {
                status = report_set(s, m, l, (cs_mask_set)set, json_object_get(json, "states"));
            }
        }
        if (status == CS_OK) {
            status = report_gap(s, m, l, json);
        }
        if (status == CS_OK && l->contained) {
            status = report_containment(s, m, l, json);
        }
    }
    return status;
}

/* --- a model --------------------------------------------------------------------------------- */

static cs_status state(study *s, subject *m)
{
    const cs_hidden_options *o = &m->options.hidden;
    const int64_t pieces = cs_args_int(s->args, "pieces");
    int64_t length = o->max_length > 0 ? o->max_length : m->text.model.config.positions;
    bool done = false;
    cs_status status = cs_lemma_21(&m->text.model, &m->result, length, m->name, &s->statements);
    if (status == CS_OK && !m->options.encoder_only && pieces > 0) {
        const cs_22_model_options t = {
            .hidden = o, .pieces = pieces, .threads = cs_args_threads(s->args)};
        status = cs_theorem_22_model(&m->text.model, &m->text.corpus, m->name, &t, &s->statements,
                                     &done);
        if (status == CS_OK && !done) {
            cs_output_note(s->args, "%s: no residual contraction: %s", m->name,
                           m->text.model.config.relative_buckets > 0
                               ? "relative positions add to its logits"
                               : "no document has a [MASK] and two other tokens");
        }
    }
    return status;
}

static cs_status study_model(study *s, const char *argument, const char *corpus)
{
    subject m = {0};
    cs_status status = prepare(s, argument, corpus, &m);
    const bool dry = cs_args_flag(s->args, "dry-run");
    int64_t rows = 0;
    if (status == CS_OK && (status = cs_hidden_rows(&m.text.model, &m.text.corpus,
                                                    &m.options.hidden, &rows)) == CS_OK) {
        m.json = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "name", m.name, "model",
                           m.text.dir, "kind", cs_kind_name(m.text.kind.kind), "documents",
                           (json_int_t)m.text.documents, "rows", (json_int_t)rows, "width",
                           (json_int_t)m.text.model.config.width, "blocks",
                           (json_int_t)m.options.blocks);
        status = m.json ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && dry) {
        double bytes = cs_mask_rank_bytes(m.text.model.config.width, &m.options);
        status = cs_json_set(m.json, "bytes", cs_json_number(bytes));
    } else if (status == CS_OK) {
        status = cs_blame(cs_mask_rank_of(&m.text.model, &m.text.corpus, &m.options, &m.result),
                          "%s", m.name);
    }
    if (status == CS_OK && !dry && (status = report_layers(s, &m)) == CS_OK) {
        status = state(s, &m);
    }
    if (status == CS_OK) {
        status = json_array_append(s->models, m.json) == 0 ? CS_OK : CS_ERR_MEMORY;
    }
    free_subject(&m);
    return status;
}

/* --- the command ----------------------------------------------------------------------------- */

static cs_status write_table(const study *s, const char *file, const cs_table *table)
{
    char *path = NULL;
    cs_status status = cs_output_path(s->args, file, &path);
    if (status == CS_OK) {
        status = cs_table_write_csv(table, path);
    }
    cs_free(path);
    return status;
}

static cs_status write_files(const study *s, json_t *statements)
{
    char *path = NULL;
    if (!cs_args_given(s->args, "output")) {
        return CS_OK;
    }
    cs_status status = write_table(s, "gap.csv", &s->gaps);
    if (status == CS_OK && (status = write_table(s, "containment.csv", &s->containment)) == CS_OK &&
        (status = cs_output_path(s->args, "statements.json", &path)) == CS_OK) {
        status = cs_json_write(path, statements);
    }
    cs_free(path);
    return status;
}

static cs_status show(study *s)
{
    const bool dry = cs_args_flag(s->args, "dry-run");
    json_t *statements = cs_statements_json(&s->statements);
    json_t *root = statements ? json_pack("{s:O, s:O}", "models", s->models, "statements",
                                          json_object_get(statements, "statements"))
                              : NULL;
    cs_status status = root ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !dry) {
        status = write_files(s, statements);
    }
    if (status == CS_OK && !dry) { /* the gap is the result, the ranks are many */
        status = cs_output_show(s->args, 2, (const cs_table *const[]){&s->gaps, &s->ranks});
    }
    if (status == CS_OK) {
        status = cs_output_result(s->args, "mask_rank", root, dry ? NULL : &s->ranks);
    }
    json_decref(root);
    json_decref(statements);
    return status;
}

static cs_status run(cs_args *args)
{
    static const char *const file[] = {"mask_rank.csv", "gap.csv", "containment.csv",
                                       "statements.json"};
    study s = {0};
    const int models = cs_args_positionals(args) - 1;
    if (models < 1) {
        return cs_fail(CS_ERR_USAGE, "mask-rank takes at least one [NAME=]MODEL, and a CORPUS");
    }
    cs_status status = take_options(args, &s);
    for (size_t i = 0; i < sizeof file / sizeof *file && status == CS_OK; ++i) {
        status = cs_output_claim(args, file[i]);
    }
    s.models = json_array();
    if (status != CS_OK || (status = s.models ? CS_OK : CS_ERR_MEMORY) != CS_OK ||
        (status = cs_table_init(
             &s.ranks, "model,layer,states,metric,definition,value,se,n,series")) != CS_OK ||
        (status = cs_table_init(
             &s.gaps, "model,layer,metric,definition,with,without,value,se,n,series")) != CS_OK ||
        (status = cs_table_init(&s.containment,
                                "model,layer,metric,definition,value,se,n,series")) != CS_OK) {
        goto done;
    }
    for (int i = 0; i < models && status == CS_OK; ++i) {
        status = study_model(&s, cs_args_positional(args, i), cs_args_positional(args, models));
    }
    if (status == CS_OK) {
        status = show(&s);
    }
    if (status == CS_OK) {
        status = cs_judge_statements(args, &s.statements);
    }
done:
    json_decref(s.models);
    cs_table_free(&s.ranks);
    cs_table_free(&s.gaps);
    cs_table_free(&s.containment);
    cs_statements_free(&s.statements);
    return status;
}

static const cs_opt mask_rank_options[] = {
    {.name = "mask-ratio",
     .kind = CS_OPT_REAL,
     .argument = "P",
     .fallback = "0.15",
     .low = 0,
     .high = 1,
     .help = "Share of each piece's tokens that become [MASK]."},
    {.name = "bert-masking",
     .kind = CS_OPT_FLAG,
     .help = "Leave a tenth of these as they are and put random tokens for a tenth, as BERT does "
             "(MAE-LM, Figure 6); they count as real rows."},
    {.name = "mask-seed",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "1",
     .low = 0,
     .high = 9007199254740992.0,
     .help = "Seed of the choice of tokens, and of the sample of real rows."},
    {.name = "tau",
     .kind = CS_OPT_REAL,
     .argument = "T",
     .fallback = "0.9",
     .low = CS_ABOVE_0,
     .high = 1,
     .help = "Share of the sum of squared singular values for rank_tau, above 0."},
    {.name = "layers",
     .kind = CS_OPT_TEXT,
     .argument = "LIST|all|last",
     .fallback = "all",
     .help = "Which layers, as 0,3,6: 0 is the embeddings, N the output of layer N."},
    {.name = "blocks",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "20",
     .low = 1,
     .high = 10000,
     .help = "Blocks of documents of the jackknife, at most the documents; 1: no standard "
             "errors."},
    {.name = "pieces",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "4",
     .low = 0,
     .high = 100000,
     .help = "Pieces of text on which Theorem 2.2's bound is evaluated, head by head."},
    {.name = "center",
     .kind = CS_OPT_FLAG,
     .help = "Subtract the mean of the rows. The paper's ranks are uncentred."},
    {.name = "row-norm",
     .kind = CS_OPT_FLAG,
     .help = "Divide each row by its norm, so that none outweighs the others."},
    {.name = "final-norm",
     .kind = CS_OPT_CHOICE,
     .argument = "hf|no",
     .fallback = "hf",
     .help = "Whether the last layer comes through the final norm of roberta-prelayernorm, as "
             "hidden_states of transformers 5 has it."},
    {.name = "long",
     .kind = CS_OPT_CHOICE,
     .argument = "truncate|split",
     .fallback = "split",
     .help = "What becomes of a document longer than --max-length: its beginning is taken, or "
             "all of its pieces."},
    {0},
};

const cs_command cs_cmd_mask_rank = {
    .name = "mask-rank",
    .summary = "What [MASK] takes of a masked model's space: MAE-LM's study",
    .description =
        "For each MODEL (masked or mae-lm; a directory of cospec train or of Hugging Face) and "
        "layer, the effective ranks of its states on CORPUS, streamed into Gram matrices:\n\n"
        "  with-mask      all rows, with a share of the tokens [MASK] (Figure 1a)\n"
        "  without-mask   all rows of the same text, unmasked (Figure 1a)\n"
        "  mask-only      the rows at [MASK] (Figure 1b)\n"
        "  real-only      the other rows of the masked text\n"
        "  real-sample    as many of those as there are [MASK]s, drawn in each piece\n"
        "  dropped        mae-lm: the text without the masked tokens, as its encoder\n"
        "                 reads it in training (Figure 5a)\n"
        "  without-kept   mae-lm: the same tokens' rows in the whole text\n\n"
        "The encoder of mae-lm never read [MASK] in training and is not shown it here.\n\n"
        "The gap of a layer is with-mask less without-mask (mae-lm: dropped less without-kept), "
        "with a delete-block jackknife of the difference. Beside it: the share of the [MASK] rows "
        "outside the real rows' top space and the principal angles of both; Lemma 2.1 with its "
        "premise, and Theorem 2.2, as statements with verdicts; its bound on residuals, as printed "
        "and as corrected, on the model's own heads.\n\n"
        "With -o DIR: mask_rank.csv, gap.csv, containment.csv, statements.json. Figures: cospec "
        "plot mask-rank, mask-rank-depth. Exit codes 1 and 4 as verify's: a corrected statement "
        "failed, or is inconclusive.",
    .positional = "[NAME=]MODEL... CORPUS",
    .groups =
        (const cs_opt *const[]){mask_rank_options, cs_group_model_text, cs_group_corpus_form, NULL},
    .examples =
        "# two small models, and the whole study\n"
        "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 --layers 2 "
        "--batch 8 -o mlm\n"
        "cospec train --corpus verses.txt --objective mae-lm --steps 5 --width 32 --layers 2 "
        "--batch 8 -o mae\n"
        "cospec mask-rank MLM=mlm MAE-LM=mae verses.txt -o study\n"
        "# the paper's Figures 1a and 5a, 1b\n"
        "cospec plot mask-rank study/mask_rank.csv -o figures\n"
        "cospec plot mask-rank-depth study/mask_rank.csv -o figures\n"
        "# BERT's masking (Figure 6)\n"
        "cospec mask-rank mlm verses.txt --bert-masking --blocks 5 --json",
    .run = run,
    .without = "resume seed",
    .gpu = true,
};
