/* cospec toy: exact spectra of the toy model, at one point or over a sweep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/json.h"
#include "io/number.h"
#include "toy/toy.h"

static const cs_opt toy_options[] = {
    {"method", 0, CS_OPT_CHOICE, "enumerate|reduce|closed", NULL, 0, 0,
     "The full matrix, the position reduction, or the closed form. Default: reduce for disjoint "
     "token sets, enumerate for literal ones.",
     false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const toy_groups[] = {cs_group_plan, cs_group_plan_sweeps, cs_group_toy,
                                           toy_options, NULL};

#define COLUMNS                                                                                    \
    "objective,classes,length,tokens,parameters,token_sets,empty_prefix,target_position,method,"   \
    "unmasked,position,index,sigma,multiplicity,sum_sigma2,sum_sigma4,rank,residual"

static const char *prefix_name(cs_empty_prefix prefix)
{
    return prefix == CS_PREFIX_NONE ? "none" : prefix == CS_PREFIX_SHARED ? "shared" : "class";
}

static const char *method_of(const cs_args *args, const cs_toy *toy)
{
    const char *method = cs_args_text(args, "method");
    return method ? method : toy->literal ? "enumerate" : "reduce";
}

static cs_status spectrum_of(const char *method, const cs_toy *toy, cs_toy_spectrum *out)
{
    if (strcmp(method, "enumerate") == 0) {
        return cs_toy_enumerate(toy, 0, out);
    }
    return strcmp(method, "reduce") == 0 ? cs_toy_reduce(toy, out) : cs_toy_closed(toy, out);
}

static json_t *point_json(const cs_toy *toy, const char *parameters, const char *method)
{
    cs_status status = CS_OK;
    json_t *o = json_object();
    cs_json_put(&status, o, "objective",
                json_string(cs_objective_table(toy->objective.kind)->name));
    cs_json_put(&status, o, "parameters", json_string(parameters));
    cs_json_put(&status, o, "classes", json_integer(toy->classes));
    cs_json_put(&status, o, "length", json_integer(toy->length));
    cs_json_put(&status, o, "tokens", json_integer(toy->tokens));
    cs_json_put(&status, o, "token_sets", json_string(toy->literal ? "literal" : "disjoint"));
    cs_json_put(&status, o, "empty_prefix", json_string(prefix_name(toy->objective.empty_prefix)));
    cs_json_put(&status, o, "target_position", json_string(toy->given ? "given" : "blind"));
    cs_json_put(&status, o, "method", json_string(method));
    if (status != CS_OK) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static cs_status add_size(const cs_toy *toy, json_t *o)
{
    double rows = 0.0, cols = 0.0, nnz = 0.0;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    cs_json_put(&status, o, "rows", cs_json_number(rows));
    cs_json_put(&status, o, "cols", cs_json_number(cols));
    cs_json_put(&status, o, "nnz", cs_json_number(nnz));
    return status;
}

static cs_status add_spectrum(const cs_toy_spectrum *s, json_t *o)
{
    cs_status status = CS_OK;
    json_t *pairs = json_array();
    for (int64_t i = 0; pairs && i < s->values; ++i) {
        json_t *pair =
            json_pack("[o, I]", cs_json_number(s->sigma[i]), (json_int_t)s->multiplicity[i]);
        if (json_array_append_new(pairs, pair) != 0) {
            json_decref(pairs);
            pairs = NULL;
        }
    }
    cs_json_put(&status, o, "spectrum", pairs);
    cs_json_put(&status, o, "sum_sigma2", cs_json_number(s->sum_sigma2));
    cs_json_put(&status, o, "sum_sigma4", cs_json_number(s->sum_sigma4));
    cs_json_put(&status, o, "rank", json_integer(s->rank));
    cs_json_put(&status, o, "residual", cs_json_number(s->residual));
    cs_json_put(&status, o, "source", json_string(s->source));
    return status;
}

/* The number of unmasked tokens where the objective fixes it, NaN elsewhere. */
static double fixed_unmasked(const cs_toy *toy)
{
    int64_t lo = 0, hi = 0;
    bool fixed = cs_objective_table(toy->objective.kind)->wants_unmasked &&
                 cs_objective_unmasked(&toy->objective, toy->length, &lo, &hi) == CS_OK && lo == hi;
    cs_reason_clear();
    return fixed ? (double)lo : NAN;
}

/* One distinct value: `position` numbers the values, `index` is the first j with sigma_j = sigma.
 */
