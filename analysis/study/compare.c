/* Rows of the tables from which plots/compare.json makes its steps and claims. */
#include "analysis/study/compare.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/json.h"
#include "io/result.h"

/* The k-th of at most `most` layers of 0 .. last, evenly spaced, both ends among them. */
static int64_t layer_at(int64_t last, int64_t most, int64_t k)
{
    return last < most ? k : k * last / (most - 1);
}

static int64_t layers_of(int64_t last, int64_t most)
{
    return last < most ? last + 1 : most;
}

/* "LABEL=@NAME.states/layer-L-POOLING.npy" for each of the layers, before each `before`; LABEL is L, with
 * `named` NAME:L; of no pooling "L,L,L". In fresh memory, NULL without. */
static char *layer_words(const cs_compare_model *m, int64_t most, const char *before, bool named,
                         const char *pooling)
{
    char *text = cs_strdup("");
    for (int64_t k = 0; k < layers_of(m->layers, most); ++k) {
        const int64_t l = layer_at(m->layers, most, k);
        if (!pooling) {
            cs_append(&text, "%s%" PRId64, k ? "," : "", l);
            continue;
        }
        cs_append(&text, "%s%s%s%s%" PRId64 "=@%s.states/layer-%" PRId64 "-%s.npy", k ? " " : "",
                  before, named ? m->name : "", named ? ":" : "", l, m->name, l, pooling);
    }
    return text;
}

static const char *yes(bool x)
{
    return x ? "yes" : "no";
}

static bool predicts(const cs_compare_model *m)
{
    return m->next[0] != '\0';
}

/* A row of texts; takes the reference. */
static cs_status add_row(json_t *rows, json_t *row)
{
    return row && json_array_append_new(rows, row) == 0 ? CS_OK : CS_ERR_MEMORY;
}

static cs_status add_model(const cs_model_comparison *c, const cs_compare_model *m, json_t *rows)
{
    enum { FEW = 4 };
    CS_AUTO_FREE char *layers = layer_words(m, CS_COMPARE_LAYERS, "", false, m->pooling),
                      *list = layer_words(m, CS_COMPARE_LAYERS, "", false, NULL),
                      *few = layer_words(m, FEW, "", false, NULL),
                      *last = cs_format("%" PRId64, m->layers),
                      *reads = m->decoder && c->sources ? cs_format("--sources %s", c->sources)
                                                        : cs_strdup("");
    cs_status status = layers && list && few && last && reads ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = add_row(
            rows,
            json_pack(
                "{s:s, s:s, s:s, s:s, s:s++, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, "
                "s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                "name", m->name, "path", m->path, "draws", m->draws, "losses",
                m->shares ? "--losses" : "", "given_losses", m->shares ? "--losses @" : "",
                m->shares ? m->name : "", m->shares ? ".states/losses.npy" : "", "stack",
                m->decoder ? "--stack decoder" : "", "reads", reads, "given",
                m->decoder && !c->sources ? "--no-source" : reads, "series", m->series, "step",
                m->step, "kind", m->kind, "pooling", m->pooling, "last", last, "layers", layers,
                "layer_list", list, "few_layers", few, "ask", m->ask, "next", m->next, "predicts",
                yes(predicts(m)), "probed", yes(c->tasks > 0), "tunes",
                yes(c->tasks > 0 && m->tunes && m->last), "masks", yes(m->masks && m->last)));
    if (status == CS_OK) /* what is compared with the others */
        status = cs_json_set(json_array_get(rows, json_array_size(rows) - 1), "shown",
                             json_string(yes(m->last)));
    return status;
}

/* Two models, with what both can be asked. */
static json_t *pair_row(const cs_model_comparison *c, const cs_compare_model *a,
                        const cs_compare_model *b)
{
    return json_pack("{s:s++, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", a->name, ".", b->name,
                     "a", a->name, "b", b->name, "next", yes(predicts(a) && predicts(b)), "pseudo",
                     yes(a->pseudo && b->pseudo), "masked", yes(a->masks && b->masks), "shape",
                     "yes", "probed", yes(c->tasks > 0));
}

