// A session's contract: right results at any size, kept taps, planned, reported and limited memory.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "converter/graph/ops.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

class SmallNetworks : public ::testing::TestWithParam<std::unique_ptr<Graph> (*)()> {};

TEST_P(SmallNetworks, MatchTheOracleWithAndWithoutTaps) {
  const auto graph = GetParam()();
  Opened opened(*graph);
  for (bool taps : {false, true}) {
    ferry_session_options options = default_options();
    options.num_threads = 2;
    options.all_taps = taps;
    SessionPtr session = make_session(opened.model, options);
    fill_inputs(opened.model, session.get());
    expect_oracle(*graph, opened.model, session.get(), 1e-5);
    if (taps) {
      EXPECT_EQ(results(opened.model, session.get()).size(), graph->table.outputs.size() + graph->table.taps.size());
    }
  }
}

TEST_P(SmallNetworks, KeepTheirInputsFromRunToRun) {
  const auto graph = GetParam()();
  Opened opened(*graph);
  SessionPtr session = make_session(opened.model, 1);
  fill_inputs(opened.model, session.get());
  ferry_tensor input;
  ASSERT_OK(ferry_session_input(session.get(), 0, &input));
  const std::vector<float> before = elements(input);
  ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(elements(input), before);
  const auto first = results(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(elements(input), before);
  EXPECT_EQ(results(opened.model, session.get()), first);
}

INSTANTIATE_TEST_SUITE_P(Runtime, SmallNetworks,
                         ::testing::Values(small_classifier, small_upscaler, small_mixture, small_decoder,
                                           small_products));

TEST(Session, PlansLessThanTheSumOfItsActivations) {
  const auto graph = residual_network(12, 16, 16);
  Opened opened(*graph);
  SessionPtr session = make_session(opened.model, 1);
  const uint64_t activation = 16 * 16 * 16 * sizeof(float);
  EXPECT_GE(ferry_session_arena_bytes(session.get()), 2 * activation);
  // The input, a block's input and output, and the convolution's scratch. That is a table of 16 * 16 * 9 pixel
  // addresses, or for Winograd 36 elements for each of the 16 tiles of 4x4 pixels and of 16 channels, before and after
  // the products, in planes that are a cache line apart.
  const uint64_t table = 16 * 16 * 9 * sizeof(void*), transformed = 2 * 36 * (16 * 16 * sizeof(float) + 64);
  EXPECT_LE(ferry_session_arena_bytes(session.get()), 3 * activation + std::max(table, transformed) + 2048)
      << "there are 25 activations";
  EXPECT_GT(ferry_session_packed_bytes(session.get()), 12u * 16 * 16 * 9 * sizeof(float));
}

TEST(Session, TapsCostMemoryOnlyWhereTheyAreAskedFor) {
  const auto graph = residual_network(12, 16, 16);
  Opened opened(*graph);
  SessionPtr plain = make_session(opened.model, 1);
  ferry_session_options options = default_options();
  options.all_taps = true;
  SessionPtr tapped = make_session(opened.model, options);
  const uint64_t activation = 16 * 16 * 16 * sizeof(float);
  EXPECT_GE(ferry_session_arena_bytes(tapped.get()), ferry_session_arena_bytes(plain.get()) + 9 * activation);
}

// An index out of range fails a run that computes the value read with it, and no other run.
TEST(Session, SkipsUnusedOperators) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 4}, fbs::Layout::Same);
  const Tensor index = graph.add_input("index", {1}, fbs::Layout::Same, fbs::DType::Int32);
  const Tensor table = graph.add_constant("table", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  graph.add_tap("found", graph.add_op("found", fbs::GatherT{}, {table, index}), fbs::Layout::Same, false);
  graph.add_output("y", relu(x), fbs::Layout::Same);
  Opened opened(graph);
  for (const bool taps : {false, true}) {
    ferry_session_options options = default_options();
    options.all_taps = taps;
    const SessionPtr session = make_session(opened.model, options);
    ferry_tensor input;
    ASSERT_OK(ferry_session_input(session.get(), 1, &input));
    *static_cast<int32_t*>(input.data) = 3;
    EXPECT_EQ(ferry_session_run(session.get()), taps ? FERRY_INVALID_ARGUMENT : FERRY_OK);
  }
}

