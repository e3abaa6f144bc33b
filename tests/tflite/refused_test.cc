// What is refused, and with which words; names; weights of integers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "converter/convert.h"
#include "converter/tflite/importer.h"
#include "converter/tflite/operators.h"
#include "models/families.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Type = FileBuilder::Type;

std::vector<Reason> reasons_of(const std::string& bytes) {
  const ScratchFolder folder;
  try {
    tflite::import_file(tflite::open_file(folder.write("m.tflite", bytes)), {});
  } catch (const Refused& refused) {
    return refused.reasons();
  }
  return {};
}

TEST(TfliteRefusals, NameEveryOperatorWithIndexAndVersion) {
  FileBuilder b;
  const int x = b.input({1, 4});
  const int where = b.activation({1, 2}, Type::INT32), random = b.activation({1, 4}), custom = b.activation({1, 4});
  const int eight = b.activation({1, 4}, Type::INT8, b.scale({0.0f}));
  b.op(Op::WHERE, {x}, {where}, Kind::NONE, 0, 2);
  b.op(Op::RANDOM_UNIFORM, {x}, {random});
  b.custom("PosenetDecoderOp", {x}, {custom}, {});
  b.op(Op::QUANTIZE, {x}, {eight}, Kind::NONE, 0, 3);
  const std::vector<Reason> reasons = reasons_of(b.finish({where, random, custom, eight}));
  ASSERT_EQ(reasons.size(), 4u);
  EXPECT_EQ(to_string(reasons[0]), "operator 0 (WHERE, version 2): the size of its output depends on values");
  EXPECT_EQ(to_string(reasons[1]), "operator 1 (RANDOM_UNIFORM, version 1): its output is random");
  EXPECT_EQ(to_string(reasons[2]),
            "operator 2 (PosenetDecoderOp, version 1): it is a custom operator, which Ferry does not know");
  EXPECT_EQ(to_string(reasons[3]),
            "operator 3 (QUANTIZE, version 3): the scale is 0, expected more than 0, up to 2^100");
}

TEST(TfliteRefusals, OfALaterSchemaAreByNumber) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4});
  b.op(static_cast<Op>(206), {x}, {y});
  const std::vector<Reason> reasons = reasons_of(b.finish({y}));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(to_string(reasons[0]), "operator 0 (operator 206, version 1): it is of a later version of the schema");
}

// What a refused operator computes gives no further reasons.
TEST(TfliteRefusals, AreNotRepeatedByReaders) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4}), z = b.activation({1, 4});
  b.op(Op::RANDOM_UNIFORM, {x}, {y});
  b.op(Op::ABS, {y}, {z});
  EXPECT_EQ(reasons_of(b.finish({z})).size(), 1u);
}

TEST(TfliteImport, TakesTheFirstOfSeveralNetworksAndSaysSo) {
  FileBuilder b;
  const auto add = [&](const std::string& name) {
    const int x = b.input({1, 4}), y = b.activation({1, 4});
    b.op(Op::ABS, {x}, {y});
    b.signature(name + "_in", name + "_out", y);
    return y;
  };
  b.end_subgraph({add("second")});
  const ScratchFolder folder;
  const auto file = tflite::open_file(folder.write("m.tflite", b.finish({add("first")})));
  EXPECT_EQ(tflite::import_file(file, {}).notes,
            std::vector<std::string>{"the first of the file's 2 networks is converted"});
}

// A tensor of zeros, as quantisers leave them, has a scale of nearly nothing.
TEST(TfliteImport, TakesTheSmallestScales) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4}, Type::INT8, b.scale({2.9e-35f}));
  b.op(Op::QUANTIZE, {x}, {y});
  const ScratchFolder folder;
  const BlobTensors outputs =
      run_graph(*import_tflite(folder.write("m.tflite", b.finish({y}))), {{"in0", {{1, 4}, {0, 1e-35, -1e-34, 0}}}});
  for (const double v : outputs.at("t0").values) EXPECT_EQ(v, 0);
}

TEST(TfliteNames, AreTheSignatures) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4});
  b.op(Op::ABS, {x}, {y});
  b.signature("image", "scores", y);
  const ScratchFolder folder;
  const std::unique_ptr<Graph> graph = import_tflite(folder.write("m.tflite", b.finish({y})));
  EXPECT_EQ(graph->table.inputs[0]->name, "image");
  EXPECT_EQ(graph->table.outputs[0]->name, "scores");
  EXPECT_EQ(graph->table.provenance->family, "tflite");
}