static cs_status add_graded(const cs_model_comparison *c, const cs_compare_model *a,
                            const cs_compare_model *b, json_t *rows)
{
    cs_status status = CS_OK;
    for (int64_t t = 0; t < c->tasks + (c->tasks > 1) && status == CS_OK; ++t) {
        const bool average = t == c->tasks, overall = average || c->tasks == 1;
        const cs_compare_task *task = &c->task[average ? 0 : t];
        status = add_row(
            rows,
            json_pack("{s:s++++, s:s++, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", a->name, ".",
                      b->name, ".", average ? "average" : task->name, "pair", a->name, ".", b->name,
                      "a", a->name, "b", b->name, "task", average ? "average" : task->name,
                      "metric", average ? "look-ahead" : task->metric, "overall", yes(overall),
                      "kind", average ? "average" : "task", "tuned", yes(a->tunes && b->tunes)));
    }
    return status;
}

static cs_status add_alike(const cs_compare_model *a, const cs_compare_model *b, json_t *rows)
{
    CS_AUTO_FREE char *of = layer_words(a, CS_COMPARE_ALIKE, "", true, "mean"),
                      *with = layer_words(b, CS_COMPARE_ALIKE, "--with ", true, "mean");
    cs_status status = of && with ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = add_row(rows, json_pack("{s:s++, s:s, s:s}", "name", a->name, ".", b->name, "of",
                                         of, "with", with));
    return status;
}

/* The tasks, with what is drawn of each. */
static cs_status add_tasks(const cs_model_comparison *c, json_t *tasks)
{
    cs_status status = CS_OK;
    for (int64_t t = 0; t < c->tasks && status == CS_OK; ++t) {
        const cs_compare_task *task = &c->task[t];
        CS_AUTO_FREE char *figure = cs_strdup("");
        for (int64_t i = 0; i < c->models; ++i) {
            const char *model = c->model[i].name;
            if (c->model[i].last)
                cs_append(&figure, " %s=@%s.probe/%s/probe.csv", model, model, task->name);
        }
        if (status == CS_OK)
            status = figure ? add_row(tasks, json_pack("{s:s, s:s, s:s}", "name", task->name,
                                                       "metric", task->metric, "figure", figure))
                            : CS_ERR_MEMORY;
    }
    return status;
}

/* Which sections a report of these models has. */
static cs_status add_sections(const cs_model_comparison *c, json_t *rows)
{
    bool prediction = false, masking = false;
    for (int64_t i = 0; i < c->models; ++i) {
        prediction = prediction || (predicts(&c->model[i]) && c->model[i].last);
        masking = masking || (c->model[i].masks && c->model[i].last);
    }
    cs_status status = CS_OK;
    if (prediction) status = add_row(rows, json_pack("{s:s}", "name", "prediction"));
    if (status == CS_OK && masking) status = add_row(rows, json_pack("{s:s}", "name", "masking"));
    return status;
}

/* A checkpoint with the last of its series. */
static cs_status add_course(const cs_model_comparison *c, const cs_compare_model *m, json_t *rows)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < c->models && !m->last && status == CS_OK; ++i) {
        const cs_compare_model *end = &c->model[i];
        if (end->last && strcmp(end->series, m->series) == 0)
            status = add_row(rows, pair_row(c, m, end));
    }
    return status;
}

