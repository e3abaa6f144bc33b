// Networks with states on GPUs: kernels append to the states and read them, and the host has a copy.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "converter/graph/ops.h"
#include "converter/quantize/keys_and_values.h"
#include "tests/gpu/faults.h"
#include "tests/runtime/sequences.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr double kStatesBound = 1e-5;         // float32 on either backend, for networks as shallow as these
constexpr double kStatesFloat16Bound = 2e-2;  // scores are multiplied by 3

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

class GpuStates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  static SessionPtr on_cpu(ferry_model* model, ferry_states* states = nullptr, const char* graph = nullptr) {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.states = states;
    options.graph = graph;
    return make_session(model, options);
  }
  static SessionPtr on_gpu(ferry_model* model, const std::string& name, ferry_states* states = nullptr,
                           const char* graph = nullptr, ferry_precision precision = FERRY_PRECISION_FLOAT32) {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = name.c_str();
    options.gpu_required = true;
    options.gpu_retry = true;
    options.precision = precision;
    options.states = states;
    options.graph = graph;
    return make_session(model, options);
  }
  static void lose_device(ferry_model* model, uint32_t lives);
  static ferry_report report_of(const SessionPtr& session) {
    ferry_report report{};
    report.struct_size = sizeof report;
    EXPECT_OK(ferry_session_report(session.get(), &report));
    return report;
  }

  const std::unique_ptr<Graph> graph_ = small_transformer();
  Opened opened_{*graph_};
};

TEST_F(GpuStates, PiecesOfASequenceMatchTheCpu) {
  const std::vector<double> expected = widened(in_pieces(on_cpu(opened_.model).get(), 20, 20));
  for (const std::string& gpu : test_gpus()) {
    for (int piece : {1, 7, 16, 20}) {
      SCOPED_TRACE(gpu + ", pieces of " + std::to_string(piece));
      EXPECT_LE(relative_error(in_pieces(on_gpu(opened_.model, gpu).get(), 20, piece), expected), kStatesBound);
    }
    const SessionPtr half = on_gpu(opened_.model, gpu, nullptr, nullptr, FERRY_PRECISION_FLOAT16);
    EXPECT_LE(relative_error(in_pieces(half.get(), 20, 3), expected), kStatesFloat16Bound) << gpu;
  }
}

// Only operators on token ids and positions run on the CPU.
TEST_F(GpuStates, AreOnTheDevice) {
  const auto left = [](const std::unique_ptr<fbs::OperatorT>& op) {
    return op->params.type == fbs::OpParams::Gather || op->params.type == fbs::OpParams::Positions;
  };
  const auto& operators = graph_->table.operators;
  const SessionPtr session = on_gpu(opened_.model, test_gpus().front());
  EXPECT_EQ(report_of(session).cpu_operators,
            static_cast<size_t>(std::count_if(operators.begin(), operators.end(), left)));
  in_pieces(session.get(), 9, 1);  // like runs over longer states
  EXPECT_EQ(report_of(session).gpu_operators + report_of(session).cpu_operators, operators.size());
  EXPECT_EQ(report_of(session).backend, FERRY_BACKEND_GPU);
}

// A run's new state may be an output.
TEST_F(GpuStates, MayBeOutputs) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 2, 8}, fbs::Layout::Same);
  graph.add_output("all", append(x * 2.0, graph.add_state("all", {1, 9, 8}, 1)), fbs::Layout::Same);
  const Opened opened(graph);
  const SessionPtr session = on_gpu(opened.model, test_gpus().front());
  for (int run = 1; run <= 3; ++run) {
    ferry_tensor tensor;
    ASSERT_OK(ferry_session_input(session.get(), 0, &tensor));
    std::fill_n(static_cast<float*>(tensor.data), 16, static_cast<float>(run));
    ASSERT_OK(ferry_session_run(session.get()));
    ASSERT_OK(ferry_session_output(session.get(), 0, &tensor));
    EXPECT_EQ(tensor.shape[1], 2 * run);
    EXPECT_EQ(elements(tensor).front(), 2);
    EXPECT_EQ(elements(tensor).back(), 2 * run);
  }
}

TEST_F(GpuStates, AreSharedWithSessionsOnTheCpu) {
  const std::vector<float> whole = in_pieces(on_cpu(opened_.model).get(), 9, 9);
  const SessionPtr first = on_cpu(opened_.model);
  const StatesPtr states = states_of(first.get());
  const SessionPtr second = on_gpu(opened_.model, test_gpus().front(), states.get());
  const SessionPtr third = on_gpu(opened_.model, test_gpus().front(), states.get(), "states");
  std::vector<float> out, hidden;
  for (int i = 0; i < 9; ++i) {  // interleaved
    if (i == 4) {
      EXPECT_OK(run_piece(third.get(), tokens(9), i, i + 1, &hidden));
      EXPECT_OK(ferry_states_truncate(states.get(), 4));
    }
    EXPECT_OK(run_piece((i % 3 == 0 ? first : second).get(), tokens(9), i, i + 1, &out));
  }
  EXPECT_LE(relative_error(out, widened(whole)), kStatesBound);
  EXPECT_EQ(hidden.size(), 16u);
}

