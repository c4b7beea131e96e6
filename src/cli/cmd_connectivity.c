/* cospec connectivity: who is better connected, read off the co-occurrence matrix itself.
 *
 * On matrices that are there already, or on one corpus under several objectives with the same
 * contexts, target position blind and given, with intervals by delete-block jackknife over
 * documents. */
#include <math.h>
#include <string.h>

#include "analysis/connectivity.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/matrix_file.h"
#include "plan/spec.h"

/* What is reported of one matrix; those with an interval are jackknifed over documents (a count is
 * not: its leave-one-out values say nothing of a spread). */
enum {
    ROWS,
    COLS,
    NONZEROS,
    COMPONENTS,
    GIANT_MASS,
    GAP,
    SIGMA2,
    CHEEGER_LOWER,
    SWEEP_CUT,
    SWEEP_VOLUME,
    CHEEGER_UPPER,
    SUM_SIGMA2,
    SUM_SIGMA4,
    SUM_SIGMA4_ERROR,
    LARGEST_RESIDUAL,
    METRICS,
    SIGMAS = 8, /* leading values below 1 that get an interval */
};

static const struct {
    const char *name, *definition;
    bool interval;
} metric[METRICS] = {
    [ROWS] = {"rows", "conditional texts with mass", false},
    [COLS] = {"cols", "target tokens with mass", false},
    [NONZEROS] = {"nnz", "pairs (X, X+) that occur", false},
    [COMPONENTS] = {"components", "connected components = multiplicity of sigma = 1", false},
    [GIANT_MASS] = {"giant_mass", "share of mass of the heaviest component", true},
    [GAP] = {"gap", "1 - largest sigma that is not a component's 1", true},
    [SIGMA2] = {"sigma2", "second sigma of the heaviest component", true},
    [CHEEGER_LOWER] = {"cheeger_lower", "(1 - sigma2)/2 <= h", true},
    [SWEEP_CUT] = {"sweep_cut", "cut / min(vol; 2 - vol) of the sweep in the heaviest component",
                   true},
    [SWEEP_VOLUME] = {"sweep_volume", "volume of the smaller side of the sweep cut, of 2", false},
    [CHEEGER_UPPER] = {"cheeger_upper", "sqrt(1 - sigma2^2) >= h", true},
    [SUM_SIGMA2] = {"sum_sigma2", "||Abar||_F^2", true},
    [SUM_SIGMA4] = {"sum_sigma4", "||Abar^T Abar||_F^2", true},
    [SUM_SIGMA4_ERROR] = {"sum_sigma4_error", "standard error of a Hutchinson estimate; 0: exact",
                          false},
    [LARGEST_RESIDUAL] = {"largest_residual", "of the singular triplets, through Abar", false},
};

/* The metrics of one matrix, then its leading values below 1 (NaN where there are fewer). */
static void take_metrics(const cs_connectivity *c, double *values)
{
    const cs_spectrum *p = &c->spectrum;
    double residual = 0.0;
    for (int64_t j = 0; j < p->k; ++j) {
        residual = fmax(residual, p->residual[j]);
    }
    const double taken[METRICS] = {
        [ROWS] = (double)(p->rows - p->zero_rows),
        [COLS] = (double)(p->cols - p->zero_cols),
        [NONZEROS] = (double)p->nnz,
        [COMPONENTS] = (double)p->components,
        [GIANT_MASS] = c->giant_mass,
        [GAP] = c->gap,
        [SIGMA2] = c->cut.sigma2,
        [CHEEGER_LOWER] = c->cut.lower,
        [SWEEP_CUT] = c->cut.sweep,
        [SWEEP_VOLUME] = c->cut.sweep_volume,
        [CHEEGER_UPPER] = c->cut.upper,
        [SUM_SIGMA2] = p->sum_sigma2,
        [SUM_SIGMA4] = p->sum_sigma4,
        [SUM_SIGMA4_ERROR] = p->sum_sigma4_error,
        [LARGEST_RESIDUAL] = residual,
    };
    memcpy(values, taken, sizeof taken);
    for (int64_t j = 0; j < SIGMAS; ++j) {
        int64_t index = p->components + j;
        values[METRICS + j] = index < p->k ? p->sigma[index] : NAN;
    }
}

