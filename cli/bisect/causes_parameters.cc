#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"

namespace ferry::bisect {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Parameters {
 public:
  Parameters(size_t k, std::vector<Cause>& out) : k_(k), out_(out) {}

  template <typename Change>  // of fbs::OperatorT&
  void add(std::string text, Change change) {
    out_.push_back({std::move(text), k_, [k = k_, change](Piece& p) { change(p.operators[k]); }});
  }

 private:
  size_t k_;
  std::vector<Cause>& out_;
};

// Padding moved to one side, for a convolution or a pool; its sum stays, and with it the output's shape.
template <typename Params>
void padding_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  if (p.pad_top + p.pad_bottom + p.pad_left + p.pad_right == 0) return;
  const auto sides = [&](const char* text, auto top_of) {
    add.add(text, [as, top_of](fbs::OperatorT& op) {
      Params& q = *(op.params.*as)();
      const int rows = q.pad_top + q.pad_bottom, columns = q.pad_left + q.pad_right;
      q.pad_top = top_of(rows, q.pad_top), q.pad_bottom = rows - q.pad_top;
      q.pad_left = top_of(columns, q.pad_left), q.pad_right = columns - q.pad_left;
    });
  };
  sides("the padding is all below and to the right (TensorFlow's SAME)", [](int, int) { return 0; });
  sides("the padding is all above and to the left", [](int all, int) { return all; });
  sides("the padding's sides are exchanged", [](int all, int top) { return all - top; });
  sides("the padding is the same on every side", [](int all, int) { return all / 2; });
}

template <typename Params>
void stride_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  const auto strides = [&](int h, int w, const char* text) {
    if (h == p.stride_h && w == p.stride_w) return;
    add.add(text, [=](fbs::OperatorT& op) {
      Params& q = *(op.params.*as)();
      q.stride_h = h, q.stride_w = w;
    });
  };
  strides(p.stride_w, p.stride_h, "the strides of rows and columns are exchanged");
  strides(1, 1, "the stride is 1");
  strides(2, 2, "the stride is 2");
}

struct Activation {
  const char* name;
  fbs::UnaryKind kind;
  float alpha = 0, beta = 0;
};

constexpr Activation kActivations[] = {
    {"none", fbs::UnaryKind::Clamp, -kInfinity, kInfinity},
    {"ReLU", fbs::UnaryKind::Clamp, 0, kInfinity},
    {"ReLU6", fbs::UnaryKind::Clamp, 0, 6},
    {"leaky ReLU of 0.01", fbs::UnaryKind::LeakyRelu, 0.01f},
    {"leaky ReLU of 0.1", fbs::UnaryKind::LeakyRelu, 0.1f},
    {"leaky ReLU of 0.2", fbs::UnaryKind::LeakyRelu, 0.2f},
    {"GELU (erf)", fbs::UnaryKind::Gelu},
    {"GELU (tanh)", fbs::UnaryKind::GeluTanh},
    {"SiLU", fbs::UnaryKind::Silu},
    {"hard swish", fbs::UnaryKind::HardSwish},
    {"sigmoid", fbs::UnaryKind::Sigmoid},
    {"hard sigmoid", fbs::UnaryKind::HardSigmoid},
    {"tanh", fbs::UnaryKind::Tanh},
};

bool is(const Activation& a, const fbs::UnaryT& u) {
  const bool clamps = u.kind == fbs::UnaryKind::Clamp, leaks = u.kind == fbs::UnaryKind::LeakyRelu;
  return a.kind == u.kind && (!(clamps || leaks) || a.alpha == u.alpha) && (!clamps || a.beta == u.beta);
}

std::string name_of(const fbs::UnaryT& u) {
  for (const Activation& a : kActivations)
    if (is(a, u)) return a.name;
  return fbs::EnumNameUnaryKind(u.kind);
}

void activation_causes(Parameters& add, const fbs::UnaryT& right) {
  for (const Activation& a : kActivations) {
    if (is(a, right)) continue;
    add.add(std::string("the activation is ") + a.name + " in place of " + name_of(right), [a](fbs::OperatorT& op) {
      fbs::UnaryT& u = *op.params.AsUnary();
      u.kind = a.kind, u.alpha = a.alpha, u.beta = a.beta;
    });
  }
}

// The clamp that a convolution, a linear or arithmetic applies to its result, where fusion put one there.
template <typename Params>
void fused_clamp_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  for (const Activation& a : {kActivations[0], kActivations[1], kActivations[2]}) {
    if (p.output_min == a.alpha && p.output_max == a.beta) continue;
    add.add(std::string("the fused activation is ") + a.name, [=](fbs::OperatorT& op) {
      Params& q = *(op.params.*as)();
      q.output_min = a.alpha, q.output_max = a.beta;
    });
  }
}

// The last module before that value, where the piece has one.
std::string origin_text(const Piece& piece, TensorId tensor) {
  for (auto op = piece.operators.rbegin(); op != piece.operators.rend(); ++op) {
    if (op->outputs.front() != tensor) continue;
    if (!op->name.empty()) return ": what '" + op->name + "' gives";
    if (op->inputs.empty()) break;
    tensor = op->inputs.front();
  }
  return {};
}

