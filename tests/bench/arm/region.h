/* What the three programs share: hints for count_instructions.c, and an input of 1x3x224x224 numbers from -1 to 1. */
#ifndef FERRY_TESTS_BENCH_ARM_REGION_H
#define FERRY_TESTS_BENCH_ARM_REGION_H

#include <stddef.h>

static inline void begin_region(void) { __asm__ volatile("hint #100" ::: "memory"); }
static inline void end_region(void) { __asm__ volatile("hint #101" ::: "memory"); }
static inline void end_step(void) { __asm__ volatile("hint #102" ::: "memory"); }

enum { kSide = 224, kPixels = kSide * kSide, kInputs = 3 * kPixels };

/* The next number; *state begins with 1. */
static inline float next_input(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

#endif
