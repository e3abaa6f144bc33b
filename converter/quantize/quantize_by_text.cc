#include "converter/quantize/quantize_by_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "converter/graph/ops.h"
#include "converter/quantize/quantize.h"
#include "converter/quantize/rounding.h"
#include "converter/quantize/segment.h"
#include "sdk/threads/loops.h"

namespace ferry {
namespace {

constexpr size_t kMaxInputs = 16384;

// Operators that multiply one activation with 4-bit weights.
struct Layer {
  TensorId input;
  size_t width;
  std::vector<size_t> operators;
};

// In order of their first operators. A weight counts once.
std::vector<Layer> layers_of(const Graph& graph) {
  std::vector<Layer> out;
  std::set<uint32_t> known;
  for (size_t i = 0; i < graph.table.operators.size(); ++i) {
    const fbs::OperatorT& op = *graph.table.operators[i];
    if (op.params.type != fbs::OpParams::Linear && op.params.type != fbs::OpParams::Conv2d) continue;
    const fbs::TensorT& weight = graph.at(op.inputs[1]);
    const auto width = static_cast<size_t>(weight.shape.back());
    if (weight.dtype != fbs::DType::Int4 || width > kMaxInputs || !known.insert(weight.buffer).second) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Layer& l) { return l.input == op.inputs[0]; });
    (same != out.end() ? *same : out.emplace_back(Layer{op.inputs[0], width, {}})).operators.push_back(i);
  }
  return out;
}

void check_ids(const std::vector<std::vector<int32_t>>& sequences, int32_t vocabulary) {
  for (const std::vector<int32_t>& ids : sequences)
    for (const int32_t id : ids)
      if (id < 0 || id >= vocabulary)
        fail("the tokenizer gives the text token %d, beyond the model's vocabulary of %d", id, vocabulary);
}

size_t int4_weights(const Graph& graph) {
  return static_cast<size_t>(std::count_if(graph.table.tensors.begin(), graph.table.tensors.end(),
                                           [](const auto& tensor) { return tensor->dtype == fbs::DType::Int4; }));
}

// The sum of x^T x over inputs x [L,K] of a layer.
class InputProducts {
 public:
  InputProducts(size_t width, int threads)
      : width_(static_cast<int32_t>(width)), network_(with_product(), {}, threads), sums_(width * width) {}

  void add(std::span<const float> x) {
    int8::Sample::Input input{{1, static_cast<int32_t>(x.size()) / width_, width_}, {}};
    const auto bytes = std::as_bytes(x);
    input.bytes.assign(bytes.begin(), bytes.end());
    network_.run({.name = "a layer's inputs", .sha256 = {}, .inputs = {std::move(input)}});
    const float* products = network_.values(graph_.table.outputs.front()->tensor).data();
    const auto n = static_cast<size_t>(width_);
    parallel(pool(), Grid<1, 1>{{n}, {16}}, [&](Pool::Share&, size_t first, size_t count) {
      for (size_t i = first; i < first + count; ++i)
        for (size_t j = 0; j <= i; ++j) sums_[i * n + j] += static_cast<double>(products[i * n + j]);
    });
  }
  // Their lower triangle.
  std::vector<double> take() { return std::move(sums_); }
  Pool* pool() const { return network_.pool(); }

 private:
  Graph& with_product() {
    const Tensor x = graph_.add_input("x", {1, 1, width_}, fbs::Layout::Same);
    graph_.add_output("products", matmul(x, x, true), fbs::Layout::Same);
    return graph_;
  }

  int32_t width_;
  Graph graph_;
  int8::Network network_;
  std::vector<double> sums_;
};

// Replaces the integers of a weight, which `exact` has in float.
void round_weight(Graph& graph, const Graph& exact, TensorId weight, std::span<const double> feedback, Pool* pool) {
  constexpr size_t kRows = 16;
  const fbs::TensorT& stored = graph.at(weight);
  const fbs::TensorT& source = exact.at(weight);
  const auto width = static_cast<size_t>(stored.shape.back()), blocks = width / kInt4Block;
  const fbs::TensorT& scale = graph.at(stored.quantization->scale);
  const Constant computed = graph.buffer(scale.buffer).read();
  std::vector<std::byte> kept(computed.bytes.begin(), computed.bytes.end());
  if (computed.done) computed.done();
  const std::vector<double> scales = values_of({.owner = {}, .bytes = kept}, scale.dtype, scale.name);
  std::vector<std::byte> packed(scales.size() * kInt4Block / 2);
  const size_t row_bytes = bytes_of(source.dtype, static_cast<int64_t>(width));
  read_in_parts(exact.source(weight), row_bytes, [&](std::span<const std::byte> part, size_t begin) {
    const std::vector<double> values = values_of({.owner = {}, .bytes = part}, source.dtype, source.name);
    const size_t row = begin / row_bytes;
    parallel(pool, Grid<1, 1>{{values.size() / width}, {kRows}}, [&](Pool::Share&, size_t first, size_t count) {
      std::vector<int8_t> integers(count * width);
      int8::round_by_hessian(std::span(values).subspan(first * width, count * width), width, feedback,
                             std::span(scales).subspan((row + first) * blocks, count * blocks), {-8, 7, kInt4Block},
                             integers);
      std::byte* out = &packed[(row + first) * width / 2];
      for (size_t i = 0; i < integers.size(); i += 2)
        *out++ = static_cast<std::byte>((integers[i] & 15) | (integers[i + 1] & 15) << 4);
    });
  });
  graph.replace_data(scale.buffer, hold(std::move(kept)));
  graph.replace_data(stored.buffer, hold(std::move(packed)));
}

