// Whether attentions with a cache are causal: what lies between their products is computed and compared.
#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "converter/onnx/cached_attention.h"
#include "converter/onnx/cached_model.h"

namespace ferry::onnx {
namespace {

[[noreturn]] void refuse(const Model& model, const Node& node, const std::string& what) {
  throw Refused(model.path.filename().string(), {{node.op, node.name, node.opset, what + kOrdinary}});
}

std::vector<double> random_values(const Dims& dims, unsigned seed, double largest) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> uniform(-largest, largest);
  std::vector<double> values(static_cast<size_t>(count_computed(dims)));
  for (double& value : values) value = uniform(random);
  return values;
}

Array random_array(const Dims& dims, unsigned seed, double largest = 1) {
  return make_array(Type::Float32, dims, random_values(dims, seed, largest));
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::max(1.0, std::fabs(b)); }

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return out;
}

// What a product reads as its second input: the cache, with each head repeated for the queries that share it, times a
// factor. `transposed`: keys, [heads,channels,T]. Nothing if it is something else.
std::optional<double> factor_of(const Array& read, const Array& cache, bool transposed) {
  constexpr int64_t kMaxHeads = 4096;
  const Dims& of = cache.dims;
  const size_t rank = read.dims.size();
  if (rank < 3 || rank > 4 || (rank == 4 && read.dims[0] != 1)) return {};
  const int64_t heads = read.dims[rank - 3], rows = of[2], channels = of[3];
  const Dims matrix = transposed ? Dims{channels, rows} : Dims{rows, channels};
  if (Dims(read.dims.end() - 2, read.dims.end()) != matrix || heads < 1 || heads > kMaxHeads || heads % of[1] != 0)
    return {};
  const std::vector<double> got = read.floats(), values = cache.floats();
  const auto each = static_cast<size_t>(rows * channels);
  const double factor = got.front() / values.front();
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t head = i / each / static_cast<size_t>(heads / of[1]), within = i % each;
    const size_t row = transposed ? within % static_cast<size_t>(rows) : within / static_cast<size_t>(channels);
    const size_t channel = transposed ? within / static_cast<size_t>(rows) : within % static_cast<size_t>(channels);
    if (!near(got[i], factor * values[head * each + row * static_cast<size_t>(channels) + channel])) return {};
  }
  return std::isfinite(factor) ? std::optional(factor) : std::nullopt;
}

// The first dimensions of an attention's queries.
Dims leading_dims(const Model& model, const LanguageModel& language, const CachedAttention& attention) {
  Model with_shape = model;
  Node& node = with_shape.nodes.emplace_back();
  node.op = "Shape";
  node.opset = model.opset;
  node.inputs = {attention.scores->inputs[0]};
  node.outputs = {node.inputs[0] + ".shape"};
  const std::string name = node.outputs[0];
  const auto found = Evaluator(with_shape).evaluate({name}, given_for(model, language, steps_of(language).front()));
  if (!found.contains(name)) return {};
  Dims dims = found.at(name).ints();
  dims.resize(std::max<size_t>(dims.size(), 2) - 2);
  return dims;
}

// Proves that the products read the caches; sets the heads of the queries, and the scales to the factors of the keys.
void prove_reads(const Model& model, const Evaluator& evaluator, LanguageModel* language) {
  for (const Step& step : steps_of(*language)) {
    Given given = given_for(model, *language, step);
    unsigned seed = 1;
    for (const Cache& cache : language->caches) {
      given.shapes.erase(cache.source);
      given.known[cache.source] = random_array(source_dims(cache, step.total()), seed++);
    }
    std::vector<std::string> wanted;
    for (const CachedAttention& a : language->attentions)
      for (const Node* product : {a.scores, a.last}) wanted.push_back(product->inputs[1]);
    const std::map<std::string, Array> values = evaluator.evaluate(wanted, given);
    for (CachedAttention& a : language->attentions) {
      const auto factor = [&](const Node* product, const Cache& cache, bool transposed, Dims* lead) {
        const Array& source = given.known.at(cache.source);
        const auto computed = values.find(product->inputs[1]);
        const Array* read = computed != values.end()             ? &computed->second
                            : product->inputs[1] == cache.source ? &source
                                                                 : nullptr;
        const std::vector<int> order(cache.order.begin(), cache.order.end());
        const auto found = read ? factor_of(*read, transpose(source, inverse(order)), transposed) : std::nullopt;
        if (!found)
          refuse(model, *product,
                 "it reads '" + product->inputs[1] + "', which is not the cache '" + cache.present +
                     "' with repeated heads");
        lead->assign(read->dims.begin(), read->dims.end() - 2);
        return *found;
      };
      if (!near(factor(a.last, language->caches[a.value], false, &a.result), 1))
        refuse(model, *a.last, "it reads '" + a.last->inputs[1] + "', the values times a factor, expected the values");
      a.scale = factor(a.scores, language->caches[a.key], true, &a.queries);
      // All heads of the queries may read one.
      if (a.queries.back() == 1) a.queries = a.result = broadcast(a.queries, leading_dims(model, *language, a));
    }
  }
}

// Scores for which the probabilities of one attention are compared, at most `largest` before their scale.
Array scores_for(const LanguageModel& language, size_t attention, const Step& step, double largest) {
  Dims dims = language.attentions[attention].queries;
  dims.insert(dims.end(), {step.tokens, step.total()});
  return random_array(dims, static_cast<unsigned>(attention) + 1, largest);
}

