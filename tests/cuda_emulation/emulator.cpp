/* The emulator: fibers, meetings of warps and blocks, matrix instructions. */
#include "emulator.h"

#include <stdarg.h>
#include <stdio.h>

#include <memory>
#include <vector>

/* --- turns: a stack for each fiber ---------------------------------------------------------------
 */

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/* The registers that a called function preserves, and the stack: some nanoseconds, where swapcontext makes two
 * system calls. */
struct Turn {
    void *stack;
};

extern "C" void emulate_switch(void **save, void *load);
__asm__(".text\n.globl emulate_switch\n.type emulate_switch, @function\nemulate_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size emulate_switch, .-emulate_switch\n");

static void turn_make(Turn *turn, unsigned char *stack, size_t bytes, void (*entry)())
{
    uintptr_t top = (uintptr_t)(stack + bytes) / 16 * 16;
    void **at = reinterpret_cast<void **>(top) - 8; /* six registers, entry, no return address */
    memset(at, 0, 8 * sizeof *at);
    memcpy(at + 6, &entry, sizeof entry);
    turn->stack = at;
}

static void turn_switch(Turn *from, Turn *to)
{
    emulate_switch(&from->stack, to->stack);
}
#else
#include <ucontext.h>

struct Turn {
    ucontext_t context;
};

static void turn_make(Turn *turn, unsigned char *stack, size_t bytes, void (*entry)())
{
    getcontext(&turn->context);
    turn->context.uc_stack.ss_sp = stack;
    turn->context.uc_stack.ss_size = bytes;
    turn->context.uc_link = NULL;
    makecontext(&turn->context, entry, 0);
}

static void turn_switch(Turn *from, Turn *to)
{
    swapcontext(&from->context, &to->context);
}
#endif

EmulatedPlace emulated;

namespace
{
/* Stacks begin STAGGER bytes apart in their pages, else their lines would share a few sets of the cache. */
constexpr size_t STACK = 128 * 1024, STAGGER = 5 * 64;
constexpr int LANES = 32, SLOT = 64;

struct Copy {
    void *to;
    unsigned char item[16];
    int group; /* -1: not committed */
};

struct Fiber {
    Turn turn;
    std::unique_ptr<unsigned char[]> stack; /* not cleared: most pages are never touched */
    uint3 place;
    int meeting; /* EmulatedMeeting it waits at, MEET_NONE: may run */
    bool done;
    unsigned meetings; /* of its warp so far: picks the slots */
    std::vector<Copy> copies;
    int groups; /* committed */
};

std::vector<Fiber *> fibers;
Turn scheduler;
int running, threads;
const std::function<void()> *body;
const char *kernel = "";
bool shuffle;
unsigned order; /* 0: as they come, 1: reversed, else shuffled by this seed */
alignas(16) unsigned char shared_memory[EMULATED_SHARED];
size_t shared_bytes;
alignas(64) unsigned char slots[2][1024 * SLOT];

unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}

/* The numbers below n in the requested order. */
std::vector<unsigned> arranged(unsigned n)
{
    std::vector<unsigned> list(n);
    for (unsigned i = 0; i < n; ++i) {
        list[i] = order == 1 ? n - 1 - i : i;
    }
    for (unsigned i = n; order > 1 && i > 1; --i) {
        unsigned j = mix(order * 0x9e3779b9U + i) % i;
        unsigned held = list[i - 1];
        list[i - 1] = list[j];
        list[j] = held;
    }
    return list;
}

void fiber_main()
{
    Fiber *f = fibers[(size_t)running];
    (*body)();
    if (!f->copies.empty()) {
        emulate_stop("a thread ends with copies that were not waited for");
    }
    f->done = true;
    turn_switch(&f->turn, &scheduler);
}

/* Gives the turn away until the others have met. */
void wait_at(EmulatedMeeting what)
{
    Fiber *f = fibers[(size_t)running];
    f->meeting = what;
    turn_switch(&f->turn, &scheduler);
}

/* All live threads [from, to) wait at the same thing: let them go. */
bool release(int from, int to, bool block)
{
    int what = MEET_NONE, live = 0;
    for (int t = from; t < to; ++t) {
        const Fiber *f = fibers[(size_t)t];
        if (f->done) {
            continue;
        }
        bool at_block = f->meeting == MEET_BLOCK;
        if (f->meeting == MEET_NONE || at_block != block) {
            return false;
        }
        if (live++ > 0 && f->meeting != what) {
            emulate_stop("the threads of a warp meet at different instructions (%d and %d)", what,
                         f->meeting);
        }
        what = f->meeting;
    }
    if (live > 0 && live != to - from) {
        emulate_stop("%d threads left before a meeting of the other %d", to - from - live, live);
    }
    for (int t = from; t < to && live > 0; ++t) {
        fibers[(size_t)t]->meeting = MEET_NONE;
    }
    return live > 0;
}

enum WarpState { WARP_MOVES, WARP_AT_BLOCK, WARP_DONE };

