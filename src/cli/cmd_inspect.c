/* cospec inspect: what a matrix, a row, a singular vector or a word looks like. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scored.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/mistaken.h"
#include "cli/output.h"
#include "cooc/reduce.h"
#include "cooc/store.h"
#include "io/number.h"
#include "io/result.h"

static void add_line(cs_item *lines, const char *what, int64_t rank, int64_t index,
                     const char *text, double value, double share)
{
    cs_item *line = cs_item_object(lines, NULL);
    cs_item_text(line, "what", what);
    cs_item_real(line, "rank", (double)rank);
    cs_item_real(line, "index", (double)index);
    cs_item_text(line, "text", text);
    cs_item_real(line, "value", value);
    cs_item_real(line, "share", share);
}

static cs_status add_row_line(const cs_cooc_store *store, cs_item *lines, const char *what,
                              int64_t rank, int64_t row, double value, double share)
{
    char *text = NULL;
    cs_status status = cs_cooc_row_text(store, row, &text);
    if (status == CS_OK) add_line(lines, what, rank, row, text, value, share);
    cs_free(text);
    return status;
}

static void add_token_line(const cs_cooc_store *store, cs_item *lines, const char *what,
                           int64_t rank, int64_t token, double value, double share)
{
    char buffer[32];
    add_line(lines, what, rank, token, cs_corpus_word(&store->corpus, (int32_t)token, buffer),
             value, share);
}

/* Sums of rows and the total, for shares. */
static cs_status row_sums(const cs_csr *a, double **out, double *total)
{
    double *sum = cs_alloc(a->rows, sizeof *sum);
    if (!sum) return CS_ERR_MEMORY;
    cs_csr_sums(a, sum, NULL);
    *total = 0.0;
    for (int64_t i = 0; i < a->rows; ++i) {
        *total += sum[i];
    }
    *out = sum;
    return CS_OK;
}

/* --row I: its text, mass, and most probable targets. */
static cs_status show_row(const cs_cooc_store *store, int64_t row, int64_t top, cs_item *lines)
{
    const cs_csr *a = &store->cooc.matrix.a;
    if (row < 0 || row >= a->rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld not in 0..%lld", (long long)row,
                       (long long)a->rows - 1);
    }
    int64_t count = a->ptr[row + 1] - a->ptr[row];
    cs_scored *list = cs_alloc(count, sizeof *list);
    if (!list) return CS_ERR_MEMORY;
    double sum = 0.0;
    for (int64_t p = 0; p < count; ++p) {
        list[p] = (cs_scored){a->val[a->ptr[row] + p], a->col[a->ptr[row] + p]};
        sum += list[p].value;
    }
    qsort(list, (size_t)count, sizeof *list, cs_scored_compare);
    cs_status status = add_row_line(store, lines, "row", 0, row, sum, 1.0);
    for (int64_t i = 0; i < count && i < top; ++i) {
        add_token_line(store, lines, "target of the row", i + 1, list[i].index, list[i].value,
                       list[i].value / sum);
    }
    cs_free(list);
    return status;
}

/* The rows of largest mass: what --row and --vector are asked about. */
static cs_status show_heaviest(const cs_cooc_store *store, int64_t top, cs_item *lines)
{
    const cs_csr *a = &store->cooc.matrix.a;
    double *sum = NULL, total;
    cs_scored *list = cs_alloc(a->rows, sizeof *list);
    cs_status status = list ? row_sums(a, &sum, &total) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < a->rows; ++i) {
            list[i] = (cs_scored){sum[i], i};
        }
        qsort(list, (size_t)a->rows, sizeof *list, cs_scored_compare);
        for (int64_t i = 0; i < a->rows && i < top && status == CS_OK; ++i) {
            status = add_row_line(store, lines, "heaviest row", i + 1, list[i].index, list[i].value,
                                  list[i].value / total);
        }
    }
    cs_free(list);
    cs_free(sum);
    return status;
}

/* The ends of one singular vector on one side, `sign` +1 or -1: entries by x * sign, share x^2 (a
 * unit vector). */
