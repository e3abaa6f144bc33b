// Recurrent networks with states of fixed size: each run replaces them, or leaves them unchanged.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "converter/graph/ops.h"
#include "converter/reference/interpreter.h"
#include "tests/runtime/networks.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/states_file.h"

namespace ferry::testing {
namespace {

struct CloseFixedStates {
  void operator()(ferry_states* states) const { ferry_states_close(states); }
};
using FixedStatesPtr = std::unique_ptr<ferry_states, CloseFixedStates>;

using Ids = std::vector<int32_t>;
constexpr int kVocabulary = 11;

Ids first_ids(int count) {
  Ids ids;
  for (int i = 0; i < count; ++i) ids.push_back((i * 7 + 3) % kVocabulary);
  return ids;
}

ferry_status run_over(ferry_session* session, const Ids& ids, int begin, int end, std::vector<float>* out) {
  const int32_t shape[] = {1, end - begin};
  if (const ferry_status status = ferry_session_resize(session, 0, shape, 2); status != FERRY_OK) return status;
  ferry_tensor tensor;
  EXPECT_OK(ferry_session_input(session, 0, &tensor));
  std::copy(ids.begin() + begin, ids.begin() + end, static_cast<int32_t*>(tensor.data));
  if (const ferry_status status = ferry_session_run(session); status != FERRY_OK) return status;
  EXPECT_OK(ferry_session_output(session, 1, &tensor));
  EXPECT_EQ(elements(tensor).front(), static_cast<float>(begin)) << "the place of the first token";
  EXPECT_OK(ferry_session_output(session, 0, &tensor));
  const std::vector<float> values = elements(tensor);
  out->insert(out->end(), values.begin(), values.end());
  return FERRY_OK;
}

std::vector<float> run_in_pieces(ferry_session* session, int count, int piece) {
  std::vector<float> all;
  for (int i = 0; i < count; i += piece)
    EXPECT_OK(run_over(session, first_ids(count), i, std::min(i + piece, count), &all));
  return all;
}

class FixedStates : public ::testing::Test {
 protected:
  const std::unique_ptr<Graph> graph_ = small_recurrent();
  Opened opened_{*graph_};

