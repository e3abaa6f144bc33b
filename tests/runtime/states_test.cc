// Networks with states: sequences in pieces, states that are shared, truncated, full, saved and loaded.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "converter/reference/interpreter.h"
#include "tests/runtime/sequences.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/states_file.h"

namespace ferry::testing {
namespace {

constexpr int kBound = 24, kWidth = 16;

class States : public ::testing::Test {
 protected:
  const std::unique_ptr<Graph> graph_ = small_transformer();
  Opened opened_{*graph_};
  ferry_model* const model_ = opened_.model;

  SessionPtr session(const char* graph = nullptr, ferry_states* states = nullptr, int threads = 1) {
    ferry_session_options options = default_options();
    options.num_threads = threads;
    options.graph = graph;
    options.states = states;
    return make_session(model_, options);
  }
};

TEST_F(States, PiecesMatchTheWholeSequence) {
  constexpr int kCount = 20;
  const std::vector<int32_t> ids = tokens(kCount);
  std::vector<reference::State> states = reference::empty_states(*graph_);
  const reference::Array input{{1, kCount}, {ids.begin(), ids.end()}, fbs::DType::Int32};
  const auto computed = reference::interpret(*graph_, {input}, &states);
  const std::vector<double>& expected = computed.at(graph_->table.outputs[0]->tensor).values;
  for (int piece : {1, 7, 16, 20}) {
    SCOPED_TRACE(piece);
    const std::vector<float> one = in_pieces(session().get(), kCount, piece);
    ASSERT_EQ(one.size(), static_cast<size_t>(kCount * kWords));
    EXPECT_LE(relative_error(one, expected), 1e-5);
    for (int threads : {2, 3}) EXPECT_EQ(in_pieces(session(nullptr, nullptr, threads).get(), kCount, piece), one);
  }
}

TEST_F(States, SessionsOfSeveralGraphsShareThem) {
  const std::vector<float> whole = in_pieces(session("states").get(), 9, 9);
  ferry_states* made = nullptr;
  ASSERT_OK(ferry_states_create(model_, &made));
  StatesPtr states(made);
  const SessionPtr first = session(nullptr, made), second = session("states", made);
  std::vector<float> out;
  EXPECT_OK(run_piece(first.get(), tokens(9), 0, 5, &out));
  EXPECT_EQ(ferry_states_length(made), 5);
  states.reset();  // the sessions still hold them
  out.clear();
  EXPECT_OK(run_piece(second.get(), tokens(9), 5, 6, &out));
  EXPECT_OK(run_piece(second.get(), tokens(9), 6, 9, &out));
  EXPECT_EQ(ferry_states_length(states_of(first.get()).get()), 9);
  const std::vector<double> expected(whole.end() - 4 * kWidth, whole.end());
  EXPECT_LE(relative_error(out, expected), 1e-5);
}

TEST_F(States, AreDescribed) {
  const SessionPtr one = session();
  in_pieces(one.get(), 5, 5);
  const StatesPtr states = states_of(one.get());
  ASSERT_EQ(ferry_states_count(states.get()), 4u);
  ferry_tensor tensor;
  ASSERT_OK(ferry_states_describe(states.get(), 3, &tensor));
  EXPECT_STREQ(tensor.name, "1.values");
  EXPECT_EQ(std::vector<int32_t>(tensor.shape, tensor.shape + tensor.rank), (std::vector<int32_t>{1, 5, 8}));
  EXPECT_EQ(tensor.bytes, 5 * 8 * sizeof(float));
  EXPECT_EQ(ferry_states_describe(states.get(), 4, &tensor), FERRY_INVALID_ARGUMENT);
}

TEST_F(States, AreTruncatedAndCleared) {
  const SessionPtr one = session();
  const std::vector<float> all = in_pieces(one.get(), 9, 3);
  const StatesPtr states = states_of(one.get());
  EXPECT_OK(ferry_states_truncate(states.get(), 6));
  std::vector<float> again;
  EXPECT_OK(run_piece(one.get(), tokens(9), 6, 9, &again));
  EXPECT_EQ(again, std::vector<float>(all.begin() + 6 * kWords, all.end()));
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_EQ(ferry_states_length(states.get()), 0);
  EXPECT_EQ(in_pieces(one.get(), 9, 3), all);
  EXPECT_EQ(ferry_states_truncate(states.get(), -1), FERRY_INVALID_ARGUMENT);
}

TEST_F(States, FullOnesRefuseARunAndStayUnchanged) {
  const SessionPtr one = session();
  const StatesPtr states = states_of(one.get());
  std::vector<float> all = in_pieces(one.get(), kBound - 2, 11), more;
  EXPECT_EQ(run_piece(one.get(), tokens(kBound + 1), 0, 3, &more), FERRY_STATE_FULL);
  EXPECT_STREQ(ferry_last_error(),
               "operator '': positions: state 0 holds 22 of at most 24, there is no room for 3 more");
  EXPECT_EQ(ferry_states_length(states.get()), kBound - 2);
  EXPECT_OK(run_piece(one.get(), tokens(kBound), kBound - 2, kBound, &more));
  EXPECT_EQ(ferry_states_length(states.get()), kBound);
  EXPECT_EQ(run_piece(one.get(), tokens(1), 0, 1, &more), FERRY_STATE_FULL);
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_EQ(in_pieces(one.get(), kBound - 2, 11), all);
}

TEST_F(States, ARunThatFailsAppendsNothing) {
  const SessionPtr one = session();
  const StatesPtr states = states_of(one.get());
  const std::vector<float> all = in_pieces(one.get(), 6, 3);
  std::vector<float> more;
  EXPECT_OK(ferry_states_truncate(states.get(), 3));
  EXPECT_EQ(run_piece(one.get(), {4, kWords, 1}, 0, 3, &more), FERRY_INVALID_ARGUMENT);  // no such token
  EXPECT_EQ(ferry_states_length(states.get()), 3);
  EXPECT_OK(run_piece(one.get(), tokens(6), 3, 6, &more));
  EXPECT_EQ(more, std::vector<float>(all.begin() + 3 * kWords, all.end()));
}

// A run cancelled between an operator that appends and the last one has already written to the states.
TEST_F(States, ARunThatIsCancelledAppendsNothing) {
  const std::vector<int32_t> ids = tokens(14);
  const std::vector<float> all = in_pieces(session().get(), 14, 7);
  ferry_session_options options = default_options();
  options.profile = true;
  const SessionPtr one = make_session(model_, options);
  const StatesPtr states = states_of(one.get());
  const size_t operators = ferry_session_profile_count(one.get());
  const auto ran = [&](size_t op) {
    ferry_profile_entry entry;
    EXPECT_OK(ferry_session_profile(one.get(), op, &entry));
    return entry.microseconds > 0;
  };
  const auto is_append = [](const auto& op) { return op->params.AsAppend() != nullptr; };
  const auto& listed = graph_->table.operators;
  const auto append = static_cast<size_t>(std::find_if(listed.begin(), listed.end(), is_append) - listed.begin());

  std::atomic<bool> done = false;
  std::thread canceller([&] {
    for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(1))) ferry_session_cancel(one.get());
  });
  std::vector<float> out;
  for (bool halfway = false; !halfway && !HasFailure();) {
    EXPECT_OK(ferry_states_reset(states.get()));
    out.clear();
    while (run_piece(one.get(), ids, 0, 7, &out) == FERRY_CANCELLED) EXPECT_EQ(ferry_states_length(states.get()), 0);
    if (run_piece(one.get(), ids, 7, 14, &out) == FERRY_OK) continue;
    EXPECT_EQ(ferry_states_length(states.get()), 7);
    halfway = ran(append) && !ran(operators - 1);
  }
  done = true;
  canceller.join();
  EXPECT_OK(run_piece(one.get(), ids, 7, 14, &out));
  EXPECT_EQ(out, all);
}

