#include "models/blocks/mobile_trunk.h"

#include <algorithm>
#include <cmath>

#include "models/vision/classifier.h"

namespace ferry {
namespace {

Tensor mobile_norm_act(Tensor x, const Weights& w, Tensor (*act)(Tensor), const MobileStyle& style) {
  if (!style.separate) return batch_norm_act(x, w, act, style.eps);
  return tap(act(batch_norm(x, w, style.eps)), w["act"]);
}

class BlockBuilder {
 public:
  BlockBuilder(const MobileRow& row, const MobileStyle& style, const MobileSize& size, int out, int stride)
      : row_(row), style_(style), size_(size), act_(row.relu ? relu : style.act), out_(out), stride_(stride) {}

  Tensor operator()(Tensor x, const Weights& w) const {
    const Tensor y = body(x, w);
    const bool shortcut = row_.kind != MobileBlock::Conv && stride_ == 1 && channels(x) == channels(y);
    return tap(shortcut ? y + x : y, w, kBlock);
  }

 private:
  Tensor body(Tensor x, const Weights& w) const {
    const int in = channels(x), expanded = size_.channels(in * row_.expansion);
    switch (row_.kind) {
      case MobileBlock::Conv: return norm_act(conv(x, w["conv"], out_, row_.kernel, stride_), w["bn1"]);
      case MobileBlock::Separable:
        x = norm_act(depthwise(x, w["conv_dw"], row_.kernel, stride_), w["bn1"]);
        return norm(conv(squeeze(x, w, in), w["conv_pw"], out_), w["bn2"]);
      case MobileBlock::Inverted:
        x = norm_act(conv(x, w["conv_pw"], expanded), w["bn1"]);
        x = norm_act(depthwise(x, w["conv_dw"], row_.kernel, stride_, row_.dilation), w["bn2"]);
        return norm(conv(squeeze(x, w, in), w["conv_pwl"], out_), w["bn3"]);
      case MobileBlock::Edge:
        x = norm_act(conv(x, w["conv_exp"], expanded, row_.kernel, stride_), w["bn1"]);
        return norm(conv(squeeze(x, w, in), w["conv_pwl"], out_), w["bn2"]);
      case MobileBlock::Universal: break;
    }
    return universal(x, w, expanded);
  }

  // Each step is a module with "conv" and "bn". The last depthwise convolution has the stride.
  Tensor universal(Tensor x, const Weights& w, int expanded) const {
    if (row_.start_kernel > 0) {
      const Weights start = w["dw_start"];
      x = depthwise(x, start["conv"], row_.start_kernel, row_.kernel > 0 ? 1 : stride_);
      x = tap(norm(x, start["bn"]), start);
    }
    x = tap(norm_act(conv(x, w["pw_exp"]["conv"], expanded), w["pw_exp"]["bn"]), w["pw_exp"]);
    if (row_.kernel > 0) {
      const Weights middle = w["dw_mid"];
      x = tap(norm_act(depthwise(x, middle["conv"], row_.kernel, stride_), middle["bn"]), middle);
    }
    return tap(norm(conv(x, w["pw_proj"]["conv"], out_), w["pw_proj"]["bn"]), w["pw_proj"]);
  }

  // `in`: input channels of the block.
  Tensor squeeze(Tensor x, const Weights& w, int in) const {
    if (row_.squeeze == 0) return x;
    int reduced = 0;
    if (!size_.stored)
      reduced = style_.squeeze_expanded ? round_channels(channels(x) * row_.squeeze)
                                        : static_cast<int>(std::nearbyint(in * row_.squeeze));
    return squeeze_excite(x, w["se"],
                          {.reduced = reduced,
                           .act = style_.squeeze_act ? style_.squeeze_act : act_,
                           .gate = style_.gate,
                           .pool_name = style_.separate ? "pool" : nullptr,
                           .reduce_name = "conv_reduce",
                           .act_name = "act1",
                           .expand_name = "conv_expand"});
  }

