/* Context plans: one table a length, shared by all threads; and the visit of a whole sequence.
 *
 * Memory: a table holds the listed events of its length (20 bytes each, and 20 a prefix), so under
 * prefix objectives all tables together are at most proportional to the corpus; of an invariant
 * part, under nearest or each, 8 bytes a position.
 */
#include "cooc/context.h"

#include <math.h>
#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "io/number.h"
#include "plan/count.h"

enum { WIDEST = 1 << 20 };

/* Hours of counting, and terabytes if no two of them meet. */
static const double MAX_PATTERNS_IN_ALL = 0x1p36;

#define PAIRS(pairs, name) name,
static const char *const pair_names[] = {CS_CONTEXT_PAIRS(PAIRS) NULL};

#define NAME(mode, name, alias, number, what) #name,
#define ALIAS(mode, name, alias, number, what) alias,
#define NUMBER(mode, name, alias, number, what) number,
#define KIND(mode, name, alias, number, what) &cs_context_##name,
#define FORM(mode, name, alias, number, what) ", " #name number
#define ONE(mode, name, alias, number, what) +1
enum { MODES = CS_CONTEXT_MODES(ONE) };
const char *const cs_context_names[] = {CS_CONTEXT_MODES(NAME) NULL};
static const char *const aliases[] = {CS_CONTEXT_MODES(ALIAS)};
static const char *const numbers[] = {CS_CONTEXT_MODES(NUMBER)};
static const cs_context_kind *const kinds[] = {CS_CONTEXT_MODES(KIND)};
static const char *const forms = &(CS_CONTEXT_MODES(FORM))[2];

/* "N", "N@C" of a mode that knows a plane, or "N:PAIRS" of one that counts pairs. */
static bool take_numbers(const char *digits, cs_context *c)
{
    char number[24] = "";
    const char *at = kinds[c->mode]->plane ? strchr(digits, '@') : NULL;
    const size_t length = at                      ? (size_t)(at - digits)
                          : kinds[c->mode]->pairs ? strcspn(digits, ":")
                                                  : strlen(digits);
    memcpy(number, digits, length < sizeof number ? length : 0);
    return cs_int_scan(number, &c->n) && c->n >= 1 && c->n <= WIDEST &&
           (!at || (cs_int_scan(at + 1, &c->columns) && c->columns >= 1 && c->columns <= WIDEST));
}

/* The PAIRS of "N:PAIRS". */
static cs_status take_pairs(const char *digits, cs_context *c)
{
    const char *name = kinds[c->mode]->pairs ? strchr(digits, ':') : NULL;
    int found = CS_PAIRS_FLAT;
    while (name && pair_names[found] && strcmp(pair_names[found], name + 1) != 0) {
        ++found;
    }
    if (name && !pair_names[found]) {
        return cs_fail(CS_ERR_USAGE,
                       "context '%s:%.100s': unknown counts of pairs '%.100s' (flat, linear, "
                       "harmonic)",
                       cs_context_names[c->mode], digits, name + 1);
    }
    c->pairs = name ? (cs_context_pairs)found : CS_PAIRS_SHARED;
    return CS_OK;
}

cs_status cs_context_parse(const char *text, cs_context *out)
{
    char name[32] = "";
    const size_t length = strcspn(text, ":");
    memcpy(name, text, length < sizeof name ? length : sizeof name - 1);
    int mode = 0;
    while (mode < MODES && strcmp(name, cs_context_names[mode]) != 0 &&
           strcmp(name, aliases[mode]) != 0) {
        ++mode;
    }
    if (mode == MODES) {
        return cs_fail(CS_ERR_USAGE, "unknown context '%.100s' (%s)%s", text, forms,
                       cs_choice_hint(text, forms, &(cs_hint){0}));
    }
    if (!*numbers[mode] && text[length] != '\0') {
        return cs_fail(CS_ERR_USAGE, "context '%s': %s does not accept a number", text,
                       cs_context_names[mode]);
    }
    cs_context c = {.mode = (cs_context_mode)mode, .n = 1, .given = kinds[mode]->given};
    const char *digits = text[length] == ':' ? text + length + 1 : "";
    if (*numbers[mode] && !take_numbers(digits, &c)) {
        return cs_fail(
            CS_ERR_USAGE, "context '%s': %s%s needs an integer %s in 1..%d%s", text,
            cs_context_names[mode], numbers[mode], numbers[mode] + 1, WIDEST,
            strchr(digits, '@') && kinds[mode]->plane
                ? ", optionally followed by @C, the columns of a plane, in the same range"
                : "");
    }
    cs_status status = take_pairs(digits, &c);
    if (status == CS_OK) *out = c;
    return status;
}

char *cs_context_describe(const cs_context *c)
{
    const char *name = cs_context_names[c->mode];
    if (!*numbers[c->mode]) {
        return cs_strdup(name);
    }
    return c->columns > 0 ? cs_format("%s:%lld@%lld", name, (long long)c->n, (long long)c->columns)
                          : cs_format("%s:%lld%s%s", name, (long long)c->n, c->pairs ? ":" : "",
                                      pair_names[c->pairs]);
}