/* One matrix to look at. */
typedef struct {
    const char *series;   /* name in tables and figures */
    const char *position; /* "blind", "given", or "" for a plain matrix */
    const char *context;
    const double *se; /* METRICS + SIGMAS standard errors, NULL: none */
} subject;

typedef struct {
    cs_table metrics, spectrum;
    json_t *json;
    int64_t blocks;
    uint64_t seed;
} tables;

static const char *const default_specs[] = {"ar",
                                            "masked:mask-ratio=0.25",
                                            "masked:mask-ratio=0.5",
                                            "masked:mask-ratio=0.75",
                                            "variable-masked:mask-ratio=0.25:0.75",
                                            "diverse-ar:t=2",
                                            "diverse-ar:t=4"};

static cs_status add_metric(tables *t, const subject *s, int which, double value, json_t *object)
{
    double se = s->se && metric[which].interval ? s->se[which] : NAN;
    cs_table *m = &t->metrics;
    cs_status status;
    if ((status = cs_table_row(m)) != CS_OK ||
        (status = cs_table_text(m, "series", s->series)) != CS_OK ||
        (status = cs_table_text(m, "target_position", s->position)) != CS_OK ||
        (status = cs_table_text(m, "context", s->context)) != CS_OK ||
        (status = cs_table_text(m, "metric", metric[which].name)) != CS_OK ||
        (status = cs_table_text(m, "definition", metric[which].definition)) != CS_OK ||
        (status = cs_table_real(m, "value", value)) != CS_OK ||
        (status = cs_table_real(m, "se", se)) != CS_OK ||
        (status = cs_table_int(m, "blocks", isnan(se) ? 0 : t->blocks)) != CS_OK ||
        (status = cs_table_int(m, "seed", (int64_t)t->seed)) != CS_OK) {
        return status;
    }
    json_t *pair =
        json_pack("{s:o, s:o}", "value", cs_json_number(value), "se", cs_json_number(se));
    return cs_json_set(object, metric[which].name, pair);
}

static cs_status add_metrics(tables *t, const subject *s, const cs_connectivity *c, json_t *object)
{
    double value[METRICS + SIGMAS];
    take_metrics(c, value);
    cs_status status = CS_OK;
    for (int i = 0; i < METRICS && status == CS_OK; ++i) {
        status = add_metric(t, s, i, value[i], object);
    }
    return status;
}

/* Leading values for the figure: all that were computed. */
static cs_status add_spectrum(tables *t, const subject *s, const cs_spectrum *p)
{
    cs_status status = CS_OK;
    char *series = *s->position ? cs_format("%s %s", s->series, s->position) : cs_strdup(s->series);
    for (int64_t j = 0; j < p->k && status == CS_OK; ++j) {
        cs_table *m = &t->spectrum;
        if (!series) {
            status = CS_ERR_MEMORY;
        } else if ((status = cs_table_row(m)) == CS_OK &&
                   (status = cs_table_text(m, "series", series)) == CS_OK &&
                   (status = cs_table_text(m, "target_position", s->position)) == CS_OK &&
                   (status = cs_table_int(m, "index", j + 1)) == CS_OK &&
                   (status = cs_table_real(m, "sigma", p->sigma[j])) == CS_OK) {
            int64_t below = j - p->components;
            bool known = s->se && below >= 0 && below < SIGMAS;
            status = cs_table_real(m, "se", known ? s->se[METRICS + below] : NAN);
            status = status ? status : cs_table_real(m, "residual", p->residual[j]);
        }
    }
    cs_free(series);
    return status;
}

