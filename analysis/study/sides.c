/* A number over seeds is their mean; the jackknife is that of the mean, from the tables
 * X-blocks.csv that commands write in addition to X.csv (docs/reference/predictions.md, Blocks). A
 * block without tokens of a run does not change the run's number. */
#include "analysis/study/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "base/auto.h"
#include "io/file.h"
#include "io/number.h"
#include "stats/jackknife.h"

enum { MOST_WORDS = 24 };

static void free_run(cs_claim_run *run)
{
    CS_FREE_FIELDS(run, seed, left_out);
    *run = (cs_claim_run){0};
}

static void forget_runs(cs_claim_side *side)
{
    for (int64_t i = 0; i < side->measured; ++i)
        free_run(&side->run[i]);
    cs_free(side->left_out);
    side->left_out = NULL;
    side->runs = side->measured = side->blocks = 0;
}

void cs_side_free(cs_claim_side *side)
{
    forget_runs(side);
    CS_FREE_FIELDS(side, file, pick, minus);
    side->file = side->pick = side->minus = NULL;
    for (int i = 0; i < 2; ++i) {
        cs_claim_side **more = i ? &side->longer : &side->floor;
        if (*more) cs_side_free(*more);
        cs_free(*more);
        *more = NULL;
    }
}

/* The number in a cell; an empty one is no number. */
static cs_status cell_number(const cs_pick *pick, int64_t row, const char *column, double *out)
{
    int at = 0;
    cs_status status = cs_pick_column(pick, column, &at);
    if (status != CS_OK) return status;
    const char *cell = cs_pick_cell(pick, row, at);
    *out = NAN;
    return *cell == '\0' || cs_real_scan(cell, out)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: \"%s\" in column %s is not a number", pick->path, cell,
                         column);
}

/* A value of a file: a column of the one row that fits words. */
typedef struct {
    const char *column, *error; /* error NULL: exact */
    int words;
    char **word;
} wanted_number;

static cs_status pick_number(const cs_study *study, const char *file, const wanted_number *wanted,
                             double *value, double *se)
{
    CS_AUTO(cs_pick) pick = {0};
    int64_t row = 0, hits = 0;
    cs_status status = cs_pick_open(study, file, wanted->words, wanted->word, &pick);
    if (status == CS_OK) status = cs_pick_first(&pick, &row);
    for (int64_t i = row; i < pick.table.rows && status == CS_OK; ++i) {
        hits += cs_pick_takes(&pick, i);
    }
    if (hits > 1)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld rows match, but one is needed", pick.path,
                         (long long)hits);
    if (status == CS_OK) status = cell_number(&pick, row, wanted->column, value);
    if (status == CS_OK && wanted->error) status = cell_number(&pick, row, wanted->error, se);
    return status;
}

static cs_status read_blocks(const cs_study *study, const char *file, const wanted_number *wanted,
                             cs_claim_run *out)
{
    CS_AUTO(cs_pick) pick = {0};
    int block = 0, partition = 0;
    cs_status status = cs_pick_open(study, file, wanted->words, wanted->word, &pick);
    if (status == CS_OK) status = cs_pick_column(&pick, "block", &block);
    if (status == CS_OK) status = cs_pick_column(&pick, "partition", &partition);
    for (int64_t i = 0; i < pick.table.rows && status == CS_OK; ++i) {
        int64_t number = 0;
        double x = NAN;
        if (!cs_pick_takes(&pick, i)) {
            continue;
        }
        status = cs_int_parse(cs_pick_cell(&pick, i, block), &number);
        if (status == CS_OK) status = cell_number(&pick, i, wanted->column, &x);
        if (status == CS_OK && number == 0) {
            out->bias = x;
        } else if (status == CS_OK) {
            (void)snprintf(out->partition, sizeof out->partition, "%s",
                           cs_pick_cell(&pick, i, partition));
            status = cs_reserve(&out->left_out, &out->capacity, out->blocks + 1, sizeof(double));
            if (status == CS_OK) out->left_out[out->blocks++] = isnan(x) ? out->value : x;
        }
    }
    return status;
}

