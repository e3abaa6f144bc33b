#include "converter/tflite/operators.h"

#include <algorithm>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

using Builtin = schema::BuiltinOperator;

constexpr const char* kComplex = "complex numbers are not supported";
constexpr const char* kRandom = "its output is random";
constexpr const char* kReserved = "no file has it: it is a number with another meaning";
constexpr const char* kSizes = "the size of its output depends on values";
constexpr const char* kCall = "no converter writes it, and the interpreter does not run it";
constexpr const char* kTables = "hash tables are not supported";

constexpr OpRow kOperators[] = {
    {Builtin::ADD, add},
    {Builtin::AVERAGE_POOL_2D, average_pool_2d},
    {Builtin::CONCATENATION, concatenation},
    {Builtin::CONV_2D, conv_2d},
    {Builtin::DEPTHWISE_CONV_2D, depthwise_conv_2d},
    {Builtin::DEPTH_TO_SPACE, depth_to_space},
    {Builtin::DEQUANTIZE, converted},
    {Builtin::EMBEDDING_LOOKUP, embedding_lookup},
    {Builtin::FLOOR, floor},
    {Builtin::FULLY_CONNECTED, fully_connected},
    {Builtin::HASHTABLE_LOOKUP, nullptr, kTables},
    {Builtin::L2_NORMALIZATION, l2_normalization},
    {Builtin::L2_POOL_2D, l2_pool_2d},
    {Builtin::LOCAL_RESPONSE_NORMALIZATION, local_response_normalization},
    {Builtin::LOGISTIC, logistic},
    {Builtin::LSH_PROJECTION, nullptr},
    {Builtin::LSTM, lstm_step},
    {Builtin::MAX_POOL_2D, max_pool_2d},
    {Builtin::MUL, mul},
    {Builtin::RELU, relu},
    {Builtin::RELU_N1_TO_1, relu_n1_to_1},
    {Builtin::RELU6, relu6},
    {Builtin::RESHAPE, reshape},
    {Builtin::RESIZE_BILINEAR, resize_bilinear},
    {Builtin::RNN, rnn_step},
    {Builtin::SOFTMAX, softmax},
    {Builtin::SPACE_TO_DEPTH, space_to_depth},
    {Builtin::SVDF, svdf},
    {Builtin::TANH, tanh},
    {Builtin::CONCAT_EMBEDDINGS, nullptr},
    {Builtin::SKIP_GRAM, nullptr},
    {Builtin::CALL, nullptr, kCall},
    {Builtin::CUSTOM, nullptr},
    {Builtin::EMBEDDING_LOOKUP_SPARSE, nullptr},
    {Builtin::PAD, pad},
    {Builtin::UNIDIRECTIONAL_SEQUENCE_RNN, unidirectional_sequence_rnn},
    {Builtin::GATHER, gather},
    {Builtin::BATCH_TO_SPACE_ND, batch_to_space_nd},
    {Builtin::SPACE_TO_BATCH_ND, space_to_batch_nd},
    {Builtin::TRANSPOSE, transpose},
    {Builtin::MEAN, mean},
    {Builtin::SUB, sub},
    {Builtin::DIV, div},
    {Builtin::SQUEEZE, squeeze},
    {Builtin::UNIDIRECTIONAL_SEQUENCE_LSTM, unidirectional_sequence_lstm},
    {Builtin::STRIDED_SLICE, strided_slice},
    {Builtin::BIDIRECTIONAL_SEQUENCE_RNN, bidirectional_sequence_rnn},
    {Builtin::EXP, exp},
    {Builtin::TOPK_V2, topk_v2},
    {Builtin::SPLIT, split},
    {Builtin::LOG_SOFTMAX, log_softmax},
    {Builtin::DELEGATE, nullptr, kReserved},
    {Builtin::BIDIRECTIONAL_SEQUENCE_LSTM, bidirectional_sequence_lstm},
    {Builtin::CAST, cast},
    {Builtin::PRELU, prelu},
    {Builtin::MAXIMUM, maximum},
    {Builtin::ARG_MAX, arg_max},
    {Builtin::MINIMUM, minimum},
    {Builtin::LESS, less},
    {Builtin::NEG, neg},
    {Builtin::PADV2, pad},
    {Builtin::GREATER, greater},
    {Builtin::GREATER_EQUAL, greater_equal},
    {Builtin::LESS_EQUAL, less_equal},
    {Builtin::SELECT, select},
    {Builtin::SLICE, slice},
    {Builtin::SIN, sin},
    {Builtin::TRANSPOSE_CONV, transpose_conv},
    {Builtin::SPARSE_TO_DENSE, sparse_to_dense},
    {Builtin::TILE, tile},
    {Builtin::EXPAND_DIMS, expand_dims},
    {Builtin::EQUAL, equal},
    {Builtin::NOT_EQUAL, not_equal},
    {Builtin::LOG, log},
    {Builtin::SUM, sum},
    {Builtin::SQRT, sqrt},
    {Builtin::RSQRT, rsqrt},
    {Builtin::SHAPE, shape},
    {Builtin::POW, pow},
    {Builtin::ARG_MIN, arg_min},
    {Builtin::FAKE_QUANT, fake_quant},
    {Builtin::REDUCE_PROD, reduce_prod},
    {Builtin::REDUCE_MAX, reduce_max},
    {Builtin::PACK, pack},
    {Builtin::LOGICAL_OR, logical_or},
    {Builtin::ONE_HOT, one_hot},
    {Builtin::LOGICAL_AND, logical_and},
    {Builtin::LOGICAL_NOT, logical_not},
    {Builtin::UNPACK, unpack},
    {Builtin::REDUCE_MIN, reduce_min},
    {Builtin::FLOOR_DIV, floor_div},
    {Builtin::REDUCE_ANY, reduce_any},
    {Builtin::SQUARE, square},
    {Builtin::ZEROS_LIKE, zeros_like},
    {Builtin::FILL, fill},
    {Builtin::FLOOR_MOD, floor_mod},
    {Builtin::RANGE, range},
    {Builtin::RESIZE_NEAREST_NEIGHBOR, resize_nearest_neighbor},
    {Builtin::LEAKY_RELU, leaky_relu},
    {Builtin::SQUARED_DIFFERENCE, squared_difference},
    {Builtin::MIRROR_PAD, mirror_pad},
    {Builtin::ABS, abs},
    {Builtin::SPLIT_V, split_v},
    {Builtin::UNIQUE, nullptr, kSizes},
    {Builtin::CEIL, ceil},
    {Builtin::REVERSE_V2, reverse_v2},
    {Builtin::ADD_N, add_n},
    {Builtin::GATHER_ND, gather_nd},
    {Builtin::COS, cos},
    {Builtin::WHERE, nullptr, kSizes},
    {Builtin::RANK, rank},
    {Builtin::ELU, elu},
    {Builtin::REVERSE_SEQUENCE, reverse_sequence},
    {Builtin::MATRIX_DIAG, matrix_diag},
    {Builtin::QUANTIZE, converted},
    {Builtin::MATRIX_SET_DIAG, matrix_set_diag},
    {Builtin::ROUND, round},
    {Builtin::HARD_SWISH, hard_swish},
    {Builtin::IF, if_branches},
    {Builtin::WHILE, while_loop},
    {Builtin::NON_MAX_SUPPRESSION_V4, nullptr, kSizes},
    {Builtin::NON_MAX_SUPPRESSION_V5, nullptr, kSizes},
    {Builtin::SCATTER_ND, scatter_nd},
    {Builtin::SELECT_V2, select_v2},
    {Builtin::DENSIFY, converted},
    {Builtin::SEGMENT_SUM, segment_sum},
    {Builtin::BATCH_MATMUL, batch_matmul},
    {Builtin::PLACEHOLDER_FOR_GREATER_OP_CODES, nullptr, kReserved},
    {Builtin::CUMSUM, cumsum},
    {Builtin::CALL_ONCE, call_once},
    {Builtin::BROADCAST_TO, broadcast_to},
    {Builtin::RFFT2D, nullptr, kComplex},
    {Builtin::CONV_3D, conv_3d},
    {Builtin::IMAG, nullptr, kComplex},
    {Builtin::REAL, nullptr, kComplex},
    {Builtin::COMPLEX_ABS, nullptr, kComplex},
    {Builtin::HASHTABLE, nullptr, kTables},
    {Builtin::HASHTABLE_FIND, nullptr, kTables},
    {Builtin::HASHTABLE_IMPORT, nullptr, kTables},
    {Builtin::HASHTABLE_SIZE, nullptr, kTables},
    {Builtin::REDUCE_ALL, reduce_all},
    {Builtin::CONV_3D_TRANSPOSE, conv_3d_transpose},
    {Builtin::VAR_HANDLE, var_handle},
    {Builtin::READ_VARIABLE, read_variable},
    {Builtin::ASSIGN_VARIABLE, assign_variable},
    {Builtin::BROADCAST_ARGS, broadcast_args},
    {Builtin::RANDOM_STANDARD_NORMAL, nullptr, kRandom},
    {Builtin::BUCKETIZE, bucketize},
    {Builtin::RANDOM_UNIFORM, nullptr, kRandom},
    {Builtin::MULTINOMIAL, nullptr, kRandom},
    {Builtin::GELU, gelu},
    {Builtin::DYNAMIC_UPDATE_SLICE, dynamic_update_slice},
    {Builtin::RELU_0_TO_1, relu_0_to_1},
    {Builtin::UNSORTED_SEGMENT_PROD, unsorted_segment_prod},
    {Builtin::UNSORTED_SEGMENT_MAX, unsorted_segment_max},
    {Builtin::UNSORTED_SEGMENT_SUM, unsorted_segment_sum},
    {Builtin::ATAN2, atan2},
    {Builtin::UNSORTED_SEGMENT_MIN, unsorted_segment_min},
    {Builtin::SIGN, sign},
};