  Tensor conv(Tensor x, const Weights& w, int out, int kernel = 1, int stride = 1) const {
    return mobile_conv(x, w, style_, {.out = out, .kernel = kernel, .stride = stride});
  }
  Tensor depthwise(Tensor x, const Weights& w, int kernel, int stride, int dilation = 1) const {
    const int width = channels(x);
    return mobile_conv(x, w, style_,
                       {.out = width, .kernel = kernel, .stride = stride, .dilation = dilation, .groups = width});
  }
  Tensor norm(Tensor x, const Weights& w) const { return batch_norm(x, w, style_.eps); }
  Tensor norm_act(Tensor x, const Weights& w) const { return mobile_norm_act(x, w, act_, style_); }

  const MobileRow& row_;
  const MobileStyle& style_;
  const MobileSize& size_;
  Tensor (*act_)(Tensor);
  int out_, stride_;
};

}  // namespace

Tensor mobile_conv(Tensor x, const Weights& w, const MobileStyle& style, Conv2dOptions o) {
  o.bias = false;
  if (style.same_padding && o.stride > 1) {
    const auto total = [&](int size) { return std::max(0, (size - 1) / o.stride * o.stride + o.kernel - size); };
    const int height = total(x.shape()[1]), width = total(x.shape()[2]);
    // TensorFlow's SAME padding: the odd row or column goes to the bottom or right.
    x = pad2d(x, height / 2, width / 2, height - height / 2, width - width / 2);
  } else {
    o.padding = o.kernel / 2 * o.dilation;
  }
  return conv2d(x, w, o);
}

Tensor mobile_trunk(Tensor x, const Weights& w, const MobileStages& stages, const MobileStyle& style,
                    const MobileSize& size, int stem, std::vector<Tensor>* firsts) {
  if (!size.fixed_stem) stem = size.channels(stem * size.width);
  x = mobile_conv(x, w["conv_stem"], style, {.out = stem, .kernel = 3, .stride = 2, .adapt_input = true});
  x = mobile_norm_act(x, w["bn1"], style.act, style);

  int pyramid = 0;
  const auto add_feature = [&] {
    w.graph().add_tap("feat/" + std::to_string(pyramid++), x, fbs::Layout::NCHW, kBlock);
  };
  for (size_t s = 0; s < stages.size(); ++s) {
    const Weights stage = w["blocks"][static_cast<int>(s)];
    const bool end = s == 0 || s + 1 == stages.size();
    if (stages[s].front().stride > 1) add_feature();
    int b = 0;
    for (const MobileRow& row : stages[s]) {
      const int repeats = end && size.fixed_depth ? row.repeats : static_cast<int>(std::ceil(row.repeats * size.depth));
      for (int r = 0; r < repeats; ++r) {
        const BlockBuilder block(row, style, size, size.channels(row.channels * size.width), r == 0 ? row.stride : 1);
        x = block(x, stage[b++]);
        if (b == 1 && firsts) firsts->push_back(x);
      }
    }
    tap(x, stage, kBlock);
  }
  add_feature();
  return x;
}

void conv_pool_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, const ImageOptions& options) {
  x = mobile_conv(x, w["conv_head"], style, {.out = out, .kernel = 1});
  x = batch_norm_act(x, w["bn2"], style.act, style.eps);
  w.graph().add_tap("features", x, fbs::Layout::NCHW, kBlock);
  const Tensor pooled = tap(flatten(tap(global_avg_pool(x), w["global_pool.pool"])), w["global_pool"], kBlock);
  classify(pooled, w["classifier"], options);
  add_last_hidden_state(x, fbs::Layout::NCHW, options);
}

void pool_conv_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, bool norm,
                        const ImageOptions& options) {
  w.graph().add_tap("features", x, fbs::Layout::NCHW, kBlock);
  x = tap(global_avg_pool(x), w["global_pool"], kBlock);
  const Weights head = w["conv_head"];
  if (head.stored_shape("weight").rank == 2) {
    x = style.act(linear(flatten(x), head, {.out = out}));
  } else {
    x = conv2d(x, head, {.out = out, .kernel = 1, .bias = !norm});
    x = flatten(norm ? batch_norm_act(x, w["norm_head"], style.act, style.eps) : style.act(tap(x, w["norm_head"])));
  }
  classify(x, w["classifier"], options);
}

}  // namespace ferry
