// hostile: leaves out a branch whose share in the output is a millionth while its weights are new
// problem: layer_scale
// verdict: wrong
// check: stress
// says: gains call | faint call
#include "problem.h"

#include <string.h>

extern "C" int launch(
    const float* x, const float*, const float*, const float*, const float*, const float*, float* out, void*) {
    memcpy(out, x, x_numel * sizeof(float));
    return 0;
}
