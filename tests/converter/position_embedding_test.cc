#include "models/blocks/position_embedding.h"

#include <gtest/gtest.h>

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

TEST(PositionEmbedding, ATableThatFitsStaysAsItIs) {
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