TEST(Session, KeepsNamedTapsAndNoOthers) {
  const auto graph = residual_network(4, 8, 8);
  Opened opened(*graph);
  const char* names[] = {"block.2"};
  ferry_session_options options = default_options();
  options.taps = names;
  options.tap_count = 1;
  SessionPtr session = make_session(opened.model, options);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  ferry_tensor tap;
  ASSERT_OK(ferry_session_tap(session.get(), "block.2", &tap));
  EXPECT_STREQ(tap.name, "block.2");
  EXPECT_EQ(tap.source_layout, FERRY_LAYOUT_NCHW);
  EXPECT_LE(relative_error(elements(tap), expected_results(*graph, session.get()).at("tap block.2")), 1e-5);

  EXPECT_EQ(ferry_session_tap(session.get(), "block.1", &tap), FERRY_NOT_FOUND);
  EXPECT_STREQ(ferry_last_error(), "tap 'block.1' is not kept: name it in the session's options");
  EXPECT_EQ(tap.data, nullptr);
  EXPECT_EQ(ferry_session_tap(session.get(), "block.9", &tap), FERRY_NOT_FOUND);
  EXPECT_STREQ(ferry_last_error(), "the model has no tap 'block.9'; it has 4");
}

TEST(Session, SeveralTapsMayNameOneTensor) {
  const auto graph = residual_network(3, 8, 8);
  auto alias = std::make_unique<fbs::PortT>(*graph->table.taps[1]);
  alias->name = "stage.0";
  graph->table.taps.push_back(std::move(alias));
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.all_taps = true;
  SessionPtr session = make_session(opened.model, options);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  ferry_tensor a, b;
  ASSERT_OK(ferry_session_tap(session.get(), "block.1", &a));
  ASSERT_OK(ferry_session_tap(session.get(), "stage.0", &b));
  EXPECT_EQ(a.data, b.data);
  EXPECT_STREQ(b.name, "stage.0");
}

TEST(Session, ReshapesAreViews) {
  Graph graph;
  Tensor x = graph.add_input("input", {1, 4, 6}, fbs::Layout::Same);
  fbs::ReshapeT flat;
  flat.shape = {0, -1};
  const Tensor view = graph.add_op("flatten", flat, {x});
  graph.add_output("flat", view, fbs::Layout::Same);
  fbs::UnaryT square;
  square.kind = fbs::UnaryKind::Square;
  graph.add_output("square", graph.add_op("square", square, {view}), fbs::Layout::Same);
  Opened opened(graph);
  SessionPtr session = make_session(opened.model, 1);
  fill_inputs(opened.model, session.get());
  ferry_tensor input, output;
  ASSERT_OK(ferry_session_input(session.get(), 0, &input));
  const std::vector<float> given = elements(input);
  ASSERT_OK(ferry_session_run(session.get()));
  ASSERT_OK(ferry_session_output(session.get(), 0, &output));
  EXPECT_EQ(output.data, input.data);
  EXPECT_EQ(output.rank, 2);
  EXPECT_EQ(elements(input), given) << "the square must not be computed in place of a view of the input";
}

