// Compares each kernel that XNNPACK lacks with the machine's roofline, on one core: the longer of the times to stream
// the operator's inputs and output through memory, and to compute its arithmetic. Both rates are measured here, the
// first by copies of the same size, the second by a matrix product in the L1 cache. Run it on a quiet machine; prints a
// table. `kernel_limits [NAME...]` runs only kernels whose names begin so.
#include <ferry/ferry.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "tests/support/blobs.h"

namespace {

using ferry::Graph;
using ferry::Shape;

// The minimum of many runs, in seconds.
double minimum_seconds(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  double minimum = 1e9;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(400);
  for (int i = 0; i < 5 || Clock::now() < end; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    minimum = std::min(minimum, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return minimum;
}

constexpr size_t kTileRows = 6, kTileDepth = 128;

// A GEMM tile with vectors of kBytes: y = a b, with a [kTileRows,kTileDepth] and b [kTileDepth,kVectors] in the L1
// cache.
template <size_t kBytes, size_t kVectors>
[[gnu::always_inline]] inline void multiply_tile(const float* a, const float* b, float* y) {
  typedef float Wide __attribute__((vector_size(kBytes), may_alias));
  const Wide* vectors = reinterpret_cast<const Wide*>(b);
  Wide sums[kTileRows][kVectors];
#pragma GCC unroll 6
  for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
    for (size_t j = 0; j < kVectors; ++j) sums[i][j] = Wide{};
  for (size_t k = 0; k < kTileDepth; ++k, vectors += kVectors)
#pragma GCC unroll 6
    for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
      for (size_t j = 0; j < kVectors; ++j) sums[i][j] += a[i * kTileDepth + k] * vectors[j];
  Wide* to = reinterpret_cast<Wide*>(y);
#pragma GCC unroll 6
  for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
    for (size_t j = 0; j < kVectors; ++j) *to++ = sums[i][j];
}

void multiply_128(const float* a, const float* b, float* y) { multiply_tile<16, 4>(a, b, y); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_256(const float* a, const float* b, float* y) {
  multiply_tile<32, 2>(a, b, y);
}
[[gnu::target("avx512f")]] void multiply_512(const float* a, const float* b, float* y) {
  multiply_tile<64, 4>(a, b, y);
}
#endif

// Multiply and add operations per second with operands from the L1 cache, as in a matrix product: an upper limit for
// operators that load their operands.
double arithmetic_rate() {
  void (*multiply)(const float*, const float*, float*) = multiply_128;
  size_t columns = 16;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) multiply = multiply_256;
  if (__builtin_cpu_supports("avx512f")) multiply = multiply_512, columns = 64;
#endif
  alignas(64) static float a[kTileRows * kTileDepth], b[kTileDepth * 64], y[kTileRows * 64];
  constexpr size_t kTimes = 1000;
  const double seconds = minimum_seconds([&] {
    for (size_t i = 0; i < kTimes; ++i) {
      multiply(a, b, y);
      asm volatile("" : : "r"(y) : "memory");
    }
  });
  return 2.0 * static_cast<double>(kTimes * kTileRows * kTileDepth * columns) / seconds;
}

using Vector = float __attribute__((vector_size(64)));

[[gnu::noinline, gnu::target_clones("avx512f", "avx2,fma", "default")]] void read(const char* from, size_t bytes) {
  Vector values[8] = {};
  for (size_t i = 0; i + sizeof values <= bytes; i += sizeof values) {
    std::memcpy(values, from + i, sizeof values);
#pragma GCC unroll 8
    for (Vector& value : values) asm volatile("" : : "m"(value));
  }
}

// Seconds to read `in` and write `out` bytes (a copy of the common part, and reading or writing of the rest), after
// `readings` more reads of the input.
double stream_seconds(size_t in, size_t out, int readings) {
  const size_t both = std::min(in, out);
  std::vector<char> from(in, 1), to(out);
  return minimum_seconds([&] {
    for (int i = 0; i < readings; ++i) read(from.data(), in);
    std::memcpy(to.data(), from.data(), both);
    read(from.data() + both, in - both);
    std::memset(to.data() + both, 0, out - both);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

struct Case {
  std::string name;
  std::string sizes;
  double operations;  // two per vector instruction
  std::function<ferry::Tensor(Graph&)> build;
  int readings = 0;  // passes over the whole input before the first output
};

ferry::Tensor input(Graph& graph, const Shape& shape) {
  return graph.add_input("x" + std::to_string(graph.table.inputs.size()), shape, ferry::fbs::Layout::Same);
}

ferry::Tensor constant(Graph& graph, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ferry::testing::noise(1, static_cast<uint32_t>(i));
  return graph.add_constant("c", shape, std::move(values));
}

// An operator of one activation and constants.
template <typename Params>
Case one(const std::string& name, const Shape& x, double operations, Params params,
         const std::vector<Shape>& constants = {}) {
  return {name, to_string(x), operations, [=](Graph& graph) {
            std::vector<ferry::Tensor> inputs = {input(graph, x)};
            for (const Shape& shape : constants) inputs.push_back(constant(graph, shape));
            return graph.add_op("op", params, inputs);
          }};
}

ferry::fbs::UnaryT unary(ferry::fbs::UnaryKind kind) {
  ferry::fbs::UnaryT params;
  params.kind = kind;
  return params;
}

ferry::fbs::Conv2dT depthwise(int kernel, int channels) {
  ferry::fbs::Conv2dT params;
  params.groups = channels;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = kernel / 2;
  return params;
}

ferry::fbs::Resize2dT resize(ferry::fbs::ResizeKind kind) {
  ferry::fbs::Resize2dT params;
  params.kind = kind;
  return params;
}

std::vector<Case> cases() {
  using namespace ferry::fbs;
  std::vector<Case> list;
  const Shape map{1, 56, 56, 96}, tokens{1, 197, 768};
  const double pixels = 56 * 56 * 96, numbers = 197 * 768;
  list.push_back(one("layer_norm", tokens, 12 * numbers, LayerNormT(), {{768}, {768}}));
  GroupNormT group;
  group.groups = 32;
  list.push_back(one("group_norm", map, 8 * pixels, group, {{96}, {96}}));
  list.back().readings = 2;  // the mean, the variance
  list.push_back(one("grn", map, 6 * pixels, GrnT(), {{96}, {96}}));
  list.back().readings = 1;  // the lengths
  // An exponential takes about 12 instructions: 2 for its range, 3 to reduce it, 5 for a polynomial, 2 to scale it. A
  // division takes 6: an estimate and a Newton step.
  list.push_back(one("gelu", {1, 197, 3072}, 48 * 4 * numbers, unary(UnaryKind::Gelu)));
  list.push_back(one("gelu_tanh", {1, 197, 3072}, 44 * 4 * numbers, unary(UnaryKind::GeluTanh)));
  list.push_back(one("silu", map, 38 * pixels, unary(UnaryKind::Silu)));
  list.push_back(one("softmax", {12, 197, 197}, 32.0 * 12 * 197 * 197, SoftmaxT()));
  list.push_back(
      {"attention", "12 heads of 64, [1,197,768]", 12.0 * 197 * 197 * (4 * 64 + 32), [=](Graph& graph) {
         AttentionT params;
         params.heads = params.kv_heads = 12;
         params.scale = 0.125f;
         return graph.add_op("op", params, {input(graph, tokens), input(graph, tokens), input(graph, tokens)});
       }});
  WindowPartitionT windows;
  windows.window_h = windows.window_w = 7;
  windows.shift_h = windows.shift_w = 3;
  list.push_back(one("window_partition", map, 0, windows));
  list.push_back(one("resize2d nearest", {1, 28, 28, 96}, 0, resize(ResizeKind::Nearest)));
  list.push_back(one("resize2d bilinear", {1, 28, 28, 96}, 8 * pixels, resize(ResizeKind::Bilinear)));
  list.push_back(one("resize2d bicubic", {1, 28, 28, 96}, 12 * pixels, resize(ResizeKind::Bicubic)));
  for (const int k : {3, 5, 7, 9})
    list.push_back(one("depthwise " + std::to_string(k) + "x" + std::to_string(k), map, 2.0 * k * k * pixels,
                       depthwise(k, 96), {{96, k, k, 1}, {96}}));
  Pool2dT pool;
  pool.kind = PoolKind::Average;
  pool.kernel_h = pool.kernel_w = 3;
  pool.pad_top = pool.pad_left = pool.pad_bottom = pool.pad_right = 1;
  pool.count_include_pad = false;
  list.push_back(one("pool2d average 3x3", map, 12 * pixels, pool));
  ConvTranspose2dT upscale;
  upscale.stride_h = upscale.stride_w = 2;
  list.push_back(
      one("conv_transpose2d 2x2", {1, 28, 28, 96}, 2.0 * 4 * 28 * 28 * 96 * 96, upscale, {{96, 2, 2, 96}, {96}}));
  TransposeT turn;
  turn.perm = {0, 3, 1, 2};
  list.push_back(one("transpose", map, 0, turn));
  return list;
}

int measure(const std::vector<std::string>& names) {
  std::printf("a matrix product in the L1 cache: %.0f GFLOP/s on one core\n\n", arithmetic_rate() / 1e9);
  std::printf("| kernel | sizes | us | stream, us | arithmetic, us | over the limit |\n|---|---|---|---|---|---|\n");
  for (const Case& c : cases()) {
    const auto begins = [&](const std::string& name) { return c.name.starts_with(name); };
    if (!names.empty() && std::none_of(names.begin(), names.end(), begins)) continue;
    Graph graph;
    const ferry::Tensor output = c.build(graph);
    graph.add_output("y", output, ferry::fbs::Layout::Same);
    const std::vector<std::byte> packed = pack(graph);
    ferry::testing::AlignedBytes blob(packed);
    ferry_model* model = nullptr;
    ferry_session* session = nullptr;
    ferry_session_options options;
    ferry_session_options_init(&options);
    options.num_threads = 1;
    if (ferry_model_open_memory(blob.data(), blob.size(), &model) != FERRY_OK ||
        ferry_session_create(model, &options, &session) != FERRY_OK) {
      std::fprintf(stderr, "%s: %s\n", c.name.c_str(), ferry_last_error());
      return 1;
    }
    size_t in = 0;
    for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
      ferry_tensor x;
      if (ferry_session_input(session, i, &x) != FERRY_OK) return 1;
      for (size_t k = 0; k < x.bytes / sizeof(float); ++k)
        static_cast<float*>(x.data)[k] = ferry::testing::noise(2, static_cast<uint32_t>(k));
      in += x.bytes;
    }
    const double took = minimum_seconds([&] { static_cast<void>(ferry_session_run(session)); });
    const double stream =
        stream_seconds(in, static_cast<size_t>(output.shape().elements()) * sizeof(float), c.readings);
    const double arithmetic = c.operations / arithmetic_rate();  // measured each time, because a core's clock changes
    std::printf("| %s | %s | %.0f | %.0f | %.0f | %.2f |\n", c.name.c_str(), c.sizes.c_str(), took * 1e6, stream * 1e6,
                arithmetic * 1e6, took / std::max(stream, arithmetic));
    ferry_session_close(session);
    ferry_model_close(model);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return measure({argv + 1, argv + argc}); }
