/* cospec phases: measures of hidden states over the checkpoints of one or several runs of pretraining,
 * and the phases that they pass through. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/measures/course.h"
#include "analysis/measures/effective_rank.h"
#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "io/path.h"
#include "train/checkpoint.h"

/* The measures: each a rank of rows as they are or of centred rows. `sign` is +1 if the measure
 * rises as the states occupy more dimensions. */
static const struct {
    const char *name;
    cs_rank_measure of;
    bool centred;
    int sign;
} MEASURE[] = {{"rankme", CS_RANK_RANKME, false, 1},
               {"rankme_centred", CS_RANK_RANKME, true, 1},
               {"decay_exponent", CS_RANK_DECAY, true, -1}};

enum { MEASURES = sizeof MEASURE / sizeof *MEASURE, FREEDOM = 19 };

/* Signs of the change of the number of dimensions: collapse -1, expansion +1, compression -1. */
static const struct {
    const char *name;
    int phases, sign[CS_COURSE_PHASES];
} PATTERN[] = {{"collapse-expansion-compression", 3, {-1, 1, -1}},
               {"collapse-expansion", 2, {-1, 1}},
               {"expansion-compression", 2, {1, -1}}};

enum { PATTERNS = sizeof PATTERN / sizeof *PATTERN };

typedef struct {
    cs_args *args;
    int64_t runs, steps, blocks;
    int64_t *step;                 /* of the checkpoints, the same in all runs */
    const char **name, **dir;      /* runs */
    json_t *trained;               /* of the first run; NULL: unknown */
    double *value, *se, *left_out; /* MEASURES x runs x steps (x blocks) */
    char *definition[MEASURES];
    int64_t rows, width;
    cs_item *course;
} study;

static void release(study *s)
{
    CS_FREE_FIELDS(s, step, name, dir, value, se, left_out);
    json_decref(s->trained);
    for (int m = 0; m < MEASURES; ++m) {
        cs_free(s->definition[m]);
    }
}

/* --- a checkpoint ------------------------------------------------------------------------------- */

typedef struct {
    cs_model_text text;
    cs_hidden_options options;
    int32_t *document_block, *row_block;
    int64_t capacity;
    cs_gram gram;
    cs_gram_options sums;
} subject;

static void release_subject(subject *m)
{
    CS_FREE_FIELDS(m, document_block, row_block);
    cs_gram_free(&m->gram);
    cs_model_text_free(&m->text);
}

static cs_status add_rows(void *ctx, const cs_hidden_block *block)
{
    subject *m = ctx;
    const cs_rows rows = cs_rows_of_f32(block->rows, block->width, block->state[0], "states");
    if (block->rows > m->capacity) {
        cs_free(m->row_block);
        m->capacity = 0;
        m->row_block = cs_alloc(block->rows, sizeof *m->row_block);
        if (!m->row_block) return CS_ERR_MEMORY;
        m->capacity = block->rows;
    }
    for (int64_t i = 0; i < block->rows; ++i) {
        m->row_block[i] = m->document_block[block->about[i].document];
    }
    return cs_gram_add(&m->gram, &rows, m->row_block, &m->sums);
}

static cs_status pool(const study *s, subject *m)
{
    const char *asked = cs_args_text(s->args, "pooling");
    m->options.pooling =
        strcmp(asked, "mean") == 0    ? CS_POOL_MEAN
        : strcmp(asked, "first") == 0 ? CS_POOL_FIRST
        : strcmp(asked, "last") == 0 || m->options.masks.attention == CS_ATTENTION_CAUSAL
            ? CS_POOL_LAST
            : CS_POOL_MEAN;
    return m->options.layers == 1 ? CS_OK
                                  : cs_fail(CS_ERR_USAGE, "--layer: give one layer, or last");
}

/* The first checkpoint of a run, with the corpus in its tokens. */
static cs_status open_run(study *s, const char *dir, const char *corpus, subject *m)
{
    cs_status status = cs_args_model_open(s->args, dir, &m->text);
    if (status == CS_OK) status = cs_model_text_has_states(&m->text);
    if (status == CS_OK) status = cs_args_model_corpus(s->args, corpus, &m->text);
    if (status == CS_OK) status = cs_args_hidden(s->args, &m->text, "layer", &m->options);
    if (status == CS_OK) status = pool(s, m);
    m->options.progress = NULL; /* there is one for all checkpoints */
    m->options.keep = m->text.keep;
    m->sums = (cs_gram_options){.wide = true, .shift = true, .threads = cs_args_threads(s->args)};
    const double width = (double)m->text.model.config.shape.width;
    if (status == CS_OK)
        status = cs_document_blocks(m->text.corpus.documents, m->text.keep, s->blocks,
                                    &m->document_block);
    if (status == CS_OK)
        status = cs_mem_check(8.0 * (double)s->blocks * width * width, "fewer --blocks take less",
                              "%s: Gram blocks of its states take", dir);
    return status;
}