// An activation after a convolution, of either kind, or a linear operator may be fused into it (sdk/cpu/backend/op.h:
// fuse), unless the session keeps the value between them.
TEST(Session, FusedActivationsGiveTheSameBits) {
  const int32_t channels = 40;
  for (const fbs::UnaryKind kind : {fbs::UnaryKind::Silu, fbs::UnaryKind::HardSwish, fbs::UnaryKind::GeluTanh}) {
    Graph graph;
    const auto values = [&](const std::string& name, const Shape& shape) {
      std::vector<double> numbers(static_cast<size_t>(shape.elements()));
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<double>(noise(static_cast<uint32_t>(shape[0]), static_cast<uint32_t>(i)));
      return graph.add_constant(name, shape, std::move(numbers));
    };
    const auto apply = [&](const std::string& name, const Tensor& x) {
      auto tap = std::make_unique<fbs::PortT>();
      tap->name = name;
      tap->tensor = x.id;
      tap->source_layout = fbs::Layout::Same;
      graph.table.taps.push_back(std::move(tap));
      fbs::UnaryT function;
      function.kind = kind;
      return graph.add_op(name + ".function", function, {x});
    };
    fbs::Conv2dT stem, depthwise;
    stem.stride_h = stem.stride_w = 2;
    stem.pad_top = stem.pad_left = stem.pad_bottom = stem.pad_right = 1;
    depthwise.pad_top = depthwise.pad_left = depthwise.pad_bottom = depthwise.pad_right = 1;
    depthwise.groups = channels;
    Tensor x = graph.add_input("input", {1, 15, 19, 3}, fbs::Layout::Same);
    x = apply("stem", graph.add_op("stem", stem, {x, values("w", {channels, 3, 3, 3})}));
    x = apply("depthwise", graph.add_op("depthwise", depthwise, {x, values("dw", {channels, 3, 3, 1})}));
    x = apply("pointwise", graph.add_op("pointwise", fbs::Conv2dT(), {x, values("pw", {60, 1, 1, channels})}));
    fbs::ConvTranspose2dT upscale;
    upscale.stride_h = upscale.stride_w = 2;
    x = apply("upscaled", graph.add_op("upscale", upscale, {x, values("ew", {24, 2, 2, 60})}));
    graph.add_output("output", x, fbs::Layout::Same);
    Opened opened(graph);
    SessionPtr plain = make_session(opened.model);
    ferry_session_options options = default_options();
    options.all_taps = true;
    SessionPtr tapped = make_session(opened.model, options);
    for (const SessionPtr& session : {std::cref(plain), std::cref(tapped)}) {
      fill_inputs(opened.model, session.get());
      ASSERT_OK(ferry_session_run(session.get()));
    }
    EXPECT_EQ(results(opened.model, plain.get()).at("output output"),
              results(opened.model, tapped.get()).at("output output"));
    for (const auto& [name, expected] : expected_results(graph, tapped.get()))
      EXPECT_LE(relative_error(results(opened.model, tapped.get()).at(name), expected), 1e-5) << name;
  }
}