static cs_status fill_row(cs_table *t, const cs_toy *toy, const char *parameters,
                          const char *method, const cs_toy_spectrum *s, int64_t i)
{
    int64_t first = 1;
    for (int64_t before = 0; before < i; ++before) {
        first += s->multiplicity[before];
    }
    const struct {
        const char *column, *text;
    } words[] = {
        {"objective", cs_objective_table(toy->objective.kind)->name},
        {"parameters", parameters},
        {"token_sets", toy->literal ? "literal" : "disjoint"},
        {"empty_prefix", prefix_name(toy->objective.empty_prefix)},
        {"target_position", toy->given ? "given" : "blind"},
        {"method", method},
    };
    const struct {
        const char *column;
        int64_t value;
    } counts[] = {
        {"classes", toy->classes},
        {"length", toy->length},
        {"tokens", toy->tokens},
        {"position", i + 1},
        {"index", first},
        {"rank", s->rank},
        {"multiplicity", s->multiplicity[i]},
    };
    const struct {
        const char *column;
        double value;
    } reals[] = {
        {"sigma", s->sigma[i]},
        {"sum_sigma2", s->sum_sigma2},
        {"sum_sigma4", s->sum_sigma4},
        {"residual", s->residual},
    };
    cs_status status = cs_table_row(t);
    if (status == CS_OK) {
        status = cs_table_real(t, "unmasked", fixed_unmasked(toy));
    }
    for (size_t j = 0; j < sizeof words / sizeof words[0] && status == CS_OK; ++j) {
        status = cs_table_text(t, words[j].column, words[j].text);
    }
    for (size_t j = 0; j < sizeof counts / sizeof counts[0] && status == CS_OK; ++j) {
        status = cs_table_int(t, counts[j].column, counts[j].value);
    }
    for (size_t j = 0; j < sizeof reals / sizeof reals[0] && status == CS_OK; ++j) {
        status = cs_table_real(t, reals[j].column, reals[j].value);
    }
    return status;
}

/* What describe() says after the name: "unmasked=2 event-weight=token". */
static const char *after_name(const char *description)
{
    const char *space = strchr(description, ' ');
    return space ? space + 1 : "";
}

/* One point: its object (with spectrum, or sizes alone under --dry-run) and its rows. */
static cs_status do_point(const cs_args *args, const cs_toy *toy, json_t **object, cs_table *table)
{
    cs_toy_spectrum spectrum = {0};
    const char *method = method_of(args, toy);
    char *description = cs_objective_describe(&toy->objective);
    const char *parameters = description ? after_name(description) : NULL;
    json_t *o = parameters ? point_json(toy, parameters, method) : NULL;
    cs_status status = o ? add_size(toy, o) : CS_ERR_MEMORY;
    if (status == CS_OK && !cs_args_flag(args, "dry-run")) {
        status = spectrum_of(method, toy, &spectrum);
        if (status == CS_OK) {
            status = add_spectrum(&spectrum, o);
        }
        for (int64_t i = 0; i < spectrum.values && status == CS_OK; ++i) {
            status = fill_row(table, toy, parameters, method, &spectrum, i);
        }
    }
    if (status == CS_OK) {
        *object = o;
        o = NULL;
    }
    json_decref(o);
    cs_free(description);
    cs_toy_spectrum_free(&spectrum);
    return status;
}

/* A point of a sweep that does not exist (more unmasked tokens than positions) is told and left
 * out. */
