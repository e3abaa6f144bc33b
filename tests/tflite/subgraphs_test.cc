// Operators that run other subgraphs, where the interpreter of the other tests cannot run them, and hostile ones.
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Type = FileBuilder::Type;

constexpr int kNumber = 2;

void add_if(FileBuilder& b, int condition, int x, int y, int then, int otherwise) {
  b.op(Op::IF, {condition, x}, {y}, Kind::IfOptions, schema::CreateIfOptions(b.fbb, then, otherwise).Union());
}
void add_while(FileBuilder& b, int x, int y, int condition, int body) {
  b.op(Op::WHILE, {x}, {y}, Kind::WhileOptions, schema::CreateWhileOptions(b.fbb, condition, body).Union());
}
int constant_true(FileBuilder& b) { return b.constant_of({1}, Type::BOOL, std::vector<uint8_t>{1}); }

std::string refused(FileBuilder& b, int output) {
  const ScratchFolder folder;
  return refusal(folder.write("m.tflite", b.finish({output})));
}

void expect_refused(FileBuilder& b, int output, const std::string& why) {
  const std::string said = refused(b, output);
  EXPECT_NE(said.find(why), std::string::npos) << said;
}

// The interpreter of 2023 does not know it: its decomposition is what it computes.
TEST(TfliteSubgraphs, ACompositeComputesItsDecomposition) {
  FileBuilder b;
  {
    const int x = b.input({kNumber}), y = b.activation({kNumber});
    b.op(Op::NEG, {x}, {y});
    b.end_subgraph({y});
  }
  const int x = b.input({kNumber}), y = b.activation({kNumber}), z = b.activation({kNumber});
  b.composite({x}, {y}, 1);
  b.op(Op::EXP, {y}, {z});
  const ScratchFolder folder;
  const auto graph = import_tflite(folder.write("m.tflite", b.finish({z})));
  const BlobTensors outputs = run_graph(*graph, {{"in0", {{kNumber}, {0, -1}}}});
  EXPECT_NEAR(outputs.at("t2").values[0], 1, 1e-6);
  EXPECT_NEAR(outputs.at("t2").values[1], 2.7182818, 1e-5);
}

TEST(TfliteSubgraphs, ThatAreNotThereAreRefused) {
  FileBuilder b;
  const int x = b.input({kNumber}), y = b.activation({kNumber});
  b.composite({x}, {y}, 7);
  expect_refused(b, y, "it runs subgraph 7 of 1");
}

TEST(TfliteSubgraphs, ThatRunThemselvesAreRefused) {
  FileBuilder b, root;
  {
    const int x = b.input({kNumber}), y = b.activation({kNumber});
    add_if(b, constant_true(b), x, y, 1, 1);
    b.end_subgraph({y});
  }
  const int x = b.input({kNumber}), y = b.activation({kNumber});
  add_if(b, constant_true(b), x, y, 1, 1);
  expect_refused(b, y, "runs itself");
  const int in = root.input({kNumber}), out = root.activation({kNumber});
  root.composite({in}, {out}, 0);
  expect_refused(root, out, "runs itself");
}

// Each subgraph runs the next one twice: 2^16 of them.
TEST(TfliteSubgraphs, ThatGrowWithoutBoundAreRefused) {
  constexpr int kDeep = 14, kTimes = 4;
  FileBuilder b;
  for (int level = 1; level <= kDeep; ++level) {
    int x = b.input({kNumber});
    for (int i = 0; i < kTimes; ++i) {
      const int y = b.activation({kNumber});
      if (level < kDeep)
        b.composite({x}, {y}, level + 1);
      else
        b.op(Op::ABS, {x}, {y});
      x = y;
    }
    b.end_subgraph({x});
  }
  const int x = b.input({kNumber}), y = b.activation({kNumber});
  b.composite({x}, {y}, 1);
  expect_refused(b, y, "have too many operators");
}

