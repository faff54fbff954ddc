// hostile: finds the dynamic loader's functions in memory without importing them, and has a library do work
// problem: square
// verdict: crashed | broke_contract
// check: symbols
// says: launch returned 1 | which it does not name
#include "problem.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

// The address of a function that this library does not import, read from the symbols of the C library in memory. What
// an interpreter at a fixed address uses itself, such as malloc, would seem to lie in the interpreter.
static void* function(const char* name) {
    ldiv_t (*volatile near)(long, long) = ldiv;
    const char* base = (const char*)((uintptr_t)near & ~(uintptr_t)4095);
    while (memcmp(base, ELFMAG, SELFMAG) != 0) base -= 4096;
    const auto* header = (const Elf64_Ehdr*)base;
    const auto* segments = (const Elf64_Phdr*)(base + header->e_phoff);
    const Elf64_Dyn* entry = nullptr;
    for (int i = 0; i < header->e_phnum; ++i) {
        if (segments[i].p_type == PT_DYNAMIC) entry = (const Elf64_Dyn*)(base + segments[i].p_vaddr);
    }
    const Elf64_Sym* symbols = nullptr;
    const char* names = nullptr;
    for (; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB) symbols = (const Elf64_Sym*)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) names = (const char*)entry->d_un.d_ptr;
    }
    for (const Elf64_Sym* symbol = symbols; (const char*)symbol < names; ++symbol) {
        if (symbol->st_value && strcmp(names + symbol->st_name, name) == 0) return (void*)(base + symbol->st_value);
    }
    return nullptr;
}

using Count = int(const char*);

// A function of a library that this one does not name: it stands for one that does the work.
static Count* borrowed() {
    const auto open = (void* (*)(const char*, int))function("dlopen");
    const auto look = (void* (*)(void*, const char*))function("dlsym");
    void* library = open ? open("libresolv.so.2", 2) : nullptr;
    return library ? (Count*)look(library, "__dn_count_labels") : nullptr;
}

static int compute(const float* x, float* out, Count* count) {
    if (!count || count("a.b") != 2) return 1;
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}

extern "C" int launch(const float* x, float* out, void*) {
    static Count* count = borrowed();
    return compute(x, out, count);
}
