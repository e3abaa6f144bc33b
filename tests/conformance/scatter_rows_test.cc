// ScatterElements with expanded indices: rows where the indices are one for each, else elements.
#include <gtest/gtest.h>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/support/blobs.h"
#include "tests/support/run_blob.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct ScatterCase {
  const char* name;
  Sizes data, indices, updates;
  int axis;
  int rows;  // scatter operators that move rows
};

// y = ScatterElements(x, Expand(i, shape of u), u)
std::string scatter_file(const ScatterCase& c) {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(13);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  const auto add_value = [&](const char* name, const Sizes& dims, ::onnx::TensorProto::DataType type) {
    auto* input = graph.add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const int64_t d : dims) tensor->mutable_shape()->add_dim()->set_dim_value(d);
  };
  add_value("x", c.data, ::onnx::TensorProto::FLOAT);
  add_value("i", c.indices, ::onnx::TensorProto::INT64);
  add_value("u", c.updates, ::onnx::TensorProto::FLOAT);
  auto* shape = graph.add_initializer();
  shape->set_name("shape");
  shape->set_data_type(::onnx::TensorProto::INT64);
  shape->add_dims(static_cast<int64_t>(c.updates.size()));
  for (const int64_t d : c.updates) shape->add_int64_data(d);
  const auto add_node = [&](const char* op, std::vector<const char*> inputs, const char* output) {
    auto* node = graph.add_node();
    node->set_op_type(op);
    for (const char* input : inputs) node->add_input(input);
    node->add_output(output);
    return node;
  };
  add_node("Expand", {"i", "shape"}, "all");
  auto* axis = add_node("ScatterElements", {"x", "all", "u"}, "y")->add_attribute();
  axis->set_name("axis");
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(c.axis);
  graph.add_output()->set_name("y");
  return model.SerializeAsString();
}

class ScatterRows : public ::testing::TestWithParam<ScatterCase> {};

TEST_P(ScatterRows, WritesWhatScatterElementsWrites) {
  const ScatterCase& c = GetParam();
  const ScratchFolder folder;
  const onnx::Imported imported = onnx::import_model(onnx::read_model(folder.write("net.onnx", scatter_file(c))), {});
  run_passes(*imported.graph, {});
  int rows = 0;
  for (const auto& op : imported.graph->table.operators)
    if (const auto* scatter = op->params.AsScatter()) rows += scatter->where == fbs::GatherKind::Tuples;
  EXPECT_EQ(rows, c.rows);
  const std::vector<std::byte> packed = pack(*imported.graph);
  AlignedBytes blob(packed);
  std::vector<double> x(static_cast<size_t>(c.data[0] * c.data[1]), 0), u, expected = x;
  const std::vector<double> indices = {3, 0, -1, 1};  // as many as needed
  const size_t count = static_cast<size_t>(c.indices[0] * c.indices[1]);
  const std::vector<double> given(indices.begin(), indices.begin() + static_cast<long>(count));
  for (int64_t row = 0; row < c.updates[0]; ++row) {
    for (int64_t column = 0; column < c.updates[1]; ++column) {
      u.push_back(static_cast<double>(10 * row + column + 1));
      const int64_t at = static_cast<int64_t>(given[static_cast<size_t>(c.indices[0] == 1 ? column : row)]);
      const int64_t size = c.data[static_cast<size_t>(c.axis)], place = at < 0 ? at + size : at;
      const int64_t to = c.axis == 0 ? place * c.data[1] + column : row * c.data[1] + place;
      expected[static_cast<size_t>(to)] = u.back();
    }
  }
  BlobTensors outputs;
  ASSERT_EQ(run_blob(blob.data(), blob.size(), {{"x", {c.data, x}}, {"i", {c.indices, given}}, {"u", {c.updates, u}}},
                     &outputs),
            "");
  EXPECT_EQ(outputs["y"].values, expected);
}

INSTANTIATE_TEST_SUITE_P(Expanded, ScatterRows,
                         ::testing::Values(ScatterCase{"to_rows", {5, 4}, {3, 1}, {3, 4}, 0, 1},
                                           ScatterCase{"to_parts_of_rows", {5, 6}, {3, 1}, {3, 4}, 0, 0},
                                           ScatterCase{"along_rows", {3, 5}, {3, 1}, {3, 1}, 1, 0},
                                           ScatterCase{"one_for_each_column", {5, 4}, {1, 4}, {1, 4}, 0, 0}),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace ferry::testing
