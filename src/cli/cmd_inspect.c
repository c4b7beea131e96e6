/* cospec inspect: what a matrix, a row, a singular vector or a word looks like. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/ranked.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cooc/store.h"
#include "io/json.h"
#include "io/number.h"

static cs_status add_line(cs_table *table, const char *what, int64_t rank, int64_t index,
                          const char *text, double value, double share)
{
    cs_status status;
    if ((status = cs_table_row(table)) != CS_OK ||
        (status = cs_table_text(table, "what", what)) != CS_OK ||
        (status = cs_table_int(table, "rank", rank)) != CS_OK ||
        (status = cs_table_int(table, "index", index)) != CS_OK ||
        (status = cs_table_text(table, "text", text)) != CS_OK ||
        (status = cs_table_real(table, "value", value)) != CS_OK) {
        return status;
    }
    return cs_table_real(table, "share", share);
}

static cs_status add_row_line(const cs_cooc_store *store, cs_table *table, const char *what,
                              int64_t rank, int64_t row, double value, double share)
{
    char *text = NULL;
    cs_status status = cs_cooc_row_text(store, row, &text);
    if (status == CS_OK) {
        status = add_line(table, what, rank, row, text, value, share);
    }
    cs_free(text);
    return status;
}

static cs_status add_token_line(const cs_cooc_store *store, cs_table *table, const char *what,
                                int64_t rank, int64_t token, double value, double share)
{
    char buffer[32];
    return add_line(table, what, rank, token,
                    cs_corpus_word(&store->corpus, (int32_t)token, buffer), value, share);
}

/* Sums of rows and the total, for shares. */
static cs_status row_sums(const cs_csr *a, double **out, double *total)
{
    double *sum = cs_alloc(a->rows, sizeof *sum);
    if (!sum) {
        return CS_ERR_MEMORY;
    }
    cs_csr_sums(a, sum, NULL);
    *total = 0.0;
    for (int64_t i = 0; i < a->rows; ++i) {
        *total += sum[i];
    }
    *out = sum;
    return CS_OK;
}

/* --row I: its text, mass, and most probable targets. */
static cs_status show_row(const cs_cooc_store *store, int64_t row, int64_t top, cs_table *table)
{
    const cs_csr *a = &store->cooc.matrix.a;
    if (row < 0 || row >= a->rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld not in 0..%lld", (long long)row,
                       (long long)a->rows - 1);
    }
    int64_t count = a->ptr[row + 1] - a->ptr[row];
    cs_ranked *list = cs_alloc(count, sizeof *list);
    if (!list) {
        return CS_ERR_MEMORY;
    }
    double sum = 0.0;
    for (int64_t p = 0; p < count; ++p) {
        list[p] = (cs_ranked){a->val[a->ptr[row] + p], a->col[a->ptr[row] + p]};
        sum += list[p].value;
    }
    qsort(list, (size_t)count, sizeof *list, cs_ranked_compare);
    cs_status status = add_row_line(store, table, "row", 0, row, sum, 1.0);
    for (int64_t i = 0; i < count && i < top && status == CS_OK; ++i) {
        status = add_token_line(store, table, "target of the row", i + 1, list[i].index,
                                list[i].value, list[i].value / sum);
    }
    cs_free(list);
    return status;
}

/* The rows of largest mass: what --row and --vector are asked about. */
static cs_status show_heaviest(const cs_cooc_store *store, int64_t top, cs_table *table)
{
    const cs_csr *a = &store->cooc.matrix.a;
    double *sum = NULL, total;
    cs_ranked *list = cs_alloc(a->rows, sizeof *list);
    cs_status status = list ? row_sums(a, &sum, &total) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < a->rows; ++i) {
            list[i] = (cs_ranked){sum[i], i};
        }
        qsort(list, (size_t)a->rows, sizeof *list, cs_ranked_compare);
        for (int64_t i = 0; i < a->rows && i < top && status == CS_OK; ++i) {
            status = add_row_line(store, table, "heaviest row", i + 1, list[i].index, list[i].value,
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
                          bool rows, double sign, int64_t top, cs_table *table)
{
    const cs_dense *side = rows ? &s->u : &s->v;
    const double *x = side->data + (vector - 1) * side->ld;
    int64_t n = side->rows;
    cs_ranked *list = cs_alloc(n, sizeof *list);
    char *what = cs_format("vector %lld, %s %s", (long long)vector, sign > 0 ? "+" : "-",
                           rows ? "context" : "token");
    cs_status status = list && what ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < n; ++i) {
            list[i] = (cs_ranked){sign * x[i], i};
        }
        qsort(list, (size_t)n, sizeof *list, cs_ranked_compare);
    }
    for (int64_t i = 0; i < n && i < top && status == CS_OK && list[i].value > 0.0; ++i) {
        double value = x[list[i].index];
        status =
            rows ? add_row_line(store, table, what, i + 1, list[i].index, value, value * value)
                 : add_token_line(store, table, what, i + 1, list[i].index, value, value * value);
    }
    cs_free(list);
    cs_free(what);
    return status;
}

