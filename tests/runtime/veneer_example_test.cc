// The examples of ferry.hpp and text.hpp, and examples/upscale.cc, compiled without exceptions and RTTI, as apps may
// do. examples_test.cc runs them. No internal header may be included here: names in namespace ferry would clash.
#include <cstdio>
#include <ferry/ferry.hpp>
#include <ferry/text.hpp>

#include "tests/runtime/examples.h"

namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int used = 0;
void use(float value) { used += value == value ? 1 : 0; }

}  // namespace

int ferry_hpp_example() {
#include "ferry.hpp.inc"
  return used == 5 + 5 ? 0 : 2;  // logits and classes
}

int text_hpp_example() {
  const auto show = [](const std::string& text) { used += static_cast<int>(text.size()); };
#include "text.hpp.inc"
  return 0;
}

#define main upscale_main
#include "examples/upscale.cc"
#undef main

#define main cutout_main
#include "examples/cutout.cc"
