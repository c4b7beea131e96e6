/* The emulator's runtime: a stream whose work waits until the host does, captured graphs, events, memory
 * that ends at a page that must not be touched. */
#include "emulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <deque>
#include <map>
#include <vector>

/* --- the runtime ---------------------------------------------------------------------------------
 */

struct EmulatedStream {
    EmulatedGraph *capture;
    std::deque<std::function<void()>> waiting;
    uint64_t done; /* pieces of work so far */
};

struct EmulatedGraph {
    std::vector<std::function<void()>> step;
};

struct EmulatedEvent {
    uint64_t after; /* pieces of work */
};

namespace
{
EmulatedStream the_stream;

/* Noted: for the captured graph, or until the host waits for it. No device is as late as this one:
 * what the host overwrites too early shows. */
void perform(std::function<void()> what)
{
    if (the_stream.capture) {
        the_stream.capture->step.push_back(what);
    } else {
        the_stream.waiting.push_back(what);
    }
}

void work_until(uint64_t pieces)
{
    while (the_stream.done < pieces && !the_stream.waiting.empty()) {
        std::function<void()> what = the_stream.waiting.front();
        the_stream.waiting.pop_front();
        ++the_stream.done;
        what();
    }
}

/* --- memory: ends at a page that must not be touched; nor may what was freed --------------------
 */

struct Piece {
    unsigned char *pages;
    size_t bytes, counted; /* mapped; of the device's memory */
};
std::map<void *, Piece> pieces; /* in use */
size_t memory_bytes, memory_used;
int allocations_left = -1; /* until one fails */
std::vector<Piece> freed;  /* until the stream goes: no address comes twice */
struct {
    int major, minor;
    size_t shared;
} card = {9, 0, EMULATED_SHARED};

size_t pages_of(size_t bytes)
{
    const size_t page = 4096;
    return (bytes + page - 1) / page * page;
}
} // namespace

void emulate_card(int major, int minor, size_t shared)
{
    card = {major, minor, shared};
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "emulation");
    out->major = card.major;
    out->minor = card.minor;
    out->multiProcessorCount = 4;
    out->sharedMemPerBlockOptin = card.shared;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *)
{
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *, int, int)
{
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "out of memory" : "unknown error";
}

void emulate_perform(std::function<void()> what)
{
    perform(what);
}

extern "C" void emulate_memory(int64_t bytes)
{
    memory_bytes = (size_t)bytes;
}

extern "C" void emulate_memory_failure(int count)
{
    allocations_left = count;
}

extern "C" int emulate_memory_calls()
{
    return allocations_left;
}

extern "C" int64_t emulate_pieces()
{
    return (int64_t)pieces.size();
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
    const char *said = getenv("COSPEC_EMULATED_BYTES");
    *all = memory_bytes > 0 ? memory_bytes : said ? strtoull(said, NULL, 10) : (size_t)1 << 30;
    *free_bytes = memory_used < *all ? *all - memory_used : 0;
    return cudaSuccess;
}

/* Filled with not-a-number: what is read before it is written shows. */
static cudaError_t map_pages(void **out, size_t bytes)
{
    size_t capacity = (bytes + 255) / 256 * 256, all = pages_of(capacity) + pages_of(1);
    void *pages = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(static_cast<unsigned char *>(pages) + pages_of(capacity),
                                        pages_of(1), PROT_NONE) != 0) {
        return cudaErrorMemoryAllocation;
    }
    Piece piece = {static_cast<unsigned char *>(pages), all, 0};
    *out = piece.pages + pages_of(capacity) - capacity;
    memset(*out, 0xff, capacity);
    pieces[*out] = piece;
    return cudaSuccess;
}

/* A later read or write there, by a replayed graph for example, ends the program. */
cudaError_t cudaFree(void *p)
{
    if (p) {
        Piece piece = pieces.at(p);
        pieces.erase(p);
        memory_used -= piece.counted;
        freed.push_back(piece);
        if (mmap(piece.pages, piece.bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
            return cudaErrorUnknown;
        }
    }
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    size_t left = 0, all = 0;
    (void)cudaMemGetInfo(&left, &all);
    if (bytes > left || (allocations_left >= 0 && allocations_left-- == 0)) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t code = map_pages(out, bytes);
    if (code == cudaSuccess) {
        pieces[*out].counted = bytes;
        memory_used += bytes;
    }
    return code;
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    return map_pages(out, bytes);
}

cudaError_t cudaFreeHost(void *p)
{
    return cudaFree(p);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t)
{
    perform([=]() { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t)
{
    perform([=]() { memset(p, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t)
{
    perform([=]() {
        for (size_t r = 0; r < height; ++r) {
            memset(static_cast<unsigned char *>(p) + r * pitch, value, width);
        }
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, int)
{
    *out = &the_stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t)
{
    if (!the_stream.waiting.empty()) {
        emulate_stop("a stream is destroyed with work that nobody waited for");
    }
    emulate_forget_fibers();
    for (const Piece &piece : freed) {
        (void)munmap(piece.pages, piece.bytes);
    }
    freed.clear();
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (s->capture) {
        return cudaErrorUnknown;
    }
    work_until(UINT64_MAX);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, int)
{
    s->capture = new EmulatedGraph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
    *out = s->capture;
    s->capture = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    *out = new EmulatedGraph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    for (const std::function<void()> &step : graph->step) {
        perform(step);
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, int)
{
    *out = new EmulatedEvent{0};
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    if (s->capture) {
        return cudaErrorUnknown;
    }
    event->after = s->done + s->waiting.size();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    work_until(event->after);
    return cudaSuccess;
}

/* A microsecond for each piece of work; of what has been done only. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 1e-3F * (float)(to->after - from->after);
    return to->after <= the_stream.done ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}