void binary_causes(Parameters& add, const Piece& piece, const fbs::OperatorT& right) {
  const fbs::BinaryT& b = *right.params.AsBinary();
  fused_clamp_causes(add, b, static_cast<fbs::BinaryT* (fbs::OpParamsUnion::*)()>(&fbs::OpParamsUnion::AsBinary));
  for (const auto kind : {fbs::BinaryKind::Add, fbs::BinaryKind::Sub, fbs::BinaryKind::Mul, fbs::BinaryKind::Max})
    if (kind != b.kind)
      add.add(std::string("the operator is ") + fbs::EnumNameBinaryKind(kind) + " in place of " +
                  fbs::EnumNameBinaryKind(b.kind),
              [kind](fbs::OperatorT& op) { op.params.AsBinary()->kind = kind; });
  if (piece.is_constant(right.inputs[0]) || piece.is_constant(right.inputs[1])) return;
  for (size_t kept : {0u, 1u})
    add.add("one side of the sum or product is dropped (the shortcut, or the branch)" +
                origin_text(piece, right.inputs[1 - kept]),
            [kept](fbs::OperatorT& op) { bypass(op, kept); });
}

template <typename Params>
void window_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  if (p.shift_h == 0 && p.shift_w == 0) return;
  add.add("the window's shift is dropped",
          [as](fbs::OperatorT& op) { (op.params.*as)()->shift_h = 0, (op.params.*as)()->shift_w = 0; });
  add.add("the window is shifted the other way", [as](fbs::OperatorT& op) {
    Params& q = *(op.params.*as)();
    q.shift_h = (q.window_h - q.shift_h) % q.window_h, q.shift_w = (q.window_w - q.shift_w) % q.window_w;
  });
}

void resize_causes(Parameters& add, const fbs::Resize2dT& r) {
  for (const auto kind : {fbs::ResizeKind::Nearest, fbs::ResizeKind::Bilinear, fbs::ResizeKind::Bicubic})
    for (const bool corners : {false, true})
      if (kind != r.kind || corners != r.align_corners)
        add.add(std::string("the resize is ") + fbs::EnumNameResizeKind(kind) +
                    (corners ? ", corners aligned" : ", corners not aligned"),
                [=](fbs::OperatorT& op) {
                  op.params.AsResize2d()->kind = kind;
                  op.params.AsResize2d()->align_corners = corners;
                });
}

// An activation on the other side of the arithmetic beside it.
void order_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  if (k + 1 >= piece.operators.size()) return;
  const fbs::OperatorT &first = piece.operators[k], &second = piece.operators[k + 1];
  const bool before = first.params.type == fbs::OpParams::Unary && second.params.type == fbs::OpParams::Binary;
  const bool after = first.params.type == fbs::OpParams::Binary && second.params.type == fbs::OpParams::Unary;
  if (!before && !after) return;
  const TensorId between = first.outputs.front();
  const auto reads = std::find(second.inputs.begin(), second.inputs.end(), between);
  if (reads == second.inputs.end()) return;
  const auto place = static_cast<size_t>(reads - second.inputs.begin());
  const auto cause = [&](const char* text, size_t side) {
    out.push_back({text, k, [k, place, side, before](Piece& p) {
                     fbs::OperatorT &a = p.operators[k], &b = p.operators[k + 1];
                     const std::vector<TensorId> inputs = before ? b.inputs : a.inputs;
                     const TensorId x = before ? a.inputs[0] : inputs[side], between_them = a.outputs.front();
                     std::swap(a.params, b.params);
                     std::vector<TensorId> binary = inputs;
                     if (before) {
                       binary[place] = x;
                       a.inputs = binary, b.inputs = {between_them};
                     } else {
                       binary[side] = between_them;
                       a.inputs = {x}, b.inputs = binary;
                     }
                   }});
  };
  if (before) return cause("the activation is applied after the addition or scale, not before it", 0);
  for (size_t side : {0u, 1u})
    if (!piece.is_constant(first.inputs[side]))
      cause("the activation is applied before the addition or scale, not after it", side);
}

// Rows of a table, learned positions for one, that are counted from another number.
void index_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& right = piece.operators[k];
  const fbs::GatherT& g = *right.params.AsGather();
  if (g.kind != fbs::GatherKind::Slices || !piece.is_constant(right.inputs[0]) || piece.is_constant(right.inputs[1]))
    return;
  for (const int by : {1, -1, 2, -2}) {
    const auto text = [&](int off) {
      return "the rows of '" + piece.constants.at(right.inputs[0]) + "' are taken at indices that are " +
             std::to_string(std::abs(off)) + " too " + (off > 0 ? "high" : "low");
    };
    out.push_back({.text = text(by),
                   .from = k,
                   .plant =
                       [k, by](Piece& p) {
                         Edit edit(p, k);
                         const Array off{.shape = {1}, .values = {double(by)}, .dtype = fbs::DType::Int32};
                         const TensorId indices = p.operators[k].inputs[1];
                         const TensorId other = edit.add(fbs::BinaryT(), {indices, edit.add_constant("off", off)});
                         p.operators[edit.at()].inputs[1] = other;
                       },
                   .repaired = text(-by)});
  }
}