static cs_status show_end(const cs_cooc_store *store, const cs_spectrum *s, int64_t vector,
                          bool rows, double sign, int64_t top, cs_item *lines)
{
    const cs_dense *side = rows ? &s->u : &s->v;
    const double *x = side->data + (vector - 1) * side->ld;
    int64_t n = side->rows;
    cs_scored *list = cs_alloc(n, sizeof *list);
    char *what = cs_format("vector %lld, %s %s", (long long)vector, sign > 0 ? "+" : "-",
                           rows ? "context" : "token");
    cs_status status = list && what ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < n; ++i) {
            list[i] = (cs_scored){sign * x[i], i};
        }
        qsort(list, (size_t)n, sizeof *list, cs_scored_compare);
    }
    for (int64_t i = 0; i < n && i < top && status == CS_OK && list[i].value > 0.0; ++i) {
        double value = x[list[i].index];
        if (rows) {
            status = add_row_line(store, lines, what, i + 1, list[i].index, value, value * value);
        } else {
            add_token_line(store, lines, what, i + 1, list[i].index, value, value * value);
        }
    }
    cs_free(list);
    cs_free(what);
    return status;
}

static cs_status show_vector(const cs_cooc_store *store, const cs_spectrum *s, int64_t vector,
                             int64_t top, cs_item *lines)
{
    if (vector > s->k) {
        return cs_fail(CS_ERR_INPUT, "vector %lld exceeds the rank %lld", (long long)vector,
                       (long long)s->k);
    }
    cs_status status = CS_OK;
    for (int end = 0; end < 2 && status == CS_OK; ++end) {
        double sign = end == 0 ? 1 : -1;
        status = s->gram ? CS_OK : show_end(store, s, vector, true, sign, top, lines);
        if (status == CS_OK) status = show_end(store, s, vector, false, sign, top, lines);
    }
    return status;
}

/* What of the vectors makes up the embedding: [first, end). The ones, which distinguish components
 * and nothing else, are not in it. */
typedef struct {
    int64_t first, end;
} span;

/* Nearest tokens by cosine of the embeddings sigma_j v_j[token] / sqrt(P_G(token)). */
static cs_status show_neighbours(const cs_cooc_store *store, const cs_spectrum *s, const span *of,
                                 const char *word, int64_t top, cs_item *lines)
{
    int64_t n = s->v.rows, id = -1;
    for (int64_t i = 0; store->corpus.word && i < store->corpus.vocab; ++i) {
        id = strcmp(store->corpus.word[i], word) == 0 ? i : id;
    }
    assert(s->k > 0 && s->col_mass);
    if (id < 0 || s->col_mass[id] <= 0.0) {
        return cs_fail(CS_ERR_INPUT, "%s %s", word,
                       id < 0 ? "is not in the vocabulary" : "is never a target");
    }
    double weight = 0.0;
    for (int64_t j = of->first; j < of->end; ++j) {
        weight += fabs(s->v.data[id + j * s->v.ld]);
    }
    if (weight == 0.0) {
        return cs_fail(
            CS_ERR_INPUT,
            "%s has no part in vectors %lld to %lld: raise --dimensions, or lower --skip", word,
            (long long)of->first + 1, (long long)of->end);
    }
    cs_scored *list = cs_alloc(n, sizeof *list);
    if (!list) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < n;
         ++i) { /* 1 / sqrt(P_G) scales a whole row: it drops out of the cosine */
        double dot = 0.0, own = 0.0, other = 0.0;
        for (int64_t j = of->first; j < of->end; ++j) {
            double a = s->sigma[j] * s->v.data[id + j * s->v.ld],
                   b = s->sigma[j] * s->v.data[i + j * s->v.ld];
            dot += a * b;
            own += a * a;
            other += b * b;
        }
        list[i] = (cs_scored){own > 0.0 && other > 0.0 ? dot / sqrt(own * other) : -1.0, i};
    }
    qsort(list, (size_t)n, sizeof *list, cs_scored_compare);
    for (int64_t i = 0; i < n && i <= top; ++i) {
        add_token_line(store, lines, "neighbour", i, list[i].index, list[i].value,
                       s->col_mass[list[i].index]);
    }
    cs_free(list);
    return CS_OK;
}

