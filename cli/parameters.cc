#include "cli/parameters.h"

#include <cmath>

#include "cli/html/markup.h"

namespace ferry::cli {
namespace {

using parity::format;

template <typename Params>
std::string clamp_text(const Params& p) {
  if (std::isinf(p.output_min) && std::isinf(p.output_max)) return "";
  return format(", clamped to %g..%g", static_cast<double>(p.output_min), static_cast<double>(p.output_max));
}

template <typename Params>
std::string padding_text(const Params& p) {
  return format("stride %dx%d, padding top %d left %d bottom %d right %d", p.stride_h, p.stride_w, p.pad_top,
                p.pad_left, p.pad_bottom, p.pad_right);
}

template <typename Params>
std::string convolution_text(const Params& p) {
  return padding_text(p) + format(", dilation %dx%d, groups %d", p.dilation_h, p.dilation_w, p.groups) + clamp_text(p);
}

template <typename Params>
std::string window_text(const Params& p) {
  return format("window %dx%d, shift %d,%d", p.window_h, p.window_w, p.shift_h, p.shift_w);
}

std::string list_text(const char* name, const std::vector<int>& list) {
  std::string out = name;
  for (int v : list) out += " " + std::to_string(v);
  return out;
}

}  // namespace

std::string parameters_text(const fbs::OperatorT& op) {
  fbs::OpParamsUnion params = op.params;
  if (const auto* p = params.AsConv2d()) return convolution_text(*p);
  if (const auto* p = params.AsConvTranspose2d()) return convolution_text(*p);
  if (const auto* p = params.AsLinear())
    return "a bias: " + std::string(op.inputs.size() > 2 ? "yes" : "no") + clamp_text(*p);
  if (const auto* p = params.AsPool2d())
    return format("%s, kernel %dx%d, ", fbs::EnumNamePoolKind(p->kind), p->kernel_h, p->kernel_w) + padding_text(*p) +
           (p->ceil_mode ? ", ceil_mode" : "") + (p->count_include_pad ? "" : ", padding not counted");
  if (const auto* p = params.AsUnary())
    return format("%s, alpha %g, beta %g", fbs::EnumNameUnaryKind(p->kind), static_cast<double>(p->alpha),
                  static_cast<double>(p->beta));
  if (const auto* p = params.AsBinary()) return fbs::EnumNameBinaryKind(p->kind) + clamp_text(*p);
  if (const auto* p = params.AsReduce())
    return list_text((fbs::EnumNameReduceKind(p->kind) + std::string(" over")).c_str(), p->axes);
  if (const auto* p = params.AsConcat()) return format("axis %d", p->axis);
  if (const auto* p = params.AsPixelShuffle()) return format("factor %d", p->factor);
  if (const auto* p = params.AsResize2d())
    return format("%s%s", fbs::EnumNameResizeKind(p->kind), p->align_corners ? ", corners aligned" : "");
  if (const auto* p = params.AsPad()) return list_text("before", p->before) + list_text(", after", p->after);
  if (const auto* p = params.AsReshape()) return list_text("shape", p->shape);
  if (const auto* p = params.AsTranspose()) return list_text("perm", p->perm);
  if (const auto* p = params.AsSlice()) return list_text("begin", p->begin) + list_text(", size", p->size);
  if (const auto* p = params.AsLayerNorm())
    return format("epsilon %g%s", static_cast<double>(p->epsilon), p->centered ? "" : ", not centered");
  if (const auto* p = params.AsGroupNorm())
    return format("groups %d, epsilon %g", p->groups, static_cast<double>(p->epsilon));
  if (const auto* p = params.AsGrn()) return format("epsilon %g", static_cast<double>(p->epsilon));
  if (const auto* p = params.AsAttention())
    return format("heads %d, key heads %d, scale %g%s%s%s", p->heads, p->kv_heads, static_cast<double>(p->scale),
                  p->causal ? ", causal" : "", p->sinks ? ", sinks" : "",
                  p->softcap > 0 ? format(", softcap %g", static_cast<double>(p->softcap)).c_str() : "");
  if (const auto* p = params.AsRotaryEmbedding())
    return format("heads %d%s", p->heads, p->interleaved ? ", interleaved" : "");
  if (const auto* p = params.AsWindowPartition()) return window_text(*p);
  if (const auto* p = params.AsWindowReverse()) return window_text(*p);
  if (const auto* p = params.AsExperts()) return fbs::EnumNameExpertsActivation(p->activation);
  return "no parameters";
}

}  // namespace ferry::cli
