// Run-time dispatch to vector instructions for loops that the compiler vectorises.
#pragma once

// Compiles a kernel for AVX-512 and for AVX2 with FMA besides the baseline; the loader selects one. Only for files that
// cmake/sdk.cmake compiles for speed. Not with ThreadSanitizer, which is not initialised when the loader selects.
// Elsewhere there is one copy of a kernel, which its callers share.
#if !FERRY_HOT
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(__ANDROID__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FERRY_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FERRY_KERNEL __attribute__((noinline))
#endif

// Before a loop: its iterations are independent. An output may be an input, element for element.
#if defined(__clang__)
#define FERRY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FERRY_INDEPENDENT _Pragma("GCC ivdep")
#endif
