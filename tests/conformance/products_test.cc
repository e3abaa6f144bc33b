// Products of two activations, in sizes that the suite lacks.
#include <gtest/gtest.h>

#include <cmath>
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
using Dims = std::vector<int64_t>;

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

// A graph of one node with the inputs a and b.
class Product {
 public:
  Product(const char* type, Dims a, Dims b, ::onnx::TensorProto::DataType dtype = ::onnx::TensorProto::FLOAT) {
    model_.add_opset_import()->set_version(17);
    add_input("a", std::move(a), dtype);
    add_input("b", std::move(b), dtype);
    node_ = model_.mutable_graph()->add_node();
    node_->set_op_type(type);
    for (const char* name : {"a", "b"}) node_->add_input(name);
    node_->add_output("y");
    model_.mutable_graph()->add_output()->set_name("y");
  }

  Product& with(const char* attribute, const std::string& text) {
    auto* a = add_attribute(attribute, ::onnx::AttributeProto::STRING);
    a->set_s(text);
    return *this;
  }
  Product& with(const char* attribute, int64_t number) {
    auto* a = add_attribute(attribute, ::onnx::AttributeProto::INT);
    a->set_i(number);
    return *this;
  }

  // Runs it on generated values; `kinds` becomes the blob's operators.
  Values run(std::map<std::string, int>* kinds = nullptr) {
    const ScratchFolder folder;
    const onnx::Imported imported =
        onnx::import_model(onnx::read_model(folder.write("net.onnx", model_.SerializeAsString())), {});
    sink_transposes(*imported.graph, {});
    run_passes(*imported.graph, {});
    if (kinds != nullptr)
      for (const auto& op : imported.graph->table.operators) ++(*kinds)[fbs::EnumNameOpParams(op->params.type)];
    const std::vector<std::byte> packed = pack(*imported.graph);
    AlignedBytes blob(packed);
    BlobTensors outputs;
    EXPECT_EQ(run_blob(blob.data(), blob.size(), inputs_, &outputs), "");
    return outputs["y"].values;
  }

  const Values& a() const { return inputs_.at("a").values; }
  const Values& b() const { return inputs_.at("b").values; }

 private:
  void add_input(const char* name, Dims dims, ::onnx::TensorProto::DataType dtype) {
    auto* input = model_.mutable_graph()->add_input();
    input->set_name(name);
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(dtype);
    for (const int64_t d : dims) type->mutable_shape()->add_dim()->set_dim_value(d);
    Values values;
    for (int64_t i = 0; i < count(dims); ++i) {
      const double wave = std::sin((name[0] == 'a' ? 0.3 : 1.9) + 1.7 * static_cast<double>(i));
      const bool bytes = dtype == ::onnx::TensorProto::UINT8;
      values.push_back(bytes ? std::round(127.5 + 127.5 * wave) : static_cast<double>(static_cast<float>(wave)));
    }
    inputs_[name] = {std::move(dims), std::move(values)};
  }
  ::onnx::AttributeProto* add_attribute(const char* name, ::onnx::AttributeProto::AttributeType type) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }

  ::onnx::ModelProto model_;
  ::onnx::NodeProto* node_ = nullptr;
  BlobTensors inputs_;
};

// Expects y[s][i][j] to be the sum over k of a(s, i, k) * b(s, k, j).
template <typename A, typename B>
void expect_products(const Values& y, int64_t samples, int64_t rows, int64_t depth, int64_t columns, A a, B b) {
  ASSERT_EQ(static_cast<int64_t>(y.size()), samples * rows * columns);
  double worst = 0, largest = 0;
  for (int64_t s = 0; s < samples; ++s)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += a(s, i, k) * b(s, k, j);
        worst = std::max(worst, std::fabs(sum - y[static_cast<size_t>((s * rows + i) * columns + j)]));
        largest = std::max(largest, std::fabs(sum));
      }
  EXPECT_LE(worst, 1e-5 * largest);  // of sums that nearly cancel
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

TEST(Products, OfAnySizeAreOneOperator) {
  Product net("MatMul", {2, 100, 150}, {2, 150, 200});  // 6 million multiplications
  const Values &a = net.a(), &b = net.b();
  std::map<std::string, int> kinds;
  const Values y = net.run(&kinds);
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"MatMul", 1}}));
  expect_products(
      y, 2, 100, 150, 200, [&](int64_t s, int64_t i, int64_t k) { return a[at((s * 100 + i) * 150 + k)]; },
      [&](int64_t s, int64_t k, int64_t j) { return b[at((s * 150 + k) * 200 + j)]; });
}

TEST(Products, OfVectorsLoseTheirDimension) {
  Product net("MatMul", {700}, {700});
  const Values &a = net.a(), &b = net.b();
  expect_products(
      net.run(), 1, 1, 700, 1, [&](int64_t, int64_t, int64_t k) { return a[at(k)]; },
      [&](int64_t, int64_t k, int64_t) { return b[at(k)]; });
}

TEST(Products, OfGemmLieTransposed) {
  Product net("Gemm", {150, 150}, {200, 150});
  const Values &a = net.a(), &b = net.b();
  net.with("transA", 1).with("transB", 1);
  std::map<std::string, int> kinds;
  const Values y = net.run(&kinds);
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"MatMul", 1}}));
  expect_products(
      y, 1, 150, 150, 200, [&](int64_t, int64_t i, int64_t k) { return a[at(k * 150 + i)]; },
      [&](int64_t, int64_t k, int64_t j) { return b[at(j * 150 + k)]; });
}

TEST(Products, OfEinsumReadTransposedInputsInPlace) {
  Product net("Einsum", {6, 100, 64}, {6, 120, 64});
  const Values &a = net.a(), &b = net.b();
  net.with("equation", "bqd,bkd->bqk");
  std::map<std::string, int> kinds;
  const Values y = net.run(&kinds);
  EXPECT_EQ(kinds["MatMul"], 1);
  EXPECT_EQ(kinds["Transpose"], 0);
  expect_products(
      y, 6, 100, 64, 120, [&](int64_t s, int64_t i, int64_t k) { return a[at((s * 100 + i) * 64 + k)]; },
      [&](int64_t s, int64_t k, int64_t j) { return b[at((s * 120 + j) * 64 + k)]; });
}

TEST(Products, OfEinsumSumOverSeveralDimensions) {
  Product net("Einsum", {90, 4, 50}, {4, 80, 50});
  const Values &a = net.a(), &b = net.b();
  net.with("equation", "ikl,kjl->ij");
  expect_products(
      net.run(), 1, 90, 200, 80, [&](int64_t, int64_t i, int64_t k) { return a[at(i * 200 + k)]; },
      [&](int64_t, int64_t k, int64_t j) { return b[at((k / 50 * 80 + j) * 50 + k % 50)]; });
}

TEST(Products, OfIntegersAreExact) {
  Product net("MatMulInteger", {20, 700}, {700, 30}, ::onnx::TensorProto::UINT8);
  const Values &a = net.a(), &b = net.b();
  const Values y = net.run();
  ASSERT_EQ(y.size(), 600u);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 30; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 700; ++k) sum += a[at(i * 700 + k)] * b[at(k * 30 + j)];
      EXPECT_EQ(y[at(i * 30 + j)], sum) << i << ", " << j;
    }
}

}  // namespace
}  // namespace ferry::testing