/* The i-th value of a repeated option as a whole number >= low. */
static cs_status number_at(const cs_args *args, const char *name, int i, int64_t low, int64_t *out)
{
    const char *text = cs_args_text_at(args, name, i);
    return cs_int_scan(text, out) && *out >= low
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "--%s %s is not a whole number >= %lld", name, text,
                         (long long)low);
}

/* Options that the lists asked for would ignore. */
static cs_status check_lists(const cs_args *args)
{
    if (!cs_args_given(args, "neighbours")) {
        cs_status status = cs_args_refuse(args, "dimensions skip", "goes with --neighbours");
        if (status != CS_OK) return status;
    }
    const char *other = cs_args_given_of(args, cs_group_solver);
    other = other ? other : cs_args_given_of(args, cs_group_certify);
    if (other && !cs_args_given(args, "neighbours") && cs_args_count(args, "vector") == 0) {
        return cs_fail(CS_ERR_USAGE,
                       "--%s goes with --vector or --neighbours: without them nothing is solved",
                       other);
    }
    return CS_OK;
}

/* --neighbours: how many vectors lie up to the last of --dimensions behind those left out. Of a
 * matrix that is not normalised here the ones are seen when they are there. */
static cs_status last_dimension(const cs_args *args, const cs_csr *a, int64_t *k)
{
    const int64_t side = a->rows < a->cols ? a->rows : a->cols, skip = cs_args_int(args, "skip");
    int64_t ones = 0, wanted = cs_args_int(args, "dimensions");
    cs_status status = cs_args_flag(args, "normalised") ? CS_OK : cs_components_number(a, &ones);
    const int64_t left = side - ones - skip;
    if (status == CS_OK && left < 1)
        return cs_fail(CS_ERR_USAGE,
                       "--neighbours: behind %lld vectors of sigma = 1 and --skip %lld the matrix "
                       "(%lld x %lld) has none",
                       (long long)ones, (long long)skip, (long long)a->rows, (long long)a->cols);
    if (status == CS_OK && wanted > left && cs_args_given(args, "dimensions"))
        cs_output_note(args,
                       "--dimensions %lld: behind %lld vectors of sigma = 1 and --skip %lld there "
                       "are %lld",
                       (long long)wanted, (long long)ones, (long long)skip, (long long)left);
    wanted = wanted < left ? wanted : left;
    *k = ones + skip + wanted;
    return status;
}

/* As many vectors as the largest --vector and --neighbours take. */
static cs_status wanted_spectrum(cs_args *args, const cs_cooc_store *store, cs_spectrum *out)
{
    cs_spectrum_options options;
    const cs_csr *a = &store->cooc.matrix.a;
    int64_t k = 0;
    cs_status status = cs_args_spectrum(args, &options);
    if (status == CS_OK) status = cs_args_certify(args, 0, &options.certify);
    if (status == CS_OK && cs_args_given(args, "neighbours")) status = last_dimension(args, a, &k);
    for (int i = 0; i < cs_args_count(args, "vector") && status == CS_OK; ++i) {
        int64_t vector = 0;
        status = number_at(args, "vector", i, 1, &vector);
        k = vector > k ? vector : k;
    }
    if (status != CS_OK || k == 0) return status;
    options.k = k;
    options.progress = cs_output_progress(args);
    status = cs_spectrum_of(a, &options, out);
    return status == CS_OK ? cs_spectrum_require(out) : status;
}

/* The part of the spectrum that --neighbours uses. */
static cs_status neighbour_span(const cs_args *args, const cs_spectrum *s, span *out)
{
    const int64_t ones = cs_spectrum_ones(s), skip = cs_args_int(args, "skip");
    const int64_t first = ones + skip, wanted = cs_args_int(args, "dimensions");
    if (first >= s->k) {
        return cs_fail(CS_ERR_INPUT,
                       "--neighbours: all %lld singular vectors are of sigma = 1 (%lld, one a "
                       "component) or left out by --skip %lld: none is left to compare by",
                       (long long)s->k, (long long)ones, (long long)skip);
    }
    *out = (span){first, s->k - first < wanted ? s->k : first + wanted};
    return CS_OK;
}