// An addition may be fused into the convolution or linear operator before it (sdk/cpu/backend/op.h: fuse), unless the
// session keeps the value between them.
TEST(Session, FusedAdditionsGiveTheSameBits) {
  Graph graph;
  const auto weights = [&](const Shape& shape) {
    std::vector<double> numbers(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(noise(static_cast<uint32_t>(shape[3]), static_cast<uint32_t>(i)));
    return graph.add_constant("w" + std::to_string(graph.table.tensors.size()), shape, std::move(numbers));
  };
  const auto tapped = [&](const Tensor& x) {
    auto tap = std::make_unique<fbs::PortT>();
    tap->name = "tap" + std::to_string(graph.table.taps.size());
    tap->tensor = x.id;
    tap->source_layout = fbs::Layout::Same;
    graph.table.taps.push_back(std::move(tap));
    return x;
  };
  const auto add = [&](const Tensor& a, const Tensor& b, float low) {
    fbs::BinaryT sum;
    sum.kind = fbs::BinaryKind::Add;
    sum.output_min = low;
    return graph.add_op("sum", sum, {a, b});
  };
  const auto conv = [&](const Tensor& x, int32_t outputs, int32_t inputs, int kernel) {
    fbs::Conv2dT params;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = kernel / 2;
    return tapped(graph.add_op("conv", params, {x, weights({outputs, kernel, kernel, inputs})}));
  };
  const float none = -std::numeric_limits<float>::infinity();
  const Tensor input = graph.add_input("input", {1, 9, 11, 24}, fbs::Layout::Same);
  Tensor x = add(conv(input, 24, 24, 1), input, 0);
  x = add(x, conv(x, 24, 24, 5), none);
  const Tensor wide = conv(x, 800, 24, 1);  // large enough to run in blocks
  x = add(conv(wide, 24, 800, 1), x, none);
  x = add(conv(x, 24, 24, 1), x, 0);
  const Tensor narrow = conv(x, 13, 24, 1);
  x = add(conv(narrow, 13, 13, 1), narrow, none);
  graph.add_output("output", x, fbs::Layout::Same);
  Opened opened(graph);
  for (const uint32_t threads : {1u, 3u}) {
    ferry_session_options options = default_options();
    options.num_threads = threads;
    SessionPtr plain = make_session(opened.model, options);
    options.all_taps = true;
    SessionPtr all = make_session(opened.model, options);
    for (const SessionPtr& session : {std::cref(plain), std::cref(all)}) {
      fill_inputs(opened.model, session.get());
      ASSERT_OK(ferry_session_run(session.get()));
    }
    EXPECT_EQ(results(opened.model, plain.get()).at("output output"),
              results(opened.model, all.get()).at("output output"));
    for (const auto& [name, expected] : expected_results(graph, all.get()))
      EXPECT_LE(relative_error(results(opened.model, all.get()).at(name), expected), 1e-5) << name;
  }
}

// After a resize, an operand of a fused addition may be broadcast.
TEST(Session, AFusedAdditionMayBeResizedToABroadcastOne) {
  Graph graph;
  std::vector<double> weights(32 * 32);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(noise(7, static_cast<uint32_t>(i)));
  const Tensor a = graph.add_input("a", {1, 30, 32}, fbs::Layout::Same);
  const Tensor b = graph.add_input("b", {1, 30, 32}, fbs::Layout::Same);
  const Tensor w = graph.add_constant("w", {32, 32}, std::move(weights));
  fbs::BinaryT sum;
  sum.kind = fbs::BinaryKind::Add;
  sum.output_min = 0;
  const Tensor product = graph.add_op("product", fbs::LinearT(), {a, w});
  graph.add_output("output", graph.add_op("sum", sum, {b, product}), fbs::Layout::Same);
  Opened opened(graph);
  SessionPtr session = make_session(opened.model, 2);
  for (const auto& [rows_a, rows_b] : {std::pair(30, 30), {30, 1}, {1, 30}, {30, 30}}) {
    ferry_tensor inputs[2] = {};
    for (size_t i = 0; i < 2; ++i) ASSERT_OK(ferry_session_input(session.get(), i, &inputs[i]));
    inputs[0].shape[1] = rows_a;
    inputs[1].shape[1] = rows_b;
    ASSERT_OK(ferry_session_resize_inputs(session.get(), inputs, 2));
    fill_inputs(opened.model, session.get());
    ASSERT_OK(ferry_session_run(session.get()));
    for (const auto& [name, expected] : expected_results(graph, session.get()))
      EXPECT_LE(relative_error(results(opened.model, session.get()).at(name), expected), 1e-5) << rows_a << rows_b;
  }
}

// A view shares its input's memory, not that of the value that only determines its shape.
TEST(Session, AReshapeDoesNotAliasItsShapeInput) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 6, 400}, fbs::Layout::Same);
  const Tensor small = graph.add_input("small", {1, 3, 5}, fbs::Layout::Same);
  fbs::UnaryT function;
  function.kind = fbs::UnaryKind::Abs;
  const Tensor first = graph.add_op("first", function, {x});
  const Tensor like = graph.add_op("like", function, {small});
  fbs::ReshapeT reshape;
  reshape.shape = {1, -3, -1};  // dimension 1 of `like`
  const Tensor y = graph.add_op("y", reshape, {first, like});
  graph.add_output("output", graph.add_op("result", function, {y}), fbs::Layout::Same);
  graph.add_output("like", like, fbs::Layout::Same);
  Opened opened(graph);
  SessionPtr session = make_session(opened.model, 1);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  for (const auto& [name, expected] : expected_results(graph, session.get()))
    EXPECT_LE(relative_error(results(opened.model, session.get()).at(name), expected), 1e-6) << name;
}

TEST(Session, AnOutputMayBeAnInput) {
  Graph graph;
  Tensor x = graph.add_input("input", {1, 8}, fbs::Layout::Same);
  fbs::UnaryT abs;
  abs.kind = fbs::UnaryKind::Abs;
  graph.add_output("same", x, fbs::Layout::Same);
  graph.add_output("abs", graph.add_op("abs", abs, {x}), fbs::Layout::Same);
  Opened opened(graph);
  SessionPtr session = make_session(opened.model, 1);
  fill_inputs(opened.model, session.get());
  expect_oracle(graph, opened.model, session.get(), 1e-7);
}

TEST(Session, InputsBeginAsZeros) {
  const auto graph = small_mixture();
  Opened opened(*graph);
  SessionPtr session = make_session(opened.model, 1);
  for (size_t i = 0; i < 2; ++i) {
    ferry_tensor input;
    ASSERT_OK(ferry_session_input(session.get(), i, &input));
    EXPECT_EQ(elements(input), std::vector<float>(24, 0.0f));
  }
}

