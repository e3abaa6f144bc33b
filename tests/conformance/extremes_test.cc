// Functions that the converter composes of operators, over all magnitudes, with the values of their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

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

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr double kMaximum = static_cast<double>(std::numeric_limits<float>::max());

struct Composed {
  const char* op;
  std::map<std::string, float> attributes;
  std::function<double(double)> function;
  bool vanishes = false;  // x * f(x): 0 or NaN at -inf
};

double elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }
double log_one_plus_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

const Composed kComposed[] = {
    {"Relu", {}, [](double x) { return x < 0 ? 0 : x; }},
    {"Elu", {{"alpha", 2}}, [](double x) { return elu(x, 2); }},
    {"Selu", {}, [](double x) { return 1.0507009873554805 * elu(x, 1.6732632423543772); }},
    {"Celu", {{"alpha", 2}}, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
    {"Softplus", {}, [](double x) { return std::isnan(x) ? x : log_one_plus_exp(x); }},
    {"Softsign", {}, [](double x) { return x / (1 + std::fabs(x)); }},
    {"Mish", {}, [](double x) { return x * std::tanh(log_one_plus_exp(x)); }, true},
    {"HardSigmoid", {{"alpha", 0.2f}}, [](double x) { return x < -2.5  ? 0
                                                             : x > 2.5 ? 1
                                                                       : 0.2 * x + 0.5; }},
    {"HardSwish", {}, [](double x) { return x < -3  ? 0 * x
                                            : x > 3 ? x
                                                    : x * (x + 3) / 6; }, true},
    {"Gelu", {}, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, true},
    {"Sigmoid", {}, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Reciprocal", {}, [](double x) { return 1 / x; }},
    {"ThresholdedRelu", {{"alpha", 1}}, [](double x) { return x > 1 ? x : 0; }},
};

// y = op(x), by the converter and the runtime.
Values results(const char* op, const std::map<std::string, float>& attributes, const std::vector<int64_t>& dims,
               const Values& x, int64_t axis = 0) {
  ::onnx::ModelProto model;
  const bool reduces = std::string(op) == "ReduceLogSumExp";
  model.add_opset_import()->set_version(reduces ? 13 : 20);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  auto* input = graph.add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) type->mutable_shape()->add_dim()->set_dim_value(d);
  auto* node = graph.add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("y");
  for (const auto& [name, value] : attributes) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
  }
  if (axis != 0) {
    auto* attribute = node->add_attribute();
    attribute->set_name(reduces ? "axes" : "axis");
    attribute->set_type(reduces ? ::onnx::AttributeProto::INTS : ::onnx::AttributeProto::INT);
    if (reduces)
      attribute->add_ints(axis);
    else
      attribute->set_i(axis);
  }
  graph.add_output()->set_name("y");

  const ScratchFolder folder;
  const onnx::Imported imported =
      onnx::import_model(onnx::read_model(folder.write("net.onnx", model.SerializeAsString())), {});
  run_passes(*imported.graph, {});
  const std::vector<std::byte> packed = pack(*imported.graph);
  AlignedBytes blob(packed);
  BlobTensors outputs;
  EXPECT_EQ(run_blob(blob.data(), blob.size(), {{"x", {dims, x}}}, &outputs), "");
  return outputs["y"].values;
}

bool is_right(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::fabs(expected) > kMaximum) return got == std::copysign(kInf, expected);
  return std::fabs(got - expected) <= 1e-6 * std::fabs(expected) + 1e-6;
}

TEST(Extremes, OfComposedFunctions) {
  Values x = {kNaN, kInf, -kInf};
  for (const double value :
       {0.0, 1e-30, 0.01, 1.0, 5.0, 19.0, 21.0, 88.0, 90.0, 1e4, 1e10, 1e20, 5e26, 1e30, 1e37, 3e38})
    for (const double sign : {1.0, -1.0}) x.push_back(static_cast<double>(static_cast<float>(sign * value)));
  for (const Composed& c : kComposed) {
    const Values y = results(c.op, c.attributes, {static_cast<int64_t>(x.size())}, x);
    ASSERT_EQ(y.size(), x.size()) << c.op;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = c.function(x[i]);
      EXPECT_TRUE(is_right(y[i], expected) || (c.vanishes && std::isnan(expected) && std::fabs(y[i]) < 1e-30))
          << c.op << " of " << x[i] << " is " << y[i] << ", right is " << expected;
    }
  }
}

struct Inverse {
  const char* op;
  double (*of)(double);
};

const Inverse kInverses[] = {{"Acos", std::acos}, {"Acosh", std::acosh}, {"Asin", std::asin}, {"Asinh", std::asinh},
                             {"Atan", std::atan}, {"Atanh", std::atanh}, {"Cosh", std::cosh}, {"Sinh", std::sinh}};

// Also near zero, the relative error stays small.
TEST(ComposedFunctions, AgreeWithTheCLibrary) {
  Values x = {0, kInf, -kInf, kNaN};
  for (const double v : {1e-30, 1e-6, 1e-3, 0.1, 0.25, 0.3, 0.34, 0.41, 0.42, 0.5, 0.75,  0.9,  0.99, 0.999, 1.0,
                         1.001, 1.5,  2.0,  2.4, 2.5,  5.0, 20.0, 80.0, 88.0, 9e3, 1.1e4, 1e10, 1e30, 3e38})
    for (const double sign : {1.0, -1.0}) x.push_back(static_cast<float>(sign * v));
  for (const Inverse& f : kInverses) {
    SCOPED_TRACE(f.op);
    const Values y = results(f.op, {}, {static_cast<int64_t>(x.size())}, x);
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

TEST(Extremes, OfLogarithmsOfSums) {
  const Values rows[] = {{0, 1, 2},         {-1e30, 1, 0},         {-1e30, -1e30, -1e30}, {1e38, 3e38, -3e38},
                         {-kInf, 1, -kInf}, {-kInf, -kInf, -kInf}, {kInf, 1, 2},          {1, kNaN, 2}};
  for (const Values& given : rows) {
    Values x;
    for (const double value : given) x.push_back(static_cast<double>(static_cast<float>(value)));
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double value : x) sum += std::exp(value - largest);
    // As torch.logsumexp(): an infinite maximum is the result.
    double expected = std::isinf(largest) ? largest : largest + std::log(sum);
    if (std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); })) expected = kNaN;
    const Values y = results("ReduceLogSumExp", {}, {1, 3}, x, 1);
    ASSERT_EQ(y.size(), 1u);
    EXPECT_TRUE(is_right(y[0], expected)) << y[0] << ", right is " << expected;
    const Values logs = results("LogSoftmax", {}, {1, 3}, x, 1);
    for (size_t i = 0; i < x.size(); ++i)  // as torch.log_softmax(): NaN for an infinite maximum
      EXPECT_TRUE(is_right(logs[i], std::isinf(largest) ? kNaN : x[i] - largest - std::log(sum)))
          << logs[i] << " for " << x[i];
  }
}

}  // namespace
}  // namespace ferry::testing
