/* cospec inspect: what a matrix, a row, a singular vector or a word looks like. */
#include <math.h>

#include "analysis/measures/similarity.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/html_option.h"
#include "cli/output.h"
#include "cli/subspaces.h"
#include "cooc/inspect.h"
#include "cooc/inspect_page.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_record.h"
#include "cooc/word_scores.h"
#include "io/json.h"
#include "io/number.h"
#include "io/path.h"

/* The i-th value of a repeated option as a whole number >= low. */
static cs_status number_at(const cs_args *args, const char *name, int i, int64_t low, int64_t *out)
{
    const char *text = cs_args_text_at(args, name, i);
    return cs_int_scan(text, out) && *out >= low
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "--%s %s is not a whole number >= %lld", name, text,
                         (long long)low);
}

/* Whether word vectors are scored on files. */
static bool scored(const cs_args *args)
{
    return cs_args_count(args, "similarity") + cs_args_count(args, "analogies") > 0;
}

/* Whether tokens get vectors. */
static bool embeds(const cs_args *args)
{
    return cs_args_given(args, "neighbours") || cs_args_given(args, "html") || scored(args);
}

/* Refuses options that the requested lists would ignore. */
static cs_status check_lists(const cs_args *args)
{
    cs_status status = CS_OK;
    if (!embeds(args))
        status = cs_args_refuse(args, "dimensions skip",
                                "needs --neighbours, --html, --similarity or --analogies");
    if (status == CS_OK && !cs_args_given(args, "html"))
        status = cs_args_refuse(args, "against", "needs --html");
    if (status == CS_OK && !scored(args))
        status = cs_args_refuse(args, "power side", "needs --similarity or --analogies");
    if (status == CS_OK && scored(args))
        status = cs_args_refuse(args, "row vector neighbours html top",
                                "cannot be combined with --similarity and --analogies");
    if (status != CS_OK) return status;
    const char *other = cs_args_given_of(args, cs_group_solver);
    other = other ? other : cs_args_given_of(args, cs_group_certify);
    other = other ? other : cs_args_given_of(args, cs_group_form);
    if (other && !embeds(args) && cs_args_count(args, "vector") == 0) {
        return cs_fail(CS_ERR_USAGE,
                       "--%s needs --vector, --neighbours, --html, --similarity or --analogies: "
                       "without them nothing is solved",
                       other);
    }
    return CS_OK;
}

/* How often sigma = 1 for this number of components: the centred form has it once less, other forms
 * do not have it. */
static int64_t ones_of(const cs_matrix_form *form, int64_t components)
{
    return cs_matrix_form_is_normalised(form) || components == 0 ? components
           : cs_matrix_form_lumps(form)                          ? components - 1
                                                                 : 0;
}

/* Word vectors: how many vectors lie up to the last of --dimensions behind those left out. Of a
 * matrix that is not normalised here the ones are seen when they are there. */
static cs_status last_dimension(const cs_args *args, const cs_matrix_form *form, const cs_csr *a,
                                int64_t *k)
{
    const int64_t side = a->rows < a->cols ? a->rows : a->cols, skip = cs_args_int(args, "skip");
    int64_t ones = 0, wanted = cs_args_int(args, "dimensions");
    cs_status status = cs_args_flag(args, "normalised") ? CS_OK : cs_components_number(a, &ones);
    ones = ones_of(form, ones);
    const int64_t left = side - ones - skip;
    if (status == CS_OK && left < 1)
        return cs_fail(CS_ERR_USAGE,
                       "word vectors: after %lld vectors of sigma = 1 and --skip %lld the matrix "
                       "(%lld x %lld) has no vectors left",
                       (long long)ones, (long long)skip, (long long)a->rows, (long long)a->cols);
    if (status == CS_OK && wanted > left && cs_args_given(args, "dimensions"))
        cs_output_note(args,
                       "--dimensions %lld: after %lld vectors of sigma = 1 and --skip %lld there "
                       "are only %lld",
                       (long long)wanted, (long long)ones, (long long)skip, (long long)left);
    wanted = wanted < left ? wanted : left;
    *k = ones + skip + wanted;
    return status;
}

/* As many vectors as the largest --vector and --neighbours take. The rows of `dir` may be tokens, and
 * a form of them symmetric. */