TEST_F(States, TakeMemoryAsTheyGrow) {
  const SessionPtr one = session();
  const StatesPtr states = states_of(one.get());
  std::vector<uint64_t> sizes = {ferry_states_bytes(states.get())};
  const std::vector<int32_t> ids = tokens(kBound);
  std::vector<float> out;
  for (int i = 0; i < kBound; ++i) {
    ASSERT_OK(run_piece(one.get(), ids, i, i + 1, &out));
    if (ferry_states_bytes(states.get()) != sizes.back()) sizes.push_back(ferry_states_bytes(states.get()));
  }
  EXPECT_EQ(sizes.back(), uint64_t{4} * kBound * 8 * sizeof(float));  // exactly the bound
  EXPECT_LE(sizes.size(), 5u);                                        // 3, 6, 12, 24
  EXPECT_EQ(out, in_pieces(session().get(), kBound, 1));
}

TEST_F(States, RefuseOtherModels) {
  const std::unique_ptr<Graph> other = residual_network(1, 8, 4);
  Opened stranger(*other);
  ferry_states* states = nullptr;
  ASSERT_OK(ferry_states_create(stranger.model, &states));
  const StatesPtr owner(states);
  ferry_session_options options = default_options();
  options.states = states;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "options.states are of another model");
  options.states = nullptr;
  options.graph = "decoder";
  EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_NOT_FOUND);
  EXPECT_STREQ(ferry_last_error(), "the model has no graph 'decoder'; it has 2, the first is 'small_transformer'");
  const SessionPtr plain = make_session(stranger.model, 1);
  EXPECT_EQ(ferry_session_states(plain.get(), &states), FERRY_NOT_FOUND);
}

