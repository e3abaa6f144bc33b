// Convolutions computed in bands (sdk/cpu/backend/bands.h), on maps large enough for this machine's caches.
#include "sdk/cpu/backend/features.h"
#include "tests/runtime/networks.h"

namespace ferry {
namespace {

using namespace testing;

// Images [batch,height,width,3] through a chain of convolutions, whose feature maps all take at least half the L2
// cache.
class Chain {
 public:
  Chain(int batch, int height, int width) {
    x_ = graph_.add_input("input", {batch, height, width, 3}, fbs::Layout::Same);
  }

  // A kernel's size and stride; `depthwise`: as many outputs as channels.
  Chain& conv(int outputs, int kernel = 1, int stride = 1) { return add(outputs, kernel, stride, 1); }
  Chain& depthwise(int kernel, int stride = 1) { return add(channels(), kernel, stride, channels()); }
  Chain& silu() {
    fbs::UnaryT p;
    p.kind = fbs::UnaryKind::Silu;
    x_ = graph_.add_op("silu", p, {x_});
    return *this;
  }
  Chain& begin_residual() {
    residual_ = x_;
    return *this;
  }
  Chain& end_residual() {
    fbs::BinaryT p;
    p.kind = fbs::BinaryKind::Add;
    x_ = graph_.add_op("sum", p, {x_, residual_});
    return *this;
  }
  Chain& output(const std::string& name) {
    graph_.add_output(name, x_, fbs::Layout::Same);
    return *this;
  }
  Graph& graph() { return output("output").graph_; }

 private:
  int channels() const { return x_.shape()[3]; }

  Chain& add(int outputs, int kernel, int stride, int groups) {
    fbs::Conv2dT p;
    p.stride_h = p.stride_w = stride;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
    p.groups = groups;
    if (groups > 1) p.output_min = 0, p.output_max = 6;
    const Tensor weight = constant({outputs, kernel, kernel, channels() / groups}), bias = constant({outputs});
    x_ = graph_.add_op("conv" + std::to_string(++count_), p, {x_, weight, bias});
    return *this;
  }

  Tensor constant(const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    ++seed_;
    for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed_, static_cast<uint32_t>(i));
    return graph_.add_constant("weight" + std::to_string(seed_), shape, values);
  }

  Graph graph_;
  Tensor x_, residual_;
  int count_ = 0;
  uint32_t seed_ = 0;
};

// The odd height at which a map of `channels` and `width` takes half the L2 cache.
int height_for(int channels, int width) {
  const size_t row = static_cast<size_t>(channels * width) * sizeof(float);
  return static_cast<int>(cpu::cpu_features().l2_bytes / 2 / row + 1) | 1;
}

// Operators whose time is reported for a later one.
int inner_operators(const ferry_session* session) {
  int count = 0;
  for (size_t i = 0; i < ferry_session_profile_count(session); ++i) {
    ferry_profile_entry entry;
    EXPECT_OK(ferry_session_profile(session, i, &entry));
    count += entry.microseconds == 0;
  }
  return count;
}

// Expects the oracle's values, the same bits as operators that run one by one (as they do if every map is kept), and
// less memory.
void expect_bands(Graph& graph, ferry_precision precision = FERRY_PRECISION_FLOAT32) {
  const Opened together(graph);
  std::vector<TensorId> maps;
  for (const auto& op : graph.table.operators) maps.push_back(op->outputs[0]);
  maps.pop_back();  // the output
  for (size_t i = 0; i < maps.size(); ++i) {
    auto tap = std::make_unique<fbs::PortT>();
    tap->name = "map" + std::to_string(i);
    tap->tensor = maps[i];
    tap->source_layout = fbs::Layout::Same;
    graph.table.taps.push_back(std::move(tap));
  }
  const Opened apart(graph);
  ferry_session_options options = default_options();
  options.all_taps = true;
  options.precision = precision;
  const SessionPtr one_by_one = make_session(apart.model, options);
  fill_inputs(apart.model, one_by_one.get());
  expect_oracle(graph, apart.model, one_by_one.get(), precision == FERRY_PRECISION_FLOAT16 ? 1e-2 : 1e-5);
  const std::vector<float> expected = results(apart.model, one_by_one.get()).at("output output");
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(::testing::Message() << threads << " threads");
    ferry_session_options timed = default_options();
    timed.num_threads = threads;
    timed.profile = true;
    timed.precision = precision;
    const SessionPtr session = make_session(together.model, timed);
    fill_inputs(together.model, session.get());
    for (int run = 0; run < 2; ++run) {
      ASSERT_OK(ferry_session_run(session.get()));
      EXPECT_TRUE(results(together.model, session.get()).at("output output") == expected);
    }
    EXPECT_GE(inner_operators(session.get()), 1);
    if (threads == 1) {
      const size_t map = cpu::cpu_features().l2_bytes / 2;  // the buffers are smaller than half a map
      EXPECT_LT(ferry_session_arena_bytes(session.get()) + map / 2, ferry_session_arena_bytes(one_by_one.get()));
    }
  }
}