static cs_status show_vector(const cs_cooc_store *store, const cs_spectrum *s, int64_t vector,
                             int64_t top, cs_table *table)
{
    if (vector > s->k) {
        return cs_fail(CS_ERR_INPUT, "vector %lld exceeds the rank %lld", (long long)vector,
                       (long long)s->k);
    }
    cs_status status = CS_OK;
    for (int end = 0; end < 2 && status == CS_OK; ++end) {
        double sign = end == 0 ? 1 : -1;
        if ((status = show_end(store, s, vector, true, sign, top, table)) == CS_OK) {
            status = show_end(store, s, vector, false, sign, top, table);
        }
    }
    return status;
}

/* Nearest tokens by cosine of the embeddings sigma_j v_j[token] / sqrt(P_G(token)). */
static cs_status show_neighbours(const cs_cooc_store *store, const cs_spectrum *s, const char *word,
                                 int64_t top, cs_table *table)
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
    for (int64_t j = 0; j < s->k; ++j) {
        weight += fabs(s->v.data[id + j * s->v.ld]);
    }
    if (weight == 0.0) {
        return cs_fail(CS_ERR_INPUT, "%s has no part in the first %lld vectors: raise --dimensions",
                       word, (long long)s->k);
    }
    cs_ranked *list = cs_alloc(n, sizeof *list);
    if (!list) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n;
         ++i) { /* 1 / sqrt(P_G) scales a whole row: it drops out of the cosine */
        double dot = 0.0, own = 0.0, other = 0.0;
        for (int64_t j = 0; j < s->k; ++j) {
            double a = s->sigma[j] * s->v.data[id + j * s->v.ld],
                   b = s->sigma[j] * s->v.data[i + j * s->v.ld];
            dot += a * b;
            own += a * a;
            other += b * b;
        }
        list[i] = (cs_ranked){own > 0.0 && other > 0.0 ? dot / sqrt(own * other) : -1.0, i};
    }
    qsort(list, (size_t)n, sizeof *list, cs_ranked_compare);
    cs_status status = CS_OK;
    for (int64_t i = 0; i < n && i <= top && status == CS_OK; ++i) {
        status = add_token_line(store, table, "neighbour", i, list[i].index, list[i].value,
                                s->col_mass[list[i].index]);
    }
    cs_free(list);
    return status;
}

/* The i-th value of a repeated option as a whole number >= low. */
static cs_status number_at(const cs_args *args, const char *name, int i, int64_t low, int64_t *out)
{
    cs_status status = cs_int_parse(cs_args_text_at(args, name, i), out);
    if (status != CS_OK || *out < low) {
        cs_reason_clear();
        return cs_fail(CS_ERR_USAGE, "--%s %s is not a whole number >= %lld", name,
                       cs_args_text_at(args, name, i), (long long)low);
    }
    return CS_OK;
}

