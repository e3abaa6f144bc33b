// Verification of blobs with loops.
#include <gtest/gtest.h>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/loop_network.h"

namespace ferry::testing {
namespace {

struct LoopDamage {
  const char* name;
  void (*damage)(fbs::GraphT&);
  const char* message;
};

Status open_loops(const std::vector<std::byte>& blob) {
  AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  return Model::open_memory(bytes.data(), bytes.size(), &model);
}

fbs::OperatorT& bound(fbs::GraphT& graph, fbs::OpParams type, size_t which) {
  for (const auto& op : graph.operators)
    if (op->params.type == type && which-- == 0) return *op;
  throw std::out_of_range("operator");
}

fbs::OperatorT& begin_of(fbs::GraphT& graph, size_t which) { return bound(graph, fbs::OpParams::LoopBegin, which); }
fbs::OperatorT& end_of(fbs::GraphT& graph, size_t which) { return bound(graph, fbs::OpParams::LoopEnd, which); }

class DamagedLoop : public ::testing::TestWithParam<LoopDamage> {};

TEST(Loop, Opens) {
  const Status status = open_loops(pack(*loop_network()));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(DamagedLoop, IsRefusedWithAMessage) {
  Parts parts(pack(*loop_network()));
  GetParam().damage(parts.model);
  const Status status = open_loops(parts.assemble());
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const LoopDamage kLoopDamages[] = {
    {"never_ends",
     [](fbs::GraphT& g) {
       g.operators.pop_back();
       g.outputs.resize(1);
       g.outputs[0]->tensor = g.inputs[0]->tensor;
     },
     "operator 0 'outer': no loop_end follows"},
    {"ends_another", [](fbs::GraphT& g) { std::swap(begin_of(g, 0).outputs[0], begin_of(g, 1).outputs[0]); },
     "before anything computes it"},
    {"swaps_states", [](fbs::GraphT& g) { std::swap(end_of(g, 1).inputs[4], end_of(g, 1).inputs[5]); },
     "expected extent, count, index and the states of operator 0 'outer'"},
    {"counts_otherwise", [](fbs::GraphT& g) { end_of(g, 0).inputs[2] = end_of(g, 1).inputs[2]; },
     "expected extent, count, index and the states of operator 5 'inner'"},
    {"is_unlimited_at_its_end", [](fbs::GraphT& g) { end_of(g, 0).params.AsLoopEnd()->unlimited = true; },
     "expected extent, count, index and the states of operator 5 'inner'"},
    {"stacks_without_limit",
     [](fbs::GraphT& g) {
       end_of(g, 1).params.AsLoopEnd()->unlimited = true;
       begin_of(g, 0).params.AsLoopBegin()->unlimited = true;
     },
     "loop_end: 1 rows of an unlimited number of steps"},
    {"has_more_states", [](fbs::GraphT& g) { end_of(g, 1).params.AsLoopEnd()->states = 90; },
     "loop_end: 90 states, expected 0 to 63"},
    {"gives_what_is_inside", [](fbs::GraphT& g) { g.outputs[1]->tensor = begin_of(g, 0).outputs[1]; },
     "output 'y1': tensor 5 is computed in a loop"},
    {"taps_what_is_inside",
     [](fbs::GraphT& g) {
       auto tap = std::make_unique<fbs::PortT>();
       tap->name = "inside";
       tap->tensor = begin_of(g, 1).outputs[1];
       g.taps.push_back(std::move(tap));
     },
     "tap 'inside': tensor 15 is computed in a loop"},
};

INSTANTIATE_TEST_SUITE_P(All, DamagedLoop, ::testing::ValuesIn(kLoopDamages),
                         [](const auto& damage) { return std::string(damage.param.name); });

// A value of the inner loop, read after it.
TEST(Loop, KeepsItsValues) {
  Parts parts(pack(*loop_network()));
  fbs::GraphT& graph = parts.model;
  const fbs::OperatorT& inner = begin_of(graph, 1);
  fbs::OperatorT& last = end_of(graph, 1);
  last.inputs[7] = inner.outputs[1];
  const Status status = open_loops(parts.assemble());
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find("which is computed in a loop that has ended"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace ferry::testing
