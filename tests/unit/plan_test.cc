#include "sdk/graph/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sdk/model/model.h"

namespace ferry {
namespace {

using Step = PlanRequest::Step;

constexpr TensorId operator""_t(unsigned long long index) { return tensor_at(index); }

uint64_t place_of(uint64_t bytes) { return (bytes + kExtraBytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes + kExtraBytes && b < a + a_bytes + kExtraBytes;
}

// A chain of `steps` operators over values of one size.
PlanRequest chain(size_t steps, uint64_t bytes, bool in_place) {
  PlanRequest request;
  request.bytes.assign(steps + 1, bytes);
  for (size_t s = 0; s < steps; ++s) {
    Step step;
    step.inputs = {tensor_at(s)};
    if (in_place) step.reusable = {tensor_at(s)};
    step.outputs = {tensor_at(s + 1)};
    request.steps.push_back(step);
  }
  request.inputs = {0_t};
  request.kept = {tensor_at(steps)};
  return request;
}

TEST(Plan, ChainOfAnyLengthNeedsInputOutputAndTwoMore) {
  const uint64_t bytes = 1000;
  EXPECT_EQ(make_plan(chain(3, bytes, false)).arena_bytes, 3 * place_of(bytes));
  EXPECT_EQ(make_plan(chain(50, bytes, false)).arena_bytes, 3 * place_of(bytes));
}

TEST(Plan, InPlaceChainNeedsInputAndOneMore) {
  const Plan plan = make_plan(chain(50, 1000, true));
  EXPECT_EQ(plan.arena_bytes, 2 * place_of(1000));
  EXPECT_NE(plan.offsets[0_t], plan.offsets[1_t]) << "the graph input must keep its contents";
  EXPECT_EQ(plan.offsets[1_t], plan.offsets[50_t]);
}

TEST(Plan, ValueReadLaterIsNotOverwrittenInPlace) {
  PlanRequest request = chain(3, 1000, true);
  request.steps[2].inputs = {2_t, 1_t};  // a residual: reads value 1 again at the end
  const Plan plan = make_plan(request);
  EXPECT_NE(plan.offsets[1_t], plan.offsets[2_t]);
}

TEST(Plan, KeptValueIsNotOverwrittenInPlace) {
  PlanRequest request = chain(3, 1000, true);
  request.kept.push_back(1_t);
  const Plan plan = make_plan(request);
  EXPECT_NE(plan.offsets[1_t], plan.offsets[2_t]);
}

TEST(Plan, InPlaceNeedsEqualSizes) {
  PlanRequest request = chain(3, 1000, true);
  request.bytes[2_t] = 996;
  const Plan plan = make_plan(request);
  EXPECT_NE(plan.offsets[1_t], plan.offsets[2_t]);
}

TEST(Plan, CachedResultsShareNoMemory) {
  // Values 1 and 2 are as large as their neighbours, in place or not; the next run reads 2 again.
  for (const bool in_place : {false, true}) {
    PlanRequest request = chain(6, 1000, in_place);
    request.cached = {2_t};
    const Plan plan = make_plan(request);
    for (const TensorId other : {0_t, 3_t, 4_t, 5_t, 6_t}) EXPECT_NE(plan.offsets[other], plan.offsets[2_t]);
    // Value 2 may reuse value 1's memory: both belong to the run that computes the cached result.
    EXPECT_EQ(plan.offsets[1_t] == plan.offsets[2_t], in_place);
  }
}

TEST(Plan, ViewSharesMemoryEvenWithAGraphInput) {
  PlanRequest request = chain(3, 1000, true);
  request.steps[0].view = true;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.offsets[0_t], plan.offsets[1_t]);
  EXPECT_NE(plan.offsets[1_t], plan.offsets[2_t]) << "writing into the view would change the graph input";
}

TEST(Plan, ViewIsNotOverwrittenWhileItsSourceIsRead) {
  PlanRequest request = chain(4, 1000, true);
  request.steps[1].view = true;          // value 2 is value 1
  request.steps[3].inputs = {3_t, 1_t};  // and reads value 1 after the last use of value 2
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.offsets[1_t], plan.offsets[2_t]);
  EXPECT_NE(plan.offsets[2_t], plan.offsets[3_t]);
}

TEST(Plan, ViewOfAConstantHasItsOwnMemory) {
  PlanRequest request = chain(2, 1000, false);
  request.bytes.push_back(0);  // value 3: a constant
  request.steps[0].inputs = {3_t};
  request.steps[0].view = true;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.offsets[3_t], kNoOffset);
  EXPECT_NE(plan.offsets[1_t], kNoOffset);
}

