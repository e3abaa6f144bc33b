// Functions that the converter composes of operators, against the C library in double, at small, large and infinite
// arguments and at the ends of their domains.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/conformance/run_blob.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

struct Function {
  const char* op;
  double (*of)(double);
};

const Function kFunctions[] = {{"Acos", std::acos}, {"Acosh", std::acosh}, {"Asin", std::asin}, {"Asinh", std::asinh},
                               {"Atan", std::atan}, {"Atanh", std::atanh}, {"Cosh", std::cosh}, {"Sinh", std::sinh}};

// y = op(x) of a vector, as a model file's bytes.
std::string model_of(const char* op, size_t count) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* input = model.mutable_graph()->add_input();
  input->set_name("x");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(static_cast<int64_t>(count));
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("y");
  model.mutable_graph()->add_output()->set_name("y");
  return model.SerializeAsString();
}

TEST(ComposedFunctions, AgreeWithTheCLibrary) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0, kInfinite, -kInfinite, std::numeric_limits<double>::quiet_NaN()};
  for (const double v : {1e-30, 1e-6, 1e-3, 0.1, 0.25, 0.3, 0.34, 0.41, 0.42, 0.5, 0.75,  0.9,  0.99, 0.999, 1.0,
                         1.001, 1.5,  2.0,  2.4, 2.5,  5.0, 20.0, 80.0, 88.0, 9e3, 1.1e4, 1e10, 1e30, 3e38})
    for (const double sign : {1.0, -1.0}) x.push_back(static_cast<float>(sign * v));
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.op);
    const ScratchFolder folder;
    const onnx::Imported imported =
        onnx::import_model(onnx::read_model(folder.write("net.onnx", model_of(f.op, x.size()))), {});
    run_passes(*imported.graph, {});
    const std::vector<std::byte> packed = pack(*imported.graph);
    AlignedBytes blob(packed);
    BlobTensors outputs;
    ASSERT_EQ(run_blob(blob.data(), blob.size(), {{"x", {{static_cast<int64_t>(x.size())}, x}}}, &outputs), "");
    const std::vector<double>& y = outputs["y"].values;
    ASSERT_EQ(y.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = static_cast<double>(static_cast<float>(f.of(x[i])));
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(y[i])) << x[i] << ": " << y[i];
      else if (std::isinf(want))
        EXPECT_EQ(y[i], want) << x[i];
      else
        EXPECT_NEAR(y[i], want, 1e-6 * std::fabs(want)) << x[i];
    }
  }
}

}  // namespace
}  // namespace ferry::testing