  SessionPtr session(int threads = 1, ferry_states* states = nullptr) {
    ferry_session_options options = default_options();
    options.num_threads = threads;
    options.states = states;
    return make_session(opened_.model, options);
  }
  FixedStatesPtr states_of(const SessionPtr& session) {
    ferry_states* states = nullptr;
    EXPECT_OK(ferry_session_states(session.get(), &states));
    return FixedStatesPtr(states);
  }
};

// In chunks, and token by token: more than one chunk, and a partial one.
TEST_F(FixedStates, PiecesMatchTheWholeSequence) {
  constexpr int kCount = 100;
  const Ids ids = first_ids(kCount);
  std::vector<reference::State> states = reference::empty_states(*graph_);
  const reference::Array input{{1, kCount}, {ids.begin(), ids.end()}, fbs::DType::Int32};
  const auto computed = reference::interpret(*graph_, {input}, &states);
  const std::vector<double>& expected = computed.at(graph_->table.outputs[0]->tensor).values;
  for (int piece : {1, 2, 7, 60, 61, 100}) {
    SCOPED_TRACE(piece);
    const SessionPtr one = session();
    const std::vector<float> all = run_in_pieces(one.get(), kCount, piece);
    EXPECT_LE(relative_error(all, expected), 1e-6);
    for (int threads : {2, 3}) EXPECT_EQ(run_in_pieces(session(threads).get(), kCount, piece), all);
    const FixedStatesPtr held = states_of(one);
    for (size_t i = 0; i < states.size(); ++i) {
      ferry_tensor tensor;
      ASSERT_OK(ferry_states_describe(held.get(), i, &tensor));
      EXPECT_LE(relative_error(elements(tensor), states[i].values), 1e-6) << tensor.name;
    }
  }
}

TEST_F(FixedStates, KnowHowManyTokensTheyHold) {
  const SessionPtr one = session();
  const FixedStatesPtr states = states_of(one);
  EXPECT_EQ(ferry_states_length(states.get()), 0);
  run_in_pieces(one.get(), 9, 4);
  EXPECT_EQ(ferry_states_length(states.get()), 9);
  ferry_tensor tensor;
  ASSERT_OK(ferry_states_describe(states.get(), 1, &tensor));
  EXPECT_STREQ(tensor.name, "memory");
  EXPECT_EQ(std::vector<int32_t>(tensor.shape, tensor.shape + tensor.rank), (std::vector<int32_t>{2, 1, 4, 5, 6}));
  EXPECT_EQ(tensor.bytes, 2 * 4 * 5 * 6 * sizeof(float));
}

TEST_F(FixedStates, TakeTheirMemoryAtOnce) {
  ferry_states* made = nullptr;
  ASSERT_OK(ferry_states_create(opened_.model, &made));
  const FixedStatesPtr states(made);
  EXPECT_EQ(ferry_states_bytes(made), 0u);
  EXPECT_OK(ferry_states_reserve(made, 1));
  const uint64_t bytes = ferry_states_bytes(made);
  EXPECT_EQ(bytes, 2 * sizeof(float) * (3 * 44 + 2 * 4 * 5 * 6));  // double-buffered
  run_in_pieces(session(1, made).get(), 100, 50);
  EXPECT_EQ(ferry_states_bytes(made), bytes);
}

TEST_F(FixedStates, AreClearedButNotTruncated) {
  const SessionPtr one = session();
  const std::vector<float> all = run_in_pieces(one.get(), 9, 3);
  const FixedStatesPtr states = states_of(one);
  EXPECT_OK(ferry_states_truncate(states.get(), 9));
  EXPECT_OK(ferry_states_truncate(states.get(), 10));
  EXPECT_EQ(ferry_states_truncate(states.get(), 6), FERRY_UNSUPPORTED);
  EXPECT_STREQ(ferry_last_error(),
               "state 'inputs' has fixed size and was computed from 9 tokens: it can be cut to 0, not to 6");
  EXPECT_EQ(ferry_states_length(states.get()), 9);
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_EQ(ferry_states_length(states.get()), 0);
  EXPECT_EQ(run_in_pieces(one.get(), 9, 3), all);
}

TEST_F(FixedStates, ARunThatFailsChangesNothing) {
  const SessionPtr one = session();
  const std::vector<float> all = run_in_pieces(session().get(), 6, 3);
  std::vector<float> out, ignored;
  EXPECT_OK(run_over(one.get(), first_ids(6), 0, 3, &out));
  EXPECT_EQ(run_over(one.get(), {4, kVocabulary, 1}, 0, 3, &ignored), FERRY_INVALID_ARGUMENT);  // no such token
  EXPECT_EQ(ferry_states_length(states_of(one).get()), 3);
  EXPECT_OK(run_over(one.get(), first_ids(6), 3, 6, &out));
  EXPECT_EQ(out, all);
}

// A run cancelled after the first operator with a state has already computed the new state.
TEST_F(FixedStates, ARunThatIsCancelledChangesNothing) {
  const Ids ids = first_ids(14);
  const std::vector<float> all = run_in_pieces(session().get(), 14, 7);
  ferry_session_options options = default_options();
  options.profile = true;
  const SessionPtr one = make_session(opened_.model, options);
  const FixedStatesPtr states = states_of(one);
  const auto ran = [&](const char* name) {
    ferry_profile_entry entry;
    for (size_t i = 0; i < ferry_session_profile_count(one.get()); ++i) {
      EXPECT_OK(ferry_session_profile(one.get(), i, &entry));
      if (std::string(entry.name) == name) return entry.microseconds > 0;
    }
    return false;
  };
  std::atomic<bool> done = false;
  std::thread canceller([&] {
    for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(1))) ferry_session_cancel(one.get());
  });
  std::vector<float> out;
  for (bool halfway = false; !halfway && !HasFailure();) {
    EXPECT_OK(ferry_states_reset(states.get()));
    out.clear();
    while (run_over(one.get(), ids, 0, 7, &out) == FERRY_CANCELLED) EXPECT_EQ(ferry_states_length(states.get()), 0);
    if (run_over(one.get(), ids, 7, 14, &out) == FERRY_OK) continue;
    EXPECT_EQ(ferry_states_length(states.get()), 7);
    halfway = ran("conv") && !ran("head");
  }
  done = true;
  canceller.join();
  EXPECT_OK(run_over(one.get(), ids, 7, 14, &out));
  EXPECT_EQ(out, all);
}