cs_status cs_compare_tables(const cs_model_comparison *c, json_t *study)
{
    enum { MODELS, PAIRS, COURSE, ALIKE, SECTIONS, TASKS, GRADED, TABLES };
    static const char *const name[] = {"models",   "pairs", "course", "alike",
                                       "sections", "tasks", "graded"};
    json_t *tables = json_object(), *table[TABLES];
    cs_status status = cs_json_set(study, "tables", tables);
    int64_t compared = 0;
    for (int t = 0; t < TABLES && status == CS_OK; ++t) {
        status = cs_json_set(tables, name[t], table[t] = json_array());
    }
    for (int64_t i = 0; i < c->models && status == CS_OK; ++i) {
        const cs_compare_model *a = &c->model[i];
        compared += a->last;
        status = add_model(c, a, table[MODELS]);
        if (status == CS_OK) status = add_course(c, a, table[COURSE]);
        for (int64_t j = i; j < c->models && a->last && status == CS_OK; ++j) {
            const cs_compare_model *b = &c->model[j];
            if (!b->last) continue;
            status = add_alike(a, b, table[ALIKE]);
            if (status == CS_OK && j > i) status = add_row(table[PAIRS], pair_row(c, a, b));
            if (status == CS_OK && j > i) status = add_graded(c, a, b, table[GRADED]);
        }
    }
    if (status == CS_OK) status = add_tasks(c, table[TASKS]);
    if (status == CS_OK) status = add_sections(c, table[SECTIONS]);
    return status == CS_OK && compared > CS_COMPARE_MODELS
               ? cs_fail(CS_ERR_USAGE, "%" PRId64 " models exceed the limit of %d", compared,
                         CS_COMPARE_MODELS)
               : status;
}

cs_status cs_compare_models_write(const cs_model_comparison *c, const char *path)
{
    static const cs_view view = {"models[]",
                                 "model series step architecture=arch stack kind layers width "
                                 "parameters pooling path not_measured=missing"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "models");
    for (int64_t i = 0; i < c->models; ++i) {
        const cs_compare_model *m = &c->model[i];
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_text(row, "model", m->name);
        CS_ITEM_FIELDS(row, m, series, step, arch, kind, layers, width, parameters, pooling, path);
        cs_item_text(row, "stack", m->decoder ? "decoder" : "");
        cs_item_text(row, "missing", m->missing + (*m->missing ? strlen("; ") : 0));
    }
    return cs_result_write_csv(result, &view, path);
}

/* --- checkpoints ------------------------------------------------------------------------------- */

/* The number that a name ends with; -1: none. */
static int64_t step_of(const char *name)
{
    enum { DIGITS = 15 };
    const char *end = name + strlen(name), *at = end;
    while (at > name && isdigit((unsigned char)at[-1])) {
        --at;
    }
    return at == end || end - at > DIGITS ? -1 : strtoll(at, NULL, 10);
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = ((const cs_checkpoint *)a)->step, y = ((const cs_checkpoint *)b)->step;
    return (x > y) - (x < y);
}

static cs_status add_checkpoint(const char *dir, const char *name, cs_checkpoints *c)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, name),
                      *config = path ? cs_path_join(path, "config.json") : NULL;
    cs_status status = config ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && step_of(name) >= 0 && cs_path_exists(config)) {
        const size_t size = strlen(path) + 1;
        char *kept = cs_pool_take(&c->pool, (int64_t)size, 1);
        if (kept) c->at[c->count++] = (cs_checkpoint){step_of(name), memcpy(kept, path, size)};
        status = c->pool.status;
    }
    return status;
}

cs_status cs_checkpoints_of(const char *dir, cs_checkpoints *out)
{
    cs_checkpoints c = {0};
    char **entry = NULL;
    int64_t entries = 0;
    cs_status status = cs_dir_names(dir, &entry, &entries);
    c.at = cs_pool_take(&c.pool, entries, sizeof *c.at);
    if (status == CS_OK) status = c.pool.status;
    for (int64_t i = 0; i < entries && status == CS_OK; ++i) {
        status = add_checkpoint(dir, entry[i], &c);
    }
    if (status == CS_OK) qsort(c.at, (size_t)c.count, sizeof *c.at, by_step);
    cs_text_list_free(entry, entries);
    return CS_DELIVER(status, out, c, cs_checkpoints_free);
}

void cs_checkpoints_free(cs_checkpoints *c)
{
    cs_pool_free(&c->pool);
    *c = (cs_checkpoints){0};
}
