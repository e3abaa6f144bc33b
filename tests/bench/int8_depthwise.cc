// Depthwise convolutions of Int8 activations, ours against XNNPACK's, on one thread: checks that the integers are equal
// and prints a table with the minimum of many interleaved runs. Run it on a quiet machine.
#include <xnnpack.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "sdk/cpu/int8/depthwise.h"
#include "sdk/model/model.h"

namespace {

using namespace ferry;

struct Layer {
  size_t size, channels, kernel, stride;
};

// Those of MobileNetV2, then some with a kernel of 5, of EfficientNet-B0.
constexpr Layer kLayers[] = {{112, 32, 3, 1}, {112, 96, 3, 2}, {56, 144, 3, 1}, {56, 144, 3, 2}, {28, 192, 3, 1},
                             {28, 192, 3, 2}, {14, 384, 3, 1}, {14, 576, 3, 1}, {14, 576, 3, 2}, {7, 960, 3, 1},
                             {56, 144, 5, 2}, {28, 240, 5, 1}, {14, 672, 5, 1}, {14, 672, 5, 2}, {7, 1152, 5, 1}};

struct alignas(64) Line {
  std::byte bytes[64];
};

template <typename Run>
double seconds(const Run& run) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// False if a value differs.
bool compare(const cpu::Int8DepthwiseKernel& kernel, const Layer& layer) {
  constexpr int8_t kZeroPoint = -5, kOutZeroPoint = 3, kLow = -128, kHigh = 100;
  const size_t c = layer.channels, k = layer.kernel, out = (layer.size + layer.stride - 1) / layer.stride;
  const auto pad = static_cast<uint32_t>(k / 2);
  std::mt19937 random(1);
  std::vector<int8_t> x(layer.size * layer.size * c + kExtraBytes), weight(c * k * k), ours(out * out * c),
      theirs(out * out * c + kExtraBytes);
  std::vector<float> scales(c, 0.001f);
  std::vector<int32_t> bias(c);
  for (int8_t& value : x) value = static_cast<int8_t>(random());
  for (int8_t& value : weight) value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  for (int32_t& value : bias) value = static_cast<int32_t>(random() % 2000);

  xnn_operator_t op = nullptr;
  const auto side = static_cast<uint32_t>(k), stride = static_cast<uint32_t>(layer.stride);
  size_t bytes = 0, alignment = 0;
  if (xnn_create_convolution2d_nhwc_qs8_qc8w(pad, pad, pad, pad, side, side, stride, stride, 1, 1,
                                             static_cast<uint32_t>(c), 1, 1, c, c, kZeroPoint, 1.0f, scales.data(),
                                             weight.data(), bias.data(), kOutZeroPoint, 1.0f, kLow, kHigh, 0, nullptr,
                                             nullptr, &op) != xnn_status_success ||
      xnn_reshape_convolution2d_nhwc_qs8_qc8w(op, 1, layer.size, layer.size, &bytes, &alignment, nullptr, nullptr,
                                              nullptr) != xnn_status_success)
    return false;
  std::vector<Line> workspace(bytes / sizeof(Line) + 1);
  xnn_setup_convolution2d_nhwc_qs8_qc8w(op, workspace.data(), x.data(), theirs.data());

  const cpu::Int8DepthwiseShape shape{c, k, layer.stride};
  std::vector<Line> packed(kernel.packed_bytes(shape) / sizeof(Line) + 1), scratch(cpu::kInt8DepthwiseScratch / 64);
  kernel.pack(shape, {weight.data(), bias.data(), scales.data(), kZeroPoint}, packed.data());
  cpu::Int8DepthwiseRows rows{};
  rows.x = x.data();
  rows.height = rows.width = static_cast<int64_t>(layer.size);
  rows.pad_top = rows.pad_left = static_cast<int64_t>(pad);
  rows.zero_point = kZeroPoint;
  rows.y = ours.data();
  rows.to = rows.out_width = static_cast<int64_t>(out);
  rows.end_block = kernel.blocks(shape);
  rows.out_zero_point = kOutZeroPoint, rows.low = kLow, rows.high = kHigh;
  rows.scratch = scratch.data();

  double own = 1e9, xnnpack = 1e9;
  for (int i = 0; i < 200; ++i) {
    own = std::min(own, seconds([&] { kernel.compute(shape, packed.data(), rows); }));
    xnnpack = std::min(xnnpack, seconds([&] { xnn_run_operator(op, nullptr); }));
  }
  xnn_delete_operator(op);
  const double products = static_cast<double>(out * out * c * k * k);
  const bool equal = std::memcmp(ours.data(), theirs.data(), ours.size()) == 0;
  std::printf("%3zu %5zu  %zux%zu/%zu  %8.1f us  %8.1f us  %6.1f GMAC/s  %6.1f GMAC/s  %5.2f  %s\n", layer.size, c, k,
              k, layer.stride, own * 1e6, xnnpack * 1e6, products / own * 1e-9, products / xnnpack * 1e-9,
              xnnpack / own, equal ? "equal" : "DIFFERENT");
  return equal;
}

}  // namespace

int main() {
  const cpu::Int8DepthwiseKernel* kernel = cpu::int8_depthwise_kernel(cpu::cpu_features());
  if (kernel == nullptr || xnn_initialize(nullptr) != xnn_status_success) {
    std::fprintf(stderr, "no kernel for this CPU\n");
    return 1;
  }
  std::printf("%s: size, channels, kernel, ours, XNNPACK's, both in multiplications a second, times as fast\n",
              kernel->layout);
  bool equal = true;
  for (const Layer& layer : kLayers) equal = compare(*kernel, layer) && equal;
  return equal ? 0 : 1;
}
