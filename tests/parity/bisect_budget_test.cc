// Which causes `ferry bisect` tries is limited by their work, not by a clock: the answer is the same on every machine.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "cli/bisect/trial.h"
#include "converter/checkpoint/checkpoint.h"
#include "converter/reference/interpreter.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/tiny_network.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::bisect {
namespace {

// A convolution that was padded below and to the right, where one on every side is right.
class Budget : public ::testing::Test {
 protected:
  void SetUp() override {
    const Tensor x = graph_.add_input("x", {1, 8, 8, 4}, fbs::Layout::NCHW);
    std::vector<float> weight(4 * 3 * 3 * 4);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = testing::noise(1, static_cast<uint32_t>(i));
    fbs::Conv2dT conv;
    conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
    const Tensor y = graph_.add_op("conv", conv, {x, graph_.add_constant("w", {4, 3, 3, 4}, weight)});
    graph_.add_output("y", y, fbs::Layout::NCHW);
    Array value{{1, 8, 8, 4}, std::vector<double>(8 * 8 * 4)};
    for (size_t i = 0; i < value.values.size(); ++i)
      value.values[i] = static_cast<double>(testing::noise(2, static_cast<uint32_t>(i)));
    const Source source{&graph_.table, [this](TensorId t) { return reference::constant(graph_, t); },
                        reference::empty_states(graph_)};
    piece_ = cut(source, y.id, {{x.id, value}});
    computed_ = compute(piece_);
    Piece wrong = piece_;
    fbs::Conv2dT& p = *wrong.operators.front().params.AsConv2d();
    p.pad_top = p.pad_left = 0, p.pad_bottom = p.pad_right = 2;
    wrong_ = compute(wrong).at(y.id);
    const ScratchFolder folder;
    parity::make_checkpoint(parity::tiny_fixture() / "manifest.json", folder.path() / "m.safetensors");
    checkpoint_ = open_checkpoint(folder.path() / "m.safetensors");
  }

  Tried search(uint64_t budget, std::chrono::milliseconds pause = {}) const {
    const Suspect suspect{piece_, computed_, *checkpoint_, names_, names_};
    const double departure = difference(wrong_, computed_.at(piece_.target)).relative;
    return try_causes(
        suspect, Trial::MakesWrong, departure,
        [&](const Array& tried) {
          if (pause.count() > 0) std::this_thread::sleep_for(pause);
          return difference(tried, wrong_).relative;
        },
        budget);
  }

  Graph graph_;
  Piece piece_;
  Values computed_;
  Array wrong_;
  std::set<std::string> names_;
  std::shared_ptr<const Checkpoint> checkpoint_;
};

TEST_F(Budget, WorkIsCountedInMultiplyAccumulates) {
  uint64_t work = 0;
  compute(piece_, nullptr, 0, &work);
  EXPECT_EQ(work, 8u * 8 * 4 * 3 * 3 * 4);
}

TEST_F(Budget, AllCausesAreTriedWhereItAllows) {
  const Tried all = search(kWorkBudget);
  EXPECT_FALSE(all.limited);
  EXPECT_NE(all.text.find("below and to the right"), std::string::npos) << all.text;
  EXPECT_GT(all.count, 4u);
}

TEST_F(Budget, ItEndsAtTheSameCauseHoweverSlowTheMachineIs) {
  const uint64_t one = 8u * 8 * 4 * 3 * 3 * 4;
  const Tried quick = search(3 * one), slow = search(3 * one, std::chrono::milliseconds(20));
  EXPECT_TRUE(quick.limited);
  EXPECT_LT(quick.count, search(kWorkBudget).count);
  EXPECT_EQ(quick.count, slow.count);
  EXPECT_EQ(quick.text, slow.text);
  EXPECT_EQ(quick.left, slow.left);
  EXPECT_TRUE(search(0).text.empty());
  EXPECT_EQ(search(0).count, 0u);
}

}  // namespace
}  // namespace ferry::bisect

#endif
