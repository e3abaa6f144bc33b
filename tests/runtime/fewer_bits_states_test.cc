// States that hold keys and values in fewer bits than float32: float16, and integers with a scale per head.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "converter/graph/ops.h"
#include "converter/quantize/keys_and_values.h"
#include "converter/reference/interpreter.h"
#include "tests/runtime/sequences.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using fbs::DType;

// Keys and values are rounded to 11 bits, or to 127 steps of the largest of a head; scores and sums follow.
constexpr double kRoundedToFloat16 = 0x1p-11, kRoundedToInt8 = 0.5 / 127;

std::unique_ptr<Graph> stored_as(DType dtype, std::unique_ptr<Graph> graph) {
  store_keys_and_values_as(dtype, &graph->table);
  return graph;
}

std::vector<double> by_reference(const Graph& graph, int count) {
  const std::vector<int32_t> ids = tokens(count);
  std::vector<reference::State> states = reference::empty_states(graph);
  const reference::Array input{{1, count}, {ids.begin(), ids.end()}, DType::Int32};
  return reference::interpret(graph, {input}, &states).at(graph.table.outputs[0]->tensor).values;
}

struct Stored {
  DType dtype;
  ferry_dtype as;
  double bound;
  size_t row;  // bytes of eight channels in two heads
};

class FewerBits : public ::testing::TestWithParam<Stored> {
 protected:
  static constexpr int kCount = 20;
  const std::unique_ptr<Graph> wide_ = small_transformer();
  const std::unique_ptr<Graph> graph_ = stored_as(GetParam().dtype, small_transformer());
  Opened opened_{*graph_};

  static SessionPtr session(const Opened& opened, int threads = 1, ferry_dtype dtype = FERRY_FLOAT32) {
    ferry_session_options options = default_options();
    options.num_threads = threads;
    options.state_dtype = dtype;
    return make_session(opened.model, options);
  }
};

// The reference rounds likewise. A value at the middle of two steps may become either, which is one step of the bound.
TEST_P(FewerBits, FollowTheReferenceAndStayNearFloat32) {
  const std::vector<double> rounded = by_reference(*graph_, kCount), exact = by_reference(*wide_, kCount);
  for (const int piece : {1, 7, 20}) {
    SCOPED_TRACE(piece);
    const std::vector<float> ours = in_pieces(session(opened_).get(), kCount, piece);
    EXPECT_LE(relative_error(ours, rounded), GetParam().bound / 4);
    EXPECT_LE(relative_error(ours, exact), 4 * GetParam().bound);
    EXPECT_GE(relative_error(ours, exact), GetParam().bound / 64) << "nothing was rounded";
    EXPECT_EQ(in_pieces(session(opened_, 3).get(), kCount, piece), ours);
  }
}

TEST_P(FewerBits, AreChosenBySessionsAsByTheConverter) {
  const Opened marked(*stored_as(DType::Float32, small_transformer()));
  const std::vector<float> ours = in_pieces(session(opened_).get(), kCount, 3);
  EXPECT_EQ(in_pieces(session(marked, 1, GetParam().as).get(), kCount, 3), ours);
  EXPECT_EQ(in_pieces(session(marked).get(), kCount, 3), in_pieces(session(Opened(*wide_)).get(), kCount, 3));
}

TEST_P(FewerBits, AreDescribedAndTakeLessMemory) {
  const SessionPtr one = session(opened_);
  in_pieces(one.get(), 5, 5);
  const StatesPtr states = states_of(one.get());
  ferry_tensor tensor;
  ASSERT_OK(ferry_states_describe(states.get(), 3, &tensor));
  EXPECT_EQ(tensor.dtype, GetParam().as);
  EXPECT_EQ(tensor.bytes, 5 * GetParam().row);
  ASSERT_OK(ferry_states_reserve(states.get(), 24));
  EXPECT_EQ(ferry_states_bytes(states.get()), 4 * 24 * GetParam().row);
}

TEST_P(FewerBits, AreTruncatedSavedAndLoaded) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "saved.states";
  const SessionPtr one = session(opened_);
  const StatesPtr states = states_of(one.get());
  const std::vector<float> all = in_pieces(one.get(), 9, 3);
  ASSERT_OK(ferry_states_truncate(states.get(), 6));
  ASSERT_OK(ferry_states_save(states.get(), path.c_str()));
  std::vector<float> again;
  EXPECT_OK(run_piece(one.get(), tokens(9), 6, 9, &again));
  EXPECT_EQ(again, std::vector<float>(all.begin() + 6 * kWords, all.end()));

  const SessionPtr other = session(opened_);
  ASSERT_OK(ferry_states_load(states_of(other.get()).get(), path.c_str()));
  again.clear();
  EXPECT_OK(run_piece(other.get(), tokens(9), 6, 9, &again));
  EXPECT_EQ(again, std::vector<float>(all.begin() + 6 * kWords, all.end()));
  // States of the same model in another type keep what they have.
  const ferry_dtype narrower = GetParam().as == FERRY_FLOAT16 ? FERRY_INT8 : FERRY_FLOAT16;
  const SessionPtr third = session(opened_, 1, narrower);
  const bool same = narrower == FERRY_FLOAT16;  // an option never adds bits
  EXPECT_EQ(ferry_states_load(states_of(third.get()).get(), path.c_str()), same ? FERRY_OK : FERRY_CORRUPT);
}

