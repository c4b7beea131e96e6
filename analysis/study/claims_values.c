/* values.csv: what the verdicts of a study are decided from, so that they can be decided anew without the
 * study's folder. A row says which number a side of a claim or baseline is; each number has its rows once,
 * however many claims read it. Rows are written as they are found. */
#include <math.h>
#include <string.h>

#include "analysis/study/claims.h"
#include "analysis/study/lookup_private.h"
#include "base/auto.h"
#include "io/file.h"
#include "io/number.h"
#include "io/table.h"

/* A row: text NULL and NaN are empty cells. The members are the columns, in order. */
typedef struct {
    const char *kind, *claim, *budget, *source, *family, *want;
    bool paired, everywhere;
    double matters, effect;
    bool underpowered, untested;
    const char *baseline, *side, *label, *measure, *error;
    double df;
    const char *seed;
    int64_t block; /* -1: the number with all documents */
    const char *partition;
    double value, se, p;
    const char *audit;
} value_row;

static const char header[] =
    "kind,claim,budget,source,family,want,paired,everywhere,matters,effect,underpowered,"
    "untested,baseline,side,label,"
    "measure,error,df,seed,block,partition,value,se,p,audit\n";

static const value_row empty = {
    .matters = NAN, .effect = NAN, .df = NAN, .block = -1, .value = NAN, .se = NAN, .p = NAN};

/* A written number of some runs: its measure and its seed. */
typedef struct {
    char *measure, *error;
    int seeds;
    const char *seed[CS_CLAIM_RUNS]; /* the claims' */
} written_number;

typedef struct {
    FILE *out;
    int64_t count, capacity;
    written_number *number;
} value_table;

static void put_text(FILE *out, const char *text)
{
    if (text) cs_csv_field(out, text);
    (void)fputc(',', out);
}

static void put_real(FILE *out, double x)
{
    char text[CS_REAL_TEXT] = "";
    if (!isnan(x)) cs_real_format(x, 17, text);
    put_text(out, text);
}

static void put_flag(FILE *out, bool flag)
{
    put_text(out, flag ? "1" : "");
}

static void put_row(FILE *out, const value_row *r)
{
    const char *const start[] = {r->kind, r->claim, r->budget, r->source, r->family, r->want};
    const char *const middle[] = {r->baseline, r->side, r->label, r->measure, r->error};
    for (size_t i = 0; i < sizeof start / sizeof *start; ++i)
        put_text(out, start[i]);
    put_flag(out, r->paired);
    put_flag(out, r->everywhere);
    put_real(out, r->matters);
    put_real(out, r->effect);
    put_flag(out, r->underpowered);
    put_flag(out, r->untested);
    for (size_t i = 0; i < sizeof middle / sizeof *middle; ++i)
        put_text(out, middle[i]);
    put_real(out, r->df);
    put_text(out, r->seed);
    put_real(out, r->block < 0 ? NAN : (double)r->block);
    put_text(out, r->partition);
    put_real(out, r->value);
    put_real(out, r->se);
    put_real(out, r->p);
    if (r->audit) cs_csv_field(out, r->audit);
    (void)fputc('\n', out);
}

/* The number of a run, the error that blocks do not show (block 0), and the number without each block. */
static void put_run(FILE *out, value_row row, const cs_claim_run *run)
{
    row.seed = run->seed;
    row.partition = run->partition;
    row.value = run->value;
    row.se = run->se;
    row.p = run->p;
    put_row(out, &row);
    row.se = row.p = NAN;
    row.partition = NULL;
    for (int64_t b = 0; b <= run->blocks && run->blocks > 0; ++b) {
        row.block = b;
        row.value = b == 0 ? run->bias : run->left_out[b - 1];
        if (b > 0 || !(row.value == 0)) put_row(out, &row);
    }
}

/* The place of a number among those written, added where it is new; NULL: out of memory. */
static written_number *find_number(value_table *t, const char *measure, const char *error)
{
    for (int64_t i = 0; i < t->count; ++i) {
        written_number *n = &t->number[i];
        if (strcmp(n->measure, measure) == 0 && strcmp(n->error, error) == 0) return n;
    }
    if (cs_reserve(&t->number, &t->capacity, t->count + 1, sizeof *t->number) != CS_OK) return NULL;
    written_number *n = &t->number[t->count++];
    *n = (written_number){cs_strdup(measure), cs_strdup(error), 0, {NULL}};
    return n->measure && n->error ? n : NULL;
}

/* The runs of a side that are not written yet: pairs leave seeds out that other claims have. */
static cs_status put_runs(value_table *t, const value_row *side_row, const cs_claim_side *side)
{
    written_number *n = find_number(t, side_row->measure, side_row->error);
    if (!n) return CS_ERR_MEMORY;
    value_row row = empty;
    row.kind = "number";
    row.measure = side_row->measure;
    row.error = side_row->error;
    for (int64_t i = 0; i < side->measured; ++i) {
        const char *seed = side->run[i].seed ? side->run[i].seed : "";
        bool there = false;
        for (int s = 0; s < n->seeds; ++s)
            there = there || strcmp(n->seed[s], seed) == 0;
        if (there || n->seeds == CS_CLAIM_RUNS) continue;
        n->seed[n->seeds++] = seed;
        put_run(t->out, row, &side->run[i]);
    }
    return CS_OK;
}

