// `ferry parity`, `ferry convert --certify` and `ferry bisect` on blobs from .tflite files, and fixtures of what
// TensorFlow Lite's interpreter computes (tests/tflite/make_taps.py).
#if defined(FERRY_HAS_CONVERTER)

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/bisect/bisect.h"
#include "cli/parity/certify.h"
#include "cli/parity/equal_inputs.h"
#include "cli/parity/judge.h"
#include "cli/sdk.h"
#include "converter/pack/pack.h"
#include "tests/parity/bisected_network.h"
#include "tests/support/blobs.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::bisect {
namespace {

class BisectTflite : public ::testing::Test {
 protected:
  void import(const std::string& name) {
    options_.checkpoint = source_folder() / "tests/data/tflite/taps" / name / "model.tflite";
    options_.settings.set("keep-taps");
    graph_ = convert_to_graph(families(), options_);
    fixture_ = parity::read_fixture(options_.checkpoint.parent_path() / "fixture");
  }

  // The operator of this kind that computes the file's tensor, its first one.
  fbs::OperatorT& op(const std::string& tensor, fbs::OpParams kind) {
    for (const auto& op : graph_->table.operators)
      if (op->name == tensor && op->params.type == kind) return *op;
    throw Error("no operator " + tensor);
  }

  std::filesystem::path blob() {
    const std::vector<std::byte> bytes = pack(*graph_);
    return folder_.write("m.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  parity::Comparison judge() {
    const std::filesystem::path path = blob();
    const ferry_session_options session = cli::session_options(1);
    const parity::Network network(path, fixture_, session);
    return parity::judge(path, fixture_, network.tensors(), session);
  }
  Finding find() { return bisect(pack(*graph_), options_, fixture_, run_on_cpu); }

  ScratchFolder folder_;
  ConvertOptions options_;
  parity::Fixture fixture_;
  std::unique_ptr<Graph> graph_;
};

TEST_F(BisectTflite, ARightBlobHasNoFault) {
  for (const char* name : {"floats", "integers"}) {
    import(name);
    const parity::Comparison comparison = judge();
    EXPECT_TRUE(comparison.passed()) << name;
    EXPECT_EQ(comparison.rows.size(), 7u) << name;  // six taps, the last one an output, too
    EXPECT_TRUE(comparison.not_in_blob.empty()) << name;
    const Finding finding = find();
    EXPECT_EQ(finding.fault, Fault::None) << name << ": " << finding.first;
  }
}

TEST_F(BisectTflite, APaddingOfFloats) {
  import("floats");
  fbs::Conv2dT& params = *op("t1", fbs::OpParams::Conv2d).params.AsConv2d();
  params.pad_top = 0;
  params.pad_bottom = 2;
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion);
  EXPECT_EQ(finding.first, "tap/t1");
}

// The bound of integers is one step of the tensor's scale.
TEST_F(BisectTflite, IntegersAreWithinAStep) {
  import("integers");
  ASSERT_TRUE(parity::computes_on_integers(graph_->table));
  for (const parity::Row& row : judge().rows) {
    EXPECT_EQ(row.measure, parity::Measure::Absolute) << row.name;
    EXPECT_LE(row.max_abs_error, row.bound) << row.name;
  }
}

// Wrong from this operator on, but not after it: later ones are judged by the reference's inputs.
TEST_F(BisectTflite, AFaultOfIntegersStaysWithItsOperator) {
  import("integers");
  fbs::OperatorT& add = op("t2", fbs::OpParams::Binary);
  add.params.AsBinary()->kind = fbs::BinaryKind::Sub;
  std::vector<std::string> wrong;
  for (const parity::Row& row : judge().rows)
    if (!row.in_bounds) wrong.push_back(row.name);
  EXPECT_EQ(wrong, std::vector<std::string>{"tap/t2"});
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion) << finding_text(finding, 0);
  EXPECT_EQ(finding.first, "tap/t2");
  EXPECT_EQ(finding.op, "binary");
}

TEST_F(BisectTflite, APaddingOfIntegers) {
  import("integers");
  fbs::OperatorT& conv = op("t0", fbs::OpParams::Conv2d);
  std::swap(conv.params.AsConv2d()->pad_top, conv.params.AsConv2d()->pad_bottom);
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion) << finding_text(finding, 0);
  EXPECT_EQ(finding.first, "tap/t0");
  EXPECT_EQ(finding.op, "conv2d");
  EXPECT_NE(finding.cause.find("padding"), std::string::npos) << finding_text(finding, 0);
}

TEST_F(BisectTflite, ACertificateHoldsForTheBlob) {
  for (const char* name : {"floats", "integers"}) {
    import(name);
    const std::filesystem::path path = blob();
    testing::Parts parts(pack(*graph_));
    parts.model.certificate = std::move(parity::certificates_of(path, fixture_).front());
    EXPECT_EQ(parts.model.certificate->stages.size(), 7u);
    const std::vector<std::byte> certified = parts.assemble();
    testing::AlignedBytes bytes(certified);
    ferry_model* opened = nullptr;
    ASSERT_EQ(ferry_model_open_memory(bytes.data(), certified.size(), &opened), FERRY_OK) << ferry_last_error();
    const cli::ModelHandle model(opened);
    ferry_verification v{};
    v.struct_size = sizeof(v);
    ASSERT_EQ(ferry_model_verify(model.get(), nullptr, &v), FERRY_OK) << ferry_last_error();
    EXPECT_TRUE(v.passed) << name << ": " << v.stage;
    EXPECT_EQ(v.stage_count, 7u);
  }
}

}  // namespace
}  // namespace ferry::bisect

#endif
