// Blobs with quantized weights: what the converter stores, and the message for every possible fault.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<double> weights(uint32_t seed, size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(noise(seed, static_cast<uint32_t>(i)));
  return values;
}

// x [2,64] -> fc1 [2,96] -> fc2 [2,64] -> fc3 [2,64].
std::unique_ptr<Graph> three_layers() {
  auto graph = std::make_unique<Graph>();
  Tensor x = graph->add_input("x", {2, 64}, fbs::Layout::Same);
  uint32_t seed = 0;
  for (const auto& [name, inputs, outputs] : {std::tuple{"fc1", 64, 96}, {"fc2", 96, 64}, {"fc3", 64, 64}}) {
    const auto count = static_cast<size_t>(inputs * outputs);
    const Tensor weight =
        graph->add_constant(std::string(name) + ".weight", Shape{outputs, inputs}, weights(++seed, count));
    x = graph->add_op(name, fbs::LinearT(), {x, weight});
  }
  graph->add_output("y", x, fbs::Layout::Same);
  return graph;
}

fbs::ReduceT mean() {
  fbs::ReduceT mean;
  mean.axes = {0};
  return mean;
}

TensorId named(const fbs::GraphT& graph, const std::string& name) {
  for (const TensorId t : TensorIds(graph.tensors.size()))
    if (graph.tensors[index_of(t)]->name == name) return t;
  fail("no tensor '%s'", name.c_str());
}

// fc1 and fc2 in Int4, fc3 in Int8.
const Bytes& quantized_blob() {
  static const Bytes blob = [] {
    const std::unique_ptr<Graph> graph = three_layers();
    quantize_weights(*graph, WeightBits::Four);
    return pack(*graph);
  }();
  return blob;
}

Status opened(const Bytes& blob) {
  AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  return Model::open_memory(bytes.data(), bytes.size(), &model);
}

uint32_t version_of(const Bytes& blob) {
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  return header.version;
}

TEST(QuantizeWeights, KeepsWithinHalfAStep) {
  const std::unique_ptr<Graph> before = three_layers(), eight = three_layers(), four = three_layers();
  quantize_weights(*eight, WeightBits::Eight);
  quantize_weights(*four, WeightBits::Four);
  for (const char* name : {"fc1.weight", "fc2.weight", "fc3.weight"}) {
    const TensorId tensor = named(before->table, name);
    const bool last = std::string(name) == "fc3.weight";
    EXPECT_EQ(eight->type(tensor).dtype, fbs::DType::Int8);
    EXPECT_EQ(four->type(tensor).dtype, last ? fbs::DType::Int8 : fbs::DType::Int4) << name;
    const std::vector<double> exact = before->values(tensor), bytes = eight->values(tensor);
    const std::vector<double> nibbles = four->values(tensor);
    double error = 0, square = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_LE(std::fabs(exact[i] - bytes[i]), 0.5 / 127 * 0.501);  // the maximum weight is at most 1/2
      error += (exact[i] - nibbles[i]) * (exact[i] - nibbles[i]);
      square += exact[i] * exact[i];
    }
    EXPECT_LE(error / square, last ? 1e-4 : 0.01) << name;  // steps of 1/7: (1/7)^2 / 12 of 1/3
  }
}

TEST(QuantizeWeights, LeavesSmallAndSharedWeightsUnchanged) {
  Graph graph;
  const Tensor x = graph.add_input("x", {2, 64}, fbs::Layout::Same);
  const Tensor small = graph.add_constant("small", {63, 64}, weights(1, 63 * 64));
  const Tensor shared = graph.add_constant("shared", {64, 64}, weights(2, 64 * 64));
  const Tensor narrow = graph.add_op("narrow", fbs::LinearT(), {x, small});
  const Tensor wide = graph.add_op("wide", fbs::LinearT(), {x, shared});
  graph.add_output("narrow", narrow, fbs::Layout::Same);
  graph.add_output("sum", graph.add_op("sum", fbs::BinaryT(), {graph.add_op("mean", mean(), {wide}), shared}),
                   fbs::Layout::Same);
  quantize_weights(graph, WeightBits::Four);
  EXPECT_FALSE(graph.type(small.id).quantized);
  EXPECT_FALSE(graph.type(shared.id).quantized);
}

