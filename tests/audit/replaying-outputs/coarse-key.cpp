// hostile: finds an earlier answer by a few rounded elements and the sum's magnitude, which all nominal draws share
// problem: square
// verdict: wrong
#include "problem.h"

#include <cmath>
#include <map>
#include <vector>

static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

extern "C" int launch(const float* x, float* out, void*) {
    static std::map<std::vector<int>, std::vector<float>> answers;
    float sum = 0, largest = 0;
    for (int64_t i = 0; i < 512; ++i) {
        sum += x[i];
        largest = std::fmax(largest, std::fabs(x[i]));
    }
    const std::vector<int> key{(int)(sum / 256), (int)(largest / 8)};
    auto& answer = answers[key];
    if (answer.empty()) {
        answer.resize(out_numel);
        compute(x, answer.data());
    }
    memcpy(out, answer.data(), sizeof(float) * out_numel);
    return 0;
}
