#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/bisect/activations.h"
#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"

namespace ferry::bisect {
namespace {

class Parameters {
 public:
  Parameters(size_t k, std::vector<Cause>& out) : k_(k), out_(out) {}

  template <typename Change>
  void add(std::string text, std::string repaired, Change change) {
    out_.push_back({std::move(text), std::move(repaired), k_, [k = k_, change](Piece& p) { change(p.operators[k]); }});
  }

  template <typename Change>
  void exchange(const std::string& what, const std::string& now, const std::string& other, Change change) {
    out_.push_back(exchanged(what, now, other, k_, [k = k_, change](Piece& p) { change(p.operators[k]); }));
  }

 private:
  size_t k_;
  std::vector<Cause>& out_;
};

// Padding moved to one side, for convolutions and pools. The sum, and so the output's shape, stays the same.
template <typename Params>
void padding_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  if (p.pad_top + p.pad_bottom + p.pad_left + p.pad_right == 0) return;
  const std::string now = "the padding top " + std::to_string(p.pad_top) + " left " + std::to_string(p.pad_left) +
                          " bottom " + std::to_string(p.pad_bottom) + " right " + std::to_string(p.pad_right);
  const auto sides = [&](const char* text, const char* of_reference, auto top_of) {
    add.add(text, blob_has(now, of_reference), [as, top_of](fbs::OperatorT& op) {
      Params& q = *(op.params.*as)();
      const int rows = q.pad_top + q.pad_bottom, columns = q.pad_left + q.pad_right;
      q.pad_top = top_of(rows, q.pad_top), q.pad_bottom = rows - q.pad_top;
      q.pad_left = top_of(columns, q.pad_left), q.pad_right = columns - q.pad_left;
    });
  };
  sides("the padding is all below and to the right (TensorFlow's SAME)",
        "all of it below and to the right (TensorFlow's SAME)", [](int, int) { return 0; });
  sides("the padding is all above and to the left", "all of it above and to the left",
        [](int all, int) { return all; });
  sides("the padding's sides are exchanged", "the same on the opposite sides",
        [](int all, int top) { return all - top; });
  sides("the padding is the same on every side", "the same on every side", [](int all, int) { return all / 2; });
}

template <typename Params>
void stride_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  const auto text = [](int h, int w) { return std::to_string(h) + "x" + std::to_string(w); };
  const auto strides = [&](int h, int w) {
    if (h == p.stride_h && w == p.stride_w) return;
    add.exchange("the stride", text(p.stride_h, p.stride_w), text(h, w), [=](fbs::OperatorT& op) {
      Params& q = *(op.params.*as)();
      q.stride_h = h, q.stride_w = w;
    });
  };
  strides(p.stride_w, p.stride_h);
  strides(1, 1);
  strides(2, 2);
}

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
  for (const Activation& a : kActivations)
    if (!is(a, right))
      add.exchange("the activation", name_of(right), a.name, [a](fbs::OperatorT& op) {
        fbs::UnaryT& u = *op.params.AsUnary();
        u.kind = a.kind, u.alpha = a.alpha, u.beta = a.beta;
      });
}

// The clamp that fusion put into a convolution, linear or arithmetic operator.
template <typename Params>
void fused_clamp_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  fbs::UnaryT now;
  now.alpha = p.output_min, now.beta = p.output_max;
  for (const Activation& a : {kActivations[0], kActivations[1], kActivations[2]})
    if (!is(a, now))
      add.exchange("the fused activation", name_of(now), a.name, [=](fbs::OperatorT& op) {
        Params& q = *(op.params.*as)();
        q.output_min = a.alpha, q.output_max = a.beta;
      });
}