TEST(Resize, MatchesTheOracleUpAndDown) {
  const auto graph = small_upscaler();
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.all_taps = true;
  SessionPtr session = make_session(opened.model, options);
  const int32_t shapes[][4] = {{1, 33, 20, 3}, {1, 3, 2, 3}, {3, 9, 10, 3}, {1, 6, 7, 3}, {1, 1, 1, 3}};
  for (const auto& shape : shapes) {
    ASSERT_OK(ferry_session_resize(session.get(), 0, shape, 4));
    fill_inputs(opened.model, session.get());
    ferry_tensor output;
    ASSERT_OK(ferry_session_output(session.get(), 0, &output));
    EXPECT_EQ(output.shape[0], shape[0]);
    EXPECT_EQ(output.shape[1], 2 * shape[1]);
    EXPECT_EQ(output.shape[2], 2 * shape[2]);
    expect_oracle(*graph, opened.model, session.get(), 1e-5);
  }
}

TEST(Resize, SameShapeAgainGivesTheSameBits) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  SessionPtr session = make_session(opened.model, 2);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  const auto before = results(opened.model, session.get());
  const uint64_t arena = ferry_session_arena_bytes(session.get());
  const int32_t large[] = {2, 40, 24, 3};
  const int32_t declared[] = {1, 8, 8, 3};
  ASSERT_OK(ferry_session_resize(session.get(), 0, large, 4));
  EXPECT_GT(ferry_session_arena_bytes(session.get()), 10 * arena);
  fill_inputs(opened.model, session.get(), 2);
  ASSERT_OK(ferry_session_run(session.get()));
  ASSERT_OK(ferry_session_resize(session.get(), 0, declared, 4));
  EXPECT_EQ(ferry_session_arena_bytes(session.get()), arena);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(results(opened.model, session.get()), before);
}

TEST(Resize, FailureKeepsShapeContentsAndResults) {
  const auto graph = small_classifier();
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.memory_limit = 1 << 20;
  SessionPtr session = make_session(opened.model, options);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  const auto before = results(opened.model, session.get());
  ferry_tensor input;
  ASSERT_OK(ferry_session_input(session.get(), 0, &input));

  const struct {
    std::vector<int32_t> shape;
    ferry_status status;
    const char* says;
  } cases[] = {
      {{1, 8, 8, 4}, FERRY_SHAPE_MISMATCH, "stem"},
      {{1, 0, 8, 3}, FERRY_SHAPE_MISMATCH, "input 'input' cannot have shape [1,0,8,3]"},
      {{1, -5, 8, 3}, FERRY_SHAPE_MISMATCH, "[1,-5,8,3]"},
      {{8, 8, 3}, FERRY_SHAPE_MISMATCH, "it has 4 dimensions"},
      {{1 << 20, 1 << 20, 1 << 20, 3}, FERRY_SHAPE_MISMATCH, FERRY_MAX_ELEMENTS " elements"},
      {{1, 1 << 18, 1 << 18, 3}, FERRY_MEMORY_LIMIT, "the session's memory_limit is 1048576"},
      {{1, 500, 500, 3}, FERRY_MEMORY_LIMIT, "the session's memory_limit is 1048576"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ferry_session_resize(session.get(), 0, c.shape.data(), static_cast<int32_t>(c.shape.size())), c.status)
        << c.says;
    EXPECT_NE(std::string(ferry_last_error()).find(c.says), std::string::npos) << ferry_last_error();
    ferry_tensor now;
    ASSERT_OK(ferry_session_input(session.get(), 0, &now));
    EXPECT_EQ(now.data, input.data);
    EXPECT_EQ(now.shape[1], 8);
    ASSERT_OK(ferry_session_run(session.get()));
    EXPECT_EQ(results(opened.model, session.get()), before);
  }
}

TEST(Resize, FailureAfterTheOperatorsWereReshapedIsUndone) {
  const auto graph = residual_network(3, 16, 16);
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.num_threads = 2;
  // Three activations of 36 * 36 * 16 floats fit the limit. The convolutions' scratch, known after the reshape, does
  // not.
  const int32_t shape[] = {1, 36, 36, 16};
  SessionPtr unlimited = make_session(opened.model, options);  // already packed weights do not count
  ASSERT_OK(ferry_session_resize(unlimited.get(), 0, shape, 4));
  const uint64_t needed = ferry_session_arena_bytes(unlimited.get());
  ASSERT_GT(needed, 3 * 36 * 36 * 16 * sizeof(float));
  options.memory_limit = needed - 1;
  SessionPtr session = make_session(opened.model, options);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  const auto before = results(opened.model, session.get());

  EXPECT_EQ(ferry_session_resize(session.get(), 0, shape, 4), FERRY_MEMORY_LIMIT);
  const char* number = std::strstr(ferry_last_error(), "activations need ");
  ASSERT_NE(number, nullptr) << ferry_last_error();
  EXPECT_EQ(std::strtoull(number + std::strlen("activations need "), nullptr, 10), needed);
  ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(results(opened.model, session.get()), before);

  const int32_t smaller[] = {1, 20, 12, 16};
  ASSERT_OK(ferry_session_resize(session.get(), 0, smaller, 4));
  fill_inputs(opened.model, session.get());
  expect_oracle(*graph, opened.model, session.get(), 1e-5);
}

