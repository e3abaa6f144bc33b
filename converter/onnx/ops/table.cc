#include <algorithm>
#include <span>
#include <string_view>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

struct Row {
  std::string_view op;
  OpFunction function;
};

// ONNX's own operators, sorted.
constexpr Row kOps[] = {
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
    {"Concat", concat},
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
    {"Identity", identity},
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
    {"RotaryEmbedding", rotary_embedding},
    {"Round", round},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Selu", selu},
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
constexpr Row kFerryOps[] = {
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

OpFunction find(std::span<const Row> rows, std::string_view op) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.op == op; });
  return row == rows.end() ? nullptr : row->function;
}

std::span<const Row> rows_of(std::string_view domain) {
  if (domain.empty()) return kOps;
  return domain == "ferry" ? std::span<const Row>(kFerryOps) : std::span<const Row>();
}

}  // namespace

std::vector<std::string> operator_names(std::string_view domain) {
  std::vector<std::string> names;
  for (const Row& row : rows_of(domain)) names.emplace_back(row.op);
  return names;
}

OpFunction find_op(const Node& node) { return find(rows_of(node.domain), node.op); }

}  // namespace ferry::onnx