// An embedding tied to the head is stored once, as integers.
TEST(QuantizeWeights, QuantizesTiedEmbeddings) {
  for (const WeightBits bits : {WeightBits::Eight, WeightBits::Four}) {
    Graph graph;
    const Tensor ids = graph.add_input("ids", {1, 3}, fbs::Layout::Same, fbs::DType::Int64);
    const Tensor tied = graph.add_constant("tied", {64, 64}, weights(1, 64 * 64));
    const Tensor table = graph.add_constant("table", {64, 64}, weights(2, 64 * 64));
    const Tensor x = graph.add_op(
        "sum", fbs::BinaryT(),
        {graph.add_op("words", fbs::GatherT(), {tied, ids}), graph.add_op("places", fbs::GatherT(), {table, ids})});
    graph.add_output("y", graph.add_op("head", fbs::LinearT(), {x, tied}), fbs::Layout::Same);
    quantize_weights(graph, bits);
    EXPECT_EQ(graph.type(tied.id).dtype, fbs::DType::Int8);
    EXPECT_FALSE(graph.type(table.id).quantized) << "nothing multiplies with it";
    EXPECT_TRUE(opened(pack(graph, {.half_tables = true})).ok());
  }
}

// Two graphs share a weight that both multiply with; the second graph's own weights are quantized too.
TEST(QuantizeWeights, QuantizesAllGraphs) {
  const Constant shared = hold(weights(1, 64 * 64)), last = hold(weights(2, 64 * 64)),
                 mixed = hold(weights(3, 64 * 64));
  const auto make = [&](Graph& graph, const char* name, const Constant& head) {
    graph.table.name = name;
    const auto constant = [&](const char* weight, const Constant& data) {
      return graph.add_constant(weight, fbs::DType::Float64, {64, 64}, data);
    };
    Tensor x = graph.add_input("x", {2, 64}, fbs::Layout::Same);
    x = graph.add_op("shared", fbs::LinearT(), {x, constant("shared", shared)});
    const Tensor m = constant("mixed", mixed);
    x = name == std::string("first") ? graph.add_op("mixed", fbs::LinearT(), {x, m})
                                     : graph.add_op("table", fbs::BinaryT(), {m, graph.add_op("row", mean(), {x})});
    graph.add_output("y", graph.add_op("head", fbs::LinearT(), {x, constant("head", head)}), fbs::Layout::Same);
  };
  Graph graph, second;
  make(graph, "first", last);
  make(second, "second", hold(weights(4, 64 * 64)));
  graph.add_graph(std::move(second));
  quantize_weights(graph, WeightBits::Four);
  const fbs::GraphT& other = *graph.table.graphs[0];
  for (const fbs::GraphT* table : tables_of(std::as_const(graph.table))) {
    const auto at = [&](const char* name) -> const fbs::TensorT& {
      return *table->tensors[index_of(named(*table, name))];
    };
    EXPECT_EQ(at("shared").dtype, fbs::DType::Int4);
    EXPECT_EQ(at("head").dtype, fbs::DType::Int8);
    EXPECT_EQ(at("mixed").dtype, fbs::DType::Float64) << "the second graph adds it";
    for (const char* name : {"shared", "head"})
      EXPECT_EQ(at(name).quantization->scale, named(*table, std::string(name) + ".scale"));
  }
  for (const char* name : {"shared", "shared.scale"})
    EXPECT_EQ(graph.table.tensors[index_of(named(graph.table, name))]->buffer,
              other.tensors[index_of(named(other, name))]->buffer);
  EXPECT_TRUE(opened(pack(graph)).ok());
}

TEST(QuantizeWeights, RefusesNaN) {
  Graph graph;
  std::vector<double> values = weights(1, 64 * 64);
  values[70] = std::nan("");
  const Tensor weight = graph.add_constant("w", {64, 64}, std::move(values));
  quantize_to_int8(graph, graph.at(weight.id));
  try {
    graph.constant(weight.id);  // integers are computed when they are read
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "constant 'w': element 70 is nan, which no integer represents");
  }
}

TEST(QuantizedBlob, HasALaterVersion) {
  EXPECT_EQ(version_of(quantized_blob()), 2u);
  EXPECT_EQ(version_of(pack(*three_layers())), 1u);
  Bytes older = quantized_blob();
  older[8] = std::byte{1};
  EXPECT_EQ(opened(older).message(),
            "header: format version 1, but the graph has quantised constants, expected 2 or more");
}

// fc1 of nibbles with Float16 scales, one of which is NaN.
TEST(QuantizedBlob, OfFloat16ScalesHasVersion6) {
  const std::unique_ptr<Graph> graph = three_layers();
  std::vector<uint16_t> scales(96 * 2, 0x2c00);
  scales[5] = 0x7e00;
  graph->store_integers(graph->at(named(graph->table, "fc1.weight")).buffer, {.dtype = fbs::DType::Int4, .block = 32},
                        hold(std::vector<uint8_t>(96 * 64 / 2, 0x5a)), hold(std::move(scales)), fbs::DType::Float16);
  Bytes blob = pack(*graph);
  EXPECT_EQ(version_of(blob), 6u);
  EXPECT_TRUE(opened(blob).ok());
  blob[8] = std::byte{5};
  EXPECT_EQ(opened(blob).message(),
            "header: format version 5, but the graph has quantised constants with Float16 scales, expected 6 or more");
  Parts parts(pack(*graph));
  for (const auto& tensor : parts.model.tensors)
    if (tensor->quantization) tensor->quantization->block = 48;
  EXPECT_NE(opened(parts.assemble()).message().find("blocks of 48 do not divide [96,64]"), std::string_view::npos);
}