/* The weights of another checkpoint of the run. */
static cs_status load_weights(study *s, const char *dir, subject *m)
{
    cs_status status = cs_args_model_inputs(s->args, dir);
    cs_model_free(&m->text.model);
    return status == CS_OK ? cs_model_read(dir, m->text.backend, false, &m->text.model) : status;
}

/* The measures of a checkpoint, into its places. */
static cs_status measure(study *s, const subject *m, int64_t at)
{
    const int64_t places = s->runs * s->steps;
    cs_status status = CS_OK;
    for (int centred = 0; centred < 2 && status == CS_OK; ++centred) {
        const cs_rank_options o = {.tau = 0.9,
                                   .eps = -1,
                                   .centred = centred,
                                   .jackknife = s->blocks > 1,
                                   .threads = cs_args_threads(s->args)};
        CS_AUTO(cs_effective_rank) r = {0};
        status = cs_effective_rank_of(&m->gram, &o, &r);
        for (int k = 0; k < MEASURES && status == CS_OK; ++k) {
            if (MEASURE[k].centred != centred) continue;
            s->value[k * places + at] = r.value[MEASURE[k].of];
            s->se[k * places + at] = r.se[MEASURE[k].of];
            for (int64_t b = 0; b < s->blocks && r.left_out; ++b) {
                s->left_out[(k * places + at) * s->blocks + b] =
                    r.left_out[b * CS_RANK_MEASURES + MEASURE[k].of];
            }
            cs_free(s->definition[k]);
            s->definition[k] =
                cs_rank_definition(MEASURE[k].of, &o, &m->gram, &r, &r.point[r.points - 1]);
            if (!s->definition[k]) status = CS_ERR_MEMORY;
        }
    }
    return status;
}

/* Documents and width, which are the same in all runs. */
static cs_status check_sizes(study *s, const subject *m, int64_t run, const char *dir)
{
    const int64_t rows = m->text.documents, width = m->text.model.config.shape.width;
    if (run > 0 && (rows != s->rows || width != s->width)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " documents and width %" PRId64
                       ", but the first run has %" PRId64 " and %" PRId64,
                       dir, rows, width, s->rows, s->width);
    }
    if (run == 0) {
        cs_item *root = cs_output_root(s->args);
        s->rows = rows;
        s->width = width;
        cs_item_text(root, "pooling", cs_pooling_name(m->options.pooling));
        cs_item_int(root, "layer", m->options.layer[0]);
        cs_item_int(root, "documents", rows);
        cs_item_int(root, "width", width);
    }
    return CS_OK;
}

static const char *objective_of(const json_t *trained)
{
    const char *name = json_string_value(json_object_get(trained, "objective"));
    return name ? name : "(unknown)";
}

/* The mean over runs is about one configuration. */
static cs_status check_training(study *s, const json_t *trained, int64_t run, const char *dir)
{
    if (run == 0) {
        s->trained = json_incref((json_t *)trained);
    } else if (trained != s->trained && !json_equal(trained, s->trained)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: trained in another way (objective %s) than the first run (objective "
                       "%s); give seeds of one configuration",
                       dir, objective_of(trained), objective_of(s->trained));
    }
    return CS_OK;
}

static cs_status study_run(study *s, int64_t run, const char *dir, const char *corpus)
{
    CS_AUTO_BY(release_subject, subject) m = {0};
    cs_status status = CS_OK;
    for (int64_t t = 0; t < s->steps && status == CS_OK; ++t) {
        CS_AUTO_FREE char *folder = cs_train_folder(dir, s->step[t]);
        const char *path = folder ? cs_args_format(s->args, "%s", folder) : NULL;
        status = !path    ? CS_ERR_MEMORY
                 : t == 0 ? open_run(s, path, corpus, &m)
                          : load_weights(s, path, &m);
        if (status == CS_OK && t == 0) status = check_sizes(s, &m, run, path);
        if (status == CS_OK && t == 0) status = check_training(s, m.text.model.trained, run, path);
        if (status == CS_OK) status = cs_gram_init(s->width, s->blocks, &m.sums, &m.gram);
        if (status == CS_OK)
            status = cs_hidden_states(&m.text.model, &m.text.corpus, &m.options, add_rows, &m);
        if (status == CS_OK) status = cs_blame(measure(s, &m, run * s->steps + t), "%s", path);
        cs_gram_free(&m.gram);
        cs_progress_report(cs_output_progress(s->args), "checkpoints", run * s->steps + t + 1,
                           s->runs * s->steps);
    }
    return status;
}