TEST_F(States, AreSavedAndLoaded) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states";
  const SessionPtr one = session(), other = session();
  std::vector<float> here, there;
  in_pieces(one.get(), 8, 8);
  ASSERT_OK(ferry_states_save(states_of(one.get()).get(), path.c_str()));
  in_pieces(other.get(), 3, 3);  // to be replaced
  ASSERT_OK(ferry_states_load(states_of(other.get()).get(), path.c_str()));
  EXPECT_EQ(ferry_states_length(states_of(other.get()).get()), 8);
  EXPECT_OK(run_piece(one.get(), tokens(12), 8, 12, &here));
  EXPECT_OK(run_piece(other.get(), tokens(12), 8, 12, &there));
  EXPECT_EQ(here, there);
  EXPECT_EQ(ferry_states_save(states_of(one.get()).get(), "/nowhere/states"), FERRY_IO_ERROR);
  EXPECT_EQ(ferry_states_load(states_of(one.get()).get(), "/nowhere/states"), FERRY_IO_ERROR);
}

// tests/golden/README.md
TEST_F(States, AFileOfAnEarlierVersionLoads) {
  Parts parts(pack(*graph_));  // the states are those of a blob of that time, without checksums
  for (const auto& buffer : parts.model.buffers) buffer->checksum = 0;
  AlignedBytes blob(parts.assemble());
  ferry_model* opened = nullptr;
  ASSERT_OK(ferry_model_open_memory(blob.data(), blob.size(), &opened));
  const SessionPtr one = make_session(opened, 1), other = make_session(opened, 1);
  ferry_model_close(opened);
  std::vector<float> here, there;
  const std::vector<int32_t> ids = {0, 0, 0, 5};
  EXPECT_OK(run_piece(one.get(), ids, 0, 3, &here));
  const std::string path = source_folder() / "tests/golden/v1_small_transformer.states";
  ASSERT_OK(ferry_states_load(states_of(other.get()).get(), path.c_str()));
  EXPECT_EQ(ferry_states_length(states_of(other.get()).get()), 3);
  here.clear();
  EXPECT_OK(run_piece(one.get(), ids, 3, 4, &here));
  EXPECT_OK(run_piece(other.get(), ids, 3, 4, &there));
  EXPECT_LE(relative_error(there, {here.begin(), here.end()}), 1e-5);
}

