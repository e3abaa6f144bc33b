// States with a window: tokens outside of it are dropped, which changes only memory, not results.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "converter/reference/interpreter.h"
#include "tests/runtime/sequences.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr int kText = 390, kWindow = 5;
constexpr int kMostHeld = kWindow - 1 + StateShape::kWindowReturn + StateShape::kWindowStep - 1;

class WindowStates : public ::testing::Test {
 protected:
  const std::unique_ptr<Graph> graph_ = small_window();
  Opened opened_{*graph_}, keeps_all_{*small_window(false)};

  static SessionPtr session(const Opened& opened, int threads = 1, ferry_states* states = nullptr,
                            const char* graph = nullptr) {
    ferry_session_options options = default_options();
    options.num_threads = threads;
    options.states = states;
    options.graph = graph;
    return make_session(opened.model, options);
  }
  // The number of tokens in the first state.
  static int held(ferry_states* states) {
    ferry_tensor tensor;
    EXPECT_OK(ferry_states_describe(states, 0, &tensor));
    return tensor.shape[1];
  }
};

TEST_F(WindowStates, GiveTheBitsOfStatesThatKeepAll) {
  for (const int piece : {1, 7, 16, 64, 65, 200}) {
    SCOPED_TRACE(piece);
    const std::vector<float> all = in_pieces(session(keeps_all_).get(), kText, piece);
    for (const int threads : {1, 3}) EXPECT_EQ(in_pieces(session(opened_, threads).get(), kText, piece), all);
  }
}

TEST_F(WindowStates, MatchTheOracle) {
  const std::vector<int32_t> ids = tokens(kText);
  std::vector<reference::State> states = reference::empty_states(*graph_);
  const reference::Array input{{1, kText}, {ids.begin(), ids.end()}, fbs::DType::Int32};
  const auto computed = reference::interpret(*graph_, {input}, &states);
  const std::vector<double>& expected = computed.at(graph_->table.outputs[0]->tensor).values;
  for (const int piece : {1, 130}) {
    const std::vector<float> all = in_pieces(session(opened_).get(), kText, piece);
    ASSERT_EQ(all.size(), expected.size());
    EXPECT_LE(relative_error(all, expected), 1e-5) << "pieces of " << piece;
  }
}

TEST_F(WindowStates, StopGrowing) {
  constexpr uint64_t kRow = 4 * 8 * sizeof(float);  // of four states
  for (const int piece : {1, 7, 200}) {
    SCOPED_TRACE(piece);
    const SessionPtr one = session(opened_);
    const StatesPtr states = states_of(one.get());
    const std::vector<int32_t> ids = tokens(kText);
    std::vector<float> out;
    for (int i = 0; i < kText; i += piece) {
      EXPECT_OK(run_piece(one.get(), ids, i, std::min(i + piece, kText), &out));
      EXPECT_LE(held(states.get()), kMostHeld + piece);
      EXPECT_GE(held(states.get()), std::min(i + piece, kWindow));
      EXPECT_LE(ferry_states_bytes(states.get()), static_cast<uint64_t>(kMostHeld + piece) * kRow);
    }
    EXPECT_EQ(ferry_states_length(states.get()), kText);
    EXPECT_EQ(ferry_states_bound(states.get()), 400);
  }
  const SessionPtr all = session(keeps_all_);
  in_pieces(all.get(), kText, 1);
  EXPECT_EQ(ferry_states_bytes(states_of(all.get()).get()), 400 * kRow);
}

TEST_F(WindowStates, ReserveTheMemoryOfSingleTokenRuns) {
  ferry_states* made = nullptr;
  ASSERT_OK(ferry_states_create(opened_.model, &made));
  const StatesPtr states(made);
  ASSERT_OK(ferry_states_reserve(made, kText));
  const uint64_t bytes = ferry_states_bytes(made);
  EXPECT_EQ(bytes, uint64_t{kMostHeld + 1} * 4 * 8 * sizeof(float));
  in_pieces(session(opened_, 1, made).get(), kText, 1);
  EXPECT_EQ(ferry_states_bytes(made), bytes);
}

