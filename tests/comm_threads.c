#include "comm_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"

/* A message on its way: one at a time from each rank to each other. */
typedef struct {
    void *bytes;
    int64_t size;
    bool full;
} slot;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    slot mail[MOST_RANKS][MOST_RANKS]; /* from, to */
} post;

static void send(post *p, int from, int to, const void *bytes, int64_t size)
{
    slot *s = &p->mail[from][to];
    (void)pthread_mutex_lock(&p->lock);
    while (s->full) {
        (void)pthread_cond_wait(&p->changed, &p->lock);
    }
    s->bytes = malloc((size_t)size);
    s->size = size;
    memcpy(s->bytes, bytes, (size_t)size);
    s->full = true;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

static void receive(post *p, int from, int to, void *bytes, int64_t size)
{
    slot *s = &p->mail[from][to];
    (void)pthread_mutex_lock(&p->lock);
    while (!s->full) {
        (void)pthread_cond_wait(&p->changed, &p->lock);
    }
    if (s->size != size) {
        (void)fprintf(stderr, "rank %d expects %lld bytes of rank %d, which sends %lld\n", to,
                      (long long)size, from, (long long)s->size);
        abort();
    }
    memcpy(bytes, s->bytes, (size_t)size);
    free(s->bytes);
    s->full = false;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

static void swap(cs_comm *c, int to, const void *out, int64_t out_bytes, int from, void *in,
                 int64_t in_bytes)
{
    if (to >= 0 && out_bytes > 0) {
        send(c->ctx, c->rank, to, out, out_bytes);
        c->sent += out_bytes;
        c->messages += 1;
    }
    if (from >= 0 && in_bytes > 0) {
        receive(c->ctx, from, c->rank, in, in_bytes);
    }
}

static void end_all(cs_comm *c, int code)
{
    (void)fprintf(stderr, "rank %d ends all with %d\n", c->rank, code);
    abort();
}

typedef struct {
    cs_comm comm;
    rank_fn fn;
    void *ctx;
    cs_status status;
    char reason[1024];
} rank_thread;

static void *run(void *thread)
{
    rank_thread *t = thread;
    t->status = t->fn(&t->comm, t->ctx);
    (void)snprintf(t->reason, sizeof t->reason, "%s", cs_reason());
    cs_reason_clear();
    return NULL;
}

int64_t run_ranks(int ranks, rank_fn fn, void *ctx, cs_status *status, char (*reason)[1024])
{
    CS_AUTO_FREE post *p = calloc(1, sizeof *p);
    CS_AUTO_FREE rank_thread *t = calloc((size_t)ranks, sizeof *t);
    pthread_t thread[MOST_RANKS];
    int64_t sent = 0;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    for (int r = 0; r < ranks; ++r) {
        t[r] = (rank_thread){.comm = {.rank = r,
                                      .ranks = ranks,
                                      .neighbours = ranks,
                                      .ctx = p,
                                      .swap = swap,
                                      .end = end_all},
                             .fn = fn,
                             .ctx = ctx};
        if (pthread_create(&thread[r], NULL, run, &t[r]) != 0) {
            abort();
        }
    }
    for (int r = 0; r < ranks; ++r) {
        (void)pthread_join(thread[r], NULL);
        sent += t[r].comm.sent;
        status[r] = t[r].status;
        if (reason) {
            memcpy(reason[r], t[r].reason, sizeof t[r].reason);
        }
    }
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_cond_destroy(&p->changed);
    return sent;
}