TEST(Bands, AStemADepthwiseConvolutionAndAProjection) {
  expect_bands(Chain(1, 2 * height_for(16, 100), 200).conv(16, 3, 2).depthwise(3).conv(16).graph());
}

TEST(Bands, AnExpansionOfEveryKernelAndStride) {
  for (const int kernel : {3, 5})
    for (const int stride : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride);
      expect_bands(Chain(1, height_for(24, 37), 37).conv(24).depthwise(kernel, stride).conv(20).graph());
    }
}

TEST(Bands, ActivationsBetweenAndAResidualSumAfter) {
  expect_bands(Chain(1, height_for(16, 50), 50)
                   .conv(16)
                   .begin_residual()
                   .conv(32)
                   .silu()
                   .depthwise(3)
                   .silu()
                   .conv(16)
                   .end_residual()
                   .graph());
}

TEST(Bands, SeveralImagesAndALongChain) {
  const int height = height_for(16, 41);
  expect_bands(Chain(2, height, 41).conv(16).depthwise(3).conv(16).depthwise(5).conv(16).depthwise(3).graph());
}

TEST(Bands, Float16s) {
#if !defined(__aarch64__)
  GTEST_SKIP() << "XNNPACK computes float16 products here, and cannot compute single rows";
#endif
  if (!cpu::cpu_features().float16) GTEST_SKIP() << "this CPU has no float16 arithmetic";
  const int height = 2 * height_for(16, 50);
  for (const int stride : {1, 2}) {
    SCOPED_TRACE(::testing::Message() << "stride " << stride);
    Chain chain(1, height, 50);
    chain.conv(16).conv(24).silu().depthwise(3, stride).depthwise(5).conv(20);
    expect_bands(chain.graph(), FERRY_PRECISION_FLOAT16);
  }
}

// A tapped map ends one band, and the next one begins after it.
TEST(Bands, TappedMapsAreWritten) {
  Chain chain(1, height_for(16, 60), 60);
  chain.conv(16).depthwise(3).output("middle");
  Graph& graph = chain.depthwise(3).conv(16).graph();
  const Opened opened(graph);
  const SessionPtr session = make_session(opened.model, 2);
  fill_inputs(opened.model, session.get());
  expect_oracle(graph, opened.model, session.get(), 1e-5);
}

TEST(Bands, OtherSizesThanTheBlobs) {
  Chain chain(1, 2 * height_for(16, 60), 120);
  const Graph& graph = chain.conv(16, 3, 2).depthwise(3).conv(16).graph();
  const Opened opened(graph);
  const SessionPtr session = make_session(opened.model, 2);
  const int32_t sizes[][4] = {{1, 40, 7, 3}, {2, 1, 130, 3}, {1, 1, 1, 3}, {3, 35, 64, 3}};
  for (const auto& size : sizes) {
    ASSERT_OK(ferry_session_resize(session.get(), 0, size, 4));
    fill_inputs(opened.model, session.get());
    expect_oracle(graph, opened.model, session.get(), 1e-5);
  }
}

}  // namespace
}  // namespace ferry
