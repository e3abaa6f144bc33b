#include <cmath>
#include <numbers>

#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

constexpr int kDefaultPoints = 2, kMaxPoints = 64;
constexpr int kKinds = 4;  // point labels: background, foreground, top left and bottom right corner of a box

Tensor apply(fbs::UnaryKind kind, Tensor x) {
  fbs::UnaryT params;
  params.kind = kind;
  return x.graph->add_op("", params, {x});
}

// Position encoding by random Fourier features (Tancik et al., arXiv:2006.10739), with coordinates in -1..1. Rows are
// frequencies times 2 pi: [C/2,2].
struct Frequencies {
  std::vector<double> rows;
  int count;
};
Frequencies frequencies(const Weights& w, int width) {
  const Tensor matrix = w["positional_encoding_gaussian_matrix"].parameter({2, width / 2});
  const std::vector<double> values = w.graph().values(matrix.id);
  Frequencies out{{}, width / 2};
  for (size_t c = 0; c < values.size() / 2; ++c)
    for (const size_t axis : {0, 1}) out.rows.push_back(2 * std::numbers::pi * values[axis * values.size() / 2 + c]);
  return out;
}

// Of all positions of the embedding: 1,H*W,C.
Tensor position_encoding(const Weights& w, const Frequencies& of, Grid grid) {
  std::vector<double> out;
  out.reserve(2 * of.rows.size() / 2 * static_cast<size_t>(grid.size()));
  for (int row = 0; row < grid.height; ++row) {
    for (int column = 0; column < grid.width; ++column) {
      const double x = 2 * (column + 0.5) / grid.width - 1, y = 2 * (row + 0.5) / grid.height - 1;
      const auto angle = [&](size_t c) { return of.rows[2 * c] * x + of.rows[2 * c + 1] * y; };
      for (size_t c = 0; c < of.rows.size() / 2; ++c) out.push_back(std::sin(angle(c)));
      for (size_t c = 0; c < of.rows.size() / 2; ++c) out.push_back(std::cos(angle(c)));
    }
  }
  const Tensor table = w.graph().add_constant(w.name(), Shape{1, grid.size(), 2 * of.count}, std::move(out));
  tap(reshape(transpose(table, {0, 2, 1}), {2 * of.count, grid.height, grid.width}), w);
  return table;
}

// Position encoding of points, given in pixels.
Tensor point_encoding(Tensor coords, const Frequencies& of, int side) {
  Graph& graph = *coords.graph;
  const Tensor weight = graph.add_constant("", Shape{of.count, 2}, of.rows);
  const Tensor angles = graph.add_op("", fbs::LinearT{}, {(coords + 0.5) * (2.0 / side) + -1.0, weight});
  return concat({apply(fbs::UnaryKind::Sin, angles), apply(fbs::UnaryKind::Cos, angles)});
}

// Point embeddings: the position encoding plus the label's embedding, or the not-a-point embedding. The choice is
// arithmetic: a factor of 1 for the matching label, 0 for others.
Tensor points(Tensor coords, Tensor labels, const Weights& w, const Frequencies& of, int side) {
  Graph& graph = w.graph();
  const int width = 2 * of.count;
  std::vector<Tensor> tokens = {w["not_a_point_embed"]("weight", {1, width})};
  std::vector<float> numbers = {-1};
  for (int kind = 0; kind < kKinds; ++kind) {
    tokens.push_back(w["point_embeddings"][kind]("weight", {1, width}));
    numbers.push_back(static_cast<float>(kind));
  }
  const Tensor known = graph.add_constant("", Shape{kKinds + 1}, std::move(numbers));
  const Tensor which = relu(apply(fbs::UnaryKind::Abs, reshape(labels, {0, -1, 1}) - known) * -1.0 + 1.0);
  const Tensor kinds = graph.add_op("", fbs::LinearT{}, {which, transpose(concat(tokens, 0), {1, 0})});
  const Tensor is_point = slice(which, -1, 0, 1) * -1.0 + 1.0;
  return tap(point_encoding(coords, of, side) * is_point + kinds, w["sparse"], kBlock);
}

// Embeds the mask of an earlier prediction, of four times the embedding's sides.
Tensor mask_embedding(Tensor mask, const Weights& w, const Config& config) {
  const int between = config.mask_channels;
  Tensor x = conv2d(mask, w[0], {.out = between / 4, .kernel = 2, .stride = 2});
  x = tap(config.mask_act(layer_norm(x, w[1], config.mask_epsilon)), w[2]);
  x = conv2d(x, w[3], {.out = between, .kernel = 2, .stride = 2});
  x = tap(config.mask_act(layer_norm(x, w[4], config.mask_epsilon)), w[5]);
  return tap(conv2d(x, w[6], {.out = config.embedding, .kernel = 1}), w);
}

}  // namespace

Prompt encode_prompt(Graph& graph, const Weights& w, const Config& config, Grid grid, int side) {
  const int width = config.embedding;
  const Tensor coords = graph.add_input("point_coords", {1, kDefaultPoints, 2}, fbs::Layout::Same);
  graph.table.inputs.back()->bound = {1, kMaxPoints, 2};
  const Tensor labels = graph.add_input("point_labels", {1, kDefaultPoints}, fbs::Layout::Same);
  graph.table.inputs.back()->bound = {1, kMaxPoints};
  const Tensor mask = graph.add_input("mask_input", {1, 4 * grid.height, 4 * grid.width, 1}, fbs::Layout::NCHW);
  graph.table.inputs.back()->static_input = true;
  const Tensor has_mask = graph.add_input("has_mask_input", {1}, fbs::Layout::Same);
  graph.table.inputs.back()->static_input = true;

  w["shared_embedding"].discard();  // transformers' second name of the frequencies
  const Frequencies of = frequencies(w["pe_layer"], width);
  const Tensor none = w["no_mask_embed"]("weight", {1, width});
  const Tensor embedded = mask_embedding(mask, w["mask_downscaling"], config);
  return {.sparse = points(coords, labels, w, of, side),
          .dense = embedded * has_mask + none * (has_mask * -1.0 + 1.0),
          .position_encoding = position_encoding(w["pe_layer"], of, grid)};
}

}  // namespace ferry::sam
