/* Soft targets of fine-tuning: label smoothing against its closed form, mixup against no mixing. */
#include "text/labelled_text.h"
#include "train/finetune.h"
#include "vit_support.h"

typedef struct {
    training pictures;
    cs_corpus train;
    cs_labelled_text labels;
    cs_texts texts;
    cs_model model;
    cs_finetune_options options;
} task;

/* `count` pictures of two classes, and a classifier of them. */
static task open_task(int64_t count, int threads)
{
    cs_model_config config;
    task t = {.pictures = make_picture_training(&picture_forms[0], threads, NULL),
              .options = cs_finetune_defaults()};
    OK(cs_labelled_side(&t.pictures.corpus, 0, count, NULL, &t.labels, &t.train));
    OK(cs_texts_of_rows(&t.train, &t.labels, t.pictures.model.config.ids.bos, &t.texts));
    OK(cs_finetune_config(&t.pictures.model.config, &t.texts, CS_READ_FIRST, 0, &config));
    OK(cs_model_init(&config, t.pictures.backend, true, &t.model));
    OK(cs_model_randomise(&t.model, 3));
    t.options.batch = count;
    t.options.masks.attention = CS_ATTENTION_BIDIRECTIONAL;
    return t;
}

static void close_task(task *t)
{
    cs_model_free(&t->model);
    cs_texts_free(&t->texts);
    cs_labelled_text_free(&t->labels);
    cs_corpus_free(&t->train);
    free_training(&t->pictures);
}

static double loss_of(task *t)
{
    cs_finetune_result r = {0};
    OK(cs_finetune(&t->model, &t->texts, NULL, 0, &t->options, &r));
    return r.loss;
}

/* Known by heart, the loss is the entropy of the smoothed target and never below it. */
TEST(smoothing_leaves_its_entropy)
{
    for (double e = 0.1; e < 0.5; e += 0.2) {
        CS_AUTO_BY(close_task, task) t = open_task(8, 1);
        const double own = 1 - e / 2, bound = -own * log(own) - (1 - own) * log(1 - own);
        t.options.epochs = 150;
        t.options.learning_rate = 3e-3;
        t.options.label_smoothing = e;
        const double loss = loss_of(&t);
        if (!(loss >= bound - 1e-6 && loss < bound + 0.02)) {
            fail_msg("smoothing %g: loss %g, the entropy is %g", e, loss, bound);
        }
    }
}

/* Beta(a, a) of a small a is 0 or 1: pictures and targets stay or change places together, and their
 * mean loss is what it was. Shares near one half read other pictures. Without updates. */
TEST(mixup_moves_pictures_with_their_targets)
{
    double plain = 0;
    int others = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
        CS_AUTO_BY(close_task, task) t = open_task(6, 1);
        t.options.epochs = 1;
        t.options.learning_rate = 0;
        t.options.seed = seed;
        plain = loss_of(&t);
        t.options.mixup = 1e-6;
        const double kept = loss_of(&t);
        if (!(fabs(kept - plain) < 1e-5)) {
            fail_msg("seed %d: loss %.9g mixed, %.9g without", (int)seed, kept, plain);
        }
        t.options.mixup = 8;
        others += fabs(loss_of(&t) - plain) > 1e-5;
    }
    assert_true(others >= 10);
}

TEST(mixup_bits_do_not_depend_on_threads)
{
    double loss[2];
    for (int i = 0; i < 2; ++i) {
        CS_AUTO_BY(close_task, task) t = open_task(9, 1 + i);
        t.options.batch = 4;
        t.options.mixup = 0.8;
        t.options.label_smoothing = 0.1;
        loss[i] = loss_of(&t);
    }
    assert_memory_equal(&loss[0], &loss[1], sizeof loss[0]);
}

TEST(soft_targets_are_of_classes)
{
    CS_AUTO_BY(close_task, task) t = open_task(8, 1);
    cs_finetune_result r = {0};
    t.options.label_smoothing = 1;
    assert_fails(cs_finetune(&t.model, &t.texts, NULL, 0, &t.options, &r), CS_ERR_USAGE,
                 "label-smoothing");
    t.options.label_smoothing = 0.1;
    t.texts.classes = 0;
    t.model.config.head.classes = 1;
    assert_fails(cs_finetune(&t.model, &t.texts, NULL, 0, &t.options, &r), CS_ERR_USAGE,
                 "need classes");
    t.texts.classes = t.model.config.head.classes = 2;
    t.texts.real_width = 0;
    t.options.mixup = 0.8;
    assert_fails(cs_finetune(&t.model, &t.texts, NULL, 0, &t.options, &r), CS_ERR_USAGE,
                 "read pixels");
}
