// Blobs with Int8 activations: the message for every possible fault.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

// x -> q (Int8) -> f (a table) -> m (a maximum) -> y.
const std::vector<std::byte>& int8_blob() {
  static const std::vector<std::byte> blob = [] {
    Graph graph;
    const Tensor x = graph.add_input("x", {1, 4, 4, 3}, fbs::Layout::Same);
    const Tensor q = graph.add_op("q", fbs::RequantizeT(), {x});
    graph.set_quantization(q.id, 0.5f, 3);
    const Tensor table = graph.add_constant("table", fbs::DType::Int8, {256}, hold(std::vector<int8_t>(256, 7)));
    graph.set_quantization(table.id, 0.25f, -3);
    const Tensor m = graph.add_op("m", fbs::Pool2dT(), {graph.add_op("f", fbs::LookupT(), {q, table})});
    fbs::RequantizeT back;
    back.to = fbs::DType::Float32;
    graph.add_output("y", graph.add_op("y", back, {m}), fbs::Layout::Same);
    return pack(graph);
  }();
  return blob;
}

fbs::TensorT& value(Parts& p, const std::string& name) {
  for (auto& tensor : p.model.tensors)
    if (tensor->name == name) return *tensor;
  fail("no tensor '%s'", name.c_str());
}

fbs::QuantizationT& quantization(Parts& p, const char* name) { return *value(p, name).quantization; }

fbs::OperatorT& operation(Parts& p, size_t index) { return *p.model.operators[index]; }

struct Int8Fault {
  const char* name;
  std::function<void(Parts&)> damage;
  const char* message;
};

class DamagedInt8 : public ::testing::TestWithParam<Int8Fault> {};

TEST_P(DamagedInt8, IsRefusedWithAMessage) {
  Parts parts(int8_blob());
  ASSERT_EQ(parts.assemble(), int8_blob());
  GetParam().damage(parts);
  AlignedBytes bytes(parts.assemble());
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << "the message is: " << status.message();
}

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN(),
                kUnbounded = std::numeric_limits<float>::infinity();

const Int8Fault kInt8Faults[] = {
    {"scale_zero", [](Parts& p) { quantization(p, "q").float_scale = 0; }, "scale is 0, expected 2^-100 to 2^100"},
    {"scale_negative", [](Parts& p) { quantization(p, "q").float_scale = -1; }, "scale is -1, expected"},
    {"scale_nan", [](Parts& p) { quantization(p, "q").float_scale = kNotANumber; }, "scale is nan, expected"},
    {"scale_infinite", [](Parts& p) { quantization(p, "table").float_scale = kUnbounded; }, "scale is inf, expected"},
    {"scale_denormal", [](Parts& p) { quantization(p, "q").float_scale = 1e-38f; }, "scale is 1e-38, expected"},
    {"zero_point_high", [](Parts& p) { quantization(p, "q").zero_point = 128; }, "zero point is 128, expected"},
    {"zero_point_low", [](Parts& p) { quantization(p, "q").zero_point = -129; }, "zero point is -129, expected"},
    {"axis", [](Parts& p) { quantization(p, "q").axis = 1; }, "an activation with scales along axis 1"},
    {"no_quantization", [](Parts& p) { value(p, "q").quantization = nullptr; },
     "an activation of type Int8 without a quantization"},
    {"moved_scale", [](Parts& p) { quantization(p, "m").float_scale = 0.5f; },
     "output tensor 4 has another scale or zero point than the input"},
    {"moved_zero_point", [](Parts& p) { quantization(p, "m").zero_point = 0; },
     "output tensor 4 has another scale or zero point than the input"},
    {"table_scale", [](Parts& p) { quantization(p, "table").float_scale = 0.5f; },
     "output tensor 3 has another scale or zero point than the input"},
    {"table_short",
     [](Parts& p) {
       value(p, "table").shape = {128};
       p.model.buffers[value(p, "table").buffer]->size = 128;
     },
     "lookup: a table of [128], expected [256]"},
    {"table_computed", [](Parts& p) { operation(p, 1).inputs[1] = operation(p, 0).outputs[0]; },
     "operator 1 'f': input 1 of a lookup must be a constant"},
    {"to_unknown", [](Parts& p) { operation(p, 0).params.AsRequantize()->to = fbs::DType::Int32; },
     "requantize: to type Int32, expected Int8 or Float32"},
    {"to_float", [](Parts& p) { operation(p, 0).params.AsRequantize()->to = fbs::DType::Float32; },
     "requantize: input 0 is of type Float32, expected quantised Int8"},
    {"output", [](Parts& p) { p.model.outputs[0]->tensor = operation(p, 2).outputs[0]; },
     "output 0 'y': tensor 4 is of type Int8, expected Float32 or Int32"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedInt8, ::testing::ValuesIn(kInt8Faults),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ferry::testing
