// The sections of a multi-axis rotary embedding, as in Qwen3-VL: a mask selects the axis that rotates each channel.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <cmath>

#include "cli/bisect/trial.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect {
namespace {

class NoCheckpoint : public Checkpoint {
 public:
  const std::map<std::string, CheckpointTensor>& tensors() const override { return none_; }
  const char* format() const override { return "none"; }
  std::string sha256() const override { return {}; }
  const std::filesystem::path& path() const override { return path_; }

 private:
  std::map<std::string, CheckpointTensor> none_;
  std::filesystem::path path_;
};

// The sum over axes of angles [3,5,12] times a mask [3,1,12].
Piece choosing(const std::vector<int>& axes) {
  Array angles{.shape = {3, 5, 12}, .values = {}}, choice{.shape = {3, 1, 12}, .values = std::vector<double>(36)};
  for (int i = 0; i < 3 * 5 * 12; ++i) angles.values.push_back(std::sin(1.7 * i));
  for (size_t channel = 0; channel < 12; ++channel)
    choice.values[static_cast<size_t>(axes[channel % 6]) * 12 + channel] = 1;
  Piece piece;
  piece.known = {{tensor_at(0), angles}, {tensor_at(1), choice}};
  piece.constants[tensor_at(1)] = "rope.axes";
  fbs::BinaryT product;
  product.kind = fbs::BinaryKind::Mul;
  fbs::ReduceT sum;
  sum.kind = fbs::ReduceKind::Sum;
  sum.axes = {0};
  piece.operators.resize(2);
  piece.operators[0].params.Set(product);
  piece.operators[0].inputs = {tensor_at(0), tensor_at(1)};
  piece.operators[0].outputs = {tensor_at(2)};
  piece.operators[1].params.Set(std::move(sum));
  piece.operators[1].inputs = {tensor_at(2)};
  piece.operators[1].outputs = {tensor_at(3)};
  piece.target = tensor_at(3);
  return piece;
}

TEST(Sections, ExchangedOrReorderedSectionsAreNamed) {
  const std::vector<int> right = {0, 1, 2, 0, 1, 0}, exchanged = {0, 2, 1, 0, 2, 0}, beside = {0, 0, 0, 1, 1, 2};
  const NoCheckpoint checkpoint;
  const std::set<std::string> none;
  const auto explained = [&](const std::vector<int>& planted, const std::vector<int>& aim, Trial trial) {
    const Piece piece = choosing(planted), other = choosing(aim);
    const Values computed = compute(piece);
    const Array wanted = compute(other).at(other.target);
    const auto distance = [&](const Array& tried) { return difference(tried, wanted).relative; };
    return try_causes({piece, computed, checkpoint, none, none}, trial, distance(computed.at(piece.target)), distance);
  };
  for (const auto& [wrong, text] : {std::pair{&exchanged, "those of axes 1 and 2"}, {&beside, "are contiguous and"}}) {
    const Tried planted = explained(right, *wrong, Trial::MakesWrong),
                repaired = explained(*wrong, right, Trial::Repairs);
    EXPECT_NE(planted.text.find(text), std::string::npos) << planted.text;
    EXPECT_NE(repaired.text.find(text), std::string::npos) << repaired.text;
    EXPECT_EQ(planted.left, 0);
    EXPECT_EQ(repaired.at, 0u);
  }
}

}  // namespace
}  // namespace ferry::bisect

#endif  // FERRY_HAS_CONVERTER