// The device's copy has the session's precision, the host's the states' type.
TEST_F(GpuStates, HaveFewerBitsOnTheHost) {
  const std::vector<double> expected = widened(in_pieces(on_cpu(opened_.model).get(), 20, 20));
  const std::vector<double> last(expected.end() - 5 * kWords, expected.end());
  for (const fbs::DType dtype : {fbs::DType::Float16, fbs::DType::Int8}) {
    const std::unique_ptr<Graph> graph = small_transformer();
    store_keys_and_values_as(dtype, &graph->table);
    const Opened stored(*graph);
    const double bound = dtype == fbs::DType::Float16 ? 4 * 0x1p-11 : 4 * 0.5 / 127;
    for (const std::string& gpu : test_gpus()) {
      SCOPED_TRACE(gpu + ", " + EnumNameDType(dtype));
      const SessionPtr one = on_gpu(stored.model, gpu);
      EXPECT_LE(relative_error(in_pieces(one.get(), 20, 3), expected), bound);
      const StatesPtr states = states_of(one.get());
      ferry_tensor tensor;
      ASSERT_OK(ferry_states_describe(states.get(), 0, &tensor));
      EXPECT_EQ(tensor.bytes, 20u * 16);  // of eight channels in two heads
      const SessionPtr sessions[] = {on_cpu(stored.model, states.get()), on_gpu(stored.model, gpu, states.get())};
      for (const SessionPtr& next : sessions) {
        EXPECT_OK(ferry_states_truncate(states.get(), 15));
        std::vector<float> out;
        EXPECT_OK(run_piece(next.get(), tokens(20), 15, 20, &out));
        EXPECT_LE(relative_error(out, last), bound);
      }
    }
  }
}

TEST_F(GpuStates, AreTruncatedClearedAndFull) {
  const SessionPtr one = on_gpu(opened_.model, test_gpus().front());
  const std::vector<float> all = in_pieces(one.get(), 24, 3);
  const StatesPtr states = states_of(one.get());
  std::vector<float> again;
  EXPECT_EQ(run_piece(one.get(), tokens(1), 0, 1, &again), FERRY_STATE_FULL);
  EXPECT_OK(ferry_states_truncate(states.get(), 21));
  EXPECT_OK(run_piece(one.get(), tokens(24), 21, 24, &again));
  EXPECT_EQ(again, std::vector<float>(all.begin() + 21 * kWords, all.end()));
  EXPECT_OK(ferry_states_reset(states.get()));
  EXPECT_EQ(in_pieces(one.get(), 24, 3), all);
}

TEST_F(GpuStates, OfAWindowDropOldTokens) {
  const Opened window(*small_window());
  const std::vector<float> expected = in_pieces(on_cpu(window.model).get(), 150, 1);
  const SessionPtr one = on_gpu(window.model, test_gpus().front());
  EXPECT_LE(relative_error(in_pieces(one.get(), 150, 1), widened(expected)), kStatesBound);
}

// A text of 36 tokens; the host has the state after each piece.
TEST_F(GpuStates, OfFixedSizeAreOnTheDevice) {
  const std::unique_ptr<Graph> graph = small_recurrent(24);
  const Opened recurrent(*graph);
  const SessionPtr reference = on_cpu(recurrent.model);
  const std::vector<double> expected = widened(in_pieces(reference.get(), 36, 36));
  const StatesPtr right = states_of(reference.get());
  for (const std::string& gpu : test_gpus()) {
    for (int piece : {1, 5, 36}) {
      for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
        SCOPED_TRACE(gpu + ", pieces of " + std::to_string(piece) + ", " + std::to_string(precision));
        const double bound = precision == FERRY_PRECISION_FLOAT32 ? kStatesBound : kStatesFloat16Bound;
        const SessionPtr one = on_gpu(recurrent.model, gpu, nullptr, nullptr, precision);
        EXPECT_LE(relative_error(in_pieces(one.get(), 36, piece), expected), bound);
        EXPECT_EQ(report_of(one).cpu_operators, 3u);  // token ids, positions and their cast
        const StatesPtr states = states_of(one.get());
        for (size_t i = 0; i < 2; ++i) {
          ferry_tensor mine, theirs;
          ASSERT_OK(ferry_states_describe(states.get(), i, &mine));
          ASSERT_OK(ferry_states_describe(right.get(), i, &theirs));
          EXPECT_LE(relative_error(elements(mine), widened(elements(theirs))), bound) << mine.name;
        }
      }
    }
  }
}

