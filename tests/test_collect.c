/* cooc/collect: the combining table, full slots that are emptied by adding up, grow or are spilled. */
#include "cooc/collect_private.h"
#include "test.h"

static cs_record record_of(int64_t key, int32_t col, int64_t units)
{
    return (cs_record){.key = cs_hash(&key, sizeof key, 3), .col = col, .units = units};
}

TEST(words_hash_as_their_bytes)
{
    const uint16_t probe = 1;
    if (*(const unsigned char *)&probe != 1) {
        print_message("skipped: this machine is not little-endian\n");
        skip();
    }
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    for (int i = 0; i < 10000; ++i) {
        uint64_t word[2] = {cs_rng_u64(&rng), cs_rng_u64(&rng)}, seed = cs_rng_u64(&rng);
        if (i % 2) {
            word[0] = (uint64_t)(int64_t)(i % 41 - 20);
            word[1] >>= 44;
        }
        cs_hash128 a = cs_hash(word, sizeof word, seed), b = cs_hash_words(word[0], word[1], seed);
        assert_true(cs_hash_compare(a, b) == 0);
    }
}

/* More distinct records than the table holds, fewer than the slots: whenever the slots are full,
 * adding up empties them, and nothing is spilled. */
TEST(full_slots_are_added_up)
{
    enum { DISTINCT = 8000, ROUNDS = 40 };
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    AUTO_OK(cs_collector, c, cs_collector_init(&c, &runs, INT64_C(1) << 20));
    assert_true(c.places < DISTINCT && 2 * DISTINCT < c.capacity);
    for (int64_t i = 0; i < (int64_t)DISTINCT * ROUNDS; ++i) {
        cs_record r = record_of(i * 7 % DISTINCT, (int32_t)(i % 2), 1 + i % 2);
        r.sequence = i / 100;
        r.ordinal = i % 100;
        OK(cs_collector_add(&c, &r));
        assert_true(c.used <= c.capacity && c.capacity <= c.largest);
    }
    assert_false(c.append);
    OK(cs_collector_finish(&c));
    assert_int_equal(runs.count, 0);
    assert_int_equal(c.used, DISTINCT);
    int64_t units = 0;
    for (int64_t i = 0; i < c.used; ++i) {
        assert_true(i == 0 || cs_record_compare(&c.slot[i - 1], &c.slot[i]) < 0);
        assert_true(c.slot[i].sequence * 100 + c.slot[i].ordinal < DISTINCT); /* the first round */
        units += c.slot[i].units;
    }
    assert_int_equal(units, (int64_t)DISTINCT * ROUNDS * 3 / 2);
    int64_t used = c.used;
    OK(cs_collector_finish(&c)); /* again: nothing */
    assert_int_equal(c.used, used);
}

/* Units that wrap around, to none among others, lose their sum and nothing else. */
TEST(units_that_overflow_do_no_harm)
{
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    AUTO_OK(cs_collector, c, cs_collector_init(&c, &runs, 1 << 16));
    for (int64_t i = 0; i < 4000; ++i) {
        cs_record huge = record_of(i % 50, 0, INT64_C(1) << 62), small = record_of(1000 + i, 0, 1);
        OK(cs_collector_add(&c, &huge));
        OK(cs_collector_add(&c, &small));
    }
    OK(cs_collector_finish(&c));
    OK(cs_runs_append(&runs, c.slot, c.used));
    int64_t records = 0;
    for (int64_t i = 0; i < runs.count; ++i) {
        records += runs.run[i].count;
    }
    assert_true(records >= 4000 && runs.count > 1);
}

typedef struct {
    int64_t records, units;
    cs_record last;
} tally;

static cs_status take(void *ctx, const cs_record *r)
{
    tally *t = ctx;
    assert_true(t->records == 0 || cs_record_compare(&t->last, r) < 0);
    t->last = *r;
    ++t->records;
    t->units += r->units;
    return CS_OK;
}

/* Keys 0..distinct-1 over and over. */
static void add(cs_collector *c, int64_t records, int64_t distinct)
{
    for (int64_t i = 0; i < records; ++i) {
        int64_t item = i % distinct;
        cs_record r = {.key = cs_hash(&item, sizeof item, 7), .units = 1, .sequence = i};
        OK(cs_collector_add(c, &r));
    }
}

/* The first million is new and makes the collector append; then a thousand come back again and
 * again, which a spill finds out. Nothing is lost or counted twice. */
TEST(records_mostly_new_are_appended)
{
    const int64_t many = 1000000, few = 1000;
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    AUTO_OK(cs_collector, c, cs_collector_init(&c, &runs, INT64_C(40) << 20));
    assert_false(c.append);
    add(&c, many, many);
    assert_true(c.append && runs.count > 0);
    int64_t before = runs.count;
    add(&c, 2 * many, few);
    assert_true(!c.append && runs.count == before + 1);
    assert_true(c.used <= few);
    OK(cs_collector_finish(&c));
    OK(cs_runs_append(&runs, c.slot, c.used));
    tally t = {0};
    OK(cs_runs_merge(&runs, INT64_C(1) << 20, take, &t));
    assert_int_equal(t.records, many);
    assert_int_equal(t.units, 3 * many);
}

/* Runs in memory, in the file, moved to the file by the first piece or a later one, and a borrowed
 * one: merged alike, whole and by ranges, and read alike. */