TEST_F(FixedStates, AreSavedAndLoaded) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states", empty = scratch.path() / "empty";
  const SessionPtr one = session(), other = session();
  ASSERT_OK(ferry_states_save(states_of(one).get(), empty.c_str()));
  const std::vector<float> all = run_in_pieces(one.get(), 8, 4);
  ASSERT_OK(ferry_states_save(states_of(one).get(), path.c_str()));
  run_in_pieces(other.get(), 3, 3);  // to be replaced
  ASSERT_OK(ferry_states_load(states_of(other).get(), path.c_str()));
  EXPECT_EQ(ferry_states_length(states_of(other).get()), 8);
  std::vector<float> here, there;
  EXPECT_OK(run_over(one.get(), first_ids(12), 8, 12, &here));
  EXPECT_OK(run_over(other.get(), first_ids(12), 8, 12, &there));
  EXPECT_EQ(here, there);
  ASSERT_OK(ferry_states_load(states_of(other).get(), empty.c_str()));
  EXPECT_EQ(run_in_pieces(other.get(), 8, 4), all);
}

TEST_F(FixedStates, AHostileFileChangesNothing) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states", damaged = scratch.path() / "damaged";
  const SessionPtr one = session();
  const FixedStatesPtr states = states_of(one);
  run_in_pieces(one.get(), 8, 8);
  ASSERT_OK(ferry_states_save(states.get(), path.c_str()));
  std::ifstream file(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary) << bytes;
    const ferry_status status = ferry_states_load(states.get(), damaged.c_str());
    EXPECT_EQ(ferry_states_length(states.get()), 8);
    return status;
  };
  const auto with_length = [&](int32_t length) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 40, &length, sizeof length);
    return bytes;
  };
  for (size_t size = 0; size < good.size(); size += 13) EXPECT_EQ(load(good.substr(0, size)), FERRY_CORRUPT);
  EXPECT_EQ(load(with_length(0)), FERRY_CORRUPT) << "an empty state has no contents";
  EXPECT_EQ(load(with_length(-1)), FERRY_CORRUPT);
  EXPECT_EQ(load(good), FERRY_OK);
}

// States count tokens up to 2^31 - 1; a file's count is used unchecked.
TEST_F(FixedStates, FullOnesRefuseARun) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states";
  const SessionPtr one = session();
  const FixedStatesPtr states = states_of(one);
  run_in_pieces(one.get(), 8, 8);
  ASSERT_OK(ferry_states_save(states.get(), path.c_str()));
  std::string bytes = read_text(path);
  for (const size_t state : {0, 1}) {
    const int32_t length = INT32_MAX - 1;
    std::memcpy(&bytes[32 + state * 44 + 8], &length, sizeof length);
  }
  std::ofstream(path, std::ios::binary) << testing::with_checksum(bytes);
  ASSERT_OK(ferry_states_load(states.get(), path.c_str()));
  std::vector<float> out;
  EXPECT_EQ(run_over(one.get(), first_ids(2), 0, 2, &out), FERRY_STATE_FULL);
  EXPECT_EQ(ferry_states_length(states.get()), INT32_MAX - 1);
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_OK(run_over(one.get(), first_ids(2), 0, 2, &out));
}

TEST_F(FixedStates, CountAgainstTheMemoryLimit) {
  Graph large;
  const Tensor x = large.add_input("x", {1, 1, 1024}, fbs::Layout::Same);
  fbs::CausalConv1dT conv;
  conv.state = large.add_state("inputs", {1, 1023, 1024}, Graph::kFixed).index;
  const Tensor weight = large.add_constant("w", {1024, 1024}, std::vector<float>(1 << 20));
  large.add_output("y", large.add_op("conv", conv, {x, weight}), fbs::Layout::Same);
  const Opened opened(large);
  ferry_session_options options = default_options();
  options.memory_limit = 9 << 20;  // double-buffered they take just below 8 MB
  EXPECT_NE(make_session(opened.model, options), nullptr);
  options.memory_limit = 7 << 20;
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, &options, &session), FERRY_MEMORY_LIMIT);
}

}  // namespace
}  // namespace ferry::testing
