// Gather and Scatter.
#include <cstring>

#include "converter/pack/pack.h"
#include "sdk/graph/session.h"
#include "tests/ops/harness.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

using fbs::DType;
using fbs::GatherKind;
using fbs::ScatterKind;

fbs::GatherT gather(GatherKind kind, int axis) {
  fbs::GatherT p;
  p.kind = kind;
  p.axis = axis;
  return p;
}

fbs::ScatterT scatter(GatherKind where, int axis, ScatterKind kind = ScatterKind::Set) {
  fbs::ScatterT p;
  p.where = where;
  p.axis = axis;
  p.kind = kind;
  return p;
}

TEST(Gather, WidensTablesOfFloat16) {
  expect_like_oracle(fbs::GatherT(), {float16_constant({50, 24}), ints({2, 7}, -50, 50)}, 0);
  fbs::GatherT columns;
  columns.axis = 1;
  expect_like_oracle(columns, {float16_constant({5, 9, 3}), ints({4}, 0, 9)}, 0);
}

TEST(Gather, WidensTablesOfIntegers) {
  constexpr double kBound = 1e-7;  // one unit in the last place
  for (const int axis : {0, 1, 2}) {
    expect_like_oracle(gather(GatherKind::Slices, axis), {bytes_constant({11, 7, 64}), ints({2, 3}, -7, 7)}, kBound);
    expect_like_oracle(gather(GatherKind::Slices, axis), {nibbles_constant({11, 7, 64}), ints({2, 3}, -7, 7)}, kBound);
  }
  for (const fbs::DType dtype : {fbs::DType::Int4, fbs::DType::Int8})
    expect_like_oracle(gather(GatherKind::Slices, 0), {blocks_constant(dtype, {30, 64}), ints({9}, 0, 30)}, kBound);
  expect_like_oracle(gather(GatherKind::Slices, 0), {bytes_constant({300, 48}), ints({3, 77}, 0, 300)}, kBound);
  expect_like_oracle(gather(GatherKind::Slices, 1), {nibbles_constant({3, 64}), ints({9}, 0, 64)}, kBound);  // nibbles
}

TEST(Gather, TakesSlicesAlongAnyAxis) {
  for (const int axis : {0, 1, 2, 3}) {
    SCOPED_TRACE(axis);
    expect_like_oracle(gather(GatherKind::Slices, axis), {input({3, 5, 4, 7}), ints({6}, -3, 3)}, 0);
    expect_like_oracle(gather(GatherKind::Slices, axis), {ints({3, 5, 4, 7}, -0x1p31, 0x1p31), ints({2, 3}, -3, 3)}, 0);
  }
  expect_like_oracle(gather(GatherKind::Slices, 1), {input({2, 3}), ints({}, 1, 2)}, 0);
  expect_like_oracle(gather(GatherKind::Slices, 0), {input({1}), ints({1}, -1, 1)}, 0);
  expect_like_oracle(gather(GatherKind::Slices, 0), {constant({300, 64}), ints({3, 77}, 0, 300)}, 0);  // an embedding
  expect_like_oracle(gather(GatherKind::Slices, 0), {input({40, 9}), int_constant({5}, -40, 40)}, 0);
}

TEST(Gather, TakesElements) {
  for (const int axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    expect_like_oracle(gather(GatherKind::Elements, axis), {input({5, 5, 7}), ints({5, 5, 7}, -5, 5)}, 0);
    expect_like_oracle(gather(GatherKind::Elements, axis), {input({5, 5, 7}), ints({2, 3, 4}, -5, 5)}, 0);
  }
  expect_like_oracle(gather(GatherKind::Elements, 1), {input({3, 4}), ints({3, 9000}, -4, 4)}, 0);
  expect_like_oracle(gather(GatherKind::Elements, 0), {input({1}), ints({1}, -1, 1)}, 0);
}

TEST(Gather, TakesTuples) {
  expect_like_oracle(gather(GatherKind::Tuples, 0), {input({3, 4, 5}), ints({7, 3}, -3, 3)}, 0);
  expect_like_oracle(gather(GatherKind::Tuples, 0), {input({3, 4, 5}), ints({2, 7, 2}, -3, 3)}, 0);
  expect_like_oracle(gather(GatherKind::Tuples, 1), {input({3, 4, 5, 6}), ints({3, 7, 2}, -4, 4)}, 0);
  expect_like_oracle(gather(GatherKind::Tuples, 2), {input({3, 2, 5, 6}), ints({3, 2, 1}, -5, 5)}, 0);
  expect_like_oracle(gather(GatherKind::Tuples, 0), {input({3, 4}), ints({1}, 1, 3)}, 0);
}

// GPUs compute it too.
TEST(Gather, TakesElementsOfRows) {
  for (const int count : {1, 3, 4, 9})
    expect_like_oracle(gather(GatherKind::Elements, 2), {input({5, 5, 7}), ints({5, 5, count}, -7, 7)}, 0);
  expect_like_oracle(gather(GatherKind::Elements, 1), {input({3, 2048}), ints({3, 5}, -2048, 2048)}, 0);
  expect_like_oracle(gather(GatherKind::Elements, 0), {input({8}), ints({8}, -8, 8)}, 0);
}