TEST(runs_are_held_in_memory)
{
    enum { EACH = 100, PIECES = 10, RUNS = 2, ALL = EACH * PIECES };
    static const int64_t limits[] = {0, 1, EACH * 3 / 2, ALL + EACH, RUNS * ALL, RUNS * ALL + 1};
    cs_record record[ALL];
    for (int i = 0; i < ALL; ++i) {
        record[i] = record_of(i, 0, 1);
    }
    OK(cs_records_sort(record, ALL, false));
    for (size_t l = 0; l < sizeof limits / sizeof *limits; ++l) {
        CS_AUTO(cs_runs) runs = {0};
        cs_runs_init(&runs, NULL);
        cs_runs_hold(&runs, limits[l]);
        for (int run = 0; run < RUNS; ++run) {
            OK(cs_runs_begin(&runs));
            for (int p = 0; p < PIECES; ++p) {
                OK(cs_runs_extend(&runs, record + (ptrdiff_t)EACH * p, EACH));
            }
        }
        assert_true((runs.memory != NULL) == (limits[l] >= RUNS * ALL));
        OK(cs_runs_borrow(&runs, record, ALL));
        cs_record again[EACH];
        OK(cs_runs_read(&runs, ALL + EACH, EACH, again));
        assert_memory_equal(again, record + EACH, sizeof again);
        tally t = {0}, parts = {0};
        OK(cs_runs_merge(&runs, 1 << 20, take, &t));
        for (int64_t first = 0; first < CS_RANGES; first += 7) {
            const int64_t last = first + 7 < CS_RANGES ? first + 7 : CS_RANGES;
            OK(cs_runs_merge_ranges(&runs, first, last, 1 << 20, take, &parts));
        }
        assert_true(t.records == ALL && t.units == (RUNS + 1) * ALL);
        assert_true(parts.records == t.records && parts.units == t.units);
        tally few = {0}; /* merged by two at a time first */
        OK(cs_runs_merge(&runs, 1, take, &few));
        assert_true(few.records == ALL && few.units == (RUNS + 1) * ALL);
    }
}

/* A million slots are filled first. Where adding up would not empty half of them, or is in vain from
 * the start, there are more, as long as the memory lasts: nothing is spilled. */
TEST(slots_grow_as_long_as_memory_lasts)
{
    enum { FIRST = 1 << 20, MORE = FIRST + FIRST / 4 };
    for (int way = 0; way < 2; ++way) { /* all new; a third of them comes twice at once */
        const int64_t size = (int64_t)sizeof(cs_record), each = 3 - way;
        CS_AUTO(cs_runs) runs = {0};
        int64_t units = 0;
        cs_runs_init(&runs, NULL);
        AUTO_OK(cs_collector, c,
                cs_collector_init(&c, &runs, (INT64_C(2) * FIRST + (1 << 14)) * size));
        assert_true(c.capacity == FIRST && c.largest == 2 * FIRST);
        for (int64_t i = 0; i < MORE; ++i) {
            for (int64_t j = 0; j <= (way == 1 && i % each == 0); ++j, ++units) {
                const cs_record r = record_of(i, 0, 1);
                OK(cs_collector_add(&c, &r));
            }
            assert_true(c.used <= c.capacity && c.capacity <= c.largest);
        }
        OK(cs_collector_finish(&c));
        assert_true(runs.count == 0 && c.used == MORE && c.capacity == c.largest);
        assert_int_equal(c.append, way == 0);
        for (int64_t i = 0; i < c.used; ++i) {
            assert_true(i == 0 || cs_record_compare(&c.slot[i - 1], &c.slot[i]) < 0);
            units -= c.slot[i].units;
        }
        assert_int_equal(units, 0);
    }
}

TEST(no_records_are_no_run)
{
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    AUTO_OK(cs_collector, c, cs_collector_init(&c, &runs, 1 << 20));
    OK(cs_collector_finish(&c));
    assert_true(c.used == 0 && runs.count == 0);
}

/* Table and slots take what they were given and no more, from the least on: 64 places and twice as
 * many slots. */
TEST(collectors_take_what_they_are_given)
{
    const int64_t size = (int64_t)sizeof(cs_record);
    for (int64_t bytes = 1; bytes < INT64_C(1) << 25; bytes += 1 + bytes / 3) {
        CS_AUTO(cs_runs) runs = {0};
        cs_runs_init(&runs, NULL);
        AUTO_OK(cs_collector, c, cs_collector_init(&c, &runs, bytes));
        const int64_t all = (c.places + c.largest) * size;
        assert_true(c.places >= 64 && c.largest >= 2 * c.places && c.capacity <= c.largest);
        assert_true(all <= bytes ? bytes - all < size : c.places == 64 && c.largest == 128);
        assert_true(c.used == 0 && c.held == 0 && c.count == 0 && !c.append && !c.finished);
    }
}

/* From the share of the blocks that have begun, and twice when a pass over the runs writes them again. */
TEST(runs_that_will_not_fit_on_the_disk_are_refused)
{
    enum { MANY = 1 << 10 };
    cs_record record[MANY];
    for (int64_t i = 0; i < MANY; ++i) {
        record[i] = record_of(i, 0, 1);
    }
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    OK(cs_runs_append(&runs, record, MANY));
    cs_runs_expect(&runs, INT64_C(1) << 40, 1, 1 << 20);
    assert_fails(cs_runs_append(&runs, record, MANY), CS_ERR_IO, "further sorted runs take ");
    assert_int_equal(runs.count, 1);
    cs_runs_expect(&runs, 4, 5, 1 << 20);
    OK(cs_runs_append(&runs, record, MANY));
}
