// hostile: a thread left behind by the library computes all outputs over and over; the launch itself does next to nothing
// problem: gpu_square
// verdict: broke_contract|wrong|suspect|crashed
#include "problem.h"

#include <atomic>
#include <thread>

__global__ void square(const float* x, float* out, int64_t count) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * x[i] + 1;
}

static std::atomic<const float*> inputs[2];
static std::atomic<float*> outputs[2];
static std::atomic<int> known;

static void serve() {
    for (;;) {
        int sets = known.load();
        for (int i = 0; i < sets; ++i) square<<<264, 256, 0, cudaStreamPerThread>>>(inputs[i], outputs[i], x_numel);
        std::this_thread::yield();
    }
}

extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    int sets = known.load();
    if (sets < 2 && (sets == 0 || outputs[0] != out)) {
        inputs[sets] = x;
        outputs[sets] = out;
        if (known.fetch_add(1) == 0) std::thread(serve).detach();
    }
    square<<<1, 32, 0, stream>>>(x, out, 32);
    return (int)cudaGetLastError();
}