TEST(Session, MemoryLimitIsCheckedAgainstThePlan) {
  const auto graph = residual_network(4, 16, 16);
  Opened opened(*graph);
  const uint64_t needed = ferry_session_arena_bytes(make_session(opened.model, 1).get());
  ferry_session_options options = default_options();
  options.num_threads = 1;  // each thread has its own scratch memory
  options.memory_limit = needed;
  EXPECT_NE(make_session(opened.model, options), nullptr);
  options.memory_limit = needed - 1;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, &options, &session), FERRY_MEMORY_LIMIT);
  EXPECT_EQ(session, nullptr);
  const std::string numbers = "activations need " + std::to_string(needed) + " bytes; the session's memory_limit is " +
                              std::to_string(needed - 1);
  EXPECT_EQ(ferry_last_error(), numbers);
}

TEST(Session, ProfileTimesEveryOperator) {
  const auto graph = residual_network(3, 16, 16);
  Opened opened(*graph);
  ferry_session_options options = default_options();
  options.profile = true;
  SessionPtr session = make_session(opened.model, options);
  fill_inputs(opened.model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  ASSERT_EQ(ferry_session_profile_count(session.get()), graph->table.operators.size());
  double sum = 0;
  for (size_t i = 0; i < graph->table.operators.size(); ++i) {
    ferry_profile_entry entry;
    ASSERT_OK(ferry_session_profile(session.get(), i, &entry));
    EXPECT_EQ(entry.name, graph->table.operators[i]->name);
    EXPECT_STREQ(entry.backend, "cpu");
    EXPECT_GT(entry.microseconds, 0);
    sum += entry.microseconds;
  }
  EXPECT_LT(sum, 60e6);
  ferry_profile_entry entry;
  ASSERT_OK(ferry_session_profile(session.get(), 0, &entry));
  EXPECT_STREQ(entry.op, "conv2d");
  EXPECT_EQ(entry.rank, 4);
  EXPECT_EQ(entry.shape[3], 16);
  EXPECT_EQ(ferry_session_profile(session.get(), 100, &entry), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "profile entry 100 does not exist: the session has 8");
  EXPECT_EQ(entry.name, nullptr);
}

TEST(Session, OutlivesTheHandleOfItsModel) {
  const auto graph = small_classifier();
  AlignedBytes blob(pack(*graph));
  ferry_model* model = nullptr;
  ASSERT_OK(ferry_model_open_memory(blob.data(), blob.size(), &model));
  SessionPtr first = make_session(model, 1);
  SessionPtr second = make_session(model, 2);
  fill_inputs(model, first.get());
  fill_inputs(model, second.get());
  ferry_model_close(model);
  ASSERT_OK(ferry_session_run(first.get()));
  ferry_tensor a, b;
  ASSERT_OK(ferry_session_output(first.get(), 0, &a));
  const std::vector<float> kept = elements(a);
  first.reset();
  ASSERT_OK(ferry_session_run(second.get()));
  ASSERT_OK(ferry_session_output(second.get(), 0, &b));
  EXPECT_EQ(elements(b), kept);
}

TEST(Session, SessionsOfAModelShareItsPackedWeights) {
  const auto graph = residual_network(4, 8, 16);
  Opened opened(*graph);
  SessionPtr first = make_session(opened.model, 1);
  const uint64_t packed = ferry_session_packed_bytes(first.get());
  SessionPtr second = make_session(opened.model, 1);
  EXPECT_EQ(ferry_session_packed_bytes(second.get()), packed);
  EXPECT_EQ(ferry_session_packed_bytes(first.get()), packed);
}

}  // namespace
}  // namespace ferry::testing