std::string left_out_text(const fbs::OperatorT& op) {
  const bool norm = op.params.type == fbs::OpParams::LayerNorm;
  return (norm ? "the norm" : "the operator") + (op.name.empty() ? "" : " '" + op.name + "'") + " is left out";
}

}  // namespace

void parameter_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  using Union = fbs::OpParamsUnion;
  const fbs::OperatorT& right = piece.operators[k];
  Union params = right.params;
  Parameters add(k, out);
  const auto as_conv = static_cast<fbs::Conv2dT* (Union::*)()>(&Union::AsConv2d);
  const auto as_up = static_cast<fbs::ConvTranspose2dT* (Union::*)()>(&Union::AsConvTranspose2d);
  const auto as_pool = static_cast<fbs::Pool2dT* (Union::*)()>(&Union::AsPool2d);
  if (const auto* conv = params.AsConv2d()) {
    padding_causes(add, *conv, as_conv);
    stride_causes(add, *conv, as_conv);
    fused_clamp_causes(add, *conv, as_conv);
    for (int dilation : {1, 2})
      if (conv->dilation_h != dilation)
        add.add("the dilation is " + std::to_string(dilation), [dilation](fbs::OperatorT& op) {
          fbs::Conv2dT& q = *op.params.AsConv2d();
          for (int* pad : {&q.pad_top, &q.pad_left, &q.pad_bottom, &q.pad_right}) *pad = *pad * dilation / q.dilation_h;
          q.dilation_h = q.dilation_w = dilation;
        });
  } else if (const auto* up = params.AsConvTranspose2d()) {
    padding_causes(add, *up, as_up);
    fused_clamp_causes(add, *up, as_up);
  } else if (const auto* pool = params.AsPool2d()) {
    padding_causes(add, *pool, as_pool);
    add.add("the pool takes the maximum in place of the mean, or the other way round", [](fbs::OperatorT& op) {
      fbs::Pool2dT& q = *op.params.AsPool2d();
      q.kind = q.kind == fbs::PoolKind::Max ? fbs::PoolKind::Average : fbs::PoolKind::Max;
    });
    add.add("padded cells count in the mean, or do not, the other way round",
            [](fbs::OperatorT& op) { op.params.AsPool2d()->count_include_pad ^= true; });
    add.add("the pool rounds its size otherwise (ceil_mode)",
            [](fbs::OperatorT& op) { op.params.AsPool2d()->ceil_mode ^= true; });
  } else if (const auto* linear = params.AsLinear()) {
    fused_clamp_causes(add, *linear, static_cast<fbs::LinearT* (Union::*)()>(&Union::AsLinear));
  } else if (const auto* unary = params.AsUnary()) {
    activation_causes(add, *unary);
  } else if (params.AsBinary() != nullptr) {
    binary_causes(add, piece, right);
  } else if (params.AsGather() != nullptr) {
    index_causes(piece, k, out);
  } else if (params.AsReduce() != nullptr) {
    add.add("the sum is taken in place of the mean, or the other way round", [](fbs::OperatorT& op) {
      fbs::ReduceT& q = *op.params.AsReduce();
      q.kind = q.kind == fbs::ReduceKind::Mean ? fbs::ReduceKind::Sum : fbs::ReduceKind::Mean;
    });
  } else if (const auto* resize = params.AsResize2d()) {
    resize_causes(add, *resize);
  } else if (params.AsRotaryEmbedding() != nullptr) {
    add.add("the rotary embedding turns halves in place of pairs, or the other way round",
            [](fbs::OperatorT& op) { op.params.AsRotaryEmbedding()->interleaved ^= true; });
    add.add("sine and cosine are exchanged", [](fbs::OperatorT& op) { std::swap(op.inputs[1], op.inputs[2]); });
  } else if (const auto* parting = params.AsWindowPartition()) {
    window_causes(add, *parting, static_cast<fbs::WindowPartitionT* (Union::*)()>(&Union::AsWindowPartition));
  } else if (const auto* joining = params.AsWindowReverse()) {
    window_causes(add, *joining, static_cast<fbs::WindowReverseT* (Union::*)()>(&Union::AsWindowReverse));
  } else if (params.AsConcat() != nullptr && right.inputs.size() == 2) {
    add.add("the concatenated parts are exchanged", [](fbs::OperatorT& op) { std::swap(op.inputs[0], op.inputs[1]); });
  } else if (params.AsPad() != nullptr) {
    add.add("the padding's sides are exchanged", [](fbs::OperatorT& op) {
      fbs::PadT& q = *op.params.AsPad();
      std::swap(q.before, q.after);
    });
    add.add("padding is with 0", [](fbs::OperatorT& op) { op.params.AsPad()->value = 0; });
  }
  if (params.type != fbs::OpParams::Unary && right.outputs.size() == 1)
    add.add(left_out_text(right), [](fbs::OperatorT& op) { bypass(op); });
  order_causes(piece, k, out);
}

}  // namespace ferry::bisect
