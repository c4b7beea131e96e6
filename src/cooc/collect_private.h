/* Records collected by one worker (collect.c). */
#pragma once

#include "cooc/runs_private.h"

/* Sorts in place; CS_ERR_INTERRUPT upon an interrupt (`patient`: only once the grace period is
 * over). */
cs_status cs_records_sort(cs_record *r, int64_t n, bool patient) CS_MUST_CHECK;

enum { CS_COLLECT_BATCH = 32 };

typedef struct {
    cs_runs *runs;
    cs_record *slot; /* slot[0..used-1] wait to be sorted */
    int64_t capacity, largest,
        /* largest: slots available; capacity: used slots before they are sorted */
        used;
    cs_record *table; /* open addressing; units == 0: free */
    int64_t places, held;
    int64_t added, passed; /* records since the two were empty, and those that left the table */
    /* the table would combine too few records: they go directly to the slots */
    bool append;
    bool repeats;                        /* that was wrong before: records recur later */
    bool patient;                        /* sorts stop only late: a checkpoint needs whole blocks */
    bool finished;                       /* see cs_collector_finish */
    cs_record pending[CS_COLLECT_BATCH]; /* their places in the table are being prefetched */
    int count;
} cs_collector;

/* `bytes` bounds the memory of table and slots; pages that are never filled cost none. */
cs_status cs_collector_init(cs_collector *c, cs_runs *runs, int64_t bytes) CS_MUST_CHECK;
void cs_collector_free(cs_collector *c);

/* Called by cs_collector_add when the slots are full, and when enough records are pending. */
cs_status cs_collector_make_space(cs_collector *c) CS_MUST_CHECK;
cs_status cs_collector_insert(cs_collector *c) CS_MUST_CHECK;

/* The first place of a record in the table. The second product spreads keys that differ only in
 * their lowest bits (by_document.h). */
static inline const cs_record *cs_collector_home(const cs_collector *c, const cs_record *r)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t pair = (uint64_t)(uint32_t)r->col << 20 ^ (uint32_t)(r->label + 1);
    uint64_t hash = r->key.low + pair * UINT64_C(0x9e3779b97f4a7c15);
    hash *= UINT64_C(0xd1342543de82ef95);
    return c->table + (int64_t)((wide)hash * (uint64_t)c->places >> 64);
}

/* Adds a record (units > 0); spills to the runs when the slots are full. Inline, so that the record
 * is built in place. */
static inline cs_status cs_collector_add(cs_collector *c, const cs_record *record)
{
    if (c->append) {
        cs_status status = c->used == c->capacity ? cs_collector_make_space(c) : CS_OK;
        if (status == CS_OK) c->slot[c->used++] = *record;
        return status;
    }
    const cs_record *place = cs_collector_home(c, record);
    __builtin_prefetch(place, 1);
    __builtin_prefetch((const char *)place + sizeof *place - 1, 1);
    c->pending[c->count++] = *record;
    return c->count < CS_COLLECT_BATCH ? CS_OK : cs_collector_insert(c);
}

/* Sorts all records into slot[0..used-1]. A second call does nothing, until cs_collector_resume,
 * which is needed before more records are added. */
cs_status cs_collector_finish(cs_collector *c) CS_MUST_CHECK;
void cs_collector_resume(cs_collector *c);

/* Moves all records to slot[0..used-1], in any order; may spill a run. */
cs_status cs_collector_gather(cs_collector *c) CS_MUST_CHECK;

/* Records in memory sorted by range, in any order within a range: range i is begin[i] .. begin[i +
 * 1]. */
typedef struct {
    cs_record *record;
    int64_t begin[CS_RANGES + 1];
} cs_cut;

/* Sorts the gathered records by range; *out points into the slots. */
void cs_collector_cut(cs_collector *c, cs_cut *out);
