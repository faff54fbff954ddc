// hostile: does nothing and reports success
// problem: square
// verdict: wrong
#include "problem.h"

extern "C" int launch(const float*, float*, void*) { return 0; }