double cs_context_pair_count(const cs_context *context, int64_t distance)
{
    const double d = (double)distance, w = (double)context->n;
    return context->pairs == CS_PAIRS_LINEAR     ? (w - d + 1) / w
           : context->pairs == CS_PAIRS_HARMONIC ? 1 / d
                                                 : 1;
}

double cs_context_event_mass(const cs_context *context)
{
    double sum = 0;
    for (int64_t d = 1; context->pairs && d <= context->n; ++d) {
        sum += 2 * cs_context_pair_count(context, d);
    }
    return context->pairs ? sum : 1;
}

const cs_context_kind *cs_context_kind_of(cs_context_mode mode)
{
    return kinds[mode];
}

bool cs_context_given(const cs_context *context)
{
    return context->given || kinds[context->mode]->given;
}

bool cs_context_plane(const cs_context *context)
{
    return kinds[context->mode]->plane;
}

bool cs_context_rows_are_tokens(const cs_context *context)
{
    return kinds[context->mode]->tokens && (cs_context_gram(context) || !cs_context_given(context));
}

bool cs_context_gram(const cs_context *context)
{
    return kinds[context->mode]->gram;
}

static cs_status check_options(const cs_context_options *o)
{
    if (o->draws < 0) {
        return cs_fail(CS_ERR_USAGE, "the number of draws, %lld, must not be negative",
                       (long long)o->draws);
    }
    if (o->max_events < 0) {
        return cs_fail(CS_ERR_USAGE, "the limit of %lld events must not be negative",
                       (long long)o->max_events);
    }
    if (!(o->tail >= 0 && o->tail < 1)) {
        return cs_fail(CS_ERR_USAGE, "tail %g is not in [0, 1)", o->tail);
    }
    const cs_context *c = &o->context;
    if (o->draws > 0 && cs_context_gram(c)) {
        return cs_fail(CS_ERR_USAGE,
                       "%lld draws cannot be used: context %s has exact weights at every length",
                       (long long)o->draws, cs_context_names[c->mode]);
    }
    if (*numbers[c->mode] && (c->n < 1 || c->n > WIDEST)) {
        return cs_fail(CS_ERR_USAGE, "context %s:%lld: the number must be in 1..%d",
                       cs_context_names[c->mode], (long long)c->n, WIDEST);
    }
    if (c->columns < 0 || c->columns > WIDEST || (c->columns > 0 && !cs_context_plane(c))) {
        return cs_fail(CS_ERR_USAGE,
                       "context %s in a plane of %lld columns: nearest:N supports 1..%d columns",
                       cs_context_names[c->mode], (long long)c->columns, WIDEST);
    }
    return cs_objective_check(o->objective);
}

/* The length of a sequence, or of the windows of a run. */
static int64_t window_of(const cs_context_plan *plan, int64_t length)
{
    return length < plan->window ? length : plan->window;
}

/* Marks the lengths that occur and numbers their tables, shortest first. */
static cs_status number_lengths(const cs_sequences *sequences, cs_context_plan *plan)
{
    for (int64_t i = 0; i < sequences->count; ++i) {
        int64_t s = window_of(plan, sequences->length[i]);
        plan->longest = s > plan->longest ? s : plan->longest;
    }
    plan->table_of = cs_alloc(plan->longest + 1, sizeof *plan->table_of);
    if (!plan->table_of) return CS_ERR_MEMORY;
    for (int64_t s = 0; s <= plan->longest; ++s) {
        plan->table_of[s] = -1;
    }
    for (int64_t i = 0; i < sequences->count; ++i) {
        plan->table_of[window_of(plan, sequences->length[i])] = 0;
    }
    int32_t tables = 0;
    for (int64_t s = 0; s <= plan->longest; ++s) {
        if (plan->table_of[s] == 0) {
            plan->table_of[s] = tables++;
        }
    }
    plan->table = cs_calloc(tables, sizeof *plan->table);
    plan->tables = plan->table ? tables : 0;
    return plan->table ? CS_OK : CS_ERR_MEMORY;
}

/* The sizes of a walker's scratch buffers. */
static void plan_scratch(cs_context_plan *plan)
{
    bool sets = plan->draws > 0;
    for (int64_t i = 0; i < plan->tables; ++i) {
        const cs_context_table *t = &plan->table[i];
        sets = sets || (t->pairs.events > 0 && !t->pairs.prefixes);
        bool pads = false;
        for (int64_t m = 1; t->padded && m < plan->context.n; ++m) {
            pads = pads || t->padded[m] > 0;
        }
        int64_t reach = pads ? t->pairs.length : t->ranks + 1;
        plan->near = plan->near || t->padded;
        if (t->padded && reach > plan->hash_capacity) {
            plan->hash_capacity = reach;
        }
    }
    if (sets) {
        plan->set_capacity = plan->longest + 1;
        plan->hash_capacity = plan->kind->whole ? plan->longest : plan->hash_capacity;
    }
}