/* --- runs ----------------------------------------------------------------------------------------*/

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The checkpoints of a run; those of the first run must be in every other one. */
static cs_status find_checkpoints(study *s, int64_t run, const char *dir)
{
    int64_t count = 0;
    CS_AUTO_FREE int64_t *step = NULL;
    if (!cs_path_is_dir(dir)) {
        return cs_path_exists(dir) ? cs_fail(CS_ERR_INPUT, "%s: not a folder", dir)
                                   : cs_fail(CS_ERR_IO, "%s: no such folder%s", dir,
                                             cs_path_hint(dir, &(cs_hint){0}));
    }
    for (int64_t r = 0; r < run; ++r) {
        if (same_folder(dir, s->dir[r]))
            return cs_fail(CS_ERR_USAGE, "%s and %s are one run; give different seeds", s->dir[r],
                           dir);
    }
    cs_status status = cs_train_kept(dir, &count, &step);
    if (status != CS_OK) return status;
    const bool same =
        run == 0 || (count == s->steps && memcmp(step, s->step, (size_t)count * sizeof *step) == 0);
    if (run == 0 && count < 3) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " checkpoints; phases need at least 3 "
                       "(train --keep-at STEP,STEP,...)",
                       dir, count);
    }
    if (!same) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: its %" PRId64 " checkpoints are not of the same steps as the %" PRId64
                       " of the first run; give runs with the same --keep-at and --steps",
                       dir, count, s->steps);
    }
    if (run == 0) {
        s->steps = count;
        s->step = step;
        step = NULL;
    }
    return CS_OK;
}