TEST(Plan, OutputWithoutBytesHasNoPlace) {
  PlanRequest request = chain(3, 1000, false);
  request.bytes[2_t] = 0;  // computed and read, but stored elsewhere
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.offsets[2_t], kNoOffset);
  EXPECT_NE(plan.offsets[1_t], kNoOffset);
  EXPECT_NE(plan.offsets[3_t], kNoOffset);
}

TEST(Plan, OutputThatIsAGraphInputSharesIt) {
  PlanRequest request;
  request.bytes = {100};
  request.inputs = {0_t};
  request.kept = {0_t};
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.offsets[0_t], 0u);
  EXPECT_EQ(plan.arena_bytes, place_of(100));
}

TEST(Plan, WorkspaceReusesMemoryOfValuesNotAlive) {
  PlanRequest request = chain(6, 1000, false);
  request.steps[4].workspace = 900;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.arena_bytes, 3 * place_of(1000) + place_of(900)) << "the graph input, two neighbours, the scratch";
  EXPECT_NE(plan.workspaces[4], kNoOffset);
  EXPECT_EQ(plan.workspaces[3], kNoOffset);
}

TEST(Plan, SmallestFittingGapIsTaken) {
  // Placed in the order 1, 2, 3, 4, 5. Values 2 and 4 stay; 1 and 3 leave gaps before value 5 is written.
  PlanRequest request;
  request.bytes = {8, 5000, 4500, 4000, 3500, 3450, 8};
  const auto step = [&](std::vector<TensorId> inputs, TensorId output) {
    Step s;
    s.inputs = std::move(inputs);
    s.outputs = {output};
    request.steps.push_back(s);
  };
  request.inputs = {0_t};
  step({0_t}, 1_t);
  step({0_t}, 2_t);
  step({0_t}, 3_t);
  step({0_t}, 4_t);
  step({1_t, 3_t}, 6_t);
  step({6_t}, 5_t);
  request.kept = {2_t, 4_t, 5_t};
  const Plan plan = make_plan(request);
  ASSERT_EQ(plan.offsets[1_t], 0u);
  EXPECT_EQ(plan.offsets[5_t], plan.offsets[3_t]) << "the first gap fits too, but is larger";
}

TEST(Plan, OverflowingSizesAreDistinguished) {
  PlanRequest request = chain(3, uint64_t{1} << 61, false);
  EXPECT_EQ(make_plan(request).arena_bytes, UINT64_MAX);
}

