/* Similarities of two matrices and shapes of one, as rows of a record. */
#include <math.h>

#include "analysis/measures/dimension.h"
#include "analysis/measures/similarity.h"
#include "base/mem.h"

/* Takes the definition over. */
static cs_item *add(cs_item *metrics, const char *of, const char *with, const char *name,
                    char *definition, double value, int64_t n)
{
    cs_item *item = cs_item_object(metrics, NULL);
    cs_item_text(item, "of", of);
    if (with) cs_item_text(item, "with", with);
    cs_item_text(item, "name", name);
    cs_item_take(item, "definition", definition);
    cs_item_int(item, "n", n);
    cs_item_real(item, "value", value);
    return item;
}

void cs_similarity_record(const cs_similarity *s, const char *of, const char *with,
                          cs_item *metrics)
{
    const struct {
        const char *name, *definition;
        double value, se;
    } all[] = {{"cka",
                "linear CKA with the biased HSIC, |B'A|_F^2 / (|A'A|_F |B'B|_F), columns centred",
                s->cka, s->cka_se},
               {"cka_unbiased", "linear CKA with the unbiased HSIC of Song et al. (2012)",
                s->cka_unbiased, s->cka_unbiased_se},
               {"procrustes", "min_R |A/|A|_F - B/|B|_F R|_F^2 over orthogonal R, columns centred",
                s->procrustes, NAN},
               {"procrustes_similarity", "|A'B|_* / (|A|_F |B|_F), columns centred",
                s->procrustes_similarity, NAN},
               {"mean_squared_cosine",
                "of the principal angles between the spans of the first k principal components",
                s->mean_squared_cosine, NAN}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        cs_item *item = add(metrics, of, with, all[i].name, cs_strdup(all[i].definition),
                            all[i].value, s->rows);
        if (!isnan(all[i].se)) cs_item_real(item, "se", all[i].se);
    }
}

void cs_similarity_angles_record(const cs_similarity *s, cs_item *root)
{
    cs_item *angles = cs_item_object(root, "angles");
    cs_item_int(angles, "k", s->angles);
    cs_item_reals(angles, "radians", s->angles, s->angle);
    cs_item_real(angles, "share_of_first", s->share_a);
    cs_item_real(angles, "share_of_second", s->share_b);
}

void cs_shape_record(const cs_shape *shape, const cs_shape_options *options, const char *of,
                     cs_item *metrics)
{
    static const char *const name[] = {"intrinsic_dimension", "mean_cosine", "partition_isotropy"};
    char *definition[] = {
        cs_format("two-NN (Facco et al. 2017) of the distinct rows, each once as centre and as "
                  "neighbour, %g of the largest ratios discarded",
                  options->discard),
        cs_strdup("mean cosine of all pairs of rows that are not 0"),
        cs_strdup("min Z(c) / max Z(c), Z(c) = sum_i exp(<c, x_i>), c the unit eigenvectors of X'X "
                  "and their negatives, rows divided by their root mean square norm (Mu and "
                  "Viswanath 2018)")};
    for (int i = 0; i < CS_SHAPE_MEASURES; ++i) {
        cs_item *item =
            add(metrics, of, NULL, name[i], definition[i], shape->value[i], shape->rows[i]);
        cs_item_real(item, "se", shape->se[i]);
        cs_item_text(item, "~partition", shape->partition);
        cs_item *list = cs_item_array(item, "~left_out");
        for (int64_t b = 0; b < shape->blocks; ++b) {
            cs_item_real(list, NULL, shape->left_out[b * CS_SHAPE_MEASURES + i]);
        }
    }
}