/* `nearest` under permutation-invariant objectives: refuses a corpus with more contributions than
 * can be sorted, with what would bring its longest sequences down to the mean that can. */
static cs_status check_total(const cs_sequences *sequences, cs_context_plan *plan)
{
    double total = 0, targets = 0;
    const cs_context_table *most = NULL;
    for (int64_t i = 0; i < sequences->count; ++i) {
        const cs_context_table *t = cs_context_table_of(plan, sequences->length[i]);
        total += t->patterns > 0 ? t->contributions : 0;
        targets += (double)sequences->length[i];
        most = t->patterns > 0 && (!most || t->patterns > most->patterns) ? t : most;
    }
    if (!most || total <= MAX_PATTERNS_IN_ALL) {
        return CS_OK;
    }
    cs_context_table smaller = {.pairs = most->pairs};
    plan->max_patterns = floor(MAX_PATTERNS_IN_ALL / targets);
    cs_status status = plan->kind->table(plan, &smaller);
    cs_free(smaller.pattern);
    cs_pool_free(&smaller.pool);
    return cs_blame(status, "the corpus has %.3g contexts, but at most %.3g are supported", total,
                    MAX_PATTERNS_IN_ALL);
}

cs_status cs_context_prepare(const cs_sequences *sequences, const cs_context_options *options,
                             cs_context_plan **out)
{
    cs_status status = check_options(options);
    if (status != CS_OK) return status;
    cs_context_plan *plan = cs_calloc(1, sizeof *plan);
    if (!plan) return CS_ERR_MEMORY;
    plan->objective = *options->objective;
    plan->context = options->context;
    plan->kind = kinds[plan->context.mode];
    if (!*numbers[plan->context.mode]) {
        plan->context.n = 1;
    }
    plan->draws = options->draws;
    plan->seed = options->seed;
    plan->max_events = options->max_events > 0 ? options->max_events : CS_CONTEXT_MAX_EVENTS;
    plan->max_patterns = (double)plan->max_events;
    plan->tail = options->tail > 0 ? options->tail : 0x1p-50;
    plan->listed = options->listed;
    plan->window = options->window > 0 ? options->window : INT64_MAX;
    plan->stride = options->stride;
    status = number_lengths(sequences, plan);
    if (status == CS_OK) status = cs_context_plane_check(plan);
    for (int64_t s = 0; s <= plan->longest && status == CS_OK; ++s) {
        if (plan->table_of[s] >= 0) {
            status = cs_interrupt_check();
            if (status == CS_OK)
                status = cs_context_table_init(plan, s, &plan->table[plan->table_of[s]]);
        }
    }
    if (status == CS_OK) status = check_total(sequences, plan);
    if (status != CS_OK) {
        cs_context_plan_free(&plan);
        return status;
    }
    plan_scratch(plan);
    *out = plan;
    return CS_OK;
}

void cs_context_plan_free(cs_context_plan **plan)
{
    if (!plan || !*plan) {
        return;
    }
    for (int64_t i = 0; i < (*plan)->tables; ++i) {
        cs_context_table_free(&(*plan)->table[i]);
    }
    CS_FREE_FIELDS((*plan), table, table_of);
    cs_free(*plan);
    *plan = NULL;
}

const cs_context_table *cs_context_table_of(const cs_context_plan *plan, int64_t length)
{
    return &plan->table[plan->table_of[window_of(plan, length)]];
}

int64_t cs_context_windows(const cs_context_plan *plan, int64_t length)
{
    return length > plan->window ? (length - plan->window) / plan->stride + 1 : 1;
}

int64_t cs_context_outer(const cs_context_plan *plan, int64_t length)
{
    return plan->kind->gram ? length : cs_context_table_of(plan, length)->outer;
}

double cs_context_contributions(const cs_context_plan *plan, int64_t length)
{
    const cs_context_table *t = cs_context_table_of(plan, length);
    const double reach = (double)t->reach, n = (double)length;
    return plan->kind->gram ? n * (2 * reach + 1) - reach * (reach + 1) : t->contributions;
}

double cs_context_predicted(const cs_context_plan *plan, int64_t length)
{
    return cs_context_table_of(plan, length)->predicted;
}

int64_t cs_context_denominators(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0) {
        return a < 0 ? b : b < 0 ? a : 0;
    }
    const int64_t factor = b / cs_gcd(a, b);
    return (double)a * (double)factor <= 0x1p40 ? a * factor : 0;
}

int64_t cs_context_denominator(const cs_context_plan *plan, bool by_document)
{
    int64_t lcm = -1;
    for (int64_t i = 0; i < plan->tables; ++i) {
        const cs_context_table *t = &plan->table[i];
        lcm = cs_context_denominators(lcm, by_document ? t->document_denominator : t->denominator);
    }
    return lcm > 0 ? lcm : 0;
}
