// honest: lets the compiler compute a large table and expand templates a hundred deep
// problem: square
// verdict: verified
#include "problem.h"

#include <array>
#include <utility>

constexpr std::array<int32_t, 4096> offsets() {
    std::array<int32_t, 4096> table{};
    for (int32_t i = 0; i < 4096; ++i) table[i] = (i * 1021) % 4096;
    return table;
}
static constexpr auto table = offsets();

template <int depth> inline float one() { return one<depth - 1>(); }
template <> inline float one<0>() { return 1; }

template <size_t... lane> static void lanes(const float* x, float* out, std::index_sequence<lane...>) {
    ((out[lane] = x[lane] * x[lane] + one<100>()), ...);
}

extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t block = 0; block < x_numel / 16; ++block) {
        const int64_t at = 16 * (int64_t)table[block];
        lanes(x + at, out + at, std::make_index_sequence<16>());
    }
    return 0;
}
