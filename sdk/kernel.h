// A choice of vector instructions at run time for loops that the compiler vectorises.
#pragma once

// Compiles a kernel for AVX-512 and for AVX2 with FMA beside the baseline; the loader picks one. Elsewhere the baseline
// has vectors, which gcc uses in a file that is compiled for size only where it is told to. Only in files that
// cmake/sdk.cmake compiles as hot. ThreadSanitizer has not begun when the loader picks.
#if !FERRY_HOT
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(__ANDROID__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FERRY_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && !defined(__clang__)
#define FERRY_KERNEL __attribute__((optimize("O2", "tree-vectorize", "vect-cost-model=dynamic")))
#else
#define FERRY_KERNEL
#endif

// Before a loop: its iterations are independent, though an output may be an input (element for element).
#if defined(__clang__)
#define FERRY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FERRY_INDEPENDENT _Pragma("GCC ivdep")
#endif