static cs_status allocate(study *s)
{
    const int64_t places = MEASURES * s->runs * s->steps;
    s->value = cs_alloc(places, sizeof *s->value);
    s->se = cs_alloc(places, sizeof *s->se);
    s->left_out = cs_alloc(places * s->blocks, sizeof *s->left_out);
    return s->value && s->se && s->left_out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status read_runs(study *s)
{
    const char *corpus = cs_args_positional(s->args, (int)s->runs);
    const char *const *words = cs_args_words(s->args);
    s->name = cs_calloc(s->runs, sizeof *s->name);
    s->dir = cs_calloc(s->runs, sizeof *s->dir);
    cs_status status = s->name && s->dir ? CS_OK : CS_ERR_MEMORY;
    for (int pass = 0; pass < 2;
         ++pass) { /* what is missing is found before anything is computed */
        for (int64_t r = 0; r < s->runs && status == CS_OK; ++r) {
            status = cs_args_named_model(s->args, words[r], &s->name[r], &s->dir[r]);
            if (status == CS_OK && pass == 0) status = find_checkpoints(s, r, s->dir[r]);
            if (status == CS_OK && pass == 0 && r == 0) status = allocate(s);
            if (status == CS_OK && pass == 1) status = study_run(s, r, s->dir[r], corpus);
        }
    }
    return status;
}

/* --- the record ---------------------------------------------------------------------------------- */

static cs_item *add_point(study *s, int m, const char *run, int64_t t, double value)
{
    cs_item *point = cs_item_object(s->course, NULL);
    cs_item_text(point, "metric", MEASURE[m].name);
    cs_item_text(point, "run", run);
    cs_item_int(point, "step", s->step[t]);
    cs_item_real(point, "value", value);
    return point;
}

/* The mean over runs. */
static cs_status add_mean(study *s, int m, const cs_course *course, int64_t t)
{
    cs_course_point mean;
    cs_status status = cs_course_mean(course, t, &mean);
    if (status != CS_OK) return status;
    cs_item *point = add_point(s, m, "mean", t, mean.value);
    CS_ITEM_FIELDS(point, &mean, low, high);
    return CS_OK;
}

static cs_status add_patterns(study *s, int m, const cs_course_changes *changes, cs_item *list)
{
    cs_status status = CS_OK;
    for (int p = 0; p < PATTERNS && status == CS_OK; ++p) {
        int sign[CS_COURSE_PHASES];
        char turns[CS_COURSE_PHASES * 24 + 24] = "";
        cs_course_depth f;
        for (int k = 0; k < PATTERN[p].phases; ++k) {
            sign[k] = PATTERN[p].sign[k] * MEASURE[m].sign;
        }
        status = cs_course_depth_of(changes, PATTERN[p].phases, sign, &f);
        for (int k = 0; k <= PATTERN[p].phases && f.found; ++k) {
            const size_t at = strlen(turns);
            (void)snprintf(turns + at, sizeof turns - at, "%s%" PRId64, k ? " " : "",
                           s->step[f.turn[k]]);
        }
        cs_item *row = cs_item_object(list, NULL);
        cs_item_text(row, "metric", MEASURE[m].name);
        cs_item_text(row, "phases", PATTERN[p].name);
        cs_item_real(row, "value", f.depth);
        cs_item_real(row, "se", cs_course_error(&f, FREEDOM));
        cs_item_real(row, "low", f.low);
        cs_item_real(row, "high", f.high);
        cs_item_text(row, "turns", turns);
        cs_item_text(row, "verdict", cs_course_verdict(&f, cs_args_real(s->args, "matters")));
        cs_item_int(row, "runs", s->runs);
        cs_item_text(row, "~definition", s->definition[m]);
    }
    return status;
}

static cs_status record(study *s)
{
    static const cs_view table = {"phases[]", "metric phases value se low high verdict turns runs "
                                              "definition=~definition"},
                         course = {"course[]", "metric run step value se low high n=/documents"};
    cs_item *root = cs_output_root(s->args), *list = cs_item_array(root, "phases");
    const int64_t places = s->runs * s->steps;
    cs_status status = CS_OK;
    s->course = cs_item_array(root, "course");
    for (int m = 0; m < MEASURES && status == CS_OK; ++m) {
        const cs_course of = {.runs = s->runs,
                              .steps = s->steps,
                              .blocks = s->blocks,
                              .value = s->value + m * places,
                              .left_out =
                                  s->blocks > 1 ? s->left_out + m * places * s->blocks : NULL};
        CS_AUTO(cs_course_changes) changes = {0};
        status = cs_course_changes_of(&of, &changes);
        for (int64_t r = 0; r < s->runs && status == CS_OK; ++r) {
            for (int64_t t = 0; t < s->steps; ++t) {
                const int64_t at = r * s->steps + t;
                cs_item *point = add_point(s, m, s->name[r], t, of.value[at]);
                cs_item_real(point, "se", s->se[m * places + at]);
            }
        }
        for (int64_t t = 0; t < s->steps && s->runs > 1 && status == CS_OK; ++t) {
            status = add_mean(s, m, &of, t);
        }
        if (status == CS_OK) status = add_patterns(s, m, &changes, list);
    }
    if (status == CS_OK) status = cs_output_csv(s->args, "course.csv", &course);
    return status == CS_OK ? cs_output_record(s->args, "phases", &table) : status;
}

/* --- the command --------------------------------------------------------------------------------- */

static cs_status run(cs_args *args)
{
    CS_AUTO_BY(release, study)
    s = {
        .args = args, .runs = cs_args_positionals(args) - 1, .blocks = cs_args_int(args, "blocks")};
    cs_status status = read_runs(&s);
    return status == CS_OK ? record(&s) : status;
}

static const cs_opt phases_options[] = {
    CS_TEXT("layer", "N|last", "last", "Layer: 0 is the embeddings, N the output of layer N."),
    CS_CHOICE("pooling", "auto|mean|first|last", "auto",
              "The row of a document: mean, first or last row that the model reads. auto: last for "
              "causal attention, else mean."),
    CS_INT("blocks", "B", "20", 1, 10000,
           "Blocks of documents of the jackknife. 1: errors are of runs alone."),
    CS_REAL("matters", "D", "0.05", CS_ABOVE_0, 10,
            "The least change of the logarithm of a measure that counts as a phase."),
    {0},
};

const cs_command cs_cmd_phases = {
    .name = "phases",
    .help = &cs_help_phases,
    .positional = "[NAME=]RUN... CORPUS",
    .main = "layer pooling split limit max-length blocks matters device output",
    .groups = (const cs_opt *const[]){phases_options, cs_group_stack, cs_group_sources,
                                      cs_group_model_text, cs_group_roles, cs_group_attention,
                                      cs_group_corpus_form, NULL},
    .run = run,
    .files = "phases.json phases.csv course.csv",
    .without = "seed dry-run",
    .gpu = true,
    .shown = "metric phases value low high verdict turns",
};
