#include "models/vision/birefnet/birefnet.h"

namespace ferry::birefnet {
namespace {

constexpr auto kBilinear = fbs::ResizeKind::Bilinear;

// Modulated deformable convolution; two convolutions compute its offsets and its modulation.
Tensor deformable(Tensor x, const Weights& w) {
  const int kernel = w["regular_conv"].stored_shape("weight")[2];
  const int cells = kernel * kernel, padding = kernel / 2;
  const Tensor offsets = conv2d(x, w["offset_conv"], {.out = 2 * cells, .kernel = kernel, .padding = padding});
  const Tensor mask = conv2d(x, w["modulator_conv"], {.out = cells, .kernel = kernel, .padding = padding});
  return deform_conv2d(x, offsets, sigmoid(mask) * 2.0, w["regular_conv"],
                       {.kernel = kernel, .padding = padding, .bias = false});
}

Tensor branch(Tensor x, const Weights& w) { return tap(relu(batch_norm(deformable(x, w["atrous_conv"]), w["bn"])), w); }

// Atrous spatial pyramid pooling (Chen et al., arXiv:1706.05587) with deformable convolutions of several sizes.
Tensor pyramid(Tensor x, const Weights& w) {
  const Shape map = x.shape();
  std::vector<Tensor> parts = {branch(x, w["aspp1"])};
  const Weights branches = w["aspp_deforms"];
  for (int i = 0; branches[i]["atrous_conv"]["regular_conv"].has("weight") || branches[i]["bn"].has("weight"); ++i)
    parts.push_back(branch(x, branches[i]));
  const Weights pool = w["global_avg_pool"];
  Tensor mean = conv2d(global_avg_pool(x), pool[1], {.kernel = 1, .bias = false});
  mean = tap(relu(batch_norm(mean, pool[2])), pool);
  parts.push_back(resize_to(mean, kBilinear, map[1], map[2], /*align_corners=*/true));
  const Tensor mixed = conv2d(concat(parts), w["conv1"], {.out = map[3], .kernel = 1, .bias = false});
  return tap(relu(batch_norm(mixed, w["bn1"])), w);
}

// Splits the image into a height x width grid and stacks the cells as channels; within a channel index, the colour
// varies slowest, then the grid's row.
Tensor image_by_cells(Tensor image, int height, int width) {
  const Shape shape = image.shape();
  const int rows = shape[1] / height, columns = shape[2] / width;
  const Tensor cells = reshape(image, {rows, height, columns, width, shape[3]});
  return reshape(transpose(cells, {1, 3, 4, 0, 2}), {1, height, width, -1});
}

// Concatenates x with `out` channels of the image.
Tensor with_image(Tensor x, Tensor image, const Weights& w, int out) {
  const Shape map = x.shape();
  Tensor y = image_by_cells(image, map[1], map[2]);
  y = conv2d(y, w["conv1"], {.kernel = 3, .padding = 1});
  return concat({x, tap(conv2d(y, w["conv_out"], {.out = out, .kernel = 3, .padding = 1}), w)});
}

// Gradient-guided attention. The gradient prediction itself serves training alone and is not computed.
Tensor gradient_attention(Tensor x, const Weights& decoder, const std::string& level) {
  const Weights convs = decoder["gdt_convs_" + level], attention = decoder["gdt_convs_attn_" + level];
  decoder["gdt_convs_pred_" + level].discard();
  if (!convs[0].has("weight") && !attention[0].has("weight")) return x;  // trained without gradient supervision
  Tensor y = conv2d(x, convs[0], {.kernel = 3, .padding = 1});
  y = tap(relu(batch_norm(y, convs[1])), convs);
  return x * sigmoid(tap(conv2d(y, attention[0], {.out = 1, .kernel = 1}), attention));
}

}  // namespace

Tensor decoder_block(Tensor x, const Weights& w, int out) {
  x = conv2d(x, w["conv_in"], {.kernel = 3, .padding = 1});
  x = tap(relu(batch_norm(x, w["bn_in"])), w["relu_in"]);
  x = pyramid(x, w["dec_att"]);
  x = conv2d(x, w["conv_out"], {.out = out, .kernel = 3, .padding = 1});
  return tap(batch_norm(x, w["bn_out"]), w, kBlock);
}

Tensor decode(Tensor image, const std::vector<Tensor>& maps, const Weights& w) {
  const Shape full = image.shape();
  const int last = static_cast<int>(maps.size()) - 1;
  const auto width = [&](int level) { return channels(maps[static_cast<size_t>(level)]); };
  Tensor x = maps.back();
  for (int level = last; level >= 0; --level) {
    const std::string number = std::to_string(level + 1), above = std::to_string(level + 2);
    const int wider = std::min(level + 1, last);
    x = with_image(x, image, w["ipt_blk" + above], width(wider) / 8);
    x = decoder_block(x, w["decoder_block" + number], level > 0 ? width(level - 1) : width(0) / 2);
    if (level == 0) break;
    w["conv_ms_spvn_" + number].discard();  // side output of a lower resolution, for training
    x = gradient_attention(x, w, number);
    const Tensor lateral = maps[static_cast<size_t>(level - 1)];
    const Shape map = lateral.shape();
    const Weights block = w["lateral_block" + number];
    x = resize_to(x, kBilinear, map[1], map[2], /*align_corners=*/true) +
        tap(conv2d(lateral, block["conv"], {.out = map[3], .kernel = 1}), block);
  }
  x = resize_to(x, kBilinear, full[1], full[2], /*align_corners=*/true);
  x = with_image(x, image, w["ipt_blk1"], width(0) / 8);
  return tap(conv2d(x, w["conv_out1"][0], {.out = 1, .kernel = 1}), w["conv_out1"]);
}

}  // namespace ferry::birefnet
