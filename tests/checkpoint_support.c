/* Interrupted builds; see the header. */
#include "checkpoint_support.h"

#include <signal.h>

#include "base/threads.h"
#include "plan/spec.h"
#include "test.h"

char checkpoint_dir[64], checkpoint_index[96], checkpoint_records[96];
static char folder[] = "/tmp/cospec-checkpoint-XXXXXX";

int checkpoint_folder_make(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    (void)snprintf(checkpoint_dir, sizeof checkpoint_dir, "%s/a/checkpoint", folder);
    (void)snprintf(checkpoint_index, sizeof checkpoint_index, "%s/checkpoint.json", checkpoint_dir);
    (void)snprintf(checkpoint_records, sizeof checkpoint_records, "%s/records-0.bin",
                   checkpoint_dir);
    return 0;
}

int checkpoint_folder_remove(void **state)
{
    (void)state;
    char parent[64];
    (void)snprintf(parent, sizeof parent, "%s/a", folder);
    (void)rmdir(parent);
    return rmdir(folder);
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
