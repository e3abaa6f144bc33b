#include "models/blocks/position_embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/reference/interpreter.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

struct Table {
  std::shared_ptr<MemoryCheckpoint> file = std::make_shared<MemoryCheckpoint>();
  Naming naming{.framework = "timm"};
  Graph graph;
  Ledger ledger{file, naming};
  Weights w{graph, ledger};
};

TEST(PositionEmbedding, IsResampledAsPyTorchDoes) {
  struct Case {
    int channels, height, width, new_height, new_width, antialias;
    std::vector<double> output;
  };
  const Case cases[] = {
#include "tests/converter/bicubic_fixture.inc"
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.new_width);
    const int places = c.height * c.width, new_places = c.new_height * c.new_width;
    std::vector<double> table(static_cast<size_t>(c.channels * places));
    for (int i = 0; i < c.channels * places; ++i)
      table[static_cast<size_t>(i % places * c.channels + i / places)] = ((i * 37 + 3) % 19 - 9) / 8.0;
    const std::vector<double> resampled =
        resample_bicubic(table, c.channels, {c.height, c.width}, {c.new_height, c.new_width}, c.antialias != 0);
    ASSERT_EQ(resampled.size(), c.output.size());
    for (int i = 0; i < c.channels * new_places; ++i)
      EXPECT_NEAR(resampled[static_cast<size_t>(i % new_places * c.channels + i / new_places)],
                  c.output[static_cast<size_t>(i)], 1e-13)
          << i;
  }
}

TEST(PositionEmbedding, AMatchingTableStaysUnchanged) {
  Table t;
  t.file->add("pos_embed", {1, 5, 3});
  const Tensor table = position_table(t.w["pos_embed"], 3, 1, {2, 2});
  EXPECT_EQ(table.shape(), (Shape{1, 5, 3}));
  EXPECT_EQ(t.graph.at(table.id).dtype, fbs::DType::Float32);  // the checkpoint's own bytes
}

TEST(PositionEmbedding, EntriesOfThePrefixAreKept) {
  Table t;
  std::vector<float> values;
  for (int i = 0; i < 18; ++i) values.push_back(static_cast<float>(i * i % 7));
  t.file->add("pos_embed", {1, 2 + 4, 3}, values);
  const Tensor table = position_table(t.w["pos_embed"], 3, 2, {4, 1});
  EXPECT_EQ(table.shape(), (Shape{1, 2 + 4, 3}));
  const std::vector<double> stored(values.begin(), values.end());
  const std::vector<double> made = t.graph.values(table.id);
  EXPECT_TRUE(std::equal(stored.begin(), stored.begin() + 6, made.begin()));
  const std::vector<double> rest = resample_bicubic(std::span(stored).subspan(6), 3, {2, 2}, {4, 1});
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), made.begin() + 6, made.end()));
}

// PyTorch's bicubic with scale_factor=(new + offset) / old along both axes, as DINOv2's authors do.
std::vector<double> resampled_by_scale(const std::vector<double>& table, int channels, int side, Grid to,
                                       double offset) {
  const auto weight = [&](int i, int count, int cell) {
    const double t = std::fabs((i + 0.5) * side / (count + offset) - 0.5 - cell);
    if (t < 1) return (1.25 * t - 2.25) * t * t + 1;
    return t < 2 ? -0.75 * (((t - 5) * t + 8) * t - 4) : 0.0;
  };
  std::vector<double> out;
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x)
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int i = -2; i < side + 2; ++i)
          for (int k = -2; k < side + 2; ++k)
            sum += weight(y, to.height, i) * weight(x, to.width, k) *
                   table[static_cast<size_t>(
                       (std::clamp(i, 0, side - 1) * side + std::clamp(k, 0, side - 1)) * channels + c)];
        out.push_back(sum);
      }
  return out;
}

TEST(PositionEmbedding, PositionsFollowTheMapAtRunTime) {
  constexpr int kSide = 4, kChannels = 3;
  std::vector<double> table;
  for (int i = 0; i < kSide * kSide * kChannels; ++i) table.push_back(((i * 37 + 3) % 19 - 9) / 8.0);
  for (const double offset : {0.0, 0.1}) {
    Graph graph;
    const Tensor map = graph.add_input("map", {1, 2, 2, 5}, fbs::Layout::Same);
    const Tensor grid = graph.add_constant("grid", Shape{1, kSide, kSide, kChannels}, std::vector<double>(table));
    const Tensor positions = positions_like(grid, map, offset);
    for (const Grid to : {Grid{2, 2}, Grid{4, 4}, Grid{4, 7}, Grid{9, 3}, Grid{1, 1}}) {
      SCOPED_TRACE(std::to_string(offset) + " " + std::to_string(to.height) + "x" + std::to_string(to.width));
      const Shape shape{1, to.height, to.width, 5};
      const std::vector<double> zeros(static_cast<size_t>(shape.elements()), 0.0);
      std::vector<reference::State> states;
      const reference::Array made =
          reference::interpret(graph, {reference::Array{shape, zeros}}, &states).at(positions.id);
      EXPECT_EQ(made.shape, (Shape{1, to.size(), kChannels}));
      const bool same = to == Grid{kSide, kSide};
      const std::vector<double> expected = resampled_by_scale(table, kChannels, kSide, to, same ? 0 : offset);
      ASSERT_EQ(made.values.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(made.values[i], expected[i], 1e-12) << i;
    }
  }
}

TEST(PositionEmbedding, ATableOfNoSquareGridMustFit) {
  Table t;
  t.file->add("pos_embed", {1, 7, 3});
  EXPECT_EQ(complaint([&] {
              position_table(t.w["pos_embed"], 3, 1, {2, 2});
            }),
            "'pos_embed' has shape [1,7,3], but module 'pos_embed' needs [1,5,3]");
}

}  // namespace
}  // namespace ferry