static cs_status wanted_spectrum(cs_args *args, cs_matrix_form *form, const char *dir,
                                 const cs_cooc_store *store, cs_spectrum *out)
{
    cs_spectrum_options options;
    CS_AUTO_FREE int64_t *row_token = NULL;
    const cs_csr *a = &store->cooc.matrix.a;
    int64_t k = 0;
    cs_status status = cs_args_spectrum(args, &options);
    if (status == CS_OK) status = cs_args_certify(args, 0, &options.certify);
    if (status == CS_OK && embeds(args)) status = last_dimension(args, form, a, &k);
    for (int i = 0; i < cs_args_count(args, "vector") && status == CS_OK; ++i) {
        int64_t vector = 0;
        status = number_at(args, "vector", i, 1, &vector);
        k = vector > k ? vector : k;
    }
    if (status == CS_OK && k > 0 && form && !a->gram)
        status = cs_cooc_row_tokens(dir, a->rows, a->cols, &row_token);
    if (status != CS_OK || k == 0) return status;
    options.k = k;
    cs_matrix_form_set_unit(form, cs_cooc_stored_mass(&store->cooc));
    options.form = form;
    options.eigenvalues = form != NULL;
    options.row_column = row_token;
    options.progress = cs_output_progress(args);
    status = cs_spectrum_of(a, &options, out);
    return status == CS_OK ? cs_spectrum_require(out) : status;
}

/* The vectors first .. end - 1 of the tokens. Those of sigma = 1, which distinguish components and
 * nothing else, are left out. */
static cs_status dimensions_of(const cs_args *args, const cs_matrix_form *form,
                               const cs_spectrum *s, int64_t *first, int64_t *end)
{
    const int64_t ones = form ? ones_of(form, s->input.components) : cs_spectrum_ones(s),
                  skip = cs_args_int(args, "skip"), wanted = cs_args_int(args, "dimensions");
    *first = ones + skip;
    *end = s->k - *first < wanted ? s->k : *first + wanted;
    if (*first >= s->k) {
        return cs_fail(CS_ERR_INPUT,
                       "word vectors: all %lld singular vectors have sigma = 1 (%lld, one per "
                       "component) or are left out by --skip %lld; none is left for the comparison",
                       (long long)s->k, (long long)ones, (long long)skip);
    }
    return CS_OK;
}

static cs_status show_neighbours(const cs_args *args, const cs_matrix_form *form,
                                 const cs_inspection *in, const cs_spectrum *s)
{
    int64_t first = 0, end = 0;
    cs_status status = dimensions_of(args, form, s, &first, &end);
    return status == CS_OK
               ? cs_inspect_neighbours(in, s, first, end, cs_args_text(args, "neighbours"))
               : status;
}

/* --similarity and --analogies. */
static cs_status fill_scores(cs_args *args, const cs_matrix_form *form, const cs_cooc_store *store,
                             const cs_spectrum *s, cs_item *scores)
{
    cs_word_vectors_options options = {.power = cs_args_real(args, "power"),
                                       .contexts = cs_args_is(args, "side", "contexts"),
                                       .dir = cs_args_positional(args, 0)};
    CS_AUTO(cs_word_vectors) words = {0};
    cs_status status = options.contexts && s->input.gram
                           ? cs_fail(CS_ERR_USAGE, "--side contexts: a Gram form has no contexts")
                           : dimensions_of(args, form, s, &options.first, &options.end);
    if (status == CS_OK) status = cs_word_vectors_of(store, s, &options, &words);
    for (int i = 0; i < cs_args_count(args, "similarity") && status == CS_OK; ++i) {
        status = cs_word_similarity(&words, cs_args_text_at(args, "similarity", i), scores);
    }
    for (int i = 0; i < cs_args_count(args, "analogies") && status == CS_OK; ++i) {
        status = cs_word_analogies(&words, cs_args_text_at(args, "analogies", i), scores);
    }
    return status;
}

static cs_status input_files(cs_args *args, const char *option)
{
    cs_status status = CS_OK;
    for (int i = 0; i < cs_args_count(args, option) && status == CS_OK; ++i) {
        const char *file = cs_args_text_at(args, option, i);
        status = cs_path_is_dir(file)
                     ? cs_fail(CS_ERR_INPUT, "--%s %s is a directory, not a file", option, file)
                     : cs_output_input(args, file);
    }
    return status;
}

