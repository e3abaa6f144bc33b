// Recurrent layers: every cell, function and option against the oracle, and the oracle by hand.
#include <cmath>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

using fbs::GateFunctionKind;
using fbs::RecurrentCell;

constexpr double kBound = 2e-6;

fbs::RecurrenceT cell(RecurrentCell kind, GateFunctionKind inner = GateFunctionKind::Tanh) {
  fbs::RecurrenceT p;
  p.cell = kind;
  p.f = std::make_unique<fbs::GateFunction>(GateFunctionKind::Sigmoid, 0.0f, 0.0f);
  p.g = std::make_unique<fbs::GateFunction>(inner, 0.7f, 0.4f);
  p.h = std::make_unique<fbs::GateFunction>(inner, 0.7f, 0.4f);
  return p;
}

struct Sizes {
  int steps, samples, hidden;
  int states = 1;  // 1, or as many as samples
};

void expect(const fbs::RecurrenceT& p, int gates, int parts, int extra, const Sizes& s,
            std::vector<double> lengths = {}) {
  std::vector<Operand> operands = {input({s.steps, s.samples, gates * s.hidden}),
                                   constant({gates * s.hidden + extra, s.hidden}, -0.2, 0.2),
                                   input({parts, s.states, s.hidden})};
  if (!lengths.empty()) operands.push_back(given({s.samples}, std::move(lengths), fbs::DType::Int32));
  fbs::OpParamsUnion params;
  params.Set(fbs::RecurrenceT(p));
  expect_like_oracle(params, operands, kBound, {}, true);
}

TEST(Recurrence, EveryCellMatchesTheOracle) {
  for (const bool reverse : {false, true}) {
    for (const bool option : {false, true}) {
      SCOPED_TRACE(::testing::Message() << reverse << option);
      for (const Sizes s : {Sizes{5, 3, 7, 3}, Sizes{1, 1, 1}, Sizes{4, 2, 33}}) {
        fbs::RecurrenceT rnn = cell(RecurrentCell::Rnn), gru = cell(RecurrentCell::Gru);
        fbs::RecurrenceT lstm = cell(RecurrentCell::Lstm);
        rnn.reverse = gru.reverse = lstm.reverse = reverse;
        gru.reset_after = lstm.peepholes = option;
        expect(rnn, 1, 1, 0, s);
        expect(gru, 3, 1, option ? 1 : 0, s);
        expect(lstm, 4, 2, option ? 3 : 0, s);
        lstm.input_forget = true;
        expect(lstm, 4, 2, option ? 3 : 0, s);
      }
    }
  }
}

TEST(Recurrence, EveryFunctionMatchesTheOracle) {
  for (const GateFunctionKind kind : fbs::EnumValuesGateFunctionKind()) {
    SCOPED_TRACE(fbs::EnumNameGateFunctionKind(kind));
    expect(cell(RecurrentCell::Lstm, kind), 4, 2, 0, {3, 2, 18});
    fbs::RecurrenceT clipped = cell(RecurrentCell::Gru, kind);
    clipped.clip = 0.25f;
    expect(clipped, 3, 1, 0, {3, 2, 18});
  }
}

// Sequences of no, some and more steps than there are.
TEST(Recurrence, SequencesEndAtTheirLengths) {
  for (const bool reverse : {false, true}) {
    fbs::RecurrenceT p = cell(RecurrentCell::Lstm);
    p.reverse = reverse;
    expect(p, 4, 2, 0, {4, 5, 6, 5}, {0, 1, 3, 4, 9});
  }
}

// f is the identity: h = x + 2 h. The state after the steps comes first.
TEST(RecurrenceOracle, CountsByHand) {
  fbs::RecurrenceT p;
  p.cell = RecurrentCell::Rnn;
  p.f = std::make_unique<fbs::GateFunction>(GateFunctionKind::Affine, 1.0f, 0.0f);
  const reference::Array x{{3, 1, 1}, {1, 10, 100}}, r{{1, 1}, {2}}, state{{1, 1, 1}, {5}};
  EXPECT_EQ(oracle(fbs::RecurrenceT(p), {x, r, state}).values, (std::vector<double>{164, 11, 32, 164}));
  p.reverse = true;
  EXPECT_EQ(oracle(fbs::RecurrenceT(p), {x, r, state}).values, (std::vector<double>{461, 461, 230, 110}));
  const reference::Array two{{1}, {2}, fbs::DType::Int32};
  EXPECT_EQ(oracle(fbs::RecurrenceT(p), {x, r, state, two}).values, (std::vector<double>{41, 41, 20, 0}));
}

}  // namespace
}  // namespace ferry::testing