/* Runs the threads from .. to-1 until all have met once more. */
WarpState run_warp(int from, int to, const std::vector<unsigned> &lanes)
{
    int live = 0, at_block = 0;
    for (unsigned lane : lanes) {
        int t = from + (int)lane;
        Fiber *f = t < to ? fibers[(size_t)t] : NULL;
        if (f && !f->done) {
            running = t;
            emulated.thread = f->place;
            turn_switch(&scheduler, &f->turn);
        }
        if (f && !f->done) {
            ++live;
            at_block += f->meeting == MEET_BLOCK;
        }
    }
    if (at_block == live) {
        return live > 0 ? WARP_AT_BLOCK : WARP_DONE;
    }
    if (!release(from, to, false)) {
        emulate_stop("some threads wait for the block, others for their warp");
    }
    return WARP_MOVES;
}

void start_threads()
{
    memset(shared_memory, 0xff, shared_bytes);
    for (int t = 0; t < threads; ++t) {
        Fiber *f = fibers[(size_t)t];
        f->done = false;
        f->meeting = MEET_NONE;
        f->meetings = 0;
        f->groups = 0;
        turn_make(&f->turn, f->stack.get(), STACK - (size_t)t % 64 * STAGGER, fiber_main);
    }
}

/* As they come: every warp one meeting in turn. Shuffled: a random warp goes on alone, for a few
 * meetings or as far as the next barrier of the block; what it overtakes, only a barrier may hold
 * together. */
void run_block(unsigned block)
{
    int warps = (threads + LANES - 1) / LANES, last = -1;
    unsigned seed = mix(order * 0x9e3779b9U + block), draws = 0;
    std::vector<unsigned> lanes = arranged(LANES);
    std::vector<WarpState> state((size_t)warps, WARP_MOVES);
    start_threads();
    for (;;) {
        std::vector<int> can;
        bool waiting = false;
        for (int i = 1; i <= warps; ++i) {
            int w = (last + i) % warps;
            waiting = waiting || state[(size_t)w] == WARP_AT_BLOCK;
            if (state[(size_t)w] == WARP_MOVES) {
                can.push_back(w);
            }
        }
        if (can.empty() && !waiting) {
            return;
        }
        if (can.empty()) {
            (void)release(0, threads, true);
            state.assign((size_t)warps, WARP_MOVES); /* all of them: none has left */
            continue;
        }
        unsigned draw = order > 0 ? mix(seed + draws++) : 0;
        unsigned meetings = order == 0 ? 1 : draw % 2 ? UINT32_MAX : 1 + draw / 2 % 8;
        last = can[draw / 16 % can.size()];
        int from = last * LANES, to = from + LANES < threads ? from + LANES : threads;
        do {
            state[(size_t)last] = run_warp(from, to, lanes);
        } while (--meetings > 0 && state[(size_t)last] == WARP_MOVES);
    }
}

void run_grid(dim3 grid, dim3 block)
{
    threads = (int)(block.x * block.y * block.z);
    if (threads > 1024) {
        emulate_stop("a block of %d threads", threads);
    }
    while ((int)fibers.size() < threads) {
        Fiber *f = new Fiber();
        f->stack.reset(new unsigned char[STACK]);
        fibers.push_back(f);
    }
    for (int t = 0; t < threads; ++t) {
        unsigned at = (unsigned)t;
        fibers[at]->place = {at % block.x, at / block.x % block.y, at / block.x / block.y};
    }
    order = shuffle ? order + 1 : 0;
    emulated.block_size = block;
    emulated.grid_size = grid;
    for (unsigned b : arranged(grid.x * grid.y * grid.z)) {
        emulated.block = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        run_block(b);
    }
}
} // namespace

void emulate_launch(const char *name, dim3 grid, dim3 block, size_t shared,
                    std::function<void()> what)
{
    emulate_perform([=]() {
        kernel = name;
        shared_bytes = shared;
        body = &what;
        run_grid(grid, block);
    });
}

void emulate_forget_fibers()
{
    for (Fiber *f : fibers) {
        delete f;
    }
    fibers.clear();
}

void emulate_stop(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "emulation of %s, block (%u, %u, %u), thread %d: ", kernel, emulated.block.x,
            emulated.block.y, emulated.block.z, running);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void emulate_shuffle(bool on)
{
    shuffle = on;
}

unsigned char *emulate_shared()
{
    return shared_memory;
}

size_t emulate_shared_bytes()
{
    return shared_bytes;
}

int emulate_lane()
{
    return running % LANES;
}

void __syncthreads()
{
    wait_at(MEET_BLOCK);
}

void __syncwarp()
{
    wait_at(MEET_WARP);
}

/* Two sets of slots in turn: nobody can hand in the next but one before all have read this one. */
const unsigned char *emulate_exchange(EmulatedMeeting what, const void *own, size_t bytes)
{
    Fiber *f = fibers[(size_t)running];
    unsigned char *set = slots[f->meetings++ % 2];
    memcpy(set + running * SLOT, own, bytes);
    wait_at(what);
    return set + running / LANES * LANES * SLOT;
}