constexpr LaterRow kLater[] = {
    {159, "BITCAST"},
    {160, "BITWISE_XOR"},
    {161, "RIGHT_SHIFT"},
    {162, "STABLEHLO_LOGISTIC"},
    {163, "STABLEHLO_ADD"},
    {164, "STABLEHLO_DIVIDE"},
    {165, "STABLEHLO_MULTIPLY"},
    {166, "STABLEHLO_MAXIMUM"},
    {167, "STABLEHLO_RESHAPE"},
    {168, "STABLEHLO_CLAMP"},
    {169, "STABLEHLO_CONCATENATE"},
    {170, "STABLEHLO_BROADCAST_IN_DIM"},
    {171, "STABLEHLO_CONVOLUTION"},
    {172, "STABLEHLO_SLICE"},
    {173, "STABLEHLO_CUSTOM_CALL"},
    {174, "STABLEHLO_REDUCE"},
    {175, "STABLEHLO_ABS"},
    {176, "STABLEHLO_AND"},
    {177, "STABLEHLO_COSINE"},
    {178, "STABLEHLO_EXPONENTIAL"},
    {179, "STABLEHLO_FLOOR"},
    {180, "STABLEHLO_LOG"},
    {181, "STABLEHLO_MINIMUM"},
    {182, "STABLEHLO_NEGATE"},
    {183, "STABLEHLO_OR"},
    {184, "STABLEHLO_POWER"},
    {185, "STABLEHLO_REMAINDER"},
    {186, "STABLEHLO_RSQRT"},
    {187, "STABLEHLO_SELECT"},
    {188, "STABLEHLO_SUBTRACT"},
    {189, "STABLEHLO_TANH"},
    {190, "STABLEHLO_SCATTER"},
    {191, "STABLEHLO_COMPARE"},
    {192, "STABLEHLO_CONVERT"},
    {193, "STABLEHLO_DYNAMIC_SLICE"},
    {194, "STABLEHLO_DYNAMIC_UPDATE_SLICE"},
    {195, "STABLEHLO_PAD"},
    {196, "STABLEHLO_IOTA"},
    {197, "STABLEHLO_DOT_GENERAL"},
    {198, "STABLEHLO_REDUCE_WINDOW"},
    {199, "STABLEHLO_SORT"},
    {200, "STABLEHLO_WHILE"},
    {201, "STABLEHLO_GATHER"},
    {202, "STABLEHLO_TRANSPOSE"},
    {203, "DILATE"},
    {204, "STABLEHLO_RNG_BIT_GENERATOR"},
    {205, "REDUCE_WINDOW"},
    {206, "STABLEHLO_COMPOSITE", stablehlo_composite},
    {207, "STABLEHLO_SHIFT_LEFT"},
    {208, "STABLEHLO_CBRT"},
    {209, "STABLEHLO_CASE"},
};