static cs_status fill_record(const cs_args *args, const cs_matrix_form *form,
                             const cs_inspection *in, const cs_spectrum *s)
{
    cs_status status = CS_OK;
    int rows = cs_args_count(args, "row"), vectors = cs_args_count(args, "vector");
    int64_t number = 0;
    if (vectors > 0 && s->input.gram) {
        cs_output_note(args,
                       "a Gram form has vectors for its tokens only, so no contexts are listed");
    }
    for (int i = 0; i < rows && status == CS_OK; ++i) {
        if ((status = number_at(args, "row", i, 0, &number)) == CS_OK) {
            status = cs_inspect_row(in, number);
        }
    }
    for (int i = 0; i < vectors && status == CS_OK; ++i) {
        if ((status = number_at(args, "vector", i, 1, &number)) == CS_OK) {
            status = cs_inspect_vector(in, s, number);
        }
    }
    if (status == CS_OK && cs_args_given(args, "neighbours")) {
        status = show_neighbours(args, form, in, s);
    }
    if (status == CS_OK && rows + vectors == 0 && !cs_args_given(args, "neighbours"))
        status = cs_inspect_heaviest(in);
    return status;
}

/* --- the page --------------------------------------------------------------------------------- */

/* A matrix of a page. */
typedef struct {
    const char *dir;
    cs_cooc_store store;
    cs_spectrum spectrum;
} page_matrix;

static void page_matrix_free(page_matrix *m)
{
    cs_cooc_store_free(&m->store);
    cs_spectrum_free(&m->spectrum);
}

/* A value that the solver has not looked for may follow the k values. */
static bool may_go_on(const cs_spectrum *s, int64_t k)
{
    return s->k == k && s->rank < 0;
}

/* Angles between the leading subspaces of a dimension whose next values are known, and the cosines
 * of single vectors. */
static cs_status add_angles(const cs_spectrum *a, const cs_spectrum *b, cs_item *root)
{
    enum { MOST_VECTORS = 32 };
    int64_t k = a->k < b->k ? a->k : b->k;
    k -= k > 1 && (may_go_on(a, k) || may_go_on(b, k));
    const cs_spacing gap[] = {cs_spacing_of(a, k), cs_spacing_of(b, k)};
    cs_dense va = a->v, vb = b->v;
    va.cols = vb.cols = k;
    CS_AUTO_FREE double *angle = cs_alloc(k, sizeof *angle);
    cs_status status = angle ? cs_principal_angles(&va, &vb, angle) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    cs_item *item = cs_item_object(root, "angles");
    cs_item *degrees = cs_item_array(item, "degrees"), *cosines = cs_item_array(item, "cosines");
    double overlap = 0;
    for (int64_t i = 0; i < k; ++i) {
        overlap += cos(angle[i]) * cos(angle[i]) / (double)k;
        cs_item_real(degrees, NULL, angle[i] * 180.0 / M_PI);
    }
    cs_item_real(item, "mean_squared_cosine", overlap);
    cs_item_flag(item, "determined", gap[0].value > gap[0].error && gap[1].value > gap[1].error);
    for (int64_t i = 0; i < k && i < MOST_VECTORS; ++i) {
        cs_item *row = cs_item_array(cosines, NULL);
        for (int64_t j = 0; j < k && j < MOST_VECTORS; ++j) {
            double dot = 0;
            for (int64_t v = 0; v < va.rows; ++v) {
                dot += va.data[v + i * va.ld] * vb.data[v + j * vb.ld];
            }
            cs_item_real(row, NULL, dot);
        }
    }
    return CS_OK;
}

static cs_status add_matrix(const cs_args *args, const cs_matrix_form *form, const page_matrix *m,
                            int64_t share, cs_item *matrices)
{
    cs_inspect_page page = {.store = &m->store,
                            .spectrum = &m->spectrum,
                            .top = cs_args_int(args, "top"),
                            .share = share};
    cs_item *matrix = cs_item_object(matrices, NULL);
    cs_item_text(matrix, "matrix", m->dir);
    cs_status status = cs_item_stored(matrix, m->dir);
    cs_item_form(matrix, form);
    if (status == CS_OK) status = dimensions_of(args, form, &m->spectrum, &page.first, &page.end);
    return status == CS_OK ? cs_inspect_page_record(&page, matrix) : status;
}

