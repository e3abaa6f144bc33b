#include "cli/parity/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ferry::parity {
namespace {

Entry entry(const std::string& name, std::vector<float> values, EntryKind kind = EntryKind::Tap) {
  Entry out;
  out.name = kind == EntryKind::Tap ? "tap/" + name : name;
  out.module = name;
  out.kind = kind;
  out.shape = {1, static_cast<int64_t>(values.size())};
  for (float v : values) out.absmax = std::max(out.absmax, std::fabs(static_cast<double>(v)));
  out.values = std::move(values);
  return out;
}

Computed computed(std::vector<float> values, int depth = 0, bool block = false) {
  const Dims shape{1, static_cast<int64_t>(values.size())};
  return {shape, depth, block, [values = std::move(values)] { return values; }};
}

TEST(Compare, ErrorIsRelativeToTheReferencesMaximum) {
  const Row row = compare_entry(entry("a", {-8, 1, 0}), {1, 3}, std::vector<float>{-8, 1.0625f, 0});
  EXPECT_EQ(row.max_abs_error, 0.0625);
  EXPECT_EQ(row.relative_error, 0.0625 / 8);
  EXPECT_EQ(row.worst, (Dims{0, 1}));
  EXPECT_EQ(row.worst_ours, 1.0625);
  EXPECT_EQ(row.worst_reference, 1);
  EXPECT_EQ(row.compared, 3u);
  EXPECT_FALSE(row.in_bounds);
}

TEST(CompareEntry, JudgesFloat16ByTheMeanSquare) {
  // (0.03^2 + 0) / (8^2 + 6^2) = 9e-6
  const Row row = compare_entry(entry("a", {8, 6}), {1, 2}, std::vector<float>{8.03f, 6}, Precision::Float16);
  EXPECT_NEAR(row.squared_error, 9e-6, 1e-8);
  EXPECT_TRUE(row.in_bounds);
  EXPECT_FALSE(compare_entry(entry("a", {8, 6}), {1, 2}, std::vector<float>{8.04f, 6}, Precision::Float16).in_bounds);
  EXPECT_FALSE(compare_entry(entry("a", {8, 6}), {1, 2}, std::vector<float>{8.03f, 6}).in_bounds);
}

TEST(Compare, BoundIsInclusiveAndOneTenThousandth) {
  EXPECT_TRUE(compare_entry(entry("a", {1024, 0}), {1, 2}, std::vector<float>{1024.1f, 0}).in_bounds);
  EXPECT_FALSE(compare_entry(entry("a", {1024, 0}), {1, 2}, std::vector<float>{1024.11f, 0}).in_bounds);
}

TEST(Compare, LogitsAreBoundAbsolutely) {
  const auto row = [](EntryKind kind, float ours) {
    return compare_entry(entry("logits", {100, 0}, kind), {1, 2}, std::vector<float>{ours, 0});
  };
  EXPECT_TRUE(row(EntryKind::Output, 100.0009f).in_bounds);
  EXPECT_FALSE(row(EntryKind::Output, 100.0020f).in_bounds) << "2e-5 of the maximum, but 2e-3";
  EXPECT_TRUE(row(EntryKind::Tap, 100.0020f).in_bounds);
}

TEST(Compare, LogitsAreBoundRelativelyToo) {
  const Row wrong =
      compare_entry(entry("logits", {0.008f, 0}, EntryKind::Output), {1, 2}, std::vector<float>{0.007f, 0});
  EXPECT_FALSE(wrong.in_bounds) << "12 % of the maximum, though less than 1e-3";
  EXPECT_EQ(wrong.measure, Measure::Relative);
  EXPECT_EQ(wrong.bound, kRelativeBound);
  EXPECT_TRUE(
      compare_entry(entry("logits", {8, 0}, EntryKind::Output), {1, 2}, std::vector<float>{8.0007f, 0}).in_bounds);
}

TEST(Compare, SamplesAreTakenAtTheirPositions) {
  Entry sampled = entry("a", {5, 7});
  sampled.shape = {1, 2, 2};
  sampled.positions = {3, 1};
  const Row row = compare_entry(sampled, {1, 2, 2}, std::vector<float>{0, 7, 0, 6});
  EXPECT_EQ(row.max_abs_error, 1);
  EXPECT_EQ(row.worst, (Dims{0, 1, 1}));
}

TEST(Compare, NotANumberAnywhereIsAFailure) {
  Entry sampled = entry("a", {5});
  sampled.shape = {1, 2};
  sampled.positions = {0};
  const Row nan = compare_entry(sampled, {1, 2}, std::vector<float>{5, std::nanf("")});
  EXPECT_FALSE(nan.in_bounds) << "though the sample is right";
  EXPECT_EQ(nan.problem, "the result has a NaN");
  EXPECT_EQ(nan.worst, (Dims{0, 1}));
  const Row inf = compare_entry(entry("a", {5}), {1, 1}, std::vector<float>{std::numeric_limits<float>::infinity()});
  EXPECT_FALSE(inf.in_bounds);
  EXPECT_EQ(inf.problem, "the result has an infinite value");
}

TEST(Compare, AllZeroReferenceAllowsOnlyZero) {
  EXPECT_TRUE(compare_entry(entry("a", {0, 0}), {1, 2}, std::vector<float>{0, 0}).in_bounds);
  EXPECT_FALSE(compare_entry(entry("a", {0, 0}), {1, 2}, std::vector<float>{0, 1e-30f}).in_bounds);
}

TEST(Compare, OtherShapeIsAFailure) {
  const Row row = compare_entry(entry("a", {1, 2}), {2, 1}, std::vector<float>{1, 2});
  EXPECT_FALSE(row.in_bounds);
  EXPECT_EQ(row.problem, "the blob's shape is 2x1, the reference's 1x2");
}

TEST(Compare, RowsFollowTheNetworkAndTheFirstBadOneIsNamed) {
  Fixture fixture;
  fixture.entries = {entry("late", {1}), entry("early", {1}), entry("middle", {1})};
  const Comparison c =
      compare(fixture, {{"late", computed({2}, 9)}, {"early", computed({1}, 1)}, {"middle", computed({3}, 5)}});
  ASSERT_EQ(c.rows.size(), 3u);
  EXPECT_EQ(c.rows[0].module, "early");
  EXPECT_EQ(c.rows[2].module, "late");
  ASSERT_NE(c.first_out_of_bounds(), nullptr);
  EXPECT_EQ(c.first_out_of_bounds()->module, "middle");
  EXPECT_EQ(c.worst()->module, "middle");
  EXPECT_FALSE(c.passed());
}

TEST(Compare, InnerTapsMayBeFusedAwayBlocksAndOutputsMayNot) {
  Fixture fixture;
  fixture.entries = {entry("layer1.0", {1}), entry("layer1.0.conv1", {1}), entry("layer2.13", {1}),
                     entry("feat/0", {1}, EntryKind::Pyramid), entry("logits", {1}, EntryKind::Output)};
  const Comparison c = compare(fixture, {{"layer1.0", computed({1}, 0, true)}});
  EXPECT_EQ(c.not_in_blob, std::vector<std::string>{"tap/layer1.0.conv1"});
  EXPECT_EQ(c.missing, (std::vector<std::string>{"tap/layer2.13", "feat/0", "logits"}));
  EXPECT_EQ(c.first_out_of_bounds(), nullptr);
  EXPECT_FALSE(c.passed());
}

TEST(Compare, NothingComparedIsAFailure) {
  Fixture fixture;
  fixture.entries = {entry("a", {1})};
  const Comparison c = compare(fixture, {{"b", computed({1})}});
  EXPECT_TRUE(c.rows.empty());
  EXPECT_TRUE(c.missing.empty());
  EXPECT_FALSE(c.passed());
  EXPECT_EQ(c.worst(), nullptr);
}

TEST(Compare, NotANumberIsTheWorst) {
  Fixture fixture;
  fixture.entries = {entry("a", {1}), entry("b", {1}), entry("c", {1})};
  const Comparison c =
      compare(fixture, {{"a", computed({2}, 0)}, {"b", computed({std::nanf("")}, 1)}, {"c", computed({9}, 2)}});
  EXPECT_EQ(c.worst()->module, "b");
}

}  // namespace
}  // namespace ferry::parity
