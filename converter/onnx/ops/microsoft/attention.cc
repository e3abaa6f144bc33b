// Attention with its own projection, as in BERT and GPT-2, of floating-point or quantized inputs.
#include <algorithm>

#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

// Inputs of the node after the projection.
struct Inputs {
  size_t mask, past, bias;
};

// Attention of the projected input [B,L,Q+K+V].
void attend_projected(Op& op, Tensor projected, const Inputs& inputs) {
  if (op.integer("do_rotary", 0) != 0) op.refuse("attribute 'do_rotary' is 1, expected 0");
  if (op.integer("past_present_share_buffer", 0) != 0)
    op.refuse("attribute 'past_present_share_buffer' is 1, expected 0: past and present are separate values");
  const Dims dims = dims_of(projected);
  const int64_t heads = op.integer("num_heads", 0);
  std::vector<int64_t> sizes = op.integers("qkv_hidden_sizes");
  if (dims.size() != 3) op.refuse("queries, keys and values of %s", to_string(dims).c_str());
  if (sizes.empty()) sizes.assign(3, dims[2] / 3);
  if (sizes.size() != 3 || std::any_of(sizes.begin(), sizes.end(), [&](int64_t s) { return s < 1 || s > dims[2]; }) ||
      sizes[0] + sizes[1] + sizes[2] != dims[2])
    op.refuse("attribute 'qkv_hidden_sizes' does not divide %lld channels", static_cast<long long>(dims[2]));
  Heads h;
  int64_t first = 0;
  Tensor* const parts[] = {&h.q, &h.k, &h.v};
  for (size_t i = 0; i < 3; first += sizes[i++])
    *parts[i] = split_heads(op, ferry::slice(projected, 2, static_cast<int>(first), static_cast<int>(sizes[i])), heads);
  const bool has_past = op.has(inputs.past) && count_elements(op.dims(inputs.past)) > 0;
  if (has_past) {  // [2,B,H,P,D]
    const Dims past = op.dims(inputs.past);
    if (past.size() != 5 || past[0] != 2) op.refuse("past is %s, expected five dimensions", to_string(past).c_str());
    const auto before = [&](int which, Tensor fresh) {
      const Tensor one =
          reshape_to(ferry::slice(op.tensor(inputs.past), 0, which, 1), Dims(past.begin() + 1, past.end()));
      return ferry::concat({swap_heads(one), fresh}, 1);
    };
    h.k = before(0, h.k);
    h.v = before(1, h.v);
  }
  if (op.wants(1)) {
    Dims one = dims_of(swap_heads(h.k));
    one.insert(one.begin(), 1);
    op.set(1, ferry::concat({reshape_to(swap_heads(h.k), one), reshape_to(swap_heads(h.v), one)}, 0));
  }
  const int64_t keys = dims_of(h.k)[1];
  h.scale = score_scale(op, dims_of(h.q)[3]);
  h.causal = op.integer("unidirectional", 0) != 0;
  if (op.has(inputs.mask)) h.biases.push_back(mask_bias(op, inputs.mask, dims[0], dims[1], keys));
  if (op.has(inputs.bias)) h.biases.push_back(op.tensor(inputs.bias));
  op.set(0, attend(op, h));
}

}  // namespace

void attention(Op& op) {
  Tensor projected = call(op, onnx::matmul, {argument(op, 0), argument(op, 1)}, {});
  if (op.has(2)) projected = projected + op.tensor(2);
  attend_projected(op, projected, {.mask = 3, .past = 4, .bias = 5});
}

void qattention(Op& op) {
  const Tensor sums =
      call(op, onnx::matmul_integer, {argument(op, 0), argument(op, 1), argument(op, 6), argument(op, 7)}, {});
  const Tensor projected = cast_to(sums, fbs::DType::Float32) * (op.floating(3) * op.floating(4)) + op.floating(2);
  constexpr size_t kNone = 9;
  attend_projected(op, projected, {.mask = 5, .past = 8, .bias = kNone});
}

}  // namespace ferry::onnx::microsoft