// The sum of -log(probability) that `logits` [L,V] give each token of a sequence but the first.
double surprise(std::span<const float> logits, std::span<const int32_t> ids, Pool* pool) {
  const size_t vocabulary = logits.size() / ids.size();
  std::vector<double> of_tokens(ids.size() - 1);
  parallel(pool, Grid<1, 1>{{of_tokens.size()}, {8}}, [&](Pool::Share&, size_t first, size_t count) {
    for (size_t t = first; t < first + count; ++t) {
      const auto row = logits.subspan(t * vocabulary, vocabulary);
      const double largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
      double sum = 0;
      for (const float v : row) sum += std::exp(static_cast<double>(v) - largest);
      of_tokens[t] = std::log(sum) + largest - static_cast<double>(row[static_cast<size_t>(ids[t + 1])]);
    }
  });
  double sum = 0;
  for (const double s : of_tokens) sum += s;
  return sum;
}

double squared_norm(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - (b.empty() ? 0 : static_cast<double>(b[i]));
    sum += d * d;
  }
  return sum;
}

}  // namespace

bool predicts_tokens(const Graph& graph) {
  const fbs::GraphT& table = graph.table;
  if (!table.postprocess || table.postprocess->task != fbs::Task::Text || table.inputs.size() != 1) return false;
  const TensorId ids = table.inputs.front()->tensor, logits = table.outputs.front()->tensor;
  return graph.dtype(ids) == fbs::DType::Int32 && graph.shape(ids).rank == 2 && graph.shape(logits).rank == 3;
}

std::vector<std::string> sentences_of(const TextCalibration& done, const std::string& file) {
  char rounded[256], predicted[512];
  std::snprintf(rounded, sizeof rounded, "%zu weights of 4 bits are calibrated on %zu tokens, %zu rounded to nearest",
                done.weights, done.tokens, done.kept_nearest);
  std::snprintf(predicted, sizeof predicted,
                "%zu other tokens: perplexity %.4g in float, %.4g rounded to nearest, %.4g calibrated; error of the "
                "logits %.3g %% rounded to nearest, %.3g %% calibrated",
                done.held_out, done.in_float.perplexity, done.nearest.perplexity, done.calibrated.perplexity,
                100 * done.nearest.error, 100 * done.calibrated.error);
  return {file + ": " + rounded, file + ": " + predicted};
}

TextCalibration quantize_by_text(Graph& graph, const TextSamples& samples, int threads,
                                 const std::function<void(double)>& progress) {
  std::vector<std::vector<int32_t>> all = samples.calibrate;
  all.insert(all.end(), samples.held_out.begin(), samples.held_out.end());
  check_ids(all, graph.shape(graph.table.outputs.front()->tensor)[2]);
  const std::unique_ptr<Graph> exact = graph.copy();
  quantize_weights(graph, WeightBits::Four);
  const std::unique_ptr<Graph> nearest = graph.copy();
  int8::Stream in_float(*exact, samples.held_out, threads), to_nearest(*nearest, samples.held_out, threads),
      calibrated(graph, all, threads);
  TextCalibration out;
  for (const Layer& layer : layers_of(graph)) {
    const size_t first = layer.operators.front();
    progress(static_cast<double>(first) / static_cast<double>(graph.table.operators.size()));
    for (int8::Stream* stream : {&in_float, &to_nearest, &calibrated}) stream->advance(first);
    InputProducts products(layer.width, threads);
    for (size_t s = 0; s < samples.calibrate.size(); ++s) products.add(calibrated.values(s, layer.input));
    const std::vector<double> feedback = int8::feedback_of(products.take(), layer.width, products.pool());
    if (feedback.empty()) continue;  // inputs that are all zero
    for (const size_t op : layer.operators)
      round_weight(graph, *exact, graph.table.operators[op]->inputs[1], feedback, products.pool());
    out.weights += layer.operators.size();
  }
  out.kept_nearest = int4_weights(graph) - out.weights;
  for (const auto& sequence : samples.calibrate) out.tokens += sequence.size();

  int8::Stream::Rest rest_in_float(in_float), rest_to_nearest(to_nearest), rest_calibrated(calibrated);
  double norm = 0;
  for (size_t s = 0; s < samples.held_out.size(); ++s) {
    const std::vector<int32_t>& ids = samples.held_out[s];
    const std::span<const float> reference = rest_in_float.run(s);
    norm += squared_norm(reference, {});
    const auto judge = [&](std::span<const float> logits, Prediction* prediction) {
      prediction->perplexity += surprise(logits, ids, rest_in_float.pool());
      prediction->error += squared_norm(reference, logits);
    };
    judge(reference, &out.in_float);
    judge(rest_to_nearest.run(s), &out.nearest);
    judge(rest_calibrated.run(samples.calibrate.size() + s), &out.calibrated);
    out.held_out += ids.size() - 1;
  }
  for (Prediction* prediction : {&out.in_float, &out.nearest, &out.calibrated}) {
    prediction->perplexity = std::exp(prediction->perplexity / static_cast<double>(out.held_out));
    prediction->error = std::sqrt(prediction->error / norm);
  }
  return out;
}

}  // namespace ferry