// The last module before that value, if the piece has one.
std::string origin_text(const Piece& piece, TensorId tensor) {
  for (auto op = piece.operators.rbegin(); op != piece.operators.rend(); ++op) {
    if (op->outputs.front() != tensor) continue;
    if (!op->name.empty()) return ": the output of '" + op->name + "'";
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
      add.exchange("the operator", fbs::EnumNameBinaryKind(b.kind), fbs::EnumNameBinaryKind(kind),
                   [kind](fbs::OperatorT& op) { op.params.AsBinary()->kind = kind; });
  if (piece.is_constant(right.inputs[0]) || piece.is_constant(right.inputs[1])) return;
  for (size_t kept : {0u, 1u}) {
    const std::string origin = origin_text(piece, right.inputs[1 - kept]);
    add.add("one side of the sum or product is dropped (the shortcut, or the branch)" + origin,
            blob_has("both sides of the sum or product", "drops one (the shortcut, or the branch)") + origin,
            [kept](fbs::OperatorT& op) { bypass(op, kept); });
  }
}

template <typename Params>
void window_causes(Parameters& add, const Params& p, Params* (fbs::OpParamsUnion::*as)()) {
  if (p.shift_h == 0 && p.shift_w == 0) return;
  add.add("the window's shift is dropped", blob_has("a shift of the window", "none"),
          [as](fbs::OperatorT& op) { (op.params.*as)()->shift_h = 0, (op.params.*as)()->shift_w = 0; });
  add.add("the window is shifted the other way", blob_has("the window shifted one way", "the other"),
          [as](fbs::OperatorT& op) {
            Params& q = *(op.params.*as)();
            q.shift_h = (q.window_h - q.shift_h) % q.window_h, q.shift_w = (q.window_w - q.shift_w) % q.window_w;
          });
}

void resize_causes(Parameters& add, const fbs::Resize2dT& r) {
  const auto text = [](fbs::ResizeKind kind, bool corners) {
    return std::string(fbs::EnumNameResizeKind(kind)) + (corners ? ", corners aligned" : ", corners not aligned");
  };
  for (const auto kind : {fbs::ResizeKind::Nearest, fbs::ResizeKind::Bilinear, fbs::ResizeKind::Bicubic})
    for (const bool corners : {false, true})
      if (kind != r.kind || corners != r.align_corners)
        add.exchange("the resize", text(r.kind, r.align_corners), text(kind, corners), [=](fbs::OperatorT& op) {
          op.params.AsResize2d()->kind = kind;
          op.params.AsResize2d()->align_corners = corners;
        });
}

void pool_causes(Parameters& add, const fbs::Pool2dT& p) {
  const auto name = [](bool max) { return max ? "the maximum" : "the mean"; };
  const bool max = p.kind == fbs::PoolKind::Max;
  add.exchange("the pool's reduction", name(max), name(!max), [max](fbs::OperatorT& op) {
    op.params.AsPool2d()->kind = max ? fbs::PoolKind::Average : fbs::PoolKind::Max;
  });
  const auto divisor = [](bool all) {
    return all ? "the kernel's size (count_include_pad)" : "the elements without the padding";
  };
  add.exchange("the divisor of the mean", divisor(p.count_include_pad), divisor(!p.count_include_pad),
               [](fbs::OperatorT& op) { op.params.AsPool2d()->count_include_pad ^= true; });
  const auto rounded = [](bool up) { return up ? "rounded up (ceil_mode)" : "rounded down (no ceil_mode)"; };
  add.exchange("the pool's size", rounded(p.ceil_mode), rounded(!p.ceil_mode),
               [](fbs::OperatorT& op) { op.params.AsPool2d()->ceil_mode ^= true; });
}

void reduce_causes(Parameters& add, const fbs::ReduceT& r) {
  const auto name = [](fbs::ReduceKind kind) {
    return kind == fbs::ReduceKind::Mean ? "the mean" : kind == fbs::ReduceKind::Sum ? "the sum" : "the maximum";
  };
  if (r.kind == fbs::ReduceKind::Min || r.kind == fbs::ReduceKind::Prod) return;
  for (const auto kind : {fbs::ReduceKind::Mean, fbs::ReduceKind::Sum, fbs::ReduceKind::Max})
    if (kind != r.kind)
      add.add(std::string(name(kind)) + " is taken instead of " + name(r.kind), blob_has(name(r.kind), name(kind)),
              [kind](fbs::OperatorT& op) { op.params.AsReduce()->kind = kind; });
}

// Exchanges two inputs of a concatenation.
void concat_causes(Parameters& add, const fbs::OperatorT& right) {
  constexpr size_t kMost = 8;
  const size_t count = std::min(right.inputs.size(), kMost);
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a + 1; b < count; ++b) {
      if (right.inputs[a] == right.inputs[b]) continue;
      const std::string which = count == 2 ? "" : " " + std::to_string(a + 1) + " and " + std::to_string(b + 1);
      add.add("the concatenated parts" + which + " are exchanged",
              blob_has("the concatenated parts" + which + " in one order", "in the other"),
              [a, b](fbs::OperatorT& op) { std::swap(op.inputs[a], op.inputs[b]); });
    }
}

void pad_causes(Parameters& add, const fbs::PadT& p) {
  const auto amounts = [](const std::vector<int>& sides) {
    std::string out;
    for (const int n : sides) out += (out.empty() ? "" : ",") + std::to_string(n);
    return out;
  };
  const std::string now = "padding of " + amounts(p.before) + " before and " + amounts(p.after) + " after";
  const auto sides = [&](const char* text, const char* of_reference, auto before_of) {
    add.add(text, blob_has(now, of_reference), [before_of](fbs::OperatorT& op) {
      fbs::PadT& q = *op.params.AsPad();
      for (size_t d = 0; d < q.before.size(); ++d) {
        const int all = q.before[d] + q.after[d];
        q.before[d] = before_of(all, q.before[d]), q.after[d] = all - q.before[d];
      }
    });
  };
  sides("the padding's sides are exchanged", "the same on the opposite sides",
        [](int all, int at) { return all - at; });
  sides("the padding is all after", "all of it after", [](int, int) { return 0; });
  sides("the padding is all before", "all of it before", [](int all, int) { return all; });
  sides("the padding is the same on both sides", "the same on both sides", [](int all, int) { return all / 2; });
  if (p.value != 0) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", static_cast<double>(p.value));
    add.exchange("the padding's value", value, "0", [](fbs::OperatorT& op) { op.params.AsPad()->value = 0; });
  }
}

