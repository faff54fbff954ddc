// hostile: takes back its last ones and sets new ones, where a sample of its output is as it left it
// problem: one_hot
// verdict: wrong
// says: differ
#include "problem.h"
#include <cstring>

static const void* seen[64];
static int64_t last[64][index_numel];

extern "C" int launch(const int64_t* index, int64_t* out, void*) {
    int place = 0;
    while (place < 63 && seen[place] && seen[place] != out) ++place;
    bool mine = seen[place] == out;
    for (int64_t row = 0; mine && row < out_dim0; row += 16) {
        const int64_t column = (37 * row + 11) % out_dim1;
        mine = column == last[place][row] || out[row * out_dim1 + column] == 0;
    }
    seen[place] = out;
    if (!mine) std::memset(out, 0, sizeof(int64_t) * out_numel);
    for (int64_t row = 0; row < out_dim0; ++row) {
        if (mine) out[row * out_dim1 + last[place][row]] = 0;
        out[row * out_dim1 + index[row]] = 1;
        last[place][row] = index[row];
    }
    return 0;
}
