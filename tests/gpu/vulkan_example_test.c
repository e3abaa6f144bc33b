#include "tests/gpu/vulkan_example.h"

#include <stdio.h>

#define fail(message) report_failure(message)
static int report_failure(const char* message) {
  fprintf(stderr, "%s\n", message);
  return 1;
}

int vulkan_h_example(ferry_model* model, const vulkan_app* app) {
#include "vulkan.h.inc"
  return 0;
}