// Checks a plan by simulation: at each step, every live value keeps its bytes. Tracks which value last wrote each byte.
void check_by_simulation(const PlanRequest& request, const Plan& plan) {
  const size_t values = request.bytes.size();
  PerTensor<int> last(values, -1);
  for (size_t s = 0; s < request.steps.size(); ++s) {
    for (TensorId v : request.steps[s].inputs) last[v] = static_cast<int>(s);
  }
  for (TensorId v : request.inputs) last[v] = INT32_MAX;
  for (TensorId v : request.kept) last[v] = INT32_MAX;

  PerTensor<bool> written(values, false);
  PerTensor<std::vector<TensorId>> same(values);  // values that are views of each other
  for (const TensorId v : request.bytes.ids()) same[v] = {v};
  for (TensorId v : request.inputs) written[v] = true;
  for (const TensorId v : request.bytes.ids()) {
    if (plan.offsets[v] == kNoOffset) continue;
    ASSERT_EQ(plan.offsets[v] % kAlignment, 0u);
    ASSERT_LE(plan.offsets[v] + request.bytes[v] + kExtraBytes, plan.arena_bytes);
  }
  for (size_t s = 0; s < request.steps.size(); ++s) {
    const Step& step = request.steps[s];
    const TensorId out = step.outputs[0];
    ASSERT_NE(plan.offsets[out], kNoOffset);
    const bool view = step.view && plan.offsets[step.inputs[0]] == plan.offsets[out];
    if (view) {
      same[out] = same[step.inputs[0]];
      for (const TensorId v : same[out]) same[v].push_back(out);
      same[out].push_back(out);
    }
    for (const TensorId v : request.bytes.ids()) {
      if (v == out || !written[v] || plan.offsets[v] == kNoOffset) continue;
      const bool is_view_of_it = std::find(same[out].begin(), same[out].end(), v) != same[out].end();
      const bool read_now = std::find(step.inputs.begin(), step.inputs.end(), v) != step.inputs.end();
      const bool allowed_in_place = std::find(step.reusable.begin(), step.reusable.end(), v) != step.reusable.end();
      const bool needed_later = last[v] > static_cast<int>(s);
      const bool clash = overlap(plan.offsets[out], request.bytes[out], plan.offsets[v], request.bytes[v]);
      if (is_view_of_it || !clash) continue;
      ASSERT_FALSE(needed_later) << "step " << s << " overwrites value " << index_of(v);
      if (read_now) {
        ASSERT_TRUE(allowed_in_place && plan.offsets[v] == plan.offsets[out] && request.bytes[v] == request.bytes[out])
            << "step " << s << " overwrites its input " << index_of(v);
      }
    }
    if (step.workspace > 0) {
      ASSERT_NE(plan.workspaces[s], kNoOffset);
      ASSERT_LE(plan.workspaces[s] + step.workspace + kExtraBytes, plan.arena_bytes);
      for (const TensorId v : request.bytes.ids()) {
        if (plan.offsets[v] == kNoOffset) continue;
        const bool alive = v == out || (written[v] && last[v] >= static_cast<int>(s));
        ASSERT_FALSE(alive && overlap(plan.workspaces[s], step.workspace, plan.offsets[v], request.bytes[v]))
            << "the scratch memory of step " << s << " lies over value " << index_of(v);
      }
    }
    written[out] = true;
  }
}

TEST(Plan, NoLiveValueIsOverwrittenInRandomGraphs) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  uint64_t planned = 0;
  uint64_t separate = 0;
  int shared = 0;
  for (int round = 0; round < 400; ++round) {
    PlanRequest request;
    const int inputs = 1 + below(3);
    const int steps = 1 + below(40);
    for (int v = 0; v < inputs + steps; ++v) {
      // Few sizes, so that in-place operation is often possible, and sometimes a constant input.
      request.bytes.push_back(static_cast<uint64_t>(1 + below(4)) * 500);
    }
    request.bytes.push_back(0);
    const TensorId constant{inputs + steps};
    for (int v = 0; v < inputs; ++v) request.inputs.push_back(TensorId{v});
    for (int s = 0; s < steps; ++s) {
      Step step;
      const int output = inputs + s;
      step.outputs = {TensorId{output}};
      for (int n = 1 + below(3); n > 0; --n) step.inputs.push_back(TensorId{std::max(0, output - 1 - below(8))});
      if (below(3) == 0) step.inputs.push_back(constant);
      if (below(2) == 0) step.reusable = step.inputs;
      if (below(5) == 0) {
        step.view = true;
        request.bytes[step.outputs[0]] = request.bytes[step.inputs[0]];
      }
      if (below(4) == 0) step.workspace = static_cast<uint64_t>(1 + below(3000));
      request.steps.push_back(step);
    }
    request.kept = {TensorId{inputs + steps - 1}, TensorId{below(inputs + steps)}};
    const Plan plan = make_plan(request);
    ASSERT_NO_FATAL_FAILURE(check_by_simulation(request, plan)) << "round " << round;
    planned += plan.arena_bytes;
    for (uint64_t bytes : request.bytes) separate += bytes > 0 ? place_of(bytes) : 0;
    for (const Step& step : request.steps) {
      if (step.workspace > 0) separate += place_of(step.workspace);
      for (TensorId v : step.reusable) {
        if (v != constant && plan.offsets[v] == plan.offsets[step.outputs[0]]) {
          ++shared;
          break;
        }
      }
    }
  }
  EXPECT_LT(planned, separate / 2);
  EXPECT_GT(shared, 400);
}

}  // namespace
}  // namespace ferry