static cs_status fill(cs_args *args, const cs_cooc_store *store, const cs_spectrum *s,
                      cs_item *lines)
{
    int64_t top = cs_args_int(args, "top");
    cs_status status = CS_OK;
    int rows = cs_args_count(args, "row"), vectors = cs_args_count(args, "vector");
    int64_t number = 0;
    if (vectors > 0 && s->gram) {
        cs_output_note(args, "a Gram form has vectors of its tokens alone: no contexts are listed");
    }
    for (int i = 0; i < rows && status == CS_OK; ++i) {
        if ((status = number_at(args, "row", i, 0, &number)) == CS_OK) {
            status = show_row(store, number, top, lines);
        }
    }
    for (int i = 0; i < vectors && status == CS_OK; ++i) {
        if ((status = number_at(args, "vector", i, 1, &number)) == CS_OK) {
            status = show_vector(store, s, number, top, lines);
        }
    }
    if (status == CS_OK && cs_args_given(args, "neighbours")) {
        span of = {0};
        status = neighbour_span(args, s, &of);
        if (status == CS_OK)
            status = show_neighbours(store, s, &of, cs_args_text(args, "neighbours"), top, lines);
    }
    if (status == CS_OK && rows + vectors == 0 && !cs_args_given(args, "neighbours"))
        status = show_heaviest(store, top, lines);
    return status;
}

static cs_status run(cs_args *args)
{
    const char *dir = cs_args_positional(args, 0);
    static const cs_view view = {"lines[]", "what rank index text value share"};
    cs_cooc_store store = {0};
    cs_spectrum spectrum = {0};
    cs_item *lines = cs_item_array(cs_output_root(args), "lines");
    cs_status status = check_lists(args);
    if (status == CS_OK) status = cs_want(args, CS_ERR_INPUT, dir, CS_IS_STORE);
    if (status == CS_OK) status = cs_output_input(args, dir);
    if (status == CS_OK) status = cs_cooc_read(dir, &store);
    if (status == CS_OK) status = wanted_spectrum(args, &store, &spectrum);
    if (status == CS_OK) status = fill(args, &store, &spectrum, lines);
    if (status == CS_OK) status = cs_output_record(args, "inspect", &view);
    cs_spectrum_free(&spectrum);
    cs_cooc_store_free(&store);
    return status;
}

static const cs_opt inspect_options[] = {
    CS_TEXTS("row", "I", "A row (0-based): its text and its most probable targets."),
    CS_TEXTS("vector", "J",
             "A singular vector (1-based): the contexts and tokens with the largest positive and "
             "negative entries."),
    CS_TEXT("neighbours", "WORD", NULL,
            "Nearest tokens of a word by cosine of sigma_j v_j / sqrt(P_G), vectors of sigma = 1 "
            "(one a component; of one component it is the constant) left out."),
    CS_INT("dimensions", "K", "64", 1, 100000,
           "Singular vectors that make up the embedding for --neighbours, at most as many as "
           "there are."),
    CS_INT("skip", "N", "0", 0, 100000, "Leave out N vectors behind those of sigma = 1 as well."),
    CS_INT("top", "N", "10", 1, 1000000, "Lines of each list."),
    {0},
};

const cs_command cs_cmd_inspect = {
    .name = "inspect",
    .summary = "Rows, singular vectors and nearest neighbours of a built matrix",
    .description =
        "Shows the rows, vectors and words behind the numbers of a matrix of cospec cooc. Without "
        "options: the rows of largest mass. Vectors have unit length; `share` is an "
        "entry's part of the squared length.",
    .positional = "DIR",
    .groups = (const cs_opt *const[]){inspect_options, cs_group_solver, cs_group_certify, NULL},
    .examples = "# what does the second singular vector separate?\n"
                "cospec cooc --corpus verses.txt --objective ar --context nearest:1 -o bigrams\n"
                "cospec inspect bigrams --vector 2 --top 5\n",
    .run = run,
    .files = "inspect.json inspect.csv",
};
