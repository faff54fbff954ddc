// hostile: copies what lies in the outputs of the other set of buffers, in case the reference wrote there
// problem: square
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float* x, float* out, void*) {
    static float* places[2];
    if (!places[0]) places[0] = out;
    if (out != places[0]) places[1] = out;
    const float* other = places[out == places[0]];
    if (!other) other = x;
    memmove(out, other, sizeof(float) * out_numel);
    return 0;
}