static cs_status look_at(cs_args *args, tables *t, const subject *s, const cs_csr *a)
{
    cs_connectivity c = {0};
    cs_connectivity_options options = {.k = cs_args_int(args, "k"),
                                       .seed = t->seed,
                                       .threads = cs_args_threads(args),
                                       .progress = cs_output_progress(args)};
    cs_status status = cs_connectivity_of(a, &options, &c);
    if (status == CS_OK) {
        json_t *object = json_pack("{s:s, s:s, s:s}", "series", s->series, "target_position",
                                   s->position, "context", s->context);
        status = object ? add_metrics(t, s, &c, object) : CS_ERR_MEMORY;
        if (status == CS_OK &&
            (status = cs_json_set(object, "sigma",
                                  cs_json_numbers(c.spectrum.k, c.spectrum.sigma))) == CS_OK) {
            status = add_spectrum(t, s, &c.spectrum);
        }
        if (status == CS_OK && json_array_append(t->json, object) != 0) {
            status = CS_ERR_MEMORY;
        }
        json_decref(object);
        if (status == CS_OK && !c.spectrum.converged) {
            status = cs_fail(CS_ERR_CONVERGE, "%s %s: the singular values did not converge",
                             s->series, s->position);
        }
    }
    cs_connectivity_free(&c);
    return status;
}

/* How a corpus without one block is measured. */
typedef struct {
    const cs_cooc_options *build;
    cs_connectivity_options options;
} measuring;

static cs_status metrics_of(void *ctx, const cs_corpus *corpus, double *values)
{
    const measuring *m = ctx;
    cs_cooc cooc = {0};
    cs_connectivity c = {0};
    cs_status status = cs_cooc_build(corpus, m->build, &cooc);
    if (status == CS_OK &&
        (status = cs_connectivity_of(&cooc.matrix.a, &m->options, &c)) == CS_OK) {
        take_metrics(&c, values);
    }
    cs_connectivity_free(&c);
    cs_cooc_free(&cooc);
    return status;
}

/* One objective on the corpus at one target position. */
static cs_status study_objective(cs_args *args, tables *t, const cs_corpus *corpus,
                                 const char *spec, bool given, const cs_cooc_options *base)
{
    cs_cooc_options options = *base;
    cs_cooc cooc = {0};
    double se[METRICS + SIGMAS];
    cs_status status = cs_objective_parse(spec, &options.objective);
    options.context.given = given;
    subject s = {.series = spec,
                 .position = given ? "given" : "blind",
                 .context = cs_args_text(args, "context")};
    cs_output_note(args, "%s, target position %s", spec, s.position);
    if (status == CS_OK && t->blocks > 0) {
        measuring m = {
            &options, {.k = SIGMAS, .seed = t->seed, .threads = options.threads, .no_probe = true}};
        const cs_corpus_metrics metrics = {METRICS + SIGMAS, metrics_of, &m};
        status = cs_jackknife(corpus, t->blocks, t->seed, &metrics, NULL, se);
        s.se = se;
    }
    if (status == CS_OK && (status = cs_cooc_build(corpus, &options, &cooc)) == CS_OK) {
        status = look_at(args, t, &s, &cooc.matrix.a);
    }
    cs_cooc_free(&cooc);
    return status;
}

static cs_status study_corpus(cs_args *args, tables *t)
{
    cs_corpus corpus = {0};
    cs_cooc_options base = {0};
    cs_status status;
    int specs = cs_args_count(args, "compare");
    int count = specs > 0 ? specs : (int)(sizeof default_specs / sizeof *default_specs);
    if ((status = cs_args_build(args, &base)) != CS_OK ||
        (status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), &corpus)) != CS_OK) {
        goto done;
    }
    /* nearest is relative to the target: it is `given` by construction. */
    bool always_given = base.context.mode == CS_CONTEXT_NEAREST;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const char *spec = specs > 0 ? cs_args_text_at(args, "compare", i) : default_specs[i];
        status = always_given ? CS_OK : study_objective(args, t, &corpus, spec, false, &base);
        if (status == CS_OK) {
            status = study_objective(args, t, &corpus, spec, true, &base);
        }
    }
done:
    cs_corpus_free(&corpus);
    return status;
}

