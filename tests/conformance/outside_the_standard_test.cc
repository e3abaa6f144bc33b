// Operators that ONNX Runtime writes into files although no specification defines them; the suite has no cases for
// them.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/support/blobs.h"
#include "tests/support/run_blob.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

constexpr double kEpsilon = 0.25;  // large, so that its use shows
const Dims kShape = {2, 3, 4};

Values values(int64_t count, double phase) {
  Values all;
  for (int64_t i = 0; i < count; ++i) all.push_back(static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i))));
  return all;
}

void add_input(::onnx::GraphProto& graph, const std::string& name, const Dims& dims) {
  auto* input = graph.add_input();
  input->set_name(name);
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) type->mutable_shape()->add_dim()->set_dim_value(d);
}

::onnx::AttributeProto* add_attribute(::onnx::NodeProto* node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

// y = SimplifiedLayerNormalization(x, scale) over the dimensions from `axis` on; the scale is a weight or an input.
Values simplified_layer_norm(int64_t axis, bool weight, const Values& x, const Dims& scale_dims, const Values& scale) {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", kShape);
  if (weight) {
    auto* tensor = graph.add_initializer();
    tensor->set_name("scale");
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    for (const int64_t d : scale_dims) tensor->add_dims(d);
    for (const double v : scale) tensor->add_float_data(static_cast<float>(v));
  } else {
    add_input(graph, "scale", scale_dims);
  }
  auto* node = graph.add_node();
  node->set_op_type("SimplifiedLayerNormalization");
  node->add_input("x");
  node->add_input("scale");
  node->add_output("y");
  add_attribute(node, "axis", ::onnx::AttributeProto::INT)->set_i(axis);
  add_attribute(node, "epsilon", ::onnx::AttributeProto::FLOAT)->set_f(static_cast<float>(kEpsilon));
  graph.add_output()->set_name("y");

  const ScratchFolder folder;
  const onnx::Imported imported =
      onnx::import_model(onnx::read_model(folder.write("net.onnx", model.SerializeAsString())), {});
  sink_transposes(*imported.graph, {});
  run_passes(*imported.graph, {});
  const std::vector<std::byte> packed = pack(*imported.graph);
  AlignedBytes blob(packed);
  BlobTensors inputs = {{"x", {kShape, x}}}, outputs;
  if (!weight) inputs["scale"] = {scale_dims, scale};
  EXPECT_EQ(run_blob(blob.data(), blob.size(), inputs, &outputs), "");
  EXPECT_EQ(outputs["y"].dims, kShape);
  return outputs["y"].values;
}

// x / sqrt(mean(x^2) + epsilon) * scale, row by row.
TEST(OutsideTheStandard, SimplifiedLayerNormalizationIsRmsNorm) {
  struct Case {
    int64_t axis;
    Dims scale;
  };
  for (const Case& c : {Case{-1, {4}}, Case{1, {3, 4}}}) {
    for (const bool weight : {true, false}) {
      SCOPED_TRACE("axis " + std::to_string(c.axis) + (weight ? ", scale known" : ", scale computed"));
      const size_t columns = c.scale.size() == 1 ? 4 : 12;
      const Values x = values(24, 0.3), scale = values(static_cast<int64_t>(columns), 2);
      const Values y = simplified_layer_norm(c.axis, weight, x, c.scale, scale);
      ASSERT_EQ(y.size(), x.size());
      for (size_t row = 0; row < x.size(); row += columns) {
        double squares = 0;
        for (size_t i = 0; i < columns; ++i) squares += x[row + i] * x[row + i];
        const double root = std::sqrt(squares / static_cast<double>(columns) + kEpsilon);
        for (size_t i = 0; i < columns; ++i) EXPECT_NEAR(y[row + i], x[row + i] / root * scale[i], 1e-6) << row + i;
      }
    }
  }
}

}  // namespace
}  // namespace ferry::testing
