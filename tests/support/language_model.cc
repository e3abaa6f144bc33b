#include "tests/support/language_model.h"

#include <cmath>

#include "converter/graph/ops.h"
#include "converter/text/pieces.h"
#include "converter/text/text_files.h"
#include "tests/support/blobs.h"

namespace ferry::testing {
namespace {

constexpr int kWidth = 24, kHeads = 2, kHead = 8;

Tensor constant(Graph& graph, const std::string& name, const Shape& shape, uint32_t seed, double scale) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(scale * static_cast<double>(noise(seed, static_cast<uint32_t>(i))));
  return graph.add_constant(name, shape, std::move(values));
}

Tensor gather(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

Tensor linear(Tensor x, Tensor weight) { return x.graph->add_op("", fbs::LinearT{}, {x, weight}); }

void add_text(fbs::GraphT& table) {
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
  table.text = packed(text);
}

}  // namespace

std::unique_ptr<Graph> small_language_model() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.table.name = "small_language_model";
  const Tensor ids = g.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  g.table.inputs.back()->bound = {1, kSmallMaxRun};
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
  const Tensor places = positions(ids, keys[0]);
  const Shape table{kSmallMaxLength, kHead};
  const Tensor cosines = gather(g.add_constant("cos", table, std::move(cos)), places);
  const Tensor sines = gather(g.add_constant("sin", table, std::move(sin)), places);

  const Tensor embedding = constant(g, "embedding", {kSmallVocabulary, kWidth}, 1, 3);
  Tensor x = gather(embedding, ids);
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
  add_text(g.table);
  return graph;
}

}  // namespace ferry::testing
