#include <algorithm>
#include <span>
#include <string_view>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// ONNX's own operators, sorted.
constexpr OpRow kOps[] = {
    {"Abs", abs},
    {"Acos", acos},
    {"Acosh", acosh},
    {"Add", add},
    {"And", logical_and},
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"Asin", asin},
    {"Asinh", asinh},
    {"Atan", atan},
    {"Atanh", atanh},
    {"Attention", attention},
    {"AveragePool", average_pool},
    {"BatchNormalization", batch_normalization},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", ceil},
    {"Celu", celu},
    {"Clip", clip},
    {"Compress", compress},
    {"Concat", concat},
    {"ConcatFromSequence", concat_from_sequence, nullptr, true},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"Cos", cos},
    {"Cosh", cosh},
    {"CumSum", cum_sum},
    {"DeformConv", deform_conv},
    {"DepthToSpace", depth_to_space},
    {"DequantizeLinear", dequantize_linear},
    {"Div", div},
    {"Dropout", dropout},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"Einsum", einsum},
    {"Elu", elu},
    {"Equal", equal},
    {"Erf", erf},
    {"Exp", exp},
    {"Expand", expand},
    {"EyeLike", eye_like},
    {"Flatten", flatten},
    {"Floor", floor},
    {"GRU", gru},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Gelu", gelu},
    {"Gemm", gemm},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalMaxPool", global_max_pool},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"GridSample", grid_sample},
    {"GroupNormalization", group_normalization},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Hardmax", hardmax},
    {"Identity", identity, nullptr, true},
    {"InstanceNormalization", instance_normalization},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LRN", local_response_normalization},
    {"LSTM", lstm},
    {"LayerNormalization", layer_normalization},
    {"LeakyRelu", leaky_relu},
    {"Less", less},
    {"LessOrEqual", less_or_equal},
    {"Log", log},
    {"LogSoftmax", log_softmax},
    {"LpNormalization", lp_normalization},
    {"LpPool", lp_pool},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"Max", max},
    {"MaxPool", max_pool},
    {"Mean", mean},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"Min", min},
    {"Mish", mish},
    {"Mod", mod},
    {"Mul", mul},
    {"Neg", neg},
    {"NonMaxSuppression", non_max_suppression},
    {"NonZero", non_zero},
    {"Not", logical_not},
    {"OneHot", one_hot},
    {"Or", logical_or},
    {"PRelu", prelu},
    {"Pad", pad},
    {"Pow", pow},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
    {"RMSNormalization", rms_normalization},
    {"RNN", rnn},
    {"Range", range},
    {"Reciprocal", reciprocal},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce_l2},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceMax", reduce_max},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", reduce_min},
    {"ReduceProd", reduce_prod},
    {"ReduceSum", reduce_sum},
    {"ReduceSumSquare", reduce_sum_square},
    {"Relu", relu},
    {"Reshape", reshape},
    {"Resize", resize},
    {"ReverseSequence", reverse_sequence},
    {"RotaryEmbedding", rotary_embedding},
    {"Round", round},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Selu", selu},
    {"SequenceAt", sequence_at, nullptr, true},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceErase", sequence_erase, nullptr, true},
    {"SequenceInsert", sequence_insert, nullptr, true},
    {"SequenceLength", sequence_length, nullptr, true},
    {"Shape", shape},
    {"Shrink", shrink},
    {"Sigmoid", sigmoid},
    {"Sign", sign},
    {"SimplifiedLayerNormalization", rms_normalization},  // ONNX Runtime's name
    {"Sin", sin},
    {"Sinh", sinh},
    {"Size", size},
    {"Slice", slice},
    {"Softmax", softmax},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"SplitToSequence", split_to_sequence},
    {"Sqrt", sqrt},
    {"Squeeze", squeeze},
    {"Sub", sub},
    {"Sum", sum},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tan", tan},
    {"Tanh", tanh},
    {"ThresholdedRelu", thresholded_relu},
    {"Tile", tile},
    {"TopK", top_k},
    {"Transpose", transpose},
    {"Trilu", trilu},
    {"Unsqueeze", unsqueeze},
    {"Upsample", resize},
    {"Where", where},
    {"Xor", logical_xor},
};

// Operators that patterns insert.
constexpr OpRow kFerryOps[] = {
    {"Attention", ferry_attention},
    {"FilledPlaces", ferry_filled_places},
    {"Gelu", ferry_gelu},
    {"GeluTanh", ferry_gelu_tanh},
    {"GroupNorm", ferry_group_norm},
    {"HardSwish", hard_swish},
    {"LayerNorm", ferry_layer_norm},
    {"QuantizeDequantize", ferry_quantize_dequantize},
    {"RmsNorm", ferry_rms_norm},
    {"Silu", ferry_silu},
};

// Other domains that files name, and why their operators are refused.
struct Domain {
  std::string_view name;
  const char* refused;
};

constexpr const char* kOneProcessor =
    "ONNX Runtime wrote it for one processor at optimization level 'all': write the file at level 'extended'";

constexpr Domain kDomains[] = {
    {"ai.onnx.ml", "trees, vectorizers and other classical models are not supported"},
    {"ai.onnx.preview.training", "it belongs to training"},
    {"ai.onnx.training", "it belongs to training"},
    {"ai.onnx.contrib", "it is of onnxruntime-extensions: convert the network without its tokenizer or decoder"},
    {"com.microsoft.extensions",
     "it is of onnxruntime-extensions: convert the network without its tokenizer or decoder"},
    {"com.microsoft.nchwc", kOneProcessor},
    {"com.ms.internal.nhwc", kOneProcessor},
    {"org.pytorch.aten", "it calls PyTorch: export the network without ATen fallbacks"},
};

const OpRow* find(const Node& node) {
  const std::span<const OpRow> rows = operators_of(node.domain);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const OpRow& r) { return r.op == node.op; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

std::span<const OpRow> operators_of(std::string_view domain) {
  if (domain.empty()) return kOps;
  if (domain == "com.microsoft") return microsoft::rows();
  return domain == "ferry" ? std::span<const OpRow>(kFerryOps) : std::span<const OpRow>();
}

OpFunction find_op(const Node& node) {
  const OpRow* row = find(node);
  return row ? row->function : nullptr;
}

bool reads_sequences(const Node& node) {
  const OpRow* row = find(node);
  return row && row->reads_sequences;
}

std::string why_unsupported(const Node& node) {
  if (node.domain.empty()) return "the operator is not supported";
  const std::string name = node.op + " of domain '" + node.domain + "' is not supported";
  if (const OpRow* row = find(node)) return name + ": " + row->refused;
  for (const Domain& domain : kDomains)
    if (domain.name == node.domain) return name + ": " + domain.refused;
  if (!operators_of(node.domain).empty()) return name + ": the domain has no operator of this name";
  return name + ": operators are those of ONNX and of 'com.microsoft', or functions in the file";
}

}  // namespace ferry::onnx