// What the products with the values read for such scores.
std::map<std::string, Array> probabilities(const Model& model, const Evaluator& evaluator,
                                           const LanguageModel& language, const Step& step,
                                           const std::vector<double>& largest) {
  constexpr int64_t kMaxScores = 1 << 22;  // elements that are computed together
  const Given sizes = given_for(model, language, step);
  Given given = sizes;
  std::map<std::string, Array> found;
  std::vector<std::string> wanted;
  int64_t elements = 0;
  for (size_t i = 0; i < language.attentions.size(); ++i) {
    const CachedAttention& a = language.attentions[i];
    Dims queries = a.queries;
    queries.insert(queries.end(), {step.tokens, language.caches[a.key].channels});
    given.shapes[a.scores->inputs[0]] = queries;
    const Array& scores = given.known[a.scores->outputs[0]] = scores_for(language, i, step, largest[i]);
    wanted.push_back(a.last->inputs[0]);
    elements += scores.elements();
    if (elements < kMaxScores && i + 1 < language.attentions.size()) continue;
    found.merge(evaluator.evaluate(wanted, given));
    given = sizes;
    wanted.clear();
    elements = 0;
  }
  return found;
}

// The factor of the scores before the softmax of one row, by the keys that the row sees.
double scale_of(std::span<const double> scores, std::span<const double> probabilities) {
  std::optional<size_t> low, high;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(probabilities[i] > 0)) continue;
    if (!low || scores[i] < scores[*low]) low = i;
    if (!high || scores[i] > scores[*high]) high = i;
  }
  if (!low || *low == *high) return std::nan("");
  return std::log(probabilities[*high] / probabilities[*low]) / (scores[*high] - scores[*low]);
}

// Whether `got` are the probabilities of causal attention with this scale and window.
bool is_causal(std::span<const double> scores, std::span<const double> got, const Step& step, double scale,
               int64_t window) {
  const int64_t keys = step.total();
  for (size_t row = 0; row < got.size() / static_cast<size_t>(keys); ++row) {
    const int64_t last = step.past + static_cast<int64_t>(row) % step.tokens;
    const int64_t first = window > 0 ? std::max<int64_t>(0, last - window + 1) : 0;
    const size_t begin = row * static_cast<size_t>(keys);
    double sum = 0;
    for (int64_t key = first; key <= last; ++key) sum += std::exp(scale * scores[begin + static_cast<size_t>(key)]);
    for (int64_t key = 0; key < keys; ++key) {
      const size_t at = begin + static_cast<size_t>(key);
      const double want = key >= first && key <= last ? std::exp(scale * scores[at]) / sum : 0;
      if (!(std::fabs(got[at] - want) <= 1e-7 + 1e-3 * want)) return false;
    }
  }
  return true;
}

}  // namespace

bool has_masks(const Model& model, const LanguageModel& language, int64_t length) {
  const Step step = last_step(language, length);
  try {
    const auto values =
        probabilities(model, Evaluator(model), language, step, std::vector<double>(language.attentions.size(), 1));
    for (const CachedAttention& a : language.attentions) {
      const auto found = values.find(a.last->inputs[0]);
      if (found == values.end() || found->second.elements() != count_elements(a.queries) * step.tokens * step.total())
        return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

void prove_causal(const Model& model, LanguageModel* language, int64_t length) {
  const Evaluator evaluator(model);
  prove_reads(model, evaluator, language);
  constexpr double kLargest = 20;  // of scaled scores: far from 0, where capped ones would be the same
  std::vector<double> factors, largest(language->attentions.size(), 1);
  for (const CachedAttention& a : language->attentions) factors.push_back(a.scale);
  std::vector<Step> steps = {last_step(*language, length)};  // first: it shows the windows
  for (const Step& step : steps_of(*language)) steps.push_back(step);
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step step = steps[s];
    const auto values = probabilities(model, evaluator, *language, step, largest);
    for (size_t i = 0; i < language->attentions.size(); ++i) {
      CachedAttention& a = language->attentions[i];
      const std::vector<double> scores = scores_for(*language, i, step, largest[i]).floats();
      const auto found = values.find(a.last->inputs[0]);
      if (found == values.end())
        refuse(model, *a.last, "the mask of its probabilities '" + a.last->inputs[0] + "' depends on the tokens");
      const std::vector<double> got = found->second.floats();
      if (s == 0 && got.size() == scores.size()) {
        const std::span<const double> row = std::span(got).last(static_cast<size_t>(step.total()));
        const auto first = std::find_if(row.begin(), row.end(), [](double p) { return p > 0; }) - row.begin();
        a.window = first > 0 ? step.total() - first : 0;
        a.scale = scale_of(std::span(scores).last(row.size()), row);
        if (a.window > 1 && !language->prompt_only) steps.push_back({a.window - 1, language->one_token ? 1 : 3});
      }
      if (got.size() != scores.size() || !is_causal(scores, got, step, a.scale, a.window))
        refuse(model, *a.last,
               "its probabilities '" + a.last->inputs[0] +
                   "' are not those of causal attention: biases by distance (ALiBi), capped scores and other masks are "
                   "not supported");
      largest[i] = kLargest / std::max(std::fabs(a.scale), 1e-4);
    }
  }
  for (size_t i = 0; i < factors.size(); ++i) language->attentions[i].scale *= factors[i];
}

}  // namespace ferry::onnx
