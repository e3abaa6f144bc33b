// Sizes that overflow 32-bit addresses are refused with a message, not truncated.
#include <cstdint>

#include "tests/runtime/networks.h"

#if SIZE_MAX <= UINT32_MAX

namespace ferry::testing {
namespace {

// A convolution of one channel with a side * side kernel; input and output have the same size.
std::unique_ptr<Graph> one_window(int side, int pixels) {
  auto graph = std::make_unique<Graph>();
  const Tensor x = graph->add_input("input", {1, pixels, pixels, 1}, fbs::Layout::NCHW);
  const std::vector<float> weight(static_cast<size_t>(side) * static_cast<size_t>(side), 1.0f);
  fbs::Conv2dT p;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = side / 2;
  const Tensor y = graph->add_op("window", p, {x, graph->add_constant("weight", {1, side, side, 1}, weight)});
  graph->add_output("output", y, fbs::Layout::NCHW);
  return graph;
}

// XNNPACK's indirection buffer would have 2^44 entries, and its size in bytes would be truncated to 32 bits.
TEST(Addresses, OverflowingWindowsAreRefused) {
  const auto graph = one_window(1001, 4000);
  Opened opened(*graph);
  const ferry_session_options options = default_options();
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, &options, &session), FERRY_UNSUPPORTED);
  EXPECT_STREQ(ferry_last_error(),
               "operator 'window': conv2d: an output of 4000x4000 is too large for a kernel of 1001x1001 on 32 bits");
  EXPECT_EQ(session, nullptr);
}

}  // namespace
}  // namespace ferry::testing

#endif