/* --- matrix instructions -------------------------------------------------------------------------
 */

namespace
{
/* The two items of a register. */
void halves(uint32_t reg, float out[2])
{
    __nv_bfloat16 low = {(uint16_t)reg}, high = {(uint16_t)(reg >> 16)};
    out[0] = __bfloat162float(low);
    out[1] = __bfloat162float(high);
}

bool in_shared(const void *p, size_t bytes)
{
    const unsigned char *at = static_cast<const unsigned char *>(p);
    return at >= shared_memory && at + bytes <= shared_memory + shared_bytes;
}
} // namespace

/* PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": group = lane / 4, in =
 * lane % 4. a_i of register r, half s: row = group + 8 (r odd), column = 2 in + s + 8 (r >= 2). b
 * of register r: row = 2 in + s + 8 r, column = group. d_i: row = group + 8 (i >= 2), column = 2 in
 * + i % 2. */
void emulate_mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    float own[12];
    for (int r = 0; r < 6; ++r) {
        halves(r < 4 ? a[r] : b[r - 4], own + 2 * r);
    }
    const float *all =
        reinterpret_cast<const float *>(emulate_exchange(MEET_MATRIX, own, sizeof own));
    const int slot = SLOT / (int)sizeof(float), lane = emulate_lane();
    const float *row = all + lane / 4 * 4 * slot, *col = all + lane % 4 * 2 * 4 * slot + 8;
    float sum[4] = {d[0], d[1], d[2], d[3]};
    for (int k = 0; k < 16; ++k) {
        /* column k of a and row k of b: lane k % 8 / 2 of four, register k / 8 of two, half k % 2 */
        const float *x = row + k % 8 / 2 * slot + k / 8 * 4 + k % 2;
        const float *y = col + k % 8 / 2 * slot + k / 8 * 2 + k % 2;
        sum[0] += x[0] * y[0];
        sum[1] += x[0] * y[4 * slot];
        sum[2] += x[2] * y[0];
        sum[3] += x[2] * y[4 * slot];
    }
    memcpy(d, sum, sizeof sum);
}

/* PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64 floating point type": a at row lane / 4, column
 * lane % 4; b at row lane % 4, column lane / 4; d_i at row lane / 4, column 2 (lane % 4) + i. */
void emulate_mma_double(double d[2], double a, double b)
{
    double own[2] = {a, b};
    const double *all =
        reinterpret_cast<const double *>(emulate_exchange(MEET_MATRIX, own, sizeof own));
    const int slot = SLOT / (int)sizeof(double);
    int lane = emulate_lane();
    for (int i = 0; i < 2; ++i) {
        int row = lane / 4, col = lane % 4 * 2 + i;
        for (int k = 0; k < 4; ++k) {
            d[i] = fma(all[(row * 4 + k) * slot], all[(col * 4 + k) * slot + 1], d[i]);
        }
    }
}

void emulate_ldmatrix(uint32_t out[4], const void *row, bool transposed)
{
    if ((uintptr_t)row % 16 != 0 || !in_shared(row, 16)) {
        emulate_stop("ldmatrix from an address that is not 16 bytes of shared memory");
    }
    const unsigned char *all = emulate_exchange(MEET_LOAD, &row, sizeof row);
    int lane = emulate_lane();
    for (int m = 0; m < 4; ++m) {
        uint16_t pair[2];
        for (int s = 0; s < 2; ++s) {
            int r = transposed ? lane % 4 * 2 + s : lane / 4;
            int c = transposed ? lane / 4 : lane % 4 * 2 + s;
            const unsigned char *from;
            memcpy(&from, all + (m * 8 + r) * SLOT, sizeof from);
            memcpy(&pair[s], from + c * 2, sizeof pair[s]);
        }
        memcpy(&out[m], pair, sizeof pair);
    }
}

void emulate_copy_async(void *to, const void *from, int bytes)
{
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0 || !in_shared(to, 16)) {
        emulate_stop("an asynchronous copy of 16 bytes that is misaligned or not to shared memory");
    }
    Copy copy;
    copy.to = to;
    copy.group = -1;
    memset(copy.item, 0, sizeof copy.item);
    memcpy(copy.item, from, (size_t)bytes);
    memset(to, 0xff, 16); /* nothing to be read there until it has arrived */
    fibers[(size_t)running]->copies.push_back(copy);
}

void emulate_copy_commit()
{
    Fiber *f = fibers[(size_t)running];
    for (Copy &copy : f->copies) {
        copy.group = copy.group < 0 ? f->groups : copy.group;
    }
    ++f->groups;
}

void emulate_copy_wait(int groups)
{
    Fiber *f = fibers[(size_t)running];
    std::vector<Copy> left;
    for (const Copy &copy : f->copies) {
        if (copy.group >= 0 && copy.group < f->groups - groups) {
            memcpy(copy.to, copy.item, sizeof copy.item);
        } else {
            left.push_back(copy);
        }
    }
    f->copies = left;
}