TEST_F(WindowStates, CanBeTruncatedALittle) {
  const SessionPtr one = session(opened_);
  const StatesPtr states = states_of(one.get());
  const std::vector<float> all = in_pieces(one.get(), kText, 130);
  const int back = kText - StateShape::kWindowReturn;
  ASSERT_OK(ferry_states_truncate(states.get(), back));
  EXPECT_EQ(ferry_states_length(states.get()), back);
  std::vector<float> again;
  EXPECT_OK(run_piece(one.get(), tokens(kText), back, kText, &again));
  const std::vector<double> expected(all.begin() + back * kWords, all.end());
  EXPECT_LE(relative_error(again, expected), 1e-5);

  EXPECT_EQ(ferry_states_truncate(states.get(), 100), FERRY_UNSUPPORTED);
  EXPECT_STREQ(ferry_last_error(),
               "state '0.keys' keeps a window of 5 and holds tokens from 256 on: it goes back to 260 or to 0, not to "
               "100");
  EXPECT_EQ(ferry_states_length(states.get()), kText);
  EXPECT_OK(ferry_states_truncate(states.get(), 260));
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_EQ(in_pieces(one.get(), kText, 130), all);
}

TEST_F(WindowStates, AreSharedBySessions) {
  const std::vector<float> whole = in_pieces(session(opened_).get(), kText, 1);
  ferry_states* made = nullptr;
  ASSERT_OK(ferry_states_create(opened_.model, &made));
  const StatesPtr states(made);
  const SessionPtr first = session(opened_, 1, made), second = session(opened_, 1, made, "states");
  const std::vector<int32_t> ids = tokens(kText);
  std::vector<float> out, ignored;
  for (int i = 0; i < kText; ++i)
    EXPECT_OK(run_piece((i % 70 < 35 ? first : second).get(), ids, i, i + 1, i % 70 < 35 ? &out : &ignored));
  std::vector<float> expected;
  for (int i = 0; i < kText; ++i)
    if (i % 70 < 35) expected.insert(expected.end(), whole.begin() + i * kWords, whole.begin() + (i + 1) * kWords);
  EXPECT_EQ(out, expected);
}

TEST_F(WindowStates, ARunThatFailsChangesNothing) {
  const SessionPtr one = session(opened_);
  const std::vector<float> all = in_pieces(session(opened_).get(), 300, 100);
  std::vector<float> out, ignored;
  EXPECT_OK(run_piece(one.get(), tokens(300), 0, 100, &out));
  EXPECT_OK(run_piece(one.get(), tokens(300), 100, 200, &out));
  std::vector<int32_t> wrong = tokens(300);
  wrong.back() = kWords;  // no such token
  EXPECT_EQ(run_piece(one.get(), wrong, 200, 300, &ignored), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(ferry_states_length(states_of(one.get()).get()), 200);
  EXPECT_OK(run_piece(one.get(), tokens(300), 200, 300, &out));
  EXPECT_EQ(out, all);
  EXPECT_EQ(run_piece(one.get(), tokens(401), 300, 401, &ignored), FERRY_STATE_FULL);
  EXPECT_OK(ferry_states_reset(states_of(one.get()).get()));
  EXPECT_EQ(in_pieces(one.get(), 300, 100), all);
}

TEST_F(WindowStates, AreSavedAndLoaded) {
  const ScratchFolder scratch;
  const std::string path = scratch.path() / "states", damaged = scratch.path() / "damaged";
  const SessionPtr one = session(opened_), other = session(opened_);
  const std::vector<int32_t> ids = tokens(kText);
  in_pieces(one.get(), 300, 30);
  const StatesPtr states = states_of(other.get());
  ASSERT_OK(ferry_states_save(states_of(one.get()).get(), path.c_str()));
  in_pieces(other.get(), 200, 200);  // to be replaced
  ASSERT_OK(ferry_states_load(states.get(), path.c_str()));
  EXPECT_EQ(ferry_states_length(states.get()), 300);
  EXPECT_LE(held(states.get()), kMostHeld + 30);
  std::vector<float> here, there;
  for (int i = 300; i < kText; i += 10) {
    EXPECT_OK(run_piece(one.get(), ids, i, i + 10, &here));
    EXPECT_OK(run_piece(other.get(), ids, i, i + 10, &there));
  }
  EXPECT_EQ(here, there);

  std::ifstream file(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](int32_t first) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 72, &first, sizeof first);
    std::ofstream(damaged, std::ios::binary) << bytes;
    const ferry_status status = ferry_states_load(states.get(), damaged.c_str());
    EXPECT_EQ(ferry_states_length(states.get()), kText);
    return status;
  };
  EXPECT_EQ(load(-1), FERRY_CORRUPT);
  EXPECT_EQ(load(297), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("of length 300 begins with token 297, expected 0 to 296"),
            std::string::npos);
  EXPECT_EQ(load(3), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("it is truncated or damaged"), std::string::npos);
}

}  // namespace
}  // namespace ferry::testing
