#include "converter/onnx/counted.h"

#include <algorithm>
#include <string_view>

#include "converter/onnx/counted_operators.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace counts {
namespace {

struct Row {
  std::string_view op;
  void (*import)(Op&, OpFunction);
};

constexpr Row kRows[] = {
    {"ArgMax", arg_best_of_counted},
    {"ArgMin", arg_best_of_counted},
    {"AveragePool", batch},
    {"BatchNormalization", batch},
    {"Concat", concatenated},
    {"ConstantOfShape", constant_of_counts},
    {"Conv", batch},
    {"ConvTranspose", batch},
    {"Expand", expanded},
    {"Flatten", reshaped},
    {"Gather", gathered},
    {"GatherElements", gathered_elements},
    {"GatherND", gathered_nd},
    {"Gemm", multiplied},
    {"GlobalAveragePool", batch},
    {"GridSample", sampled},
    {"LogSoftmax", along_other_axes},
    {"MatMul", multiplied},
    {"MaxPool", batch},
    {"Range", range_of_counts},
    {"Optional", elementwise},
    {"OptionalGetElement", elementwise},
    {"OptionalHasElement", of_known_size},
    {"Pad", padded},
    {"ReduceL1", reduced},
    {"ReduceL2", reduced},
    {"ReduceMax", reduced},
    {"ReduceMean", reduced},
    {"ReduceMin", reduced},
    {"ReduceProd", reduced},
    {"ReduceSum", reduced},
    {"ReduceSumSquare", reduced},
    {"Reshape", reshaped},
    {"Resize", batch},
    {"RoiAlign", regions},
    {"ScatterElements", scattered},
    {"ScatterND", scattered},
    {"ScatterRows", scattered},
    {"Shape", shape_of},
    {"Size", shape_of},
    {"Slice", sliced},
    {"Softmax", along_other_axes},
    {"Split", split_apart},
    {"Squeeze", squeezed},
    {"TopK", best_of_counted},
    {"Transpose", transposed},
    {"Unsqueeze", squeezed},
};

constexpr std::string_view kElementwise[] = {"Abs",
                                             "Acos",
                                             "Add",
                                             "And",
                                             "Asin",
                                             "Atan",
                                             "Cast",
                                             "CastLike",
                                             "Ceil",
                                             "Celu",
                                             "Clip",
                                             "Cos",
                                             "Div",
                                             "Dropout",
                                             "Elu",
                                             "Equal",
                                             "Erf",
                                             "Exp",
                                             "Floor",
                                             "Greater",
                                             "Gelu",
                                             "GeluTanh",
                                             "GreaterOrEqual",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "Identity",
                                             "IsInf",
                                             "IsNaN",
                                             "LeakyRelu",
                                             "Less",
                                             "LessOrEqual",
                                             "Log",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "Mish",
                                             "Mod",
                                             "Mul",
                                             "Neg",
                                             "Not",
                                             "Or",
                                             "PRelu",
                                             "Pow",
                                             "Reciprocal",
                                             "Relu",
                                             "Round",
                                             "Selu",
                                             "Sigmoid",
                                             "Sign",
                                             "Silu",
                                             "Sin",
                                             "Softplus",
                                             "Softsign",
                                             "Sqrt",
                                             "Sub",
                                             "Sum",
                                             "Tan",
                                             "Tanh",
                                             "Where",
                                             "Xor"};

// Operators that compute sizes from sizes.
constexpr std::string_view kOfSizes[] = {
    "Add",       "And",        "Cast",      "Ceil",    "Concat", "Div",     "Equal", "Floor",     "Gather", "Greater",
    "Identity",  "Less",       "Max",       "Min",     "Mod",    "Mul",     "Neg",   "Not",       "Or",     "ReduceMax",
    "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice",  "Squeeze", "Sub",   "Unsqueeze", "Where"};

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Computes the result at the bounds, with counts of 0, and in a run.
void of_sizes(Op& op, OpFunction function) {
  function(op);
  Op zero = op.at_counts(false), run = op.at_counts(true);
  function(zero);
  function(run);
  const Array* most = std::get_if<Array>(&op.outputs().front());
  const Array* least = std::get_if<Array>(&zero.outputs().front());
  const Tensor* in_run = std::get_if<Tensor>(&run.outputs().front());
  if (!most || !least || !in_run || most->dims != least->dims) op.refuse("sizes that follow from values");
  const std::vector<double> a = most->floats(), b = least->floats();
  if (a == b) return;  // of known sizes only
  if (most->type != Type::Bool && !std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x >= y; }))
    op.refuse("a size that falls where a count rises has no bound");
  op.set_in_run(0, *least, *in_run);
}

}  // namespace
}  // namespace counts

std::pair<Tensor, Tensor> pick_flagged(Tensor flags) {
  fbs::TopKT params;
  params.k = flags.shape()[0];
  return {flags.graph->add_op("", params, {flags}), reduce(flags, fbs::ReduceKind::Sum, {0}, true)};
}

Tensor valid_flags(Op& op, size_t i, Tensor flags) {
  const auto mask = counts::valid(op.dims(i), op.counted(i).sizes);
  return mask ? binary(fbs::BinaryKind::And, flags, *mask) : flags;
}

void import_counted(Op& op, OpFunction function) {
  using namespace counts;
  const std::string& name = op.node().op;
  if (!op.node().domain.empty() && op.node().domain != "ai.onnx" && op.node().domain != "ferry")
    op.refuse("the size of an input follows from values, which is supported for ONNX's own operators only");
  bool sizes_only = op.known();
  for (size_t i = 0; i < op.input_count(); ++i) sizes_only = sizes_only && op.counted(i).sizes.empty();
  if (sizes_only && contains(kOfSizes, name)) return of_sizes(op, function);
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == name; });
  static constexpr std::string_view kReadsSizes[] = {"ConstantOfShape", "Expand", "Range", "Reshape", "Slice", "TopK"};
  if (!contains(kReadsSizes, name)) op.use_sizes_in_run();
  if (row != std::end(kRows)) return row->import(op, function);
  if (contains(kElementwise, name)) return elementwise(op, function);
  static constexpr std::string_view kOwnCounts[] = {"Compress", "KeypointsOfHeatmaps", "NonMaxSuppression", "NonZero",
                                                    "PasteMasks"};
  if (contains(kOwnCounts, name)) return function(op);
  for (size_t i = 0; i < op.input_count(); ++i)
    if (is_counted(op.counted(i).sizes)) op.refuse("the size of input %zu follows from values", i);
  function(op);
}

}  // namespace ferry::onnx
