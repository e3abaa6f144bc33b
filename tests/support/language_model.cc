#include "tests/support/language_model.h"

#include <cmath>

#include "converter/graph/ops.h"
#include "converter/text/pieces.h"
#include "converter/text/text_files.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

constexpr int kWidth = 24, kHeads = 2, kHead = 8;
constexpr int kPatch = 2, kMerge = 2, kMaxImageTokens = 16, kTableSide = 3;
constexpr int kImageToken = 258;  // a byte that occurs in no text

Tensor constant(Graph& graph, const std::string& name, const Shape& shape, uint32_t seed, double scale) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(scale * static_cast<double>(noise(seed, static_cast<uint32_t>(i))));
  return graph.add_constant(name, shape, std::move(values));
}

Tensor gather(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

Tensor linear(Tensor x, Tensor weight) { return x.graph->add_op("", fbs::LinearT{}, {x, weight}); }

void add_text(fbs::GraphT& table, bool sees) {
  fbs::TextT text;
  text.tokenizer = std::make_unique<fbs::TokenizerT>();
  fbs::TokenizerT& t = *text.tokenizer;
  const auto add = [&t](const std::string& piece, fbs::PieceKind kind) {
    add_piece(&t, piece, -static_cast<double>(t.scores.size()), kind);
  };
  add("<unk>", fbs::PieceKind::Unknown);
  add("<s>", fbs::PieceKind::Control);
  add("</s>", fbs::PieceKind::Control);
  for (int byte = 0; byte < 256; ++byte) {
    char piece[8];
    std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
    add(piece, fbs::PieceKind::Byte);
  }
  for (const char* piece : {"th", "he", " "}) add(piece, fbs::PieceKind::Normal);
  index_pieces(&t);
  t.bos = 1;
  t.before = {1};
  t.eos = {2};
  text.chat_template =
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
      "{% if add_generation_prompt %}the {% endif %}";
  if (sees) {
    text.images = std::make_unique<fbs::ImagesT>();
    text.images->graph = "vision";
    text.images->token = kImageToken;
    text.images->start = text.images->end = -1;
    text.images->merge = kMerge;
    text.images->table_side = kTableSide;
  }
  table.text = packed(text);
}

// An input whose shape is `shape` at first, and `bound` at most.
Tensor input(Graph& graph, const char* name, const Shape& shape, std::vector<int32_t> bound, fbs::DType type) {
  const Tensor tensor = graph.add_input(name, shape, fbs::Layout::Same, type);
  graph.table.inputs.back()->bound = std::move(bound);
  return tensor;
}

// docs/format.md, "Images in a text": the sum of a patch's pixels, its position embedding and its row and column.
std::unique_ptr<Graph> vision() {
  constexpr int kElements = 3 * kPatch * kPatch, kLeast = kMerge * kMerge, kMost = kLeast * kMaxImageTokens;
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.table.name = "vision";
  Tensor x = input(g, "pixel_values", {kLeast, kElements}, {kMost, kElements}, fbs::DType::Float32);
  const Tensor places = input(g, "patch_places", {2, kLeast}, {2, kMost}, fbs::DType::Int64);
  const Tensor cells = input(g, "table_places", {4, kLeast}, {4, kMost}, fbs::DType::Int64);
  const Tensor weights = input(g, "table_weights", {4, kLeast}, {4, kMost}, fbs::DType::Float32);
  const auto sum = [&](Tensor of) {
    fbs::ReduceT reduce;
    reduce.kind = fbs::ReduceKind::Sum;
    reduce.axes = {0};
    return g.add_op("", std::move(reduce), {of});
  };
  const Tensor table = constant(g, "positions", {kTableSide * kTableSide, kElements}, 31, 1);
  x = x + sum(gather(table, cells) * reshape(weights, {4, -1, 1}));
  x = x + reshape(sum(g.add_op("", fbs::CastT{}, {places})) * 0.125, {-1, 1});
  x = linear(reshape(x, {-1, kLeast * kElements}), constant(g, "merge", {kWidth, kLeast * kElements}, 32, 1));
  fbs::PadT row;  // of zeros, before the others
  row.before = {0, 1, 0};
  row.after = {0, 0, 0};
  g.add_output("features", g.add_op("", std::move(row), {reshape(x, {1, -1, kWidth})}), fbs::Layout::Same);
  auto prepare = std::make_unique<fbs::PreprocessT>();
  prepare->resize_mode = fbs::ResizeMode::PixelBudget;
  prepare->multiple_of = kPatch * kMerge;
  prepare->min_pixels = prepare->multiple_of * prepare->multiple_of;
  prepare->max_pixels = kMaxImageTokens * prepare->min_pixels;
  prepare->patch = kPatch;
  prepare->patch_block = kMerge;
  g.table.preprocess = std::move(prepare);
  return graph;
}

std::unique_ptr<Graph> language_model(const char* model, bool sees) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.table.name = model;
  const Tensor ids = input(g, "input_ids", {1, 1}, {1, kSmallMaxRun}, fbs::DType::Int64);
  std::vector<State> keys, values;
  for (const char* layer : {"layers.0", "layers.1"}) {
    keys.push_back(g.add_state(std::string(layer) + ".keys", {1, kSmallMaxLength, kHead}, 1));
    values.push_back(g.add_state(std::string(layer) + ".values", {1, kSmallMaxLength, kHead}, 1));
  }

  std::vector<double> cos, sin;
  for (int place = 0; place < kSmallMaxLength; ++place) {
    for (int i = 0; i < kHead; ++i) {
      const double angle = place * std::pow(10000.0, -2.0 * (i % (kHead / 2)) / kHead);
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  }
  const Tensor embedding = constant(g, "embedding", {kSmallVocabulary, kWidth}, 1, 3);
  Tensor x = gather(embedding, ids), places;
  if (sees) {
    const Tensor axes = input(g, "position_ids", {3, 1}, {3, kSmallMaxRun}, fbs::DType::Int64);
    const Tensor rows = input(g, "image_rows", {1, 1}, {1, kSmallMaxRun}, fbs::DType::Int64);
    const Tensor features =
        input(g, "image_features", {1, 2, kWidth}, {1, 1 + kSmallMaxRun, kWidth}, fbs::DType::Float32);
    places = reshape(slice(axes, 0, 0, 1), {-1});
    x = x + gather(reshape(features, {-1, kWidth}), rows);
  } else {
    places = positions(ids, keys[0]);
  }
  const Shape table{kSmallMaxLength, kHead};
  const Tensor cosines = gather(g.add_constant("cos", table, std::move(cos)), places);
  const Tensor sines = gather(g.add_constant("sin", table, std::move(sin)), places);

  for (uint32_t layer = 0; layer < 2; ++layer) {
    const auto project = [&](Tensor from, const char* name, int out, uint32_t seed) {
      return linear(from, constant(g, name, {out, channels(from)}, 10 * layer + seed, 1));
    };
    const Tensor q = rotary_embedding(project(x, "q", kHeads * kHead, 2), cosines, sines, kHeads, false);
    const Tensor k = append(rotary_embedding(project(x, "k", kHead, 3), cosines, sines, 1, false), keys[layer]);
    const Tensor v = append(project(x, "v", kHead, 4), values[layer]);
    x = x + project(attention(q, k, v, {.heads = kHeads, .kv_heads = 1, .causal = true}), "o", kWidth, 5);
    g.add_tap("layers." + std::to_string(layer), x, fbs::Layout::Same, kBlock);
  }
  g.add_output("logits", linear(x, embedding), fbs::Layout::Same);
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = fbs::Task::Text;
  add_text(g.table, sees);
  if (sees) g.add_graph(std::move(*vision()));
  return graph;
}

}  // namespace

std::unique_ptr<Graph> small_language_model() { return language_model("small_language_model", false); }

std::unique_ptr<Graph> small_vision_language_model() { return language_model("small_vision_language_model", true); }

}  // namespace ferry::testing