/* Options that the lists asked for would ignore. */
static cs_status check_lists(const cs_args *args)
{
    if (cs_args_given(args, "dimensions") && !cs_args_given(args, "neighbours")) {
        return cs_fail(CS_ERR_USAGE, "--dimensions goes with --neighbours");
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

/* As many vectors as the largest --vector, or --dimensions for neighbours. */
static cs_status wanted_spectrum(cs_args *args, const cs_cooc_store *store, cs_spectrum *out)
{
    cs_spectrum_options options;
    cs_status status = cs_args_spectrum(args, &options);
    status = status ? status : cs_args_certify(args, 0, &options.certify);
    const cs_csr *a = &store->cooc.matrix.a;
    int64_t smaller = a->rows < a->cols ? a->rows : a->cols;
    int64_t k = cs_args_given(args, "neighbours") ? cs_args_int(args, "dimensions") : 0;
    if (!cs_args_given(args, "dimensions") && k > smaller) {
        k = smaller; /* the default is as many as there are */
    }
    for (int i = 0; i < cs_args_count(args, "vector") && status == CS_OK; ++i) {
        int64_t vector = 0;
        status = number_at(args, "vector", i, 1, &vector);
        k = vector > k ? vector : k;
    }
    if (status != CS_OK || k == 0) {
        return status;
    }
    options.k = k;
    options.progress = cs_output_progress(args);
    status = cs_spectrum_of(&store->cooc.matrix.a, &options, out);
    return status == CS_OK ? cs_spectrum_require(out) : status;
}

static cs_status fill(cs_args *args, const cs_cooc_store *store, const cs_spectrum *s,
                      cs_table *table)
{
    int64_t top = cs_args_int(args, "top");
    cs_status status = CS_OK;
    int rows = cs_args_count(args, "row"), vectors = cs_args_count(args, "vector");
    int64_t number = 0;
    for (int i = 0; i < rows && status == CS_OK; ++i) {
        if ((status = number_at(args, "row", i, 0, &number)) == CS_OK) {
            status = show_row(store, number, top, table);
        }
    }
    for (int i = 0; i < vectors && status == CS_OK; ++i) {
        if ((status = number_at(args, "vector", i, 1, &number)) == CS_OK) {
            status = show_vector(store, s, number, top, table);
        }
    }
    if (status == CS_OK && cs_args_given(args, "neighbours")) {
        status = show_neighbours(store, s, cs_args_text(args, "neighbours"), top, table);
    }
    if (status == CS_OK && rows + vectors == 0 && !cs_args_given(args, "neighbours")) {
        status = show_heaviest(store, top, table);
    }
    return status;
}

/* The table as an array of objects. */
static json_t *table_json(const cs_table *table)
{
    json_t *list = json_array();
    for (int64_t r = 0; list && r < table->rows; ++r) {
        json_t *item = json_object();
        for (int c = 0; item && c < table->columns; ++c) {
            const char *cell = table->cell[r * table->columns + c];
            double x = 0.0;
            bool number = strcmp(table->name[c], "text") != 0 && cs_real_scan(cell, &x);
            (void)json_object_set_new(item, table->name[c],
                                      number ? cs_json_number(x) : json_string(cell));
        }
        (void)json_array_append_new(list, item);
    }
    return list;
}

static cs_status run(cs_args *args)
{
    if (cs_args_positionals(args) != 1) {
        return cs_fail(CS_ERR_USAGE, "inspect wants one directory of cospec cooc");
    }
    const char *dir = cs_args_positional(args, 0);
    cs_cooc_store store = {0};
    cs_spectrum spectrum = {0};
    cs_table table = {0};
    json_t *json = json_object();
    cs_status status;
    if ((status = check_lists(args)) != CS_OK ||
        (status = cs_output_claim(args, "inspect.csv")) != CS_OK ||
        (status = cs_output_input(args, dir)) != CS_OK ||
        (status = cs_cooc_read(dir, &store)) != CS_OK ||
        (status = cs_table_init(&table, "what,rank,index,text,value,share")) != CS_OK ||
        (status = wanted_spectrum(args, &store, &spectrum)) != CS_OK ||
        (status = fill(args, &store, &spectrum, &table)) != CS_OK ||
        (status = cs_json_set(json, "lines", table_json(&table))) != CS_OK) {
        goto done;
    }
    status = cs_output_result(args, "inspect", json, &table);
done:
    json_decref(json);
    cs_table_free(&table);
    cs_spectrum_free(&spectrum);
    cs_cooc_store_free(&store);
    return status;
}

static const cs_opt inspect_options[] = {
    {.name = "row",
     .kind = CS_OPT_TEXT,
     .argument = "I",
     .repeated = true,
     .help = "A row (0-based): its text and its most probable targets."},
    {.name = "vector",
     .kind = CS_OPT_TEXT,
     .argument = "J",
     .repeated = true,
     .help = "A singular vector (1-based): the contexts and tokens with the largest positive and "
             "negative entries."},
    {.name = "neighbours",
     .kind = CS_OPT_TEXT,
     .argument = "WORD",
     .help = "Nearest tokens of a word by cosine of sigma_j v_j / sqrt(P_G)."},
    {.name = "dimensions",
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "64",
     .low = 1,
     .high = 100000,
     .help = "Singular vectors that make up the embedding for --neighbours."},
    {.name = "top",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "10",
     .low = 1,
     .high = 1000000,
     .help = "Lines of each list."},
    {0},
};

const cs_command cs_cmd_inspect = {
    .name = "inspect",
    .summary = "Rows, singular vectors and nearest neighbours of a built matrix",
    .description = "Shows what stands behind the numbers of a matrix of cospec cooc. Without "
                   "options: the rows of largest mass. Vectors have unit length; `share` is an "
                   "entry's part of the squared length.",
    .positional = "DIR",
    .groups = (const cs_opt *const[]){inspect_options, cs_group_solver, cs_group_certify, NULL},
    .examples = "# what does the second singular vector separate?\n"
                "cospec cooc --corpus verses.txt --objective ar --context nearest:1 -o bigrams\n"
                "cospec inspect bigrams --vector 2 --top 5\n",
    .run = run,
};
