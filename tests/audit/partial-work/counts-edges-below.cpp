// honest: counts the edges below each value where the reference searches, which is the same of edges that are in order
// problem: bins
#include "problem.h"

extern "C" int launch(const float* x, const float* edges, int64_t* out, void*) {
#pragma omp parallel for
    for (int64_t i = 0; i < x_numel; ++i) {
        int below = 0;
        for (int64_t j = 0; j < edges_numel; ++j) below += edges[j] < x[i];
        out[i] = below;
    }
    return 0;
}