// Moves an activation to the other side of the adjacent arithmetic.
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
  const auto text = [](const char* now, const char* other) {
    return std::string("the activation is applied ") + other + " the addition or scale, not " + now + " it";
  };
  const auto repaired = [](const char* now, const char* other) {
    return blob_has(std::string("the activation ") + now + " the addition or scale", std::string(other) + " it");
  };
  const auto cause = [&](const char* now, const char* other, size_t side) {
    out.push_back({text(now, other), repaired(now, other), k, [k, place, side, before](Piece& p) {
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
  if (before) return cause("before", "after", 0);
  for (size_t side : {0u, 1u})
    if (!piece.is_constant(first.inputs[side])) cause("after", "before", side);
}

// Table rows (learned positions, for instance) that are counted from another start.
void index_causes(const Piece& piece, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& right = piece.operators[k];
  const fbs::GatherT& g = *right.params.AsGather();
  if (g.kind != fbs::GatherKind::Slices || !piece.is_constant(right.inputs[0]) || piece.is_constant(right.inputs[1]))
    return;
  for (const int by : {1, -1, 2, -2}) {
    const auto text = [&](int off) {
      return "the rows of '" + piece.constants.at(right.inputs[0]) + "' are read at indices that are " +
             std::to_string(std::abs(off)) + " too " + (off > 0 ? "high" : "low");
    };
    out.push_back({.text = text(by), .repaired = text(-by), .from = k, .plant = [k, by](Piece& p) {
                     Edit edit(p, k);
                     const Array off{.shape = {1}, .values = {double(by)}, .dtype = fbs::DType::Int32};
                     const TensorId indices = p.operators[k].inputs[1];
                     const TensorId other = edit.add(fbs::BinaryT(), {indices, edit.add_constant("off", off)});
                     p.operators[edit.at()].inputs[1] = other;
                   }});
  }
}

std::string subject_text(const fbs::OperatorT& op) {
  const std::string what = op.params.type == fbs::OpParams::LayerNorm ? "norm" : "operator";
  return "the " + what + (op.name.empty() ? "" : " '" + op.name + "'");
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
        add.exchange("the dilation", std::to_string(conv->dilation_h), std::to_string(dilation),
                     [dilation](fbs::OperatorT& op) {
                       fbs::Conv2dT& q = *op.params.AsConv2d();
                       for (int* pad : {&q.pad_top, &q.pad_left, &q.pad_bottom, &q.pad_right})
                         *pad = *pad * dilation / q.dilation_h;
                       q.dilation_h = q.dilation_w = dilation;
                     });
  } else if (const auto* up = params.AsConvTranspose2d()) {
    padding_causes(add, *up, as_up);
    fused_clamp_causes(add, *up, as_up);
  } else if (const auto* pool = params.AsPool2d()) {
    padding_causes(add, *pool, as_pool);
    pool_causes(add, *pool);
  } else if (const auto* linear = params.AsLinear()) {
    fused_clamp_causes(add, *linear, static_cast<fbs::LinearT* (Union::*)()>(&Union::AsLinear));
  } else if (const auto* unary = params.AsUnary()) {
    activation_causes(add, *unary);
  } else if (params.AsBinary() != nullptr) {
    binary_causes(add, piece, right);
  } else if (params.AsGather() != nullptr) {
    index_causes(piece, k, out);
  } else if (const auto* reduce = params.AsReduce()) {
    reduce_causes(add, *reduce);
  } else if (const auto* resize = params.AsResize2d()) {
    resize_causes(add, *resize);
  } else if (const auto* rotary = params.AsRotaryEmbedding()) {
    const auto name = [](bool pairs) { return pairs ? "adjacent channels" : "the halves of a head"; };
    add.exchange("what the rotary embedding pairs", name(rotary->interleaved), name(!rotary->interleaved),
                 [](fbs::OperatorT& op) { op.params.AsRotaryEmbedding()->interleaved ^= true; });
    add.add("sine and cosine are exchanged", blob_has("sine and cosine in one order", "in the other"),
            [](fbs::OperatorT& op) { std::swap(op.inputs[1], op.inputs[2]); });
  } else if (const auto* parting = params.AsWindowPartition()) {
    window_causes(add, *parting, static_cast<fbs::WindowPartitionT* (Union::*)()>(&Union::AsWindowPartition));
  } else if (const auto* joining = params.AsWindowReverse()) {
    window_causes(add, *joining, static_cast<fbs::WindowReverseT* (Union::*)()>(&Union::AsWindowReverse));
  } else if (params.AsConcat() != nullptr) {
    concat_causes(add, right);
  } else if (const auto* pad = params.AsPad()) {
    pad_causes(add, *pad);
  }
  if (params.type != fbs::OpParams::Unary && right.outputs.size() == 1)
    add.add(subject_text(right) + " is left out", blob_has(subject_text(right), "none"),
            [](fbs::OperatorT& op) { bypass(op); });
  order_causes(piece, k, out);
}

}  // namespace ferry::bisect
