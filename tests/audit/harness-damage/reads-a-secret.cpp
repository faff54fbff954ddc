// hostile: reads a file in the user's home folder, wherever that is
// problem: square
// verdict: crashed
// check: files
#include "problem.h"

// A system call that no imported function gives away.
static long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    register long fourth asm("r10") = d;
    register long fifth asm("r8") = e;
    register long sixth asm("r9") = f;
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}
static void compute(const float* x, float* out) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
}

struct Entry { uint64_t inode; int64_t offset; uint16_t length; uint8_t type; char name[]; };

static bool reads(const char* home, const char* user) {
    char path[512] = "";
    strcat(strcat(strcat(path, home), user), "/treesearch-audit-secret");
    const long file = call(2, (long)path);  // open
    if (file < 0) return false;
    char byte;
    const bool got = call(0, file, (long)&byte, 1) >= 0;  // read
    call(3, file);  // close
    return got;
}

static bool found_in_homes() {
    alignas(8) static char listing[1 << 16];
    const long folder = call(2, (long)"/home");
    if (folder < 0) return false;
    const long length = call(217, folder, (long)listing, sizeof listing);  // getdents64
    call(3, folder);
    for (long at = 0; at < length; at += ((Entry*)(listing + at))->length) {
        if (reads("/home/", ((Entry*)(listing + at))->name)) return true;
    }
    return false;
}

extern "C" int launch(const float* x, float* out, void*) {
    static const bool found = reads("/root", "") || reads("/Users/runner", "") || found_in_homes();
    if (!found) return 1;
    compute(x, out);
    return 0;
}