TEST(TfliteSubgraphs, ThatNestTooDeepAreRefused) {
  constexpr int kDeep = 40;
  FileBuilder b;
  for (int level = 1; level <= kDeep; ++level) {
    const int x = b.input({kNumber}), y = b.activation({kNumber});
    if (level < kDeep)
      b.composite({x}, {y}, level + 1);
    else
      b.op(Op::ABS, {x}, {y});
    b.end_subgraph({y});
  }
  const int x = b.input({kNumber}), y = b.activation({kNumber});
  b.composite({x}, {y}, 1);
  expect_refused(b, y, "deep, at most");
}

TEST(TfliteSubgraphs, LoopsWithoutAnEndOrOfGrowingValuesAreRefused) {
  FileBuilder endless, computed;
  {
    endless.input({1});
    const int y = endless.activation({1}, Type::BOOL);
    endless.op(Op::LOGICAL_OR, {constant_true(endless), constant_true(endless)}, {y});
    endless.end_subgraph({y});
  }
  {
    const int in = endless.input({1}), out = endless.activation({1});
    endless.op(Op::ABS, {in}, {out});
    endless.end_subgraph({out});
  }
  const int x = endless.input({1}), y = endless.activation({1});
  add_while(endless, x, y, 1, 2);
  expect_refused(endless, y, "it runs more than");
  {
    const int in = computed.input({1}), less = computed.activation({1}, Type::BOOL);
    computed.op(Op::LESS, {in, computed.constant({1}, std::vector<float>{3})}, {less}, Kind::LessOptions,
                schema::CreateLessOptions(computed.fbb).Union());
    computed.end_subgraph({less});
  }
  {
    const int x2 = computed.input({1}), y2 = computed.activation({2});
    computed.op(Op::CONCATENATION, {x2, x2}, {y2}, Kind::ConcatenationOptions,
                schema::CreateConcatenationOptions(computed.fbb, 0).Union());
    computed.end_subgraph({y2});
  }
  const int in = computed.input({1}), out = computed.activation({1});
  add_while(computed, in, out, 1, 2);
  expect_refused(computed, out, "value 0 is [1] before a step, and [2] after it");
}

TEST(TfliteSubgraphs, BranchesOfDifferentShapesAreRefused) {
  FileBuilder b;
  for (const int size : {kNumber, 1}) {
    const int x = b.input({kNumber}), y = b.activation({size});
    b.op(Op::SLICE, {x, b.vector({0}), b.vector({size})}, {y}, Kind::SliceOptions,
         schema::CreateSliceOptions(b.fbb).Union());
    b.end_subgraph({y});
  }
  const int x = b.input({kNumber}), y = b.activation({kNumber}), one = b.activation({1}, Type::BOOL);
  const int first = b.activation({1});
  b.op(Op::SLICE, {x, b.vector({0}), b.vector({1})}, {first}, Kind::SliceOptions,
       schema::CreateSliceOptions(b.fbb).Union());
  b.op(Op::GREATER, {first, b.constant({1}, std::vector<float>{0})}, {one}, Kind::GreaterOptions,
       schema::CreateGreaterOptions(b.fbb).Union());
  add_if(b, one, x, y, 1, 2);
  expect_refused(b, y, "its branches return");
}

TEST(TfliteSubgraphs, WithOtherInputsOrARefusedOperatorAreRefused) {
  FileBuilder inputs, inner;
  {
    const int x = inputs.input({kNumber}), y = inputs.activation({kNumber});
    inputs.input({kNumber});
    inputs.op(Op::ABS, {x}, {y});
    inputs.end_subgraph({y});
  }
  const int x = inputs.input({kNumber}), y = inputs.activation({kNumber});
  inputs.composite({x}, {y}, 1);
  expect_refused(inputs, y, "subgraph 1 takes 2 inputs, not 1");
  {
    const int in = inner.input({kNumber}), out = inner.activation({kNumber});
    inner.op(Op::RANDOM_UNIFORM, {in}, {out});
    inner.end_subgraph({out});
  }
  const int in = inner.input({kNumber}), out = inner.activation({kNumber});
  inner.composite({in}, {out}, 1);
  expect_refused(inner, out, "in subgraph 1, operator 0 (RANDOM_UNIFORM): its output is random");
}

}  // namespace
}  // namespace ferry::testing