/* --html and --against; `first` is the matrix of the command. */
static cs_status write_page(cs_args *args, cs_matrix_form *form, const page_matrix *first)
{
    const char *dir = cs_args_text(args, "against");
    const int64_t share = dir ? 2 : 1;
    CS_AUTO(page_matrix) second = {.dir = dir};
    CS_AUTO(cs_result) *result = cs_result_new();
    CS_AUTO_BY(cs_json_free, json_t) *json = NULL;
    cs_item *root = cs_result_root(result), *matrices = cs_item_array(root, "matrices");
    cs_status status = add_matrix(args, form, first, share, matrices);
    if (status == CS_OK && dir) {
        status = cs_args_store(args, dir, &second.store);
        if (status == CS_OK)
            status = cs_same_vocabulary(&first->store.corpus, &second.store.corpus);
        if (status == CS_OK)
            status = cs_blame(wanted_spectrum(args, form, dir, &second.store, &second.spectrum),
                              "%s", dir);
        if (status == CS_OK) status = add_matrix(args, form, &second, share, matrices);
        if (status == CS_OK) status = add_angles(&first->spectrum, &second.spectrum, root);
    }
    if (status == CS_OK) status = cs_result_json(result, &json);
    return status == CS_OK ? cs_page_put(args, "inspect", json) : status;
}

static cs_status run(cs_args *args)
{
    const char *dir = cs_args_positional(args, 0);
    static const cs_view lists = {"lines[]", "what rank index text value share"};
    static const cs_view scores = {"scores[]", "file section score value low high items missing"};
    const bool files = scored(args);
    CS_AUTO(page_matrix) m = {.dir = dir};
    CS_AUTO(cs_matrix_form) *form = NULL;
    cs_status status = check_lists(args);
    if (status == CS_OK) status = cs_page_claim(args);
    if (status == CS_OK) status = cs_args_form(args, cs_args_text(args, "form"), &form);
    if (form) cs_item_form(cs_output_root(args), form);
    cs_item *lines = cs_item_array(cs_output_root(args), files ? "scores" : "lines");
    if (status == CS_OK) status = input_files(args, "similarity");
    if (status == CS_OK) status = input_files(args, "analogies");
    if (status == CS_OK) status = cs_args_store(args, dir, &m.store);
    if (status == CS_OK) status = wanted_spectrum(args, form, dir, &m.store, &m.spectrum);
    const cs_inspection in = {&m.store, cs_args_int(args, "top"), lines};
    if (status == CS_OK)
        status = files ? fill_scores(args, form, &m.store, &m.spectrum, lines)
                       : fill_record(args, form, &in, &m.spectrum);
    if (status == CS_OK && cs_args_given(args, "html")) status = write_page(args, form, &m);
    return status == CS_OK ? cs_output_record(args, "inspect", files ? &scores : &lists) : status;
}

static const cs_opt inspect_options[] = {
    CS_TEXTS("row", "I", "A row (0-based): its text and its most probable targets."),
    CS_TEXTS("vector", "J",
             "A singular vector (1-based): the contexts and tokens with the largest positive and "
             "negative entries."),
    CS_TEXT("neighbours", "WORD", NULL,
            "Nearest tokens of a word by cosine of sigma_j v_j / sqrt(P_G), without the vectors of "
            "sigma = 1 (one per component)."),
    CS_TEXTS("similarity", "FILE",
             "Spearman's correlation of a file's word similarities with cosines of word vectors; a "
             "line is two words and a score."),
    CS_TEXTS("analogies", "FILE",
             "Accuracy on analogies, a line of four words each, under lines ': section' if any: "
             "3CosAdd and 3CosMul over all tokens."),
    CS_TEXT("html", "FILE", NULL,
            "Write a page for a browser: spectrum, singular vectors, neighbours and coordinates of "
            "tokens and contexts."),
    CS_TEXT("against", "DIR", NULL,
            "Show a second matrix of the same vocabulary on the page, with principal angles."),
    CS_REAL("power", "P", "0.5", 0, 2,
            "Power of the singular values in word vectors that are scored: 0, 0.5 and 1 are "
            "usual."),
    CS_CHOICE("side", "tokens|contexts", "tokens",
              "Word vectors that are scored: of the columns, or of the rows of each:W."),
    CS_INT("dimensions", "K", "64", 1, 100000, "Most singular vectors in a word vector."),
    CS_INT("skip", "N", "0", 0, 100000, "Also leave out N vectors after those of sigma = 1."),
    CS_INT("top", "N", "10", 1, 1000000, "Number of lines of each list."),
    {0},
};

const cs_command cs_cmd_inspect = {
    .name = "inspect",
    .help = &cs_help_inspect,
    .positional = "DIR",
    .groups = (const cs_opt *const[]){inspect_options, cs_group_form, cs_group_solver,
                                      cs_group_certify, NULL},
    .run = run,
    .files = "inspect.json inspect.csv",
};