/* "STEP/X-blocks.csv" for "STEP/X.csv", NULL where there is none. */
static cs_status blocks_of(const cs_study *study, const char *file, char **out)
{
    const char *end = strstr(file, ".csv");
    CS_AUTO_FREE char *name = cs_format("%.*s-blocks.csv", (int)(end ? end - file : 0), file),
                      *path = NULL;
    cs_status status = name ? cs_study_file(study, name, &path) : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) {
        *out = name;
        name = NULL;
    }
    return status;
}

/* "WHERE..." or "COLUMN WHERE..." of a file; column NULL: the first word. */
static cs_status measure_words(const cs_study *study, const char *file, const char *words,
                               const char *error, char *column, cs_claim_run *out)
{
    CS_AUTO_FREE char *text = cs_strdup(words), *again = cs_strdup(words), *blocks = NULL;
    char *word[MOST_WORDS];
    cs_status status = text && again ? CS_OK : CS_ERR_MEMORY;
    wanted_number wanted = {.error = error};
    const int skip = *column == '\0';
    if (status == CS_OK) {
        const int count = cs_study_words(text, MOST_WORDS, word);
        if (skip && count > 0) (void)snprintf(column, 64, "%s", word[0]);
        wanted = (wanted_number){column, error, count - skip, word + skip};
        status = count > 0 && *column ? pick_number(study, file, &wanted, &out->value, &out->se)
                                      : cs_fail(CS_ERR_INPUT, "no column is given for %s", file);
    }
    if (status == CS_OK && error) status = blocks_of(study, file, &blocks);
    if (status == CS_OK && blocks) {
        wanted.words = cs_study_words(again, MOST_WORDS, word) - skip;
        status = read_blocks(study, blocks, &wanted, out);
    }
    return status;
}

/* a - b, block by block where they have the same. */
static void subtract(cs_claim_run *a, const cs_claim_run *b)
{
    a->value -= b->value;
    a->se = hypot(a->se, b->se);
    a->bias -= b->bias;
    a->blocks = a->blocks == b->blocks && strcmp(a->partition, b->partition) == 0 ? a->blocks : 0;
    for (int64_t i = 0; i < a->blocks; ++i) {
        a->left_out[i] -= b->left_out[i];
    }
}

static cs_status measure_run(const cs_study *study, const cs_claim_side *side, const char *file,
                             cs_claim_run *out)
{
    cs_claim_run less = {0};
    char column[64] = "";
    cs_status status = measure_words(study, file, side->pick, side->error, column, out);
    if (status == CS_OK && side->minus) {
        status = measure_words(study, file, side->minus, side->error, column, &less);
        if (status == CS_OK) subtract(out, &less);
    }
    out->p = NAN;
    if (status == CS_OK && side->chance) { /* in place of a standard error */
        const char *where = strchr(side->chance, ' ') ? NULL : strchr(side->pick, ' ');
        CS_AUTO_FREE char *words = cs_format("%s%s", side->chance, where ? where : "");
        column[0] = '\0';
        status = words ? measure_words(study, file, words, NULL, column, &less) : CS_ERR_MEMORY;
        out->p = less.value;
        out->se = NAN;
    }
    cs_free(less.left_out);
    return status;
}