constexpr CustomRow kCustom[] = {
    {"Convolution2DTransposeBias", convolution_2d_transpose_bias},
    {"Landmarks2TransformMatrix", landmarks_to_transform_matrix},
    {"MaxPoolingWithArgmax2D", max_pooling_with_argmax_2d},
    {"MaxUnpooling2D", max_unpooling_2d},
    {"TFLite_Detection_PostProcess", detection_postprocess},
    {"TransformLandmarks", transform_landmarks},
    {"TransformTensor", transform_tensor},
    {"TransformTensorBilinear", transform_tensor_bilinear},
};

}  // namespace

std::span<const OpRow> operators() { return kOperators; }

std::span<const LaterRow> later_operators() { return kLater; }

std::span<const CustomRow> custom_operators() { return kCustom; }

OpFunction find_function(const File& file, const schema::Operator& op, std::string* why) {
  const Builtin builtin = file.builtin(op);
  if (builtin == Builtin::CUSTOM) {
    for (const CustomRow& row : kCustom)
      if (file.operator_name(op) == row.name) return row.function;
    *why = "it is a custom operator, which Ferry does not know";
    return nullptr;
  }
  const auto row =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const OpRow& r) { return r.op == builtin; });
  if (row == std::end(kOperators)) {
    *why = "it is of a later version of the schema, and not supported yet";
    const auto later = std::find_if(std::begin(kLater), std::end(kLater),
                                    [&](const LaterRow& r) { return r.op == static_cast<int>(builtin); });
    return later == std::end(kLater) ? nullptr : later->function;
  }
  if (row->function == nullptr) *why = row->refused != nullptr ? row->refused : "it is not supported yet";
  return row->function;
}

}  // namespace ferry::tflite
