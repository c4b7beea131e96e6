/* The part of CUDA that src/cuda uses, on the CPU: the kernels' own sources are compiled by the C++
 * compiler and executed thread by thread, so that they are tested where there is no GPU.
 *
 * Every CUDA thread is a fiber; the fibers of a warp take turns at barriers, shuffles and matrix
 * instructions, blocks run one after the other. On request the order of threads and blocks changes
 * from launch to launch, and warps run ahead of each other as far as barriers allow: code that
 * needs a barrier it does not have then gives other results. A warp that meets at different
 * instructions, a thread that left before a barrier of the others, a misaligned vector access or a
 * matrix address off its row stop the program with a sentence. Dynamic shared memory is filled with
 * not-a-number before each block; asynchronous copies arrive only when they are waited for.
 * Captured graphs are lists of the launches. Work of the stream is done when the host waits for it,
 * no sooner; memory that was freed is never given out again, and touching it ends the program.
 *
 * Not shown: real concurrency, the memory model, registers, speed.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <functional>

/* --- the language --------------------------------------------------------------------------------
 */

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __forceinline__ inline
#define CS_SHARED_BYTES(name) unsigned char *const name = emulate_shared()

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

struct uint3 {
    unsigned x, y, z;
};

struct EmulatedPlace {
    uint3 thread, block;
    dim3 block_size, grid_size;
};
extern EmulatedPlace emulated; /* of the fiber that runs */
#define threadIdx emulated.thread
#define blockIdx emulated.block
#define blockDim emulated.block_size
#define gridDim emulated.grid_size

/* The points where the threads of a warp meet. */
enum EmulatedMeeting { MEET_NONE, MEET_BLOCK, MEET_WARP, MEET_SHUFFLE, MEET_MATRIX, MEET_LOAD };

constexpr size_t EMULATED_SHARED = 227 * 1024; /* bytes of a block, at most */
void emulate_forget_fibers();                  /* between launches: their stacks */
void emulate_launch(const char *name, dim3 grid, dim3 block, size_t shared,
                    std::function<void()> body);
unsigned char *emulate_shared();
size_t emulate_shared_bytes();
void __syncthreads();
void __syncwarp();
/* Hands in `bytes` of this lane and returns all 32 lanes' (64 bytes each), after all have met. */
const unsigned char *emulate_exchange(EmulatedMeeting what, const void *own, size_t bytes);
int emulate_lane();
/* A piece of work for the stream, as a library would put it there. */
void emulate_perform(std::function<void()> what);
/* Libraries that dlopen would find (libraries.cpp), and their functions; NULL: none. */
void *emulate_library(const char *name);
void *emulate_symbol(void *library, const char *name);
[[noreturn]] void emulate_stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Order of threads and blocks from here on: false as they come, true another for each launch
 * (reversed, or shuffled). */
extern "C" void emulate_shuffle(bool on);
/* The compute capability and the shared memory of a block of the card that is emulated from here on;
 * at first 9.0 and EMULATED_SHARED. */
extern "C" void emulate_card(int major, int minor, size_t shared);

/* Trouble. Device memory in all, 0: $COSPEC_EMULATED_BYTES or 1 GiB; the allocation after `count`
 * others fails, -1: none does, and how many are left; likewise calls of libraries; what solvers
 * answer in `info`; files and functions of libraries that are not there. */
extern "C" void emulate_memory(int64_t bytes);
extern "C" void emulate_memory_failure(int count);
extern "C" int emulate_memory_calls();
extern "C" void emulate_library_failure(int calls);
extern "C" int emulate_library_calls();
extern "C" void emulate_not_converged(int gesvd, int gesvdj, int syevd);
extern "C" void emulate_wrong_values(bool on); /* gesvd leaves one out and says nothing */
extern "C" void emulate_without(const char *names);
extern "C" void emulate_largest(int64_t side); /* cuSOLVER refuses the sizes of larger matrices */
extern "C" void emulate_strict(bool on); /* cuBLASLt refuses what is not aligned to 16 bytes */
/* Its algorithms, in the order that they are offered: those from `count` on fail when run; how many
 * products each was called for. */
enum { EMULATED_ALGORITHMS = 6 };
extern "C" void emulate_usable_algorithms(int count);
extern "C" int64_t emulate_algorithm_calls(int algorithm);
/* Pieces of device memory in use. */
extern "C" int64_t emulate_pieces();

template <typename T> static inline T __shfl_xor_sync(unsigned, T x, int mask)
{
    const unsigned char *all = emulate_exchange(MEET_SHUFFLE, &x, sizeof x);
    T out;
    memcpy(&out, all + 64 * (emulate_lane() ^ mask), sizeof out);
    return out;
}

template <typename T> static inline T __shfl_sync(unsigned, T x, int lane)
{
    const unsigned char *all = emulate_exchange(MEET_SHUFFLE, &x, sizeof x);
    T out;
    memcpy(&out, all + 64 * (lane & 31), sizeof out);
    return out;
}

/* --- numbers -------------------------------------------------------------------------------------
 */

struct __nv_bfloat16 {
    uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    __nv_bfloat16 out;
    if (x != x) {
        out.bits = 0x7fff;
    } else {
        out.bits = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
    return out;
}

static inline float __int_as_float(int x)
{
    float out;
    memcpy(&out, &x, sizeof out);
    return out;
}

/* --- matrix instructions, as PTX defines them ----------------------------------------------------
 */

/* d += a b; a 16 x 16, b 16 x 8, bf16; d 16 x 8, float; fragments as of mma.m16n8k16. */
void emulate_mma(float d[4], const uint32_t a[4], const uint32_t b[2]);
/* d += a b; a 8 x 4, b 4 x 8, d 8 x 8, double; fragments as of mma.m8n8k4. */
void emulate_mma_double(double d[2], double a, double b);
/* Four 8 x 8 matrices of 16-bit items; lane l gives the address of row l % 8 of matrix l / 8. */
void emulate_ldmatrix(uint32_t out[4], const void *row, bool transposed);
/* 16 bytes to shared memory; `bytes` of them read, the rest zero. They arrive when waited for. */
void emulate_copy_async(void *to, const void *from, int bytes);
void emulate_copy_commit();
void emulate_copy_wait(int groups);

/* --- the runtime ---------------------------------------------------------------------------------
 */

typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaStreamCaptureModeThreadLocal = 1
};
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct EmulatedStream;
struct EmulatedGraph;
typedef EmulatedStream *cudaStream_t;
typedef EmulatedGraph *cudaGraph_t;
typedef EmulatedGraph *cudaGraphExec_t;
typedef struct EmulatedEvent *cudaEvent_t;
struct cudaDeviceProp {
    char name[64];
    int major, minor, multiProcessorCount;
    size_t sharedMemPerBlockOptin;
};
struct cudaFuncAttributes {
    int none;
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *kernel);
cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t s);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s);
cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, int flags);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t event);