/* Means over the runs, by Welford's sums. The errors are of the same documents: they do not average out. */
static cs_status average(cs_claim_side *side)
{
    const double n = (double)side->measured;
    const cs_claim_run *first = side->run;
    double squares = 0;
    side->value = side->se = side->bias = side->p = 0;
    side->blocks = n > 0 ? first->blocks : 0;
    if (n > 0) memcpy(side->partition, first->partition, sizeof side->partition);
    for (int64_t i = 0; i < side->measured; ++i) {
        const cs_claim_run *run = &side->run[i];
        const double off = run->value - side->value;
        side->value += off / (double)(i + 1);
        squares += off * (run->value - side->value);
        side->se += run->se / n;
        side->bias += run->bias / n;
        if (side->chance) side->p = run->p > side->p || isnan(run->p) ? run->p : side->p;
        if (run->blocks != side->blocks || strcmp(run->partition, side->partition) != 0)
            side->blocks = 0;
    }
    side->variance = n > 1 ? squares / (n - 1) : 0;
    if (side->blocks == 0) return CS_OK;
    side->left_out = cs_calloc(side->blocks, sizeof *side->left_out);
    for (int64_t i = 0; i < side->measured && side->left_out; ++i)
        for (int64_t b = 0; b < side->blocks; ++b)
            side->left_out[b] += side->run[i].left_out[b] / n;
    return side->left_out ? CS_OK : CS_ERR_MEMORY;
}

/* Keeps of the words those that `file` has too. */
static cs_status keep_common(const cs_study *study, const char *file, char **word, int *count)
{
    CS_AUTO_FREE char *seeds = NULL;
    char *own[CS_CLAIM_RUNS];
    int n = 0, kept = 0;
    cs_status status = cs_study_seeds(study, file, CS_CLAIM_RUNS, &seeds, own, &n);
    for (int i = 0, j = 0; i < *count && status == CS_OK; ++i) {
        for (j = 0; j < n && strcmp(word[i], own[j]) != 0; ++j)
            continue;
        if (j < n) word[kept++] = word[i];
    }
    *count = kept;
    return status;
}

cs_status cs_side_measure(const cs_study *study, cs_claim_side *side, const cs_claim_side *other)
{
    const bool each = strchr(side->file, '#') != NULL;
    CS_AUTO_FREE char *seeds = NULL;
    char *word[CS_CLAIM_RUNS];
    int n = 0;
    cs_status status = cs_study_seeds(study, side->file, CS_CLAIM_RUNS, &seeds, word, &n);
    if (status == CS_OK && other) status = keep_common(study, other->file, word, &n);
    if (status == CS_OK && other && n == 0)
        status = cs_fail(CS_ERR_INPUT, "%s and %s have no seed in common", side->file, other->file);
    forget_runs(side);
    for (int i = 0; i < n && status == CS_OK; ++i) {
        cs_claim_run *run = &side->run[side->measured++];
        CS_AUTO_FREE char *file = NULL;
        run->seed = each ? cs_strdup(word[i]) : NULL;
        status = each && !run->seed ? CS_ERR_MEMORY : cs_study_put(side->file, '#', word[i], &file);
        if (status == CS_OK) status = measure_run(study, side, file, run);
    }
    if (status == CS_OK) status = average(side);
    side->runs = each ? side->measured : 0;
    return status;
}

void cs_sides_documents(const cs_claim_side *left, const cs_claim_side *right,
                        cs_error_part part[2])
{
    const cs_claim_side *side[] = {left, right};
    const bool same = left->blocks > 1 && left->blocks == right->blocks &&
                      strcmp(left->partition, right->partition) == 0;
    for (int i = 0; i < 2; ++i) {
        const double jackknife = cs_jackknife_error(side[i]->blocks, side[i]->left_out, 1);
        const bool known = side[i]->blocks > 1 && !isnan(side[i]->se);
        part[i] = known
                      ? cs_error_of(hypot(jackknife, side[i]->bias), (double)(side[i]->blocks - 1))
                      : cs_error_of(side[i]->se, side[i]->freedom);
    }
    if (same) {
        part[0] = cs_error_of(
            hypot(cs_jackknife_difference(left->blocks, left->left_out, right->left_out, 1),
                  left->bias - right->bias),
            (double)(left->blocks - 1));
        part[1] = (cs_error_part){0};
    }
}
