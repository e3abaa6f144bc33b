// Bisect finds faults in operators without module and tap (an activation, a concatenation, an upscaling...) between the
// taps around them, in a family's code and in a blob.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/parity/bisected_network.h"

namespace ferry::bisect {
namespace {

using Op = fbs::OpParams;

// A narrow Real-ESRGAN. The fixture has only the convolutions and the sums of its dense blocks.
class BisectFunctional : public BisectedNetwork {
 protected:
  void SetUp() override {
    options_.settings.set("input-size", "20x28");
    set_up("rrdbnet_x2_small", "rrdbnet");
  }

  // Plants the change once in the family's code, and once in the blob only, and checks both findings.
  void expect_found(const std::function<void(Graph&)>& change, const char* op, const char* name,
                    const char* by_reference, const char* by_graph) {
    for (const bool planted : {true, false}) {
      plant(change, planted);
      const Finding found = find();
      EXPECT_EQ(found.fault, planted ? Fault::Graph : Fault::Conversion);
      EXPECT_EQ(found.op, op);
      EXPECT_EQ(found.name, name);
      EXPECT_EQ(found.cause, planted ? by_reference : by_graph) << found.pattern;
      EXPECT_LT(found.cause_error, 1e-4);
    }
  }

  // Plants in the blob, and if `in_family` also in the graph that it is compared with.
  void plant(const std::function<void(Graph&)>& change, bool in_family, bool keep_taps = false) {
    from_planted({.graph = unnamed(change)}, keep_taps, Search::ByPlanted);
    if (!in_family) families_ = right_families_.all();
  }

  // Framework functions have no name: removes those of this network's activations, and their taps.
  static std::function<void(Graph&)> unnamed(const std::function<void(Graph&)>& change) {
    return [change](Graph& graph) {
      change(graph);
      for (const auto& op : graph.table.operators) {
        if (!is(*op, Op::Unary) && !is(*op, Op::Resize2d)) continue;
        const TensorId value = op->outputs.front();
        op->name.clear();
        graph.at(value).name.clear();
        std::erase_if(graph.table.taps, [&](const auto& tap) { return tap->tensor == value; });
      }
    };
  }

  const PlantedFamilies right_families_{Plant{.graph = unnamed([](Graph&) {})}};
};

// The last operator of that kind before the module's own.
fbs::OperatorT& last_before(Graph& graph, Op type, const std::string& module) {
  fbs::OperatorT* last = nullptr;
  for (const auto& op : graph.table.operators) {
    if (op->name == module) break;
    if (is(*op, type)) last = op.get();
  }
  return *last;
}

TEST_F(BisectFunctional, Activation) {
  const auto plain = [](Graph& graph) {
    last_before(graph, Op::Unary, "body.1.rdb2.conv3").params.AsUnary()->alpha = 0.01f;
  };
  expect_found(plain, "unary", "before body.1.rdb2.conv3",
               "the activation: the blob has leaky ReLU of 0.01, the reference leaky ReLU of 0.2",
               "the activation is leaky ReLU of 0.01 instead of leaky ReLU of 0.2");
}

TEST_F(BisectFunctional, Concatenation) {
  const auto exchange = [](Graph& graph) {
    auto& parts = last_before(graph, Op::Concat, "body.0.rdb1.conv4").inputs;
    std::swap(parts[1], parts[3]);
  };
  expect_found(exchange, "concat", "before body.0.rdb1.conv4",
               "the blob has the concatenated parts 2 and 4 in one order, the reference in the other",
               "the concatenated parts 2 and 4 are exchanged");
}

TEST_F(BisectFunctional, Upscaling) {
  const auto smooth = [](Graph& graph) {
    last_before(graph, Op::Resize2d, "conv_up1").params.AsResize2d()->kind = fbs::ResizeKind::Bilinear;
  };
  expect_found(smooth, "resize2d", "before conv_up1",
               "the resize: the blob has Bilinear, corners not aligned, the reference Nearest, corners not aligned",
               "the resize is Bilinear, corners not aligned instead of Nearest, corners not aligned");
}

// In a blob, the operator after the missing one departs; the graph has the missing one.
TEST_F(BisectFunctional, MissingActivation) {
  const auto forget = [](Graph& graph) {
    const fbs::OperatorT* op = &last_before(graph, Op::Unary, "conv_last");
    auto& all = graph.table.operators;
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.get() == op; });
    leave_out(graph, static_cast<size_t>(at - all.begin()));
  };
  plant(forget, true);
  const Finding of_family = find();
  EXPECT_EQ(of_family.fault, Fault::Graph);
  EXPECT_EQ(of_family.cause, "the blob has no activation before conv2d 'conv_last', the reference leaky ReLU of 0.2");
  plant(forget, false);
  const Finding of_blob = find();
  EXPECT_EQ(of_blob.fault, Fault::Conversion);
  EXPECT_EQ(of_blob.op, "unary");
  EXPECT_EQ(of_blob.cause, "the activation is none instead of leaky ReLU of 0.2");
}

// An unknown fault is described by the taps around it and the operators between them.
TEST_F(BisectFunctional, UnknownFaultIsBetweenTwoTaps) {
  const auto share = [](Graph& graph) {
    fbs::OperatorT& product = last_before(graph, Op::Binary, "body.0.rdb2");
    recompute(graph, product, 1, [](const std::vector<double>& values, size_t i) { return values[i] + 0.11; });
  };
  plant(share, true, true);
  const Finding found = find();
  EXPECT_EQ(found.fault, Fault::Graph);
  EXPECT_EQ(found.cause, "");
  EXPECT_EQ(found.op, "") << "one of two, and nothing tells which";
  EXPECT_EQ(found.from, (std::vector<std::string>{"tap/body.0.rdb1", "tap/body.0.rdb2.conv5"}));
  ASSERT_EQ(found.region, (std::vector<std::string>{"binary Mul, before 'body.0.rdb2'", "binary Add 'body.0.rdb2'"}));
  const std::string text = finding_text(found, 1);
  EXPECT_NE(text.find("\nbetween              tap/body.0.rdb1, tap/body.0.rdb2.conv5 and tap/body.0.rdb2, 2 operators\n"
                      "candidates           binary Mul, before 'body.0.rdb2'; binary Add 'body.0.rdb2'\n"),
            std::string::npos)
      << text;
}

TEST_F(BisectFunctional, RightBlobHasNoFault) {
  for (const bool in_family : {true, false}) {
    plant([](Graph&) {}, in_family);
    EXPECT_EQ(find().fault, Fault::None);
  }
}

}  // namespace
}  // namespace ferry::bisect

#endif  // FERRY_HAS_CONVERTER
