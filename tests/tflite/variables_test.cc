// Variables that a network keeps between runs are inputs and outputs of a blob.
#include <gtest/gtest.h>

#include "converter/tflite/importer.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Type = FileBuilder::Type;

// sum += x; the result is the sum. `initial`: what the first run finds.
std::string running_sum(std::vector<float> initial) {
  FileBuilder b;
  const auto add_handle = [&] {
    const int handle = b.activation({}, Type::RESOURCE);
    b.op(Op::VAR_HANDLE, {}, {handle}, Kind::VarHandleOptions,
         schema::CreateVarHandleOptions(b.fbb, 0, b.fbb.CreateString("sum")).Union());
    return handle;
  };
  const auto assign = [&](int handle, int value) {
    b.op(Op::ASSIGN_VARIABLE, {handle, value}, {}, Kind::AssignVariableOptions,
         schema::CreateAssignVariableOptions(b.fbb).Union());
  };
  assign(add_handle(), b.constant({1, 2}, initial));
  b.end_subgraph({});
  const int x = b.input({1, 2}), handle = add_handle(), before = b.activation({1, 2}), after = b.activation({1, 2});
  b.op(Op::CALL_ONCE, {}, {}, Kind::CallOnceOptions, schema::CreateCallOnceOptions(b.fbb, 1).Union());
  b.op(Op::READ_VARIABLE, {handle}, {before}, Kind::ReadVariableOptions,
       schema::CreateReadVariableOptions(b.fbb).Union());
  b.op(Op::ADD, {before, x}, {after}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union());
  assign(handle, after);
  return b.finish({after});
}

TEST(TfliteVariables, PassFromRunToRun) {
  const ScratchFolder folder;
  const std::unique_ptr<Graph> graph = import_tflite(folder.write("m.tflite", running_sum({0, 0})));
  ASSERT_EQ(graph->table.inputs.size(), 2u);
  EXPECT_EQ(graph->table.inputs[1]->name, "sum");
  BlobTensor sum = {{1, 2}, {0, 0}};
  for (const double x : {1.0, 2.0, 3.0}) {
    const BlobTensors outputs = run_graph(*graph, {{"in0", {{1, 2}, {x, -x}}}, {"sum", sum}});
    ASSERT_EQ(outputs.size(), 2u);
    sum = outputs.at("sum");
  }
  EXPECT_EQ(sum.values, (std::vector<double>{6, -6}));
}

// A variable that is assigned an input as it is.
TEST(TfliteVariables, MayBeAnEarlierInput) {
  FileBuilder b;
  const int x = b.input({1, 2}), handle = b.activation({}, Type::RESOURCE), before = b.activation({1, 2});
  b.op(Op::VAR_HANDLE, {}, {handle}, Kind::VarHandleOptions,
       schema::CreateVarHandleOptions(b.fbb, 0, b.fbb.CreateString("last")).Union());
  b.op(Op::READ_VARIABLE, {handle}, {before}, Kind::ReadVariableOptions,
       schema::CreateReadVariableOptions(b.fbb).Union());
  b.op(Op::ASSIGN_VARIABLE, {handle, x}, {}, Kind::AssignVariableOptions,
       schema::CreateAssignVariableOptions(b.fbb).Union());
  const ScratchFolder folder;
  const std::unique_ptr<Graph> graph = import_tflite(folder.write("m.tflite", b.finish({before})));
  const BlobTensors outputs = run_graph(*graph, {{"in0", {{1, 2}, {3, 4}}}, {"last", {{1, 2}, {1, 2}}}});
  EXPECT_EQ(outputs.at("last").values, (std::vector<double>{3, 4}));
  EXPECT_EQ(outputs.at("t1").values, (std::vector<double>{1, 2}));
}

TEST(TfliteVariables, SayHowTheyBegin) {
  const ScratchFolder folder;
  const auto note = [&](const std::vector<float>& initial) {
    return tflite::import_file(tflite::open_file(folder.write("m.tflite", running_sum(initial))), {}).notes.back();
  };
  EXPECT_NE(note({0, 0}).find("keeps 1 variable between runs"), std::string::npos) << note({0, 0});
  EXPECT_TRUE(note({0, 0}).ends_with("the first run gets zeros")) << note({0, 0});
  EXPECT_TRUE(note({0, 1}).ends_with("but 'sum' what the file's initial subgraph has")) << note({0, 1});
}

TEST(TfliteVariables, WithoutTheirSubgraphOrHandleAreRefused) {
  const ScratchFolder folder;
  FileBuilder once, read;
  const int x = once.input({1, 2}), y = once.activation({1, 2});
  once.op(Op::CALL_ONCE, {}, {}, Kind::CallOnceOptions, schema::CreateCallOnceOptions(once.fbb, 7).Union());
  once.op(Op::ABS, {x}, {y});
  EXPECT_NE(refusal(folder.write("m.tflite", once.finish({y}))).find("it runs subgraph 7 of 1"), std::string::npos);
  const int in = read.input({1, 2}), out = read.activation({1, 2});
  read.op(Op::READ_VARIABLE, {in}, {out}, Kind::ReadVariableOptions,
          schema::CreateReadVariableOptions(read.fbb).Union());
  EXPECT_NE(refusal(folder.write("m.tflite", read.finish({out}))).find("input 0 is no variable"), std::string::npos);
}

}  // namespace
}  // namespace ferry::testing