TEST(TfliteNames, OfTensorsAreTapsIfWanted) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4}), z = b.activation({1, 4});
  b.op(Op::ABS, {x}, {y});
  b.op(Op::EXP, {y}, {z});
  const ScratchFolder folder;
  const std::unique_ptr<Graph> graph = import_tflite(folder.write("m.tflite", b.finish({z})), "keep-taps");
  ASSERT_FALSE(graph->table.taps.empty());
  EXPECT_EQ(graph->table.taps[0]->name, "t0");
}

// The batch of a file of one sample is that of a run.
TEST(TfliteBatches, OfOtherSizesRun) {
  FileBuilder b;
  const int x = b.input({1, 2, 2, 3}), flat = b.activation({1, 12}), y = b.activation({1, 2});
  b.op(Op::RESHAPE, {x, b.vector({1, 12})}, {flat});
  b.op(Op::FULLY_CONNECTED, {flat, b.constant({2, 12}, random_values(24, 1)), -1}, {y}, Kind::FullyConnectedOptions,
       schema::CreateFullyConnectedOptions(b.fbb).Union());
  const ScratchFolder folder;
  const std::unique_ptr<Graph> graph = import_tflite(folder.write("m.tflite", b.finish({y})));
  const std::vector<float> two = random_values(24, 2);
  const std::vector<double> both(two.begin(), two.end()), second(two.begin() + 12, two.end());
  const BlobTensors all = run_graph(*graph, {{"in0", {{2, 2, 2, 3}, both}}});
  const BlobTensors one = run_graph(*graph, {{"in0", {{1, 2, 2, 3}, second}}});
  ASSERT_EQ(all.at("t1").dims, (std::vector<int64_t>{2, 2}));
  EXPECT_LE(difference({all.at("t1").values.begin() + 2, all.at("t1").values.end()}, one.at("t1").values), 1e-6);
}

// y = x * w^T with int8 weights, a scale and a zero point per row: the float32 product of their values.
TEST(TfliteWeights, OfIntegersAreComputedAsFloatsAndSaySo) {
  FileBuilder b;
  const int x = b.input({1, 2}), y = b.activation({1, 3});
  const int w = b.constant_of({3, 2}, Type::INT8, std::vector<int8_t>{10, -20, 127, -128, 0, 1},
                              b.scale({0.5f, 0.25f, 2.0f}, {0, 1, -1}));
  b.op(Op::FULLY_CONNECTED, {x, w, -1}, {y}, Kind::FullyConnectedOptions,
       schema::CreateFullyConnectedOptions(b.fbb).Union());
  const ScratchFolder folder;
  const auto path = folder.write("m.tflite", b.finish({y}));
  const BlobTensors outputs = run_graph(*import_tflite(path), {{"in0", {{1, 2}, {1, 2}}}});
  const std::vector<double> expected = {0.5 * (10 - 2 * 20), 0.25 * (126 - 2 * 129), 2.0 * (1 + 2 * 2)};
  EXPECT_LE(difference(outputs.at("t0").values, expected), 1e-6);
  const tflite::Imported imported = tflite::import_file(tflite::open_file(path), {});
  ASSERT_EQ(imported.notes.size(), 1u);
  EXPECT_NE(imported.notes[0].find("8-bit weights"), std::string::npos);
}

// docs/tflite.md lists the operators. FERRY_WRITE_CONFORMANCE=1 writes the list.
TEST(TfliteOperatorTable, IsInTheDocumentation) {
  std::string rows = "| operator | state |\n| --- | --- |\n";
  int previous = -1;
  for (const tflite::OpRow& row : tflite::operators()) {
    EXPECT_EQ(static_cast<int>(row.op), ++previous) << "a row for each number";
    if (row.op == Op::CUSTOM) continue;
    rows += std::string("| ") + schema::EnumNameBuiltinOperator(row.op) + " | " +
            (row.function != nullptr  ? "imported"
             : row.refused != nullptr ? row.refused
                                      : "not supported yet") +
            " |\n";
  }
  EXPECT_EQ(previous, static_cast<int>(Op::MAX));
  for (const tflite::CustomRow& row : tflite::custom_operators())
    rows += std::string("| ") + row.name + " (custom) | imported |\n";
  const auto page = source_folder() / "docs" / "tflite.md";
  const std::string text = read_text(page);
  const size_t begin = text.find("| operator | state |");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("FERRY_WRITE_CONFORMANCE")) std::ofstream(page, std::ios::binary) << text.substr(0, begin) << rows;
  EXPECT_TRUE(read_text(page).substr(begin) == rows)
      << "docs/tflite.md is stale: run this test with FERRY_WRITE_CONFORMANCE=1";
}

}  // namespace
}  // namespace ferry::testing