TEST_F(States, AHostileFileChangesNothing) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states", damaged = scratch.path() / "damaged";
  const SessionPtr one = session();
  const StatesPtr states = states_of(one.get());
  in_pieces(one.get(), 8, 8);
  ASSERT_OK(ferry_states_save(states.get(), path.c_str()));
  std::ifstream file(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary) << bytes;
    const ferry_status status = ferry_states_load(states.get(), damaged.c_str());
    EXPECT_EQ(ferry_states_length(states.get()), 8);
    return status;
  };
  for (size_t size = 0; size < good.size(); size += size < 200 ? 1 : 211)
    EXPECT_EQ(load(good.substr(0, size)), FERRY_CORRUPT) << "cut at byte " << size;
  EXPECT_EQ(load(good + '\0'), FERRY_CORRUPT);
  const auto with = [&](size_t at, int32_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  const struct {
    size_t at;
    int32_t value;
    ferry_status status;
    const char* part;
  } kCases[] = {
      {0, 0, FERRY_CORRUPT, "these are no saved states"},
      {8, 0, FERRY_CORRUPT, "states of version 0"},
      {8, 5, FERRY_UNSUPPORTED_VERSION, "states of version 5, this library reads versions up to 4"},
      {8, 2, FERRY_CORRUPT, "it is truncated or damaged"},
      {12, 3, FERRY_CORRUPT, "holds 3 states, the model has 4"},
      {16, 1, FERRY_CORRUPT, "another model's states"},
      {24, 1, FERRY_CORRUPT, "it is truncated or damaged"},
      {28, -1, FERRY_CORRUPT, "it is truncated or damaged"},
      {32, 5, FERRY_CORRUPT, "state '0.keys' is of another shape or type than the model's [1,24,8]"},
      {40, -1, FERRY_CORRUPT, "state '0.keys' holds -1, expected 0 to 24"},
      {40, 25, FERRY_CORRUPT, "state '0.keys' holds 25, expected 0 to 24"},
      {40, 24, FERRY_CORRUPT, "it is truncated or damaged"},
      {52, 1 << 30, FERRY_CORRUPT, "state '0.keys' is of another shape or type"},
      {72, 1, FERRY_CORRUPT, "state '0.keys' of length 8 begins with token 1, expected 0 to 0"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(load(with(c.at, c.value)), c.status) << c.part;
    EXPECT_NE(std::string(ferry_last_error()).find(c.part), std::string::npos) << ferry_last_error();
  }
  for (size_t bit = 0; bit < good.size() * 8; bit += bit < 1024 ? 1 : 2011) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(load(bytes), FERRY_OK) << "bit " << bit;
  }
  EXPECT_EQ(load(with(good.size() - 100, -7)), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("is damaged: its bytes do not have the checksum"), std::string::npos)
      << ferry_last_error();
  // Version 3 is the same with another checksum, version 2 without one.
  EXPECT_EQ(load(with_checksum(with(8, 3))), FERRY_OK);
  EXPECT_EQ(load(with(8, 3)), FERRY_CORRUPT);
  EXPECT_EQ(load(with(8, 2).substr(0, good.size() - 8)), FERRY_OK);
  EXPECT_EQ(load(good), FERRY_OK);
}

TEST_F(States, GraphsOfABlobAreModelsOfTheirOwn) {
  ASSERT_EQ(ferry_model_graph_count(model_), 2u);
  EXPECT_STREQ(ferry_model_graph_name(model_, 1), "states");
  EXPECT_EQ(ferry_model_graph_name(model_, 2), nullptr);
  ferry_model* graph = nullptr;
  EXPECT_EQ(ferry_model_open_graph(model_, "none", &graph), FERRY_NOT_FOUND);
  ASSERT_OK(ferry_model_open_graph(model_, "states", &graph));
  ferry_tensor tensor;
  ASSERT_OK(ferry_model_output(graph, 0, &tensor));
  EXPECT_STREQ(tensor.name, "hidden");
  EXPECT_STREQ(ferry_model_name(graph), "states");
  const SessionPtr direct = make_session(graph, 1), named = session("states");
  ferry_model_close(graph);
  EXPECT_EQ(in_pieces(direct.get(), 6, 2), in_pieces(named.get(), 6, 2));
}

// The blob stores constants that both graphs read once.
TEST_F(States, GraphsShareTheirConstants) {
  const Parts parts(pack(*graph_));
  size_t constants = 0;
  for (const fbs::GraphT* graph : {&parts.model, static_cast<const fbs::GraphT*>(parts.model.graphs[0].get())})
    for (const auto& tensor : graph->tensors) constants += tensor->buffer != 0;
  EXPECT_EQ(parts.model.states.size(), 4u);
  EXPECT_LT(parts.model.buffers.size(), constants * 3 / 5);
}

}  // namespace
}  // namespace ferry::testing