static cs_status skip_point(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            json_t *skipped)
{
    char place[CS_SWEEP_AXES * (CS_SWEEP_TEXT + 16)] = "";
    size_t used = 0;
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        char text[CS_SWEEP_TEXT];
        cs_sweep_value(sweep, point, sweep->axis[i].name, text);
        if (text[0]) {
            int n = snprintf(place + used, sizeof place - used, "%s%s=%s", used > 0 ? " " : "",
                             sweep->axis[i].name, text);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    cs_output_note(args, "left out %s: %s", place, cs_reason());
    json_t *item = json_pack("{s:s, s:s}", "point", place, "reason", cs_reason());
    cs_reason_clear();
    return json_array_append_new(skipped, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for the list of points left out");
}

static cs_status run_sweep(const cs_args *args, const cs_sweep *sweep, cs_plan_file *file,
                           json_t *points, json_t *skipped, cs_table *table)
{
    const cs_progress *progress = cs_output_progress(args);
    for (int64_t point = 0; point < sweep->points; ++point) {
        cs_toy toy = {0};
        json_t *object = NULL;
        cs_status status = cs_interrupt_check();
        if (status == CS_OK) {
            status = cs_args_toy(args, sweep, point, NULL, file, &toy);
        }
        if (status == CS_OK) {
            status = do_point(args, &toy, &object, table);
        }
        if (status == CS_ERR_USAGE && sweep->points > 1) {
            status = skip_point(args, sweep, point, skipped);
        } else if (status == CS_OK && json_array_append_new(points, object) != 0) {
            status = cs_fail(CS_ERR_MEMORY, "out of memory for the spectra of the sweep");
        }
        if (status != CS_OK) {
            return status;
        }
        cs_progress_report(progress, "points", point + 1, sweep->points);
    }
    if (json_array_size(points) == 0) {
        const char *reason =
            json_string_value(json_object_get(json_array_get(skipped, 0), "reason"));
        return cs_fail(CS_ERR_USAGE, "no point of the sweep exists: %s", reason ? reason : "");
    }
    return CS_OK;
}

/* The table's rows as objects; a cell that reads as a number is one. */
static json_t *rows_json(const cs_table *table)
{
    json_t *rows = json_array();
    for (int64_t i = 0; rows && i < table->rows; ++i) {
        json_t *row = json_object();
        bool ok = row != NULL;
        for (int j = 0; ok && j < table->columns; ++j) {
            const char *cell = table->cell[i * table->columns + j];
            double x = 0.0;
            bool count = cell[0] && cell[strspn(cell, "0123456789")] == '\0';
            json_t *value = count && strlen(cell) < 19 ? json_integer(strtoll(cell, NULL, 10))
                            : cs_real_scan(cell, &x)   ? cs_json_number(x)
                                                       : json_string(cell);
            ok = json_object_set_new(row, table->name[j], value) == 0;
        }
        ok = json_array_append_new(rows, row) == 0 && ok;
        if (!ok) {
            json_decref(rows);
            rows = NULL;
        }
    }
    return rows;
}

static json_t *sweep_json(json_t *points, json_t *skipped, const cs_table *table)
{
    return json_pack("{s:O, s:o, s:O}", "points", points, "rows", rows_json(table), "left_out",
                     skipped);
}

static cs_status run_toy(cs_args *args)
{
    cs_sweep sweep;
    cs_plan_file file = {0};
    cs_table table = {0};
    json_t *points = json_array(), *skipped = json_array(), *result = NULL;
    bool dry = cs_args_flag(args, "dry-run");
    cs_status status = points && skipped ? cs_sweep_of(args, &sweep) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_output_claim(args, "toy.json");
    }
    if (status == CS_OK) {
        status = cs_table_init(&table, COLUMNS);
    }
    if (status == CS_OK) {
        status = run_sweep(args, &sweep, &file, points, skipped, &table);
    }
    if (status == CS_OK && file.path) {
        status = cs_output_input(args, file.path);
    }
    if (status == CS_OK) {
        result = cs_sweep_is_swept(&sweep) ? sweep_json(points, skipped, &table)
                                           : json_incref(json_array_get(points, 0));
        status = result ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "toy", result, dry ? NULL : &table);
    }
    json_decref(result);
    json_decref(points);
    json_decref(skipped);
    cs_table_free(&table);
    cs_plan_file_free(&file);
    return status;
}

const cs_command cs_cmd_toy = {
    .name = "toy",
    .summary = "Exact spectra of the toy model under any objective",
    .description =
        "The toy model of Look Ahead or Look Around? 4.1: a uniform class, and tokens that are "
        "independent and uniform given it, T for each class and position. A(X, X+) is the joint "
        "probability of a conditional text X and a target token X+, and\n\n"
        "  Abar(X, X+) = A(X, X+) / sqrt(P(X) P(X+))\n\n"
        "is its normalised form; its singular values are listed with their multiplicities, zeros "
        "left out.\n\n"
        "Methods: enumerate builds the whole matrix (its size is checked before); reduce takes "
        "the matrix over (conditioning set, target position) alone, which has the same spectrum "
        "for any number of classes and tokens, each value once a class; closed evaluates a "
        "formula where one is known.\n\n"
        "A number given as A:B:STEP is swept; several sweeps make the cartesian product. With "
        "--csv every singular value is a row.",
    .groups = toy_groups,
    .examples = "# masked modelling with 2 of 4 tokens unmasked\n"
                "cospec toy --objective masked --unmasked 2 --classes 4 --length 4 --tokens 3\n"
                "# the same by enumeration of all contents, as JSON\n"
                "cospec toy --objective masked --unmasked 2 --classes 4 --length 4 --tokens 3 "
                "--method enumerate --json\n"
                "# a million classes\n"
                "cospec toy --objective diverse-ar --t 4 --classes 1000000 --length 128 --tokens "
                "50000 --json\n"
                "# plans of one's own (docs/formats.md, Plan files)\n"
                "cospec toy --objective file --plan-file plans.json --classes 2 --length 4 "
                "--tokens 3\n"
                "# connectivity against the mask ratio\n"
                "cospec toy --objective masked --mask-ratio 0.1:0.9:0.1 --classes 10 --length 20 "
                "--tokens 5 --csv",
    .run = run_toy,
};