TEST(Scatter, EveryKindMatchesTheOracleInRows) {
  for (const ScatterKind kind : fbs::EnumValuesScatterKind()) {
    SCOPED_TRACE(fbs::EnumNameScatterKind(kind));
    for (const int count : {1, 4, 10})
      expect_like_oracle(scatter(GatherKind::Elements, 2, kind),
                         {input({3, 5, 7}), ints({3, 5, count}, -7, 7), input({3, 5, count})}, 2e-7);
    expect_like_oracle(scatter(GatherKind::Elements, 1, kind),
                       {input({3, 300}), ints({3, 256}, -300, 300), input({3, 256})}, 2e-7);
    expect_like_oracle(scatter(GatherKind::Elements, 0, kind), {input({6}), ints({2}, -6, 6), constant({2})}, 2e-7);
  }
}

TEST(Scatter, EveryKindMatchesTheOracle) {
  for (const ScatterKind kind : fbs::EnumValuesScatterKind()) {
    SCOPED_TRACE(fbs::EnumNameScatterKind(kind));
    for (const int axis : {0, 1, 2}) {
      expect_like_oracle(scatter(GatherKind::Elements, axis, kind),
                         {input({3, 5, 7}), ints({2, 3, 4}, -3, 3), input({2, 3, 4})}, 2e-7);
      expect_like_oracle(scatter(GatherKind::Elements, axis, kind),
                         {ints({3, 5, 7}, -9, 9), ints({2, 3, 4}, -3, 3), ints({2, 3, 4}, -0x1p31, 0x1p31)}, 0);
    }
    expect_like_oracle(scatter(GatherKind::Tuples, 0, kind), {input({4, 5, 6}), ints({3, 2}, -4, 4), input({3, 6})},
                       2e-7);
    expect_like_oracle(scatter(GatherKind::Tuples, 0, kind),
                       {ints({4, 5}, -9, 9), ints({40, 2}, -4, 4), ints({40}, -9, 9)}, 0);
    expect_like_oracle(scatter(GatherKind::Slices, 1, kind), {input({3, 5, 7}), ints({2}, -5, 5), input({3, 2, 7})},
                       2e-7);
  }
}

TEST(ScatterOracle, CountsByHand) {
  const reference::Array x{{5}, {1, 2, 3, 4, 5}}, indices{{3}, {1, -2, 1}, DType::Int32}, updates{{3}, {10, 20, 30}};
  EXPECT_EQ(oracle(scatter(GatherKind::Elements, 0), {x, indices, updates}).values,
            (std::vector<double>{1, 30, 3, 20, 5}));
  EXPECT_EQ(oracle(scatter(GatherKind::Elements, 0, ScatterKind::Add), {x, indices, updates}).values,
            (std::vector<double>{1, 42, 3, 24, 5}));
}

TEST(GatherOracle, CountsByHand) {
  const reference::Array x{{2, 3}, {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(oracle(gather(GatherKind::Slices, 1), {x, {{2}, {2, -3}, DType::Int32}}).values,
            (std::vector<double>{2, 0, 5, 3}));
  EXPECT_EQ(oracle(gather(GatherKind::Elements, 0), {x, {{1, 3}, {1, 0, -1}, DType::Int32}}).values,
            (std::vector<double>{3, 1, 5}));
  EXPECT_EQ(oracle(gather(GatherKind::Tuples, 0), {x, {{2, 2}, {1, 2, 0, -1}, DType::Int32}}).values,
            (std::vector<double>{5, 2}));
}

// The run's message for given operands or zeros.
template <typename Params>
std::string error_of_run(Params params, const std::vector<Operand>& operands) {
  Graph graph;
  std::vector<Tensor> inputs;
  for (const Operand& operand : operands)
    inputs.push_back(
        graph.add_input("x" + std::to_string(inputs.size()), operand.shape, fbs::Layout::Same, operand.dtype));
  graph.add_output("y", graph.add_op("op", std::move(params), inputs), fbs::Layout::Same);
  const std::vector<std::byte> packed = pack(graph);
  AlignedBytes blob(packed);
  std::shared_ptr<Model> model;
  std::unique_ptr<Session> session;
  Status status = Model::open_memory(blob.data(), blob.size(), &model);
  if (status.ok()) status = Session::create(model, {}, &session);
  if (!status.ok()) return std::string(status.message());
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::vector<int32_t> values(operands[i].values.begin(), operands[i].values.end());
    if (!values.empty()) std::memcpy(session->data(inputs[i].id), values.data(), values.size() * sizeof(int32_t));
  }
  status = session->run();
  EXPECT_EQ(status.code(), FERRY_INVALID_ARGUMENT);
  return std::string(status.message());
}

TEST(Gather, RefusesAnIndexOutside) {
  const Operand x = input({3, 4}), tuples = given({2, 2}, {0, 3, 1, 4}, DType::Int32);
  EXPECT_EQ(error_of_run(gather(GatherKind::Slices, 0), {x, given({2}, {2, 3}, DType::Int32)}),
            "gather: index 3 is outside a dimension of 3, expected -3 to 2");
  EXPECT_EQ(error_of_run(gather(GatherKind::Elements, 1), {x, given({1, 2}, {-5, 0}, DType::Int32)}),
            "gather: index -5 is outside a dimension of 4, expected -4 to 3");
  EXPECT_EQ(error_of_run(gather(GatherKind::Tuples, 0), {x, tuples}),
            "gather: index 4 is outside a dimension of 4, expected -4 to 3");
  EXPECT_EQ(error_of_run(scatter(GatherKind::Elements, 0), {x, given({1, 1}, {-0x1p31}, DType::Int32), input({1, 1})}),
            "scatter: index -2147483648 is outside a dimension of 3, expected -3 to 2");
}

}  // namespace
}  // namespace ferry::testing