TEST_P(FewerBits, DropWhatIsOutsideOfAWindow) {
  const Opened window(*stored_as(GetParam().dtype, small_window()));
  const Opened keeps_all(*stored_as(GetParam().dtype, small_window(false)));
  for (const int piece : {1, 7, 200}) {
    SCOPED_TRACE(piece);
    EXPECT_EQ(in_pieces(session(window).get(), 390, piece), in_pieces(session(keeps_all).get(), 390, piece));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FewerBits,
                         ::testing::Values(Stored{DType::Float16, FERRY_FLOAT16, kRoundedToFloat16, 16},
                                           Stored{DType::Int8, FERRY_INT8, kRoundedToInt8, 16}),
                         [](const auto& test) { return std::string(EnumNameDType(test.param.dtype)); });

// Attention over states with heads of any size: a prompt, which is packed, and a few tokens, which read in place.
void expect_attention(DType dtype, int heads, int kv_heads, int head, double bound) {
  constexpr int kTokens = 160;
  Graph graph;
  const Tensor q = graph.add_input("q", {1, 1, heads * head}, fbs::Layout::Same);
  const Tensor k = graph.add_input("k", {1, 1, kv_heads * head}, fbs::Layout::Same);
  const Tensor v = graph.add_input("v", {1, 1, kv_heads * head}, fbs::Layout::Same);
  const State keys = graph.add_state("keys", {1, kTokens, kv_heads * head}, 1);
  const State values = graph.add_state("values", {1, kTokens, kv_heads * head}, 1);
  graph.add_output("y",
                   attention(q, append(k, keys), append(v, values),
                             {.heads = heads, .kv_heads = kv_heads, .scale = 0.5, .causal = true}),
                   fbs::Layout::Same);
  for (auto& port : graph.table.inputs)
    port->bound = {1, kTokens, graph.table.tensors[index_of(port->tensor)]->shape[2]};
  store_keys_and_values_as(dtype, &graph.table);
  ASSERT_EQ(graph.table.states[0]->block, head);
  const Opened opened(graph);
  const SessionPtr session = make_session(opened.model, 2);
  std::vector<reference::State> states = reference::empty_states(graph);
  uint32_t seed = 1;
  for (const int count : {150, 1, 1, 2}) {
    std::vector<reference::Array> inputs;
    ferry_tensor tensor;
    std::vector<ferry_tensor> shapes(3);
    for (size_t i = 0; i < 3; ++i) {
      const int width = (i == 0 ? heads : kv_heads) * head;
      inputs.push_back({{1, count, width}, {}});
      shapes[i].rank = 3;
      shapes[i].shape[0] = 1, shapes[i].shape[1] = count, shapes[i].shape[2] = width;
    }
    ASSERT_OK(ferry_session_resize_inputs(session.get(), shapes.data(), 3));
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_OK(ferry_session_input(session.get(), i, &tensor));
      auto* data = static_cast<float*>(tensor.data);
      for (size_t j = 0; j < tensor.bytes / sizeof(float); ++j) {
        seed = seed * 1664525 + 1013904223;
        data[j] = static_cast<float>(seed >> 8) / 0x1p23f - 1;
        inputs[i].values.push_back(static_cast<double>(data[j]));
      }
    }
    ASSERT_OK(ferry_session_run(session.get()));
    const auto computed = reference::interpret(graph, inputs, &states);
    ASSERT_OK(ferry_session_output(session.get(), 0, &tensor));
    EXPECT_LE(relative_error(elements(tensor), computed.at(graph.table.outputs[0]->tensor).values), bound);
  }
}

TEST(FewerBitsStates, AreReadByEveryKernelOfAttention) {
  for (const int head : {4, 5, 64, 80}) {
    SCOPED_TRACE(head);
    expect_attention(DType::Float32, 4, 2, head, 3e-6);
    expect_attention(DType::Float16, 4, 2, head, 3e-5);  // ties may be rounded the other way
    expect_attention(DType::Int8, 4, 2, head, 5e-4);
  }
  expect_attention(DType::Float16, 6, 6, 700, 3e-5);  // a row that exceeds what is converted at a time
}

