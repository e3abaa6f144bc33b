// Operators that run other subgraphs.
#include "tests/tflite/operator_cases.h"

namespace ferry::testing::control {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;
using Outputs = std::vector<int>;

const Shape kShape = {2, 3};

int one_op(FileBuilder& b, Op op, int x, int c, Kind kind, flatbuffers::Offset<void> options) {
  const int y = b.activation(kShape);
  b.op(op, {x, c}, {y}, kind, options);
  return y;
}
int add(FileBuilder& b, int x, float c) {
  return one_op(b, Op::ADD, x, b.constant({1}, std::vector<float>{c}), Kind::AddOptions,
                schema::CreateAddOptions(b.fbb).Union());
}
int multiply(FileBuilder& b, int x, float c) {
  return one_op(b, Op::MUL, x, b.constant({1}, std::vector<float>{c}), Kind::MulOptions,
                schema::CreateMulOptions(b.fbb).Union());
}

// Subgraph 1 adds, 2 multiplies.
void add_branches(FileBuilder& b) {
  b.end_subgraph({add(b, b.input(kShape), 10)});
  b.end_subgraph({multiply(b, b.input(kShape), 3)});
}

template <bool which>
Outputs known_if(FileBuilder& b) {
  add_branches(b);
  const int x = b.input(kShape), y = b.activation(kShape);
  const int condition = b.constant_of({1}, Type::BOOL, std::vector<uint8_t>{which});
  b.op(Op::IF, {condition, x}, {y}, Kind::IfOptions, schema::CreateIfOptions(b.fbb, 1, 2).Union());
  return {add(b, y, 0.5f)};
}

// The condition is whether the sum of the input is above `limit`.
template <int limit>
Outputs computed_if(FileBuilder& b) {
  add_branches(b);
  const int x = b.input(kShape), sum = b.activation({}), condition = b.activation({}, Type::BOOL);
  b.op(Op::SUM, {x, b.vector({0, 1})}, {sum}, Kind::ReducerOptions, schema::CreateReducerOptions(b.fbb).Union());
  b.op(Op::GREATER, {sum, b.constant({}, std::vector<float>{static_cast<float>(limit)})}, {condition},
       Kind::GreaterOptions, schema::CreateGreaterOptions(b.fbb).Union());
  const int y = b.activation(kShape);
  b.op(Op::IF, {condition, x}, {y}, Kind::IfOptions, schema::CreateIfOptions(b.fbb, 1, 2).Union());
  return {add(b, y, 0.5f)};
}

// Three times x = 3 * x + 10, counted by the first value.
Outputs counted_while(FileBuilder& b) {
  const auto counter = [&] { return b.input({}, Type::INT32); };
  {
    const int i = counter(), less = b.activation({}, Type::BOOL);
    b.input(kShape);
    b.op(Op::LESS, {i, b.scalar(3)}, {less}, Kind::LessOptions, schema::CreateLessOptions(b.fbb).Union());
    b.end_subgraph({less});
  }
  {
    const int i = counter(), next = b.activation({}, Type::INT32);
    const int x = b.input(kShape);
    b.op(Op::ADD, {i, b.scalar(1)}, {next}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union());
    const int y = add(b, multiply(b, x, 3), 10);
    b.end_subgraph({next, y});
  }
  const int x = b.input(kShape), last = b.activation({}, Type::INT32), y = b.activation(kShape);
  b.op(Op::WHILE, {b.scalar(0), x}, {last, y}, Kind::WhileOptions, schema::CreateWhileOptions(b.fbb, 1, 2).Union());
  return {add(b, y, 0.5f)};
}

// x = 1.5 * x + 2 while the sum is below `limit`, with a counter beside.
template <int limit>
Outputs computed_while(FileBuilder& b) {
  const auto counter = [&] { return b.input({1}, Type::INT32); };
  {
    counter();
    const int x = b.input(kShape), sum = b.activation({}), less = b.activation({}, Type::BOOL);
    b.op(Op::SUM, {x, b.vector({0, 1})}, {sum}, Kind::ReducerOptions, schema::CreateReducerOptions(b.fbb).Union());
    b.op(Op::LESS, {sum, b.constant({}, std::vector<float>{static_cast<float>(limit)})}, {less}, Kind::LessOptions,
         schema::CreateLessOptions(b.fbb).Union());
    b.end_subgraph({less});
  }
  {
    const int i = counter(), next = b.activation({1}, Type::INT32);
    const int x = b.input(kShape);
    b.op(Op::ADD, {i, b.scalar(1)}, {next}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union());
    b.end_subgraph({next, add(b, multiply(b, x, 1.5f), 2)});
  }
  const int x = b.input(kShape), steps = b.activation({1}, Type::INT32), y = b.activation(kShape);
  b.op(Op::WHILE, {b.vector({0}), x}, {steps, y}, Kind::WhileOptions, schema::CreateWhileOptions(b.fbb, 1, 2).Union());
  return {add(b, y, 0.5f), steps};
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"if_computed_false", computed_if<1000>},
      {"if_computed_true", computed_if<-1000>},
      {"if_false", known_if<false>},
      {"if_true", known_if<true>},
      {"while_computed", computed_while<400>},
      {"while_computed_never", computed_while<-1000>},
      {"while_counted", counted_while},
  };
  return kCases;
}

}  // namespace ferry::testing::control
