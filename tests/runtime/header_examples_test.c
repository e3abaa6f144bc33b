/* The examples of ferry.h, image.h, task.h and text.h as a C program sees them, and examples/classify.c.
 * examples_test.cc runs them. */
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>
#include <ferry/text.h>
#include <stdio.h>
#include <string.h>

#include "tests/runtime/examples.h"

#define fail(message) report_failure(message)
static int report_failure(const char* message) {
  fprintf(stderr, "%s\n", message);
  return 1;
}

static void fill(float* values, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(float); ++i) values[i] = (float)(i % 7) - 3;
}

static int used = 0;
static void use(const float* values, int32_t count) { used = values != NULL ? (int)count : 0; }

int ferry_h_example(void) {
#include "ferry.h.inc"
  return used == 5 ? 0 : 2;
}

int image_h_example(struct ferry_session* session) {
#include "image.h.inc"
  return 0;
}

static int used_map = 0;
static void use_map(const float* values, int32_t width, int32_t height) {
  used_map = values != NULL ? (int)(width * height) : 0;
}

int task_h_example(struct ferry_model* model) {
#define use(values, width, height) use_map(values, width, height)
#include "task.h.inc"
#undef use
  return used_map == 20 * 15 ? 0 : 2;
}

int text_h_example(struct ferry_model* model) {
#include "text.h.inc"
  return 0;
}

#define main classify_main
#include "examples/classify.c"
#undef main

#define main chat_main
#include "examples/chat.c"
#undef main

#define main segment_main
#include "examples/segment.c"