// A new state equals the one in the kernel's registers: splitting into pieces changes results no more than other matrix
// sizes do.
TEST_F(GpuStates, OfFixedSizeDoNotDependOnThePieces) {
  const Opened recurrent(*small_recurrent(8));
  for (const std::string& gpu : test_gpus()) {
    const std::vector<float> whole = in_pieces(on_gpu(recurrent.model, gpu).get(), 20, 20);
    EXPECT_LE(relative_error(in_pieces(on_gpu(recurrent.model, gpu).get(), 20, 3), widened(whole)), 1e-6) << gpu;
  }
}

TEST_F(GpuStates, OfFixedSizeAreSharedKeptAndCleared) {
  const Opened recurrent(*small_recurrent(8));
  const ScratchFolder folder;
  const std::string file = (folder.path() / "states").string();
  const std::vector<double> expected = widened(in_pieces(on_cpu(recurrent.model).get(), 12, 12));
  const SessionPtr first = on_cpu(recurrent.model);
  const StatesPtr states = states_of(first.get());
  const SessionPtr second = on_gpu(recurrent.model, test_gpus().front(), states.get());
  for (int life = 0; life < 2; ++life) {
    std::vector<float> out;
    for (int i = 0; i < 12; ++i) {
      if (i == 7) {
        EXPECT_OK(ferry_states_save(states.get(), file.c_str()));
        std::vector<float> other;
        EXPECT_OK(run_piece(second.get(), tokens(12), 0, 3, &other));
        EXPECT_OK(ferry_states_load(states.get(), file.c_str()));
      }
      EXPECT_OK(run_piece((i % 3 == 0 ? first : second).get(), tokens(12), i, i + 1, &out));
    }
    EXPECT_LE(relative_error(out, expected), kStatesBound);
    EXPECT_OK(ferry_states_reset(states.get()));
  }
}

// If heads begin within a quad, the CPU computes the matrices, between operators on the device.
TEST_F(GpuStates, OfFixedSizeMayBeOnTheCpu) {
  const Opened recurrent(*small_recurrent());
  const std::vector<float> expected = in_pieces(on_cpu(recurrent.model).get(), 12, 12);
  for (const std::string& gpu : test_gpus())
    for (int piece : {1, 5})
      EXPECT_LE(relative_error(in_pieces(on_gpu(recurrent.model, gpu).get(), 12, piece), widened(expected)),
                kStatesBound);
}

TEST_F(GpuStates, AreSavedAndLoaded) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "states").string();
  const std::vector<float> all = in_pieces(on_cpu(opened_.model).get(), 9, 9);
  const SessionPtr one = on_gpu(opened_.model, test_gpus().front());
  std::vector<float> out;
  EXPECT_OK(run_piece(one.get(), tokens(9), 0, 6, &out));
  const StatesPtr states = states_of(one.get());
  EXPECT_OK(ferry_states_save(states.get(), file.c_str()));
  EXPECT_OK(run_piece(one.get(), tokens(9), 2, 5, &out));  // something else
  EXPECT_OK(ferry_states_load(states.get(), file.c_str()));
  out.clear();
  EXPECT_OK(run_piece(one.get(), tokens(9), 6, 9, &out));
  EXPECT_LE(relative_error(out, widened({all.end() - 3 * kWords, all.end()})), kStatesBound);
}

// Fails some of the last two thirds of a text's Vulkan calls, in a new session each, as if the device were lost: no
// token may be lost.
void GpuStates::lose_device(ferry_model* model, uint32_t lives) {
  const std::vector<double> expected = widened(in_pieces(on_cpu(model).get(), 6, 1));
  const std::string gpu = test_gpus().front();
  Faults faults;
  const auto life = [&] {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = gpu.c_str();
    options.gpu_retry = true;
    const SessionPtr session = make_session(model, options);
    EXPECT_LE(relative_error(in_pieces(session.get(), 6, 1), expected), kStatesBound);
    return report_of(session).backend;
  };
  const uint32_t before = faults.calls();
  EXPECT_EQ(life(), FERRY_BACKEND_GPU);
  const uint32_t calls = faults.calls() - before;
  ASSERT_GT(calls, 100u);
  for (uint32_t i = calls / 3; i < calls; i += std::max(calls * 2 / 3 / lives, 1u)) {
    SCOPED_TRACE("call " + std::to_string(i));
    faults.arm(i, VK_ERROR_DEVICE_LOST);
    EXPECT_EQ(life(), FERRY_BACKEND_CPU);
    faults.disarm();
    faults.expect_nothing_alive();
  }
}

TEST_F(GpuStates, ALostDeviceLosesNoToken) { lose_device(opened_.model, 40); }

TEST_F(GpuStates, OfFixedSizeOutliveADevice) { lose_device(Opened(*small_recurrent(8)).model, 20); }

}  // namespace
}  // namespace ferry::testing
