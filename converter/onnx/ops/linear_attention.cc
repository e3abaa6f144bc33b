// CausalConvWithState and LinearAttention, the layers of Mamba and Gated DeltaNet: their states are inputs and outputs.
// ONNX Runtime's operators of these names have more attributes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {

using microsoft::Argument;
using microsoft::attribute;

// A depthwise convolution over the state, or zeros, followed by the input. The state is the end of both.
void causal_conv_with_state(Op& op) {
  const Dims dims = op.dims(0), kernel = op.dims(1);
  const int64_t dilation = op.integer("dilation", 1);
  for (const char* name : {"channels_last", "state_window"})
    if (op.integer(name, 0) != 0)
      op.refuse("attribute '%s' is %lld, expected 0", name, static_cast<long long>(op.integer(name, 0)));
  if (op.integer("ndim", 1) != 1 || dilation < 1 || dilation > 1 << 20)
    op.refuse("%lld spatial dimensions with a dilation of %lld", static_cast<long long>(op.integer("ndim", 1)),
              static_cast<long long>(dilation));
  if (dims.size() != 3 || kernel.size() != 3 || kernel[0] != dims[1] || kernel[1] != 1 || kernel[2] < 1)
    op.refuse("an input of %s and a weight of %s, expected [B,C,L] and [C,1,K]", to_string(dims).c_str(),
              to_string(kernel).c_str());
  if (op.has(2) && op.dims(2) != Dims{dims[1]})
    op.refuse("a bias of %s for %lld channels", to_string(op.dims(2)).c_str(), static_cast<long long>(dims[1]));
  const int64_t before = (kernel[2] - 1) * dilation;
  const Dims state = {dims[0], dims[1], before};
  if (op.has(3) && op.dims(3) != state)
    op.refuse("a past state of %s, expected %s", to_string(op.dims(3)).c_str(), to_string(state).c_str());
  const std::string activation = op.text("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none")
    op.refuse("attribute 'activation' is '%s', expected none, silu or swish", activation.c_str());

  Argument x = microsoft::argument(op, 0);
  if (before > 0) {
    Argument past = microsoft::argument(op, 3);
    if (!op.has(3))
      past = make_array(op.type(0), state, std::vector<double>(static_cast<size_t>(count_computed(state))));
    x = microsoft::call_all(op, concat, {past, x}, {{"axis", attribute(int64_t{2})}}, 1).front();
  }
  std::vector<Argument> inputs = {x, microsoft::argument(op, 1)};
  if (op.has(2)) inputs.push_back(microsoft::argument(op, 2));
  const Tensor y = microsoft::call(
      op, conv, inputs, {{"group", attribute(dims[1])}, {"dilations", attribute(std::vector<int64_t>{dilation})}});
  op.set(0, silu ? ferry::silu(y) : y, op.type(0));
  if (!op.wants(1)) return;
  std::vector<int64_t> last(static_cast<size_t>(before));
  std::iota(last.begin(), last.end(), dims[2]);
  op.set(1, pick(op, x.value, 2, last), op.type(0));
}

namespace {

constexpr int64_t kMaxTokens = 512;  // about a dozen operators each

// [B,T,H*D] as [B,H,T,D], each head repeated.
Tensor heads_first_of(Op& op, Tensor x, int64_t heads, int64_t repeats) {
  const Dims d = dims_of(x);
  x = reshape_to(x, {d[0], d[1], heads, d[2] / heads});
  std::vector<int64_t> places;
  for (int64_t i = 0; i < heads * repeats; ++i) places.push_back(i / repeats);
  return transpose(repeats > 1 ? pick(op, x, 2, places) : x, {0, 2, 1, 3});
}

// Of a tensor [B,H,T*rows,D]: the rows of token t.
Tensor of_token(Tensor x, int64_t t, int64_t rows = 1) {
  return ferry::slice(x, 2, static_cast<int>(t * rows), static_cast<int>(rows));
}

}  // namespace

