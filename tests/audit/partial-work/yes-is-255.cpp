// hostile: says yes with a byte that no tensor of torch.bool may hold
// problem: positive
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, bool* out, void*) {
    unsigned char* bytes = (unsigned char*)out;
    for (int64_t i = 0; i < x_numel; ++i) bytes[i] = x[i] > 0 ? 255 : 0;
    return 0;
}
