/* Interrupted builds; see the header. */
#include "checkpoint_support.h"

#include <signal.h>

#include "base/threads.h"
#include "plan/spec.h"
#include "test.h"

char *checkpoint_dir, *checkpoint_index, *checkpoint_records;
static char *folder, *parent;

int checkpoint_folder_make(void **state)
{
    (void)state;
    folder = cs_format("%s/cospec-checkpoint-XXXXXX", test_temporary());
    if (!folder || !mkdtemp(folder)) return -1;
    parent = cs_format("%s/a", folder);
    checkpoint_dir = cs_format("%s/checkpoint", parent);
    checkpoint_index = cs_format("%s/checkpoint.json", checkpoint_dir);
    checkpoint_records = cs_format("%s/records-0.bin", checkpoint_dir);
    return parent && checkpoint_dir && checkpoint_index && checkpoint_records ? 0 : -1;
}

int checkpoint_folder_remove(void **state)
{
    (void)state;
    (void)rmdir(parent);
    const int failed = rmdir(folder);
    char *const all[] = {folder, parent, checkpoint_dir, checkpoint_index, checkpoint_records};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        cs_free(all[i]);
    }
    return failed;
}

cs_cooc_options checkpoint_options(const char *spec, const char *context)
{
    cs_cooc_options o = {.threads = 1, .tail = 1e-6, .checkpoint = checkpoint_dir};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

typedef struct {
    int64_t blocks; /* stops after this many more; -1: at the merge */
    int64_t calls;
    bool late;
} stopper;

static void stop(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    stopper *s = ctx;
    if (strcmp(stage, "merge") == 0 ? s->blocks < 0 : ++s->calls == s->blocks) {
        cs_interrupt_set();
        (void)usleep(s->late ? (useconds_t)(1e6 * CS_INTERRUPT_GRACE) + 1000 : 0);
    }
}

static void interrupt(const cs_corpus *corpus, cs_cooc_options o, stopper s, rlim_t limit,
                      cs_status expected, const char *words)
{
    cs_progress progress = {stop, &s};
    o.progress = &progress;
    pid_t child = test_fork();
    if (child == 0) {
        cs_cooc m = {0};
        struct rlimit size = {limit, limit};
        bool ok = limit == 0 ||
                  (setrlimit(RLIMIT_FSIZE, &size) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
        cs_status status = cs_cooc_build(corpus, &o, &m);
        ok = ok && status == expected && !m.key && strstr(cs_reason(), words);
        if (!ok) {
            (void)fprintf(stderr, "status %d: %s\n", (int)status, cs_reason());
        }
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(exit_code(child), 0);
}

void interrupted(const cs_corpus *corpus, cs_cooc_options o, int64_t blocks, rlim_t limit,
                 cs_status expected, const char *words)
{
    interrupt(corpus, o, (stopper){.blocks = blocks}, limit, expected, words);
}

void interrupted_late(const cs_corpus *corpus, cs_cooc_options o, int64_t blocks, const char *words)
{
    interrupt(corpus, o, (stopper){.blocks = blocks, .late = true}, 0, CS_ERR_INTERRUPT, words);
}