TEST(FewerBitsStates, NeedABlobThatSaysWhich) {
  const Opened plain(*small_transformer());
  ferry_session_options options = default_options();
  options.state_dtype = FERRY_FLOAT16;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(plain.model, &options, &session), FERRY_UNSUPPORTED);
  EXPECT_STREQ(ferry_last_error(),
               "options.state_dtype: no state of the blob is marked as keys or values: convert it again, or keep "
               "FERRY_FLOAT32");
  options.state_dtype = FERRY_INT32;
  EXPECT_EQ(ferry_session_create(plain.model, &options, &session), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "options.state_dtype is 5: it must be FERRY_FLOAT32, FERRY_FLOAT16 or FERRY_INT8");
}

// A state that something else reads, or that an output shows, stays as it is.
TEST(FewerBitsStates, AreThoseOfAttentionAlone) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 2, 8}, fbs::Layout::Same);
  const auto state = [&](const char* name) { return append(x, graph.add_state(name, {1, 9, 8}, 1)); };
  const Tensor keys = state("keys"), shown = state("shown"), added = state("added"), values = state("values");
  const AttentionOptions causal{.heads = 2, .causal = true};
  graph.add_output("a", attention(x, keys, shown, causal), fbs::Layout::Same);
  graph.add_output("b", attention(x, added, values, {.heads = 4, .causal = true}), fbs::Layout::Same);
  graph.add_output("c", attention(x, keys, values, causal), fbs::Layout::Same);
  graph.add_output("d", added + added, fbs::Layout::Same);
  graph.add_output("e", shown, fbs::Layout::Same);
  store_keys_and_values_as(DType::Float16, &graph.table);
  std::vector<int> blocks;
  for (const auto& s : graph.table.states) blocks.push_back(s->dtype == DType::Float16 ? s->block : -s->block);
  EXPECT_EQ(blocks, (std::vector<int>{4, 0, 0, 2}));
  Opened opened(graph);
}

// The verifier refuses every state that a kernel could not read.
TEST(FewerBitsStates, ThatNoKernelReadsAreRefused) {
  const auto refusal = [](const auto& damage) {
    Parts parts(pack(*stored_as(DType::Int8, small_transformer())));
    damage(parts.model);
    AlignedBytes blob(parts.assemble());
    ferry_model* model = nullptr;
    EXPECT_NE(ferry_model_open_memory(blob.data(), blob.size(), &model), FERRY_OK);
    const std::string sentence = ferry_last_error();
    ferry_model_close(model);
    return sentence;
  };
  const auto attention_of = [](fbs::GraphT& t) -> fbs::AttentionT& {
    const auto is = [](const auto& op) { return op->params.AsAttention() != nullptr; };
    return *(*std::find_if(t.operators.begin(), t.operators.end(), is))->params.AsAttention();
  };
  EXPECT_EQ(refusal([](fbs::GraphT& t) { t.states[1]->block = 0; }),
            "state 1 '0.values': of type 3, expected Float32 or Int32");
  EXPECT_EQ(refusal([](fbs::GraphT& t) { t.states[1]->dtype = DType::Int32; }),
            "state 1 '0.values': of type 5, expected Float32, Float16 or Int8");
  EXPECT_EQ(refusal([](fbs::GraphT& t) { t.states[0]->block = 3; }),
            "state 0 '0.keys': blocks of 3 of [1,24,8] that grows along dimension 1");
  EXPECT_EQ(refusal([](fbs::GraphT& t) { t.states[0]->block = -4; }),
            "state 0 '0.keys': blocks of -4 of [1,24,8] that grows along dimension 1");
  EXPECT_EQ(refusal([](fbs::GraphT& t) { t.states[0]->axis = -1; }),
            "state 0 '0.keys': blocks of 4 of [1,24,8] that grows along dimension -1");
  const char* other = "expected keys or values of causal attention that has whole blocks";
  EXPECT_NE(refusal([](fbs::GraphT& t) { t.states[0]->block = 8; }).find(other), std::string::npos);
  EXPECT_NE(refusal([&](fbs::GraphT& t) { attention_of(t).causal = false; }).find(other), std::string::npos);
  EXPECT_NE(refusal([&](fbs::GraphT& t) {
              auto port = std::make_unique<fbs::PortT>();
              port->name = "shown";
              for (auto& op : t.operators)
                if (op->params.AsAppend()) port->tensor = op->outputs[0];
              t.taps.push_back(std::move(port));
            }).find("is a state with blocks, which attention alone reads"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::testing