static cs_status put_side(value_table *t, value_row row, const char *name,
                          const cs_claim_side *side)
{
    row.side = name;
    row.label = side->label;
    if (!side->file) {
        row.value = side->value;
        put_row(t->out, &row);
        return CS_OK;
    }
    CS_AUTO_FREE char *measure =
        cs_format("%s %s%s%s", side->file, side->pick, side->minus ? " minus " : "",
                  side->minus ? side->minus : "");
    CS_AUTO_FREE char *error = side->chance ? cs_format("p %s", side->chance)
                                            : cs_strdup(side->error ? side->error : "exact");
    cs_status status = measure && error ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        row.measure = measure;
        row.error = error;
        if (side->error) row.df = side->freedom;
        put_row(t->out, &row);
        status = put_runs(t, &row, side);
    }
    return status;
}

static cs_status put_comparison(value_table *t, value_row row, const cs_study_comparison *c)
{
    row.want = c->want;
    cs_status status = put_side(t, row, "left", &c->left);
    return status == CS_OK ? put_side(t, row, "right", &c->right) : status;
}

/* The comparison and its baselines; those that stand for each other are 1.1, 1.2, ... */
static cs_status put_point(value_table *t, value_row row, const cs_claim_point *p)
{
    row.budget = p->budget;
    row.matters = p->matters > 0 ? p->matters : NAN;
    row.effect = p->effect > 0 ? p->effect : NAN;
    row.paired = p->sides.paired;
    cs_status status = put_comparison(t, row, &p->sides);
    value_row need = empty;
    need.kind = "baseline";
    need.claim = row.claim;
    need.budget = row.budget;
    int group = 0, member = 0;
    for (int64_t i = 0; i < p->needs && status == CS_OK; ++i) {
        CS_AUTO_FREE char *number = NULL;
        member = p->need[i].joined ? member + 1 : 1;
        group += member == 1;
        need.baseline = number = cs_format("%d.%d", group, member);
        status = number ? put_comparison(t, need, &p->need[i]) : CS_ERR_MEMORY;
    }
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const cs_claim_side *side = i ? &p->sides.right : &p->sides.left;
        const char *name = i ? "right" : "left";
        if (side->floor) {
            need.kind = "floor";
            need.baseline = NULL;
            status = put_side(t, need, name, side->floor);
            need.kind = "ceiling";
            if (status == CS_OK) status = put_side(t, need, name, &p->ceiling);
        }
        need.kind = "longer";
        if (status == CS_OK && side->longer) status = put_side(t, need, name, side->longer);
    }
    return status;
}

static cs_status put_claim(value_table *t, const cs_study_claim *c)
{
    value_row row = empty;
    row.kind = "claim";
    row.claim = c->name;
    row.underpowered = c->underpowered;
    row.untested = c->untested != NULL;
    if (c->statement) {
        row.kind = "audit";
        row.label = c->statement;
        for (int64_t a = 0; a < c->audits; ++a) {
            row.seed = c->audit[a].seed;
            row.audit = c->audit[a].found;
            row.value = c->audit[a].assumed;
            put_row(t->out, &row);
        }
        return CS_OK;
    }
    row.source = c->source;
    row.family = c->family;
    row.everywhere = c->everywhere;
    cs_status status = CS_OK;
    for (int64_t p = 0; p < c->points && status == CS_OK; ++p)
        status = put_point(t, row, &c->point[p]);
    return status;
}

/* The runs of a step of `cospec correlate`: role, quantity, object, budget, run, value. */
static cs_status put_correlate(FILE *out, const cs_study *study, const char *step)
{
    static const char *const name[] = {"role", "quantity", "object", "budget", "run", "value"};
    enum { ROLE, QUANTITY, OBJECT, BUDGET, RUN, VALUE, COLUMNS };
    int column[COLUMNS];
    CS_AUTO_FREE char *file = cs_format("%s/runs.csv", step);
    CS_AUTO(cs_pick) pick = {0};
    cs_status status = file ? cs_pick_open(study, file, 0, NULL, &pick) : CS_ERR_MEMORY;
    for (int c = 0; c < COLUMNS && status == CS_OK; ++c)
        status = cs_pick_column(&pick, name[c], &column[c]);
    for (int64_t i = 0; i < pick.table.rows && status == CS_OK; ++i) {
        value_row row = empty;
        row.kind = cs_pick_cell(&pick, i, column[ROLE]);
        row.claim = step;
        row.side = cs_pick_cell(&pick, i, column[OBJECT]);
        row.measure = cs_pick_cell(&pick, i, column[QUANTITY]);
        row.budget = cs_pick_cell(&pick, i, column[BUDGET]);
        row.seed = cs_pick_cell(&pick, i, column[RUN]);
        if (!cs_real_scan(cs_pick_cell(&pick, i, column[VALUE]), &row.value))
            status =
                cs_fail(CS_ERR_INPUT, "%s: row %lld has no number", pick.path, (long long)i + 1);
        if (status == CS_OK) put_row(out, &row);
    }
    return status;
}

cs_status cs_claims_write_values(const cs_study *study, const cs_claims *claims, const char *path)
{
    cs_outfile f = {0};
    cs_status status = cs_outfile_open(path, &f);
    value_table t = {.out = f.stream};
    if (status == CS_OK) (void)fputs(header, f.stream);
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i)
        status = put_claim(&t, &claims->claim[i]);
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i)
        if (strcmp(study->step[i].word[0], "correlate") == 0)
            status = put_correlate(f.stream, study, study->step[i].name);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    for (int64_t i = 0; i < t.count; ++i)
        CS_FREE_FIELDS(&t.number[i], measure, error);
    cs_free(t.number);
    return status;
}
