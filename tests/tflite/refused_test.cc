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

TEST(TfliteRefusals, OfALaterSchemaAreByNameOrNumber) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4}), z = b.activation({1, 4});
  b.op(static_cast<Op>(203), {x}, {y});
  b.op(static_cast<Op>(999), {x}, {z});
  const std::vector<Reason> reasons = reasons_of(b.finish({y, z}));
  ASSERT_EQ(reasons.size(), 2u);
  const std::string why = "it is of a later version of the schema, and not supported yet";
  EXPECT_EQ(to_string(reasons[0]), "operator 0 (DILATE, version 1): " + why);
  EXPECT_EQ(to_string(reasons[1]), "operator 1 (operator 999, version 1): " + why);
}

// What a refused operator computes gives no further reasons.
TEST(TfliteRefusals, AreNotRepeatedByReaders) {
  FileBuilder b;
  const int x = b.input({1, 4}), y = b.activation({1, 4}), z = b.activation({1, 4});
  b.op(Op::RANDOM_UNIFORM, {x}, {y});
  b.op(Op::ABS, {y}, {z});
  EXPECT_EQ(reasons_of(b.finish({z})).size(), 1u);
}

TEST(TfliteImport, TakesTheFirstOfSeveralNetworksOrTheOneThatIsNamed) {
  FileBuilder b;
  const auto add = [&](const std::string& name, Op op, uint32_t subgraph) {
    const int x = b.input({1, 4}), y = b.activation({1, 4});
    b.op(op, {x}, {y});
    b.signature(name + "_in", name + "_out", y, name, subgraph);
    return y;
  };
  b.end_subgraph({add("decode", Op::NEG, 1)});
  const ScratchFolder folder;
  const auto path = folder.write("m.tflite", b.finish({add("encode", Op::ABS, 0)}));
  EXPECT_EQ(tflite::import_file(tflite::open_file(path), {}).notes,
            std::vector<std::string>{"the first of the file's networks is converted; --network names one: decode, "
                                     "encode"});
  const BlobTensor given = {{1, 4}, {-1, 2, -3, 4}};
  EXPECT_EQ(run_graph(*import_tflite(path), {{"encode_in", given}}).at("encode_out").values[0], 1);
  const auto decode = import_tflite(path, "network", "decode");
  EXPECT_EQ(run_graph(*decode, {{"decode_in", given}}).at("decode_out").values[3], -4);
  try {
    import_tflite(path, "network", "decod");
    FAIL() << "a network that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "--network decod: no network of m.tflite is called so (did you mean decode?)");
  }
}

TEST(TfliteImport, TakesOtherSizesOfInputs) {
  FileBuilder b;
  const int x = b.input({1, 4, 4, 2}), y = b.activation({1, 2, 2, 2});
  b.op(Op::MAX_POOL_2D, {x}, {y}, Kind::Pool2DOptions,
       schema::CreatePool2DOptions(b.fbb, schema::Padding::VALID, 2, 2, 2, 2).Union());
  const ScratchFolder folder;
  const auto path = folder.write("m.tflite", b.finish({y}));
  const auto graph = import_tflite(path, "shape", "in0=2x6x8x2");
  EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), (ferry::Shape{2, 3, 4, 2}));
  const auto refused = [&](const std::string& shape) -> std::string {
    try {
      import_tflite(path, "shape", shape);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refused("in1=1x4x4x2"), "--shape in1: the network has no input of that name (did you mean in0?)");
  EXPECT_EQ(refused("in0=4x4"), "--shape in0: 2 dimensions, the file has 4");
  EXPECT_NE(refused("in0=1x4x4x99999999999").find("more than"), std::string::npos);
  EXPECT_NE(refused("in0=1x1x1x2").find("MAX_POOL_2D"), std::string::npos);
}

TEST(TfliteImport, TakesAShapeWhereTheFileHasNone) {
  FileBuilder b;
  const int x = b.input({-1, 3}), y = b.activation({-1, 3});
  b.op(Op::ABS, {x}, {y});
  const ScratchFolder folder;
  const auto path = folder.write("m.tflite", b.finish({y}));
  EXPECT_NE(refusal(path).find("dimension 0 has -1 elements"), std::string::npos);
  const auto graph = import_tflite(path, "shape", "in0=2x3");
  EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), (ferry::Shape{2, 3}));
}

// The interpreter of the other tests lacks it.
TEST(TfliteImport, BroadcastsShapes) {
  FileBuilder b;
  const int x = b.input({1, 3}), shape = b.activation({2}, Type::INT32), y = b.activation({4, 3});
  b.op(Op::BROADCAST_ARGS, {b.vector({4, 1}), b.vector({3})}, {shape});
  b.op(Op::BROADCAST_TO, {x, shape}, {y}, Kind::BroadcastToOptions, schema::CreateBroadcastToOptions(b.fbb).Union());
  const ScratchFolder folder;
  const auto graph = import_tflite(folder.write("m.tflite", b.finish({y})));
  const BlobTensors outputs = run_graph(*graph, {{"in0", {{1, 3}, {1, 2, 3}}}});
  EXPECT_EQ(outputs.at("t1").dims, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(outputs.at("t1").values[10], 2);
}

TEST(TfliteImport, KeepsTheTapsThatAreNamed) {
  FileBuilder b;
  const int x = b.input({1, 4}), c = b.random({1, 4}, 1), y = b.activation({1, 4}), z = b.activation({1, 4});
  b.op(Op::ADD, {x, c}, {y}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union());
  b.op(Op::ABS, {y}, {z});
  const ScratchFolder folder;
  const auto path = folder.write("m.tflite", b.finish({z}));
  const auto graph = import_tflite(path, "tap", "t0");
  ASSERT_EQ(graph->table.taps.size(), 1u);
  EXPECT_EQ(graph->table.taps[0]->name, "t0");
  for (const auto& [tap, why] : {std::pair{"t2", "no tensor of m.tflite is called so"},
                                 {"in0", "it is an input"},
                                 {"c1", "known at conversion"}}) {
    try {
      import_tflite(path, "tap", tap);
      FAIL() << tap;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
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

// y = x * w^T with int8 weights, a scale and a zero point per row. A run rounds x to steps of its maximum / 127, so an
// output is off by at most half a step of 2 / 127 for each of |w|: by 0.5 of 33.
TEST(TfliteWeights, OfIntegersStayIntegersAndSaySo) {
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
  EXPECT_LE(difference(outputs.at("t0").values, expected), 0.5 / 33);
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
  for (const tflite::LaterRow& row : tflite::later_operators()) {
    EXPECT_EQ(row.op, ++previous) << "a row for each number";
    rows +=
        std::string("| ") + row.name + " | " + (row.function != nullptr ? "imported" : "not supported yet") + " |\n";
  }
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
