#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

struct Windows {
  int32_t samples, height, width, channels, window_h, window_w, shift_h, shift_w;

  template <typename Params>
  Params params() const {
    Params p;
    p.window_h = window_h;
    p.window_w = window_w;
    p.shift_h = shift_h;
    p.shift_w = shift_w;
    return p;
  }
  fbs::WindowPartitionT partition() const { return params<fbs::WindowPartitionT>(); }
  fbs::WindowReverseT reverse() const {
    auto p = params<fbs::WindowReverseT>();
    p.height = height;
    p.width = width;
    return p;
  }
  Shape image() const { return {samples, height, width, channels}; }
  Shape windows() const { return {samples * (height / window_h) * (width / window_w), window_h * window_w, channels}; }
};

constexpr Windows kWindowCases[] = {
    {1, 1, 1, 1, 1, 1, 0, 0},  {3, 7, 7, 5, 7, 7, 0, 0},  {2, 14, 21, 13, 7, 7, 3, 3},
    {3, 6, 10, 8, 2, 5, 1, 4}, {1, 6, 10, 3, 3, 1, 2, 0}, {2, 8, 8, 96, 4, 4, 0, 2},
};

TEST(Window, PartitionMatchesTheOracle) {
  for (const Windows& c : kWindowCases) expect_like_oracle(c.partition(), {input(c.image())}, 0);
}

TEST(Window, ReverseMatchesTheOracle) {
  for (const Windows& c : kWindowCases) expect_like_oracle(c.reverse(), {input(c.windows())}, 0);
}

TEST(Window, ReverseTakesItsSidesFromAnotherTensor) {
  for (const Windows& c : kWindowCases) {
    auto params = c.reverse();
    params.height = -3;
    params.width = -4;
    expect_like_oracle(params, {input(c.windows()), input({1, c.height, c.width, 2})}, 0);
  }
}

TEST(WindowOracle, CountsByHand) {
  const Windows c{1, 2, 4, 1, 2, 2, 1, 1};
  // Rolled: 5 6 7 4 above 1 2 3 0.
  const std::vector<double> cut{5, 6, 1, 2, 7, 4, 3, 0};
  EXPECT_EQ(oracle(c.partition(), {{c.image(), counting(8)}}).values, cut);
  EXPECT_EQ(oracle(c.reverse(), {{c.windows(), cut}}).values, counting(8));
}

}  // namespace
}  // namespace ferry::testing
