// Every operator of ONNX's own domain has a row in the importer's table and a place in docs/onnx.md; the cases of
// make_standard.py agree with NumPy and PyTorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "converter/onnx/op.h"
#include "converter/onnx/versions.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// The operators that onnx/defs/operator_sets.h lists for the domain, up to opset kOpset, at the commit that
// third_party/onnx/README.md names. A newer opset needs the list of its commit.
constexpr int64_t kOpset = 28;
constexpr char kOperators[] =
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
    "BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow "
    "Cast CastLike CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence "
    "Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv "
    "DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand "
    "EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid "
    "HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization "
    "LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul "
    "MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish "
    "Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional "
    "OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear "
    "RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal "
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT "
    "Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
    "SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax "
    "SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat "
    "StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu "
    "Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor";

constexpr char kTableBegin[] = "<!-- ai.onnx: written by tests/conformance -->\n";
constexpr char kTableEnd[] = "<!-- end of ai.onnx -->\n";

TEST(Standard, EveryOperatorHasARow) {
  EXPECT_EQ(onnx::kNewestOpset, kOpset) << "write down the operators of the new opset";
  std::istringstream words(kOperators);
  const std::set<std::string> standard{std::istream_iterator<std::string>(words), {}};
  std::set<std::string> rows;
  std::string before;
  for (const onnx::OpRow& row : onnx::operators_of("")) {
    EXPECT_LT(before, row.op);
    EXPECT_TRUE((row.function == nullptr) == (row.refused != nullptr)) << row.op;
    before = row.op;
    rows.insert(before);
  }
  for (const std::string& name : standard) EXPECT_TRUE(rows.contains(name)) << name << " has no row";
  // ONNX Runtime writes it in the standard's domain.
  rows.erase("SimplifiedLayerNormalization");
  for (const std::string& name : rows) EXPECT_TRUE(standard.contains(name)) << name << " is no operator of ONNX";
}

// The operators as a paragraph of lines of at most 120 columns, then those that are refused, by reason.
std::string operator_table() {
  std::string supported;
  std::map<std::string, std::string> refused;
  size_t column = 0;
  for (const onnx::OpRow& row : onnx::operators_of("")) {
    const std::string op(row.op);
    // An If whose condition is known never reaches the table.
    if (row.function == nullptr) {
      std::string& list = refused[row.refused];
      list += (list.empty() ? "" : ", ") + op;
      continue;
    }
    const bool wraps = column + 2 + op.size() > 118;
    supported += supported.empty() ? "" : wraps ? ",\n" : ", ";
    column = wraps ? op.size() : column + 2 + op.size();
    supported += op;
  }
  std::string text = "\nSupported:\n" + supported + ".\n\n| refused | reason |\n| --- | --- |\n";
  for (const auto& [reason, list] : refused) text += "| " + list + " | " + reason + " |\n";
  return text +
         "| every operator of `ai.onnx.ml` | trees, vectorizers and other classical models are not supported |\n\n";
}

TEST(Standard, TheDocumentationNamesEveryOperator) {
  const fs::path page = source_folder() / "docs" / "onnx.md";
  std::ifstream file(page, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find(kTableBegin), end = text.find(kTableEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << "docs/onnx.md has no place for the table";
  const size_t first = begin + sizeof kTableBegin - 1;
  const std::string table = operator_table();
  if (std::getenv("FERRY_WRITE_CONFORMANCE"))
    std::ofstream(page, std::ios::binary) << text.substr(0, first) << table << text.substr(end);
  EXPECT_TRUE(text.substr(first, end - first) == table)
      << "docs/onnx.md is stale: run this test with FERRY_WRITE_CONFORMANCE=1";
}

// Operators that none of the ONNX project's cases in ../shared has as a node; expected values are make_standard.py's.
TEST(Standard, OperatorsAgreeWithTheReference) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests/data/onnx/operators")) {
    if (!entry.is_directory()) continue;
    const Outcome outcome = run_case(entry.path());
    EXPECT_TRUE(outcome.verdict == Verdict::Passed || outcome.verdict == Verdict::Folded)
        << entry.path().filename() << ": " << outcome.reason;
    ++count;
  }
  EXPECT_GE(count, 40);
}

// Graphs of random_graphs.py, of many opsets; expected values are ONNX Runtime's.
TEST(Standard, RandomGraphsAgreeWithOnnxRuntime) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests/data/onnx/random")) {
    if (!entry.is_directory()) continue;
    const Outcome outcome = run_case(entry.path(), {.relative = 0, .absolute = 1e-6, .of_largest = 1e-4});
    EXPECT_EQ(outcome.verdict, Verdict::Passed) << entry.path().filename() << ": " << outcome.reason;
    ++count;
  }
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace ferry::testing