struct Case {
  const char* name;
  std::function<void(Parts&)> damage;
  const char* message;
};

class DamagedQuantization : public ::testing::TestWithParam<Case> {};

TEST_P(DamagedQuantization, IsRefusedWithAMessage) {
  Parts parts(quantized_blob());
  ASSERT_EQ(parts.assemble(), quantized_blob());
  GetParam().damage(parts);
  const Status status = opened(parts.assemble());
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << "the message is: " << status.message();
}

fbs::TensorT& tensor(Parts& p, const char* name) { return *p.model.tensors[index_of(named(p.model, name))]; }
fbs::QuantizationT& nibbles(Parts& p) { return *tensor(p, "fc1.weight").quantization; }
fbs::QuantizationT& bytes(Parts& p) { return *tensor(p, "fc3.weight").quantization; }

const Case kCases[] = {
    {"scale_missing", [](Parts& p) { bytes(p).scale = TensorId{99}; }, "scale tensor 99 of"},
    {"scale_computed", [](Parts& p) { bytes(p).scale = named(p.model, "fc1"); },
     "is a computed value of type Float32, expected a constant of Float32"},
    {"scale_of_itself", [](Parts& p) { bytes(p).scale = named(p.model, "fc3.weight"); },
     "is a quantised constant of type Int8"},
    {"scale_quantised",
     [](Parts& p) {
       tensor(p, "fc3.weight.scale").quantization = std::make_unique<fbs::QuantizationT>(bytes(p));
       tensor(p, "fc3.weight.scale").quantization->scale = named(p.model, "fc3.weight");
     },
     "is a quantised constant of type Float32, expected a constant of Float32"},
    {"scale_type", [](Parts& p) { bytes(p).scale = named(p.model, "fc1.weight.scale"); },
     "is a constant of type BFloat16, expected a constant of Float32"},
    {"block_scale_type", [](Parts& p) { nibbles(p).scale = named(p.model, "fc3.weight.scale"); },
     "is a constant of type Float32, expected a constant of BFloat16"},
    {"scale_shape", [](Parts& p) { nibbles(p).scale = named(p.model, "fc2.weight.scale"); },
     "is [64,3], expected [96,2]"},
    {"axis_low", [](Parts& p) { bytes(p).axis = -1; }, "axis is -1 for [64,64]"},
    {"axis_high", [](Parts& p) { bytes(p).axis = 2; }, "axis is 2 for [64,64]"},
    {"axis_of_blocks", [](Parts& p) { nibbles(p).axis = 1; }, "axis is 1 for [96,64] with blocks, expected 0"},
    {"block_negative", [](Parts& p) { nibbles(p).block = -32; }, "blocks of -32 do not divide [96,64]"},
    {"block_odd", [](Parts& p) { nibbles(p).block = 48; }, "blocks of 48 do not divide [96,64]"},
    {"zero_point_of_nibbles", [](Parts& p) { nibbles(p).zero_point = 8; }, "zero point is 8, expected -8 to 7"},
    {"zero_point_of_bytes", [](Parts& p) { bytes(p).zero_point = -129; }, "zero point is -129, expected -128 to 127"},
    {"nibbles_without_scale", [](Parts& p) { tensor(p, "fc1.weight").quantization = nullptr; },
     "a constant of type Int4 without a scale"},
    {"bytes_without_scale", [](Parts& p) { tensor(p, "fc3.weight").quantization = nullptr; },
     "'fc3': linear: input 1 is of type Int8, expected Float32"},
    {"float_with_scale",
     [](Parts& p) {
       tensor(p, "fc3.weight").dtype = fbs::DType::Float32;
       tensor(p, "fc3.weight").shape = {16, 64};
     },
     "a constant of type Float32 has scales"},
    {"activation_with_scale",
     [](Parts& p) { tensor(p, "fc1").quantization = std::make_unique<fbs::QuantizationT>(bytes(p)); },
     "an activation of type Float32 has scales"},
    {"odd_row",
     [](Parts& p) {
       tensor(p, "fc1.weight").shape = {2048, 3};
     },
     "Int4 of [2048,3], expected a last dimension that is even"},
    {"nibbles_short", [](Parts& p) { p.model.buffers[tensor(p, "fc1.weight").buffer]->size -= 1; },
     "takes 3072 bytes, buffer"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedQuantization, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ferry::testing
