// What operators cost decides which of them compute on Int8; bounds and budgets decide the rest.
#include "converter/quantize/times.h"

#include <cmath>
#include <set>

#include "tests/converter/quantised_network.h"
#include "tests/support/scratch_folder.h"

namespace ferry::int8 {
namespace {

using Measured = std::map<std::string, OperatorTime>;

// Times of a file in which conversions of 1000 elements take `conversion` us.
Times times_of(const Measured& operators, double conversion = 1) {
  const ScratchFolder folder;
  return Times::read(folder.write(
      "times.json", Times::text("a board", "arm64", "float32", 1, operators, {{1000, conversion, conversion}})));
}

// The same times for all operators but those that `change` changes by name.
Measured even(const Graph& graph, double real, double integer,
              const std::map<std::string, OperatorTime>& changes = {}) {
  Measured out;
  for (const auto& op : graph.table.operators) {
    const auto change = changes.find(op->name);
    out[time_key(graph, *op)] = change != changes.end() ? change->second : OperatorTime{real, integer};
  }
  return out;
}

// Convolutions of different shapes, one after another.
void build_chain(ferry::Network& n, const std::vector<int>& channels) {
  Tensor x = n.input({1, kSide, kSide, 3});
  for (size_t i = 0; i < channels.size(); ++i) {
    fbs::Conv2dT params;
    const int in = x.shape()[3];
    x = n.graph.add_op("conv" + std::to_string(i), params,
                       {x, n.constant({channels[i], 1, 1, in}, static_cast<double>(i) + 1)});
  }
  n.output(x);
}

std::vector<Role> all_weighted(size_t count) { return std::vector<Role>(count, Role::Weighted); }

TEST(Times, AreReadAsTheyWereWritten) {
  ferry::Network n;
  build_chain(n, {4, 5});
  const auto& operators = n.graph.table.operators;
  const std::string first = time_key(n.graph, *operators[0]);
  EXPECT_EQ(first, "conv2d 1x8x8x3 4x1x1x3 > 1x8x8x4");
  const Times times = times_of({{first, {12.5, 3.25}}}, 2);
  EXPECT_EQ(times.of(n.graph, *operators[0], false), 12.5);
  EXPECT_EQ(times.of(n.graph, *operators[0], true), 3.25);
  EXPECT_EQ(times.conversion(500, true), 1);
  EXPECT_FALSE(times.has(n.graph, *operators[1]));
  EXPECT_EQ(times.of(n.graph, *operators[1], true), Times::of_set("arm64").of(n.graph, *operators[1], true));
  EXPECT_NE(times.source().find("measured on a board in float32"), std::string::npos) << times.source();
  EXPECT_EQ(Times::of_set("arm64").source(), "rates of arm64, not measured");
}

TEST(Times, RefuseFilesThatAreNone) {
  const ScratchFolder folder;
  for (const char* text : {"", "{}", "[1]", "{\"ferry_times\": 2}",
                           "{\"ferry_times\": 1, \"set\": \"arm64\", \"operators\": [{\"operator\": 3}]}",
                           "{\"ferry_times\": 1, \"set\": \"z80\", \"operators\": [], \"conversions\": []}"})
    EXPECT_THROW(Times::read(folder.write("times.json", text)), Error) << text;
  EXPECT_THROW(Times::read("absent.json"), Error);
  EXPECT_THROW(times_of({{"conv2d", {-1, 2}}}), Error);
}

TEST(Times, EverySetHasRatesThatMakeDenseProductsNoSlower) {
  ferry::Network n;
  n.output(n.conv(n.input({1, 32, 32, 64}), 64, 3, false));
  for (const std::string& set : Times::sets()) {
    const Times times = Times::of_set(set);
    const double real = times.of(n.graph, *n.graph.table.operators[0], false);
    EXPECT_GT(real, 0) << set;
    EXPECT_GT(times.conversion(1000, true), 0) << set;
  }
}

TEST(TimeModel, CountsEachConversionOnce) {
  ferry::Network n;
  const Tensor x = n.input({1, 10, 10, 10});
  const Tensor a = n.conv(x, 10, 1, false), b = n.conv(x, 10, 1, false);
  n.output(a + b);
  const Times times = times_of(even(n.graph, 10, 4), 1);
  const TimeModel model(n.graph, times);
  EXPECT_DOUBLE_EQ(model.all_float(), 30);
  EXPECT_DOUBLE_EQ(model.total({true, true, true}), 12 + 2);    // x once, the output once
  EXPECT_DOUBLE_EQ(model.total({true, false, true}), 18 + 3);   // x, b, the output
  EXPECT_DOUBLE_EQ(model.total({true, false, false}), 24 + 2);  // x, a
  EXPECT_EQ(model.known(), 3u);
}

TEST(FastestRelease, LeavesInFloatWhatDoesNotPayWithItsConversions) {
  ferry::Network n;
  build_chain(n, {10, 11, 12, 13, 14});
  const auto released = [&](const Measured& measured, double conversion) {
    return fastest_release(n.graph, all_weighted(5), TimeModel(n.graph, times_of(measured, conversion)),
                           std::vector<bool>(5), true);
  };
  const std::vector<bool> none(5);
  EXPECT_EQ(released(even(n.graph, 10, 4), 1), none);
  // Slow on Int8 by less than two conversions, and by more.
  EXPECT_EQ(released(even(n.graph, 10, 4, {{"conv2", {10, 11}}}), 1), none);
  EXPECT_EQ(released(even(n.graph, 10, 4, {{"conv2", {10, 14}}}), 1), (std::vector<bool>{0, 0, 1, 0, 0}));
  // Two that pay only together with the conversions around them.
  const Measured pair = even(n.graph, 10, 10.5, {{"conv2", {10, 8}}, {"conv3", {10, 8}}});
  EXPECT_EQ(released(pair, 1), (std::vector<bool>{1, 1, 0, 0, 1}));
  EXPECT_EQ(released(pair, 5), std::vector<bool>(5, true));
}

Result with_times(ferry::Network& n, const Measured& measured, SearchOptions options = {}) {
  const Times times = times_of(measured, 0.1);
  options.times = &times;
  return quantised(n, options);
}

std::set<std::string> names_of(const ferry::Network& n, const Result& result, Reason reason) {
  std::set<std::string> out;
  for (const OperatorError& row : result.rows)
    if (row.reason == reason) out.insert(n.graph.table.operators[row.op]->name);
  return out;
}

TEST(QuantiseTime, LeavesASlowOperatorInFloatAndPredictsTheTime) {
  ferry::Network n;
  build_chain(n, {4, 5, 6});
  const Result result = with_times(n, even(n.graph, 10, 4, {{"conv1", {10, 40}}}));
  EXPECT_EQ(names_of(n, result, Reason::Time), (std::set<std::string>{"conv1"}));
  EXPECT_FALSE(result.rows[1].int8);
  EXPECT_TRUE(result.rows[0].int8 && result.rows[2].int8);
  ASSERT_TRUE(result.time.has_value());
  EXPECT_EQ(result.time->real, 30);
  EXPECT_LT(result.time->chosen, 19);
  EXPECT_EQ(result.time->chosen, result.time->fastest);
  EXPECT_EQ(result.time->known, 3u);
}

// The certificate of integers behind a float operator has fewer stages.
TEST(QuantiseTime, StaysWholeWhereThatCostsLittle) {
  ferry::Network n;
  build_chain(n, {4, 5, 6});
  const Measured measured = even(n.graph, 10, 4, {{"conv0", {10, 10.5}}});
  EXPECT_TRUE(with_times(n, measured).rows[0].int8);
  SearchOptions options;
  options.budget = 1;
  EXPECT_FALSE(with_times(n, measured, options).rows[0].int8);
}

TEST(QuantiseTime, RefusesANetworkThatIsSlowerOnInt8) {
  ferry::Network n;
  build_chain(n, {4, 5});
  EXPECT_THROW(with_times(n, even(n.graph, 4, 10)), Error);
}

TEST(QuantiseTime, SpendsABudgetOnASmallerErrorAndNotMore) {
  ferry::Network n;
  build_chain(n, {4, 5, 6, 7});
  const Measured measured = even(n.graph, 10, 4);
  const Result fastest = with_times(n, measured);
  for (const double budget : {1.0, 1.5, 1.9}) {
    SearchOptions options;
    options.budget = budget;
    const Result result = with_times(n, measured, options);
    EXPECT_LE(result.time->chosen, budget * result.time->fastest) << budget;
    EXPECT_EQ(result.tune.cost() < fastest.tune.cost(), budget > 1) << budget;
    EXPECT_EQ(names_of(n, result, Reason::Gain).empty(), budget == 1) << budget;
  }
}

// An operator whose float form is dear removes as much error as a cheap one: the cheap one is released.
TEST(QuantiseBound, ReleasesTheErrorThatCostsLeastTime) {
  ferry::Network n;
  const Tensor x = n.input({1, kSide, kSide, 3});
  fbs::Conv2dT params;
  const Tensor w = n.constant({4, 1, 1, 3}, 1), w2 = n.constant({5, 1, 1, 3}, 1);
  n.output(concat({n.graph.add_op("dear", params, {x, w2}), n.graph.add_op("cheap", params, {x, w})}));
  const Measured measured = even(n.graph, 10, 4, {{"dear", {1000, 4}}, {"cheap", {5, 4}}});
  const Result plain = with_times(n, measured);
  SearchOptions options;
  options.bound = Bound{Bound::Kind::Sqnr, plain.tune.sqnr() + 1};
  const Result held = with_times(n, measured, options);
  EXPECT_EQ(names_of(n, held, Reason::Bound).count("cheap"), 1u);
  EXPECT_EQ(names_of(n, held, Reason::Bound).count("dear"), 0u);
}

TEST(QuantiseBound, IsNeverHeldByANetworkSlowerThanFloat) {
  ferry::Network n;
  build_chain(n, {4, 5, 6});
  const Measured measured = even(n.graph, 10, 4);
  SearchOptions options;
  options.bound = Bound{Bound::Kind::Sqnr, 200};
  try {
    with_times(n, measured, options);
    FAIL();
  } catch (const Error& error) {
    for (const char* words : {"the best reached sqnr=", "operators on Int8, at 0.", "of the float network's time"})
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

// A release that the bound does not need in the end returns to Int8.
TEST(QuantiseBound, TakesBackWhatItDoesNotNeed) {
  ferry::Network n;
  build_chain(n, {4, 5, 6});
  const Measured measured = even(n.graph, 10, 4);
  const Times times = times_of(measured, 0.1);
  const TimeModel model(n.graph, times);
  const std::vector<Role> roles = all_weighted(3);
  Releases releases(n.graph, roles, &model, 0);
  // conv0 removes some of the error, conv1 all of it, but only once conv0 is released, or alone when measured later.
  const auto noise_of = [](const std::vector<bool>& integer) {
    if (!integer[1] && (!integer[0] || !integer[2])) return 0.001;
    return !integer[0] ? 0.5 : !integer[1] ? 0.6 : 1.0;
  };
  const Bound bound{Bound::Kind::Sqnr, 20};
  ReleaseOptions options;
  options.bound = &bound;
  options.measure = [&](const std::vector<bool>& integer, bool) {
    OutputError error;
    error.images = error.agreeing = 1;
    error.noise = noise_of(integer);
    return error;
  };
  const OutputError held = releases.improve(options.measure({true, true, true}, true), options);
  EXPECT_TRUE(bound.holds(held));
  const std::vector<bool> integer = releases.integer();
  EXPECT_EQ(std::count(integer.begin(), integer.end(), true), 1);
  EXPECT_FALSE(integer[1]);
}

TEST(QuantiseBound, KnowsStudentsLimits) {
  // t of 95 %, one-sided, from tables, by degrees of freedom.
  const std::map<size_t, double> table = {{1, 6.314}, {2, 2.920},  {3, 2.353}, {4, 2.132},
                                          {9, 1.833}, {19, 1.729}, {99, 1.660}};
  for (const auto& [freedom, t] : table) {
    std::vector<Score> scores(freedom + 1);
    for (size_t i = 0; i < scores.size(); ++i) scores[i].value = i % 2 == 0 ? 0 : 1;
    const double mean = mean_of(scores);
    double squares = 0;
    for (const Score& s : scores) squares += (s.value - mean) * (s.value - mean);
    const double error = std::sqrt(squares / static_cast<double>(freedom * scores.size()));
    EXPECT_NEAR(uncertainty_of(scores) / error, t, 0.006) << freedom;
  }
  EXPECT_TRUE(std::isinf(uncertainty_of({Score{1}})));
}

TEST(QuantiseBound, IsReadAndJudged) {
  OutputError error;
  error.images = 4;
  error.agreeing = 3;
  error.scores = {{1}, {1}, {0.98}, {0.9}};
  EXPECT_TRUE(Bound::parse("iou=.97").holds(error));
  EXPECT_FALSE(Bound::parse("iou=.98").holds(error));
  EXPECT_FALSE(Bound::parse("iou=.97").proven(error));
  EXPECT_GT(Bound::parse("iou=.9").images_to_prove(error), 1u);
  EXPECT_EQ(Bound::parse("iou=.9").reached(error), "iou=0.9700");
  EXPECT_TRUE(Bound::parse("top1=75").holds(error));
  error.scores = {{1}, {1}, {1}};
  EXPECT_NEAR(Bound::parse("iou=.9").limit(error), std::cbrt(0.05), 1e-9);  // three equal images prove little
  error.scores = {{1}, {0}};
  EXPECT_TRUE(Bound::parse("lines=.5").holds(error));
  EXPECT_FALSE(Bound::parse("lines=.6").holds(error));
  // 19 of 20 boxes.
  error.scores = {{1, 10}, {0.9, 10}, {1, 0}};
  EXPECT_EQ(Bound::parse("boxes=.9").reached(error), "boxes=0.9500");
  EXPECT_NEAR(Bound::parse("boxes=.9").limit(error), 0.7839, 5e-5);
  EXPECT_EQ(Bound::parse("boxes=.99").images_to_prove(error), 45u);  // 299 boxes
  error.scores = {{0.01}, {0.02}};
  EXPECT_TRUE(Bound::parse("depth=.02").holds(error));
  EXPECT_FALSE(Bound::parse("depth=.01").holds(error));
  EXPECT_FALSE(Bound::parse("depth=.02").proven(error));
  for (const char* text :
       {"", "iou", "iou=", "iou=0", "iou=1.1", "iou=x", "top1=101", "depth=-1", "boxes=nan", "speed=1"})
    EXPECT_THROW(Bound::parse(text), Error) << text;
}

}  // namespace
}  // namespace ferry::int8