// Token by token: the state S [B,H,dk,dv] decays, k v^T is added to it, where v may be what the state lacks, and q S is
// the output. The query heads that share a state are the rows of one product.
void linear_attention(Op& op) {
  const Dims q = op.dims(0), k = op.dims(1), v = op.dims(2);
  const bool fits =
      q.size() == 3 && k.size() == 3 && v.size() == 3 && q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1];
  const int64_t queries = op.integer("q_num_heads", 0), heads = op.integer("kv_num_heads", 0);
  if (!fits || queries < 1 || heads < 1 || (queries % heads != 0 && heads % queries != 0) || q[2] % queries != 0 ||
      v[2] % heads != 0)
    op.refuse("%lld query and %lld value heads of %s, keys %s and values %s", static_cast<long long>(queries),
              static_cast<long long>(heads), to_string(q).c_str(), to_string(k).c_str(), to_string(v).c_str());
  const int64_t tokens = q[1], dk = q[2] / queries, dv = v[2] / heads, key_heads = dk > 0 ? k[2] / dk : 0;
  if (key_heads < 1 || key_heads * dk != k[2] || heads % key_heads != 0)
    op.refuse("keys of %s for %lld heads of %lld channels", to_string(k).c_str(), static_cast<long long>(heads),
              static_cast<long long>(dk));
  if (tokens < 1 || tokens > kMaxTokens)
    op.refuse("%lld tokens, at most %lld: export it for fewer tokens a run", static_cast<long long>(tokens),
              static_cast<long long>(kMaxTokens));
  const std::string rule = op.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    op.refuse("attribute 'update_rule' is '%s', expected linear, gated, delta or gated_delta", rule.c_str());
  if (gated != op.has(4) || delta != op.has(5))
    op.refuse("update_rule '%s' %s decay and %s beta", rule.c_str(), op.has(4) ? "with" : "without",
              op.has(5) ? "with" : "without");
  const Dims state_dims = {q[0], heads, dk, dv};
  if (op.has(3) && op.dims(3) != state_dims)
    op.refuse("a past state of %s, expected %s", to_string(op.dims(3)).c_str(), to_string(state_dims).c_str());
  const auto per_head = [&](size_t i, int64_t other) {
    const Dims d = op.dims(i);
    if (d.size() != 3 || d[0] != q[0] || d[1] != tokens || (d[2] != heads && d[2] != other))
      op.refuse("input %zu is %s, expected [%lld,%lld,%lld] or [...,%lld]", i, to_string(d).c_str(),
                static_cast<long long>(q[0]), static_cast<long long>(tokens), static_cast<long long>(heads),
                static_cast<long long>(other));
    return heads_first_of(op, op.floating(i), d[2] == other && other == 1 ? 1 : heads, 1);
  };
  const double scale = op.number("scale", 0);

  const int64_t rows = std::max<int64_t>(queries / heads, 1);
  const Tensor all = heads_first_of(op, op.floating(0), queries, std::max<int64_t>(heads / queries, 1));
  const Tensor query = reshape_to(transpose(reshape_to(all, {q[0], heads, rows, tokens, dk}), {0, 1, 3, 2, 4}),
                                  {q[0], heads, tokens * rows, dk});
  const Tensor key = heads_first_of(op, op.floating(1), key_heads, heads / key_heads);
  const Tensor value = heads_first_of(op, op.floating(2), heads, 1);
  std::optional<Tensor> decay, beta, state;
  if (gated) decay = unary(per_head(4, heads * dk), fbs::UnaryKind::Exp);
  if (delta) beta = per_head(5, 1);
  if (op.has(3)) state = op.floating(3);

  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < tokens; ++t) {
    const Tensor at = of_token(key, t);
    Tensor added = of_token(value, t);
    if (decay && state) state = *state * reshape_to(of_token(*decay, t), {q[0], heads, dims_of(*decay)[3], 1});
    if (beta) {
      if (state) added = added - ferry::matmul(at, *state);
      added = added * of_token(*beta, t);
    }
    const Tensor product = ferry::matmul(at, added, true);
    state = state ? *state + product : product;
    outputs.push_back(ferry::matmul(of_token(query, t, rows), *state));
  }
  const Tensor y = (tokens > 1 ? ferry::concat(outputs, 2) : outputs[0]) *
                   (scale == 0 ? 1 / std::sqrt(static_cast<double>(dk)) : scale);
  const Tensor by_token = transpose(reshape_to(y, {q[0], heads, tokens, rows, dv}), {0, 2, 1, 3, 4});
  op.set(0, reshape_to(by_token, {q[0], tokens, heads * rows * dv}), op.type(0));
  op.set(1, *state, op.has(3) ? op.type(3) : op.type(0));
}

}  // namespace ferry::onnx