static cs_status study_files(cs_args *args, tables *t)
{
    cs_status status = CS_OK;
    for (int i = 0; i < cs_args_positionals(args) && status == CS_OK; ++i) {
        const char *path = cs_args_positional(args, i);
        cs_csr a = {0};
        subject s = {.series = path, .position = "", .context = ""};
        if ((status = cs_output_input(args, path)) == CS_OK &&
            (status = cs_matrix_read(path, &a)) == CS_OK) {
            status = cs_blame(look_at(args, t, &s, &a), "%s", path);
        }
        cs_csr_free(&a);
    }
    return status;
}

static cs_status run(cs_args *args)
{
    bool corpus = cs_args_given(args, "corpus");
    if (corpus == (cs_args_positionals(args) > 0)) {
        return cs_fail(CS_ERR_USAGE, "connectivity wants either matrices or --corpus");
    }
    tables t = {.blocks = corpus ? cs_args_int(args, "jackknife") : 0,
                .seed = cs_args_seed(args),
                .json = json_array()};
    json_t *root = json_object();
    cs_status status;
    if ((status = cs_output_claim(args, "connectivity.csv")) != CS_OK ||
        (status = cs_table_init(
             &t.metrics,
             "series,target_position,context,metric,definition,value,se,blocks,seed")) != CS_OK ||
        (status = cs_table_init(&t.spectrum, "series,target_position,index,sigma,se,residual")) !=
            CS_OK ||
        (status = corpus ? study_corpus(args, &t) : study_files(args, &t)) != CS_OK) {
        goto done;
    }
    if ((status = cs_json_set(root, "matrices", json_incref(t.json))) != CS_OK ||
        (status = cs_output_result(args, "connectivity", root, &t.metrics)) != CS_OK) {
        goto done;
    }
    const char *dir = cs_args_text(args, "output");
    char *path = dir ? cs_path_join(dir, "spectrum.csv") : NULL;
    if (dir) {
        status = path ? cs_table_write_csv(&t.spectrum, path) : CS_ERR_MEMORY;
    }
    cs_free(path);
done:
    cs_table_free(&t.metrics);
    cs_table_free(&t.spectrum);
    json_decref(t.json);
    json_decref(root);
    return status;
}

static const cs_opt connectivity_options[] = {
    {.name = "compare",
     .kind = CS_OPT_TEXT,
     .argument = "SPEC",
     .repeated = true,
     .help = "An objective NAME[:KEY=VALUE,...] to compare on --corpus, such as masked:unmasked=2. "
             "Default: ar, masked at three ratios, variable-masked, diverse-ar with t = 2 and 4."},
    {.name = "k",
     .letter = 'k',
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "32",
     .low = 1,
     .high = 100000,
     .help = "Singular values below 1 to compute for each matrix."},
    {.name = "jackknife",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "10",
     .low = 0,
     .high = 1000,
     .help = "Blocks of documents for the delete-block jackknife; 0 for none."},
    {0},
};

const cs_command cs_cmd_connectivity = {
    .name = "connectivity",
    .summary = "Components, spectral gap, Cheeger bounds and sums of co-occurrence matrices",
    .description =
        "For each matrix A, with Abar = A / sqrt(P_C P_G): the components of its bipartite graph, "
        "the leading singular values, sum sigma^2 and sum sigma^4, and for the "
        "heaviest component the Cheeger bounds (1 - sigma_2)/2 <= h <= sqrt(1 - sigma_2^2) with "
        "the sweep cut.\n\n"
        "With --corpus, several objectives are compared on the same documents and contexts, target "
        "position blind and given, with standard errors by "
        "delete-block jackknife over documents. DIR receives connectivity.csv, connectivity.json "
        "and spectrum.csv.",
    .positional = "[DIR|FILE...]",
    .groups = (const cs_opt *const[]){connectivity_options, cs_group_corpus, cs_group_cooc, NULL},
    .examples = "# two objectives on a file of your own, windows of 3\n"
                "cospec connectivity --corpus verses.txt --context all --max-length 3 --stride 1 "
                "--compare ar --compare masked:unmasked=1 --jackknife 5 -k 4\n",
    .run = run,
};
