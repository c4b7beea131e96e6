#include "cli/estimate.h"

#include "base/auto.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "linalg/matrix_file.h"

const cs_opt cs_group_language[] = {
    CS_HEADING("Estimate for the language"),
    CS_CHOICE("estimate", "plug-in|cross-fit|distinct-document", "plug-in",
              "plug-in: the matrix of the corpus. The other two estimate the language's, from "
              "quarters of the documents (biased downwards) or from pairs of documents."),
    CS_INT("jackknife", "B", "10", 0, 1000,
           "Of the latter two: number of blocks of documents for the delete-block jackknife; 0: "
           "none."),
    {0},
};

bool cs_args_language(const cs_args *args)
{
    return !cs_args_is(args, "estimate", "plug-in");
}

cs_status cs_args_no_language(const cs_args *args)
{
    return cs_args_refuse(args, "jackknife", "needs --estimate cross-fit or distinct-document");
}

static cs_status write_vectors(cs_args *args, const cs_language *l)
{
    const cs_nonempty_rows all = cs_nonempty_rows_all(l->v.rows);
    const char *path = NULL;
    cs_status status = cs_output_path(args, "v.npy", &path);
    return status == CS_OK ? cs_vectors_write(path, &all, &l->v) : status;
}

cs_status cs_language_run(cs_args *args, int64_t k, const cs_spectrum_density_options *density)
{
    enum { USUAL = 10 };
    const char *dir = cs_args_positional(args, 0), *name = density ? "density" : "svd";
    CS_AUTO(cs_cooc_store) store = {0};
    CS_AUTO(cs_language) l = {0};
    cs_status status = cs_args_refuse(
        args, "normalised solver tol max-iterations no-reduction moment-budget dry-run",
        "cannot be combined with --estimate");
    if (status == CS_OK) status = cs_args_store(args, dir, &store);
    const int64_t cols = store.corpus.vocab;
    cs_language_options options = {
        .estimate = cs_args_is(args, "estimate", "cross-fit") ? CS_CROSS_FIT : CS_DISTINCT_DOCUMENT,
        .k = k > 0          ? k
             : cols < USUAL ? cols
                            : USUAL,
        .blocks = cs_args_int(args, "jackknife"),
        .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, seed, threads);
    store.options.threads = options.threads;
    if (status == CS_OK) status = cs_language_of(&store.corpus, &store.options, &options, &l);
    if (status == CS_OK) cs_language_record(&l, cs_output_root(args));
    if (status == CS_OK && density) status = cs_language_density(&l, density, cs_output_root(args));
    if (status == CS_OK && !density && cs_args_flag(args, "vectors"))
        status = write_vectors(args, &l);
    return status == CS_OK
               ? cs_output_record(args, name,
                                  density ? &cs_language_density_view : &cs_language_view)
               : status;
}
