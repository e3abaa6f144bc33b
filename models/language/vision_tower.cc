#include "models/language/vision_tower.h"

#include <algorithm>
#include <cmath>

#include "converter/error.h"
#include "models/language/modules.h"
#include "models/language/rope.h"

namespace ferry::language {
namespace {

constexpr double kEpsilon = 1e-6, kTheta = 10000;  // transformers' constants: no file sets them

// The first half of the pairs rotates by row, the other half by column.
Rope rope_of_patches(int head) {
  Rope rope;
  for (const int axis : {0, 1}) {
    for (int i = 0; i < head / 2; i += 2) {
      rope.frequencies.push_back(std::pow(kTheta, -static_cast<double>(i) / (head / 2)));
      rope.axes.push_back(axis);
    }
  }
  return rope;
}

Tensor embed(const Patches& p, const Weights& w, const VisionTower& t) {
  const Weights proj = w["patch_embed"]["proj"];
  const Shape stored{t.width, 3, t.frames, t.patch, t.patch}, matrix{t.width, t.patch_channels()};
  const Tensor weight = proj.reordered("weight", {stored, matrix, {0, 1}, matrix});
  const Tensor x = tap(p.values.graph->add_op(proj.name(), fbs::LinearT{}, {p.values, weight, proj("bias", {t.width})}),
                       w["patch_embed"]);
  const Weights table = w["pos_embed"];
  const Tensor corners = tap(rows(table.matrix({t.side * t.side, t.width}), p.table_positions), table);
  return x + sum_first(corners * reshape(p.table_weights, {0, 0, 1}));
}

Tensor attend(Tensor x, const Weights& w, const VisionTower& t, const Rotation& rotate) {
  const Tensor qkv = reshape(linear(x, w["qkv"], {.out = 3 * t.width}), {1, -1, 3 * t.width});
  const auto part = [&](int index) { return slice(qkv, -1, index * t.width, t.width); };
  const Tensor mixed =
      attention(rotate(part(0), t.heads), rotate(part(1), t.heads), part(2), {.heads = t.heads, .kv_heads = t.heads});
  return tap(linear(reshape(mixed, {-1, t.width}), w["proj"], {.out = t.width}), w);
}

Tensor perceptron(Tensor x, const Weights& w, const VisionTower& t) {
  const Tensor y = t.activation(linear(x, w["linear_fc1"], {.out = t.hidden}));
  return tap(linear(y, w["linear_fc2"], {.out = t.width}), w);
}

Tensor block(Tensor x, const Weights& w, const VisionTower& t, const Rotation& rotate) {
  x = x + attend(layer_norm(x, w["norm1"], kEpsilon), w["attn"], t, rotate);
  x = x + perceptron(layer_norm(x, w["norm2"], kEpsilon), w["mlp"], t);
  return tap(x, w, kBlock);
}

// Patch merger: concatenates squares of patches. Normalizes each patch, or each whole square.
Tensor merge(Tensor x, const Weights& w, const VisionTower& t, bool whole) {
  const int width = t.width * t.merge * t.merge;
  if (whole) x = reshape(x, {-1, width});
  x = layer_norm(x, w["norm"], kEpsilon);
  if (!whole) x = reshape(x, {-1, width});
  x = gelu(linear(x, w["linear_fc1"], {.out = width}));
  return tap(linear(x, w["linear_fc2"], {.out = t.out}), w, kBlock);
}

}  // namespace

VisionTower vision_tower_of(const Configuration& s, const std::vector<int>& deepstack) {
  VisionTower t{};
  t.width = s.count("hidden_size", 1152);
  t.heads = s.count("num_heads", 16);
  t.depth = s.count("depth", 27);
  t.hidden = s.count("intermediate_size", 4304);
  t.activation = activation_of(s, "hidden_act", "gelu_pytorch_tanh");
  t.patch = s.count("patch_size", 16);
  t.frames = s.count("temporal_patch_size", 2);
  t.merge = s.count("spatial_merge_size", 2);
  t.out = s.count("out_hidden_size", 3584);
  if (s.count("in_channels", 3) != 3) fail("%s: in_channels is not 3", s.where());
  if (t.patch > 256 || t.frames > 16 || t.merge > 16)
    fail("%s: patches of %d pixels in %d frames, merged by %d: expected at most 256, 16 and 16", s.where(), t.patch,
         t.frames, t.merge);
  s.product("hidden_size", t.width, t.merge * t.merge);
  if (t.width % t.heads != 0 || t.width / t.heads % 4 != 0)
    fail("%s: hidden_size %d and %d heads, expected heads of a multiple of 4 channels", s.where(), t.width, t.heads);
  const int table = s.count("num_position_embeddings", 2304);
  t.side = static_cast<int>(std::lround(std::sqrt(table)));
  if (t.side * t.side != table) fail("%s: num_position_embeddings is %d, expected a square", s.where(), table);
  t.deepstack = s.has("deepstack_visual_indexes") ? s.whole_numbers("deepstack_visual_indexes") : deepstack;
  for (size_t i = 0; i < t.deepstack.size(); ++i)
    if (t.deepstack[i] >= t.depth || (i > 0 && t.deepstack[i] <= t.deepstack[i - 1]))
      fail("%s: deepstack_visual_indexes: expected blocks below %d in ascending order", s.where(), t.depth);
  return t;
}

Tensor run_vision_tower(const Patches& p, const Weights& w, const VisionTower& t, int max_side) {
  Tensor x = embed(p, w, t);
  const Rotation rotate = rotation(rope_of_patches(t.width / t.heads), p.positions, max_side);
  std::vector<Tensor> deepstack;
  for (int i = 0; i < t.depth; ++i) {
    x = block(x, w["blocks"][i], t, rotate);
    if (std::find(t.deepstack.begin(), t.deepstack.end(), i) == t.deepstack.end()) continue;
    deepstack.push_back(merge(x, w["deepstack_merger_list"][static_cast<int>(deepstack.size())], t, true));
  }
  std::vector<Tensor> planes = {merge(x, w["merger"], t, false)};
  planes.insert(planes.end(), deepstack.begin(), deepstack.end());
  for (Tensor& plane : planes) plane = reshape(plane, {1, -1, t.out});
  fbs::PadT none;
  none.before = {0, 1, 0};
  none.after = {0, 0, 0};
  const Tensor all = planes.size() > 1 ? concat(planes, 0) : planes.front();
  return all.graph->add_op("", std::move(none), {all});
}

}  // namespace ferry::language
