#include "converter/onnx/cached_attention.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "converter/onnx/cached_model.h"
#include "converter/onnx/expanded_attention.h"
#include "converter/onnx/flat_caches.h"
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// Positions that every language model has.
constexpr int64_t kShortest = 16;
// Maximum number of channels of all heads.
constexpr int64_t kMaxWidth = 1 << 20;

// Operators between a cache and the product that reads it: they repeat heads and transpose.
constexpr std::string_view kMoves[] = {"Cast",    "Div",     "Expand",    "Identity", "Mul",
                                       "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
// Operators between the scores and the product with the values.
constexpr std::string_view kScoring[] = {"Add",     "Cast", "Clip", "Div",       "Dropout", "Identity",
                                         "IsNaN",   "Max",  "Min",  "Mul",       "Reshape", "Softmax",
                                         "Squeeze", "Sub",  "Tanh", "Unsqueeze", "Where"};

bool is_one_of(const Node& node, std::span<const std::string_view> operators) {
  return node.domain.empty() && std::find(operators.begin(), operators.end(), node.op) != operators.end();
}

// The nodes that read each value.
class Readers {
 public:
  explicit Readers(const Model& model) {
    for (const Node& node : model.nodes)
      for (size_t i = 0; i < node.inputs.size(); ++i) readers_[node.inputs[i]].push_back({&node, i});
  }

  struct Reader {
    const Node* node;
    size_t input;
  };
  // The MatMul nodes reached from `value` by these operators, with the input by which they are reached first.
  std::map<const Node*, Reader> products(const std::string& value, std::span<const std::string_view> through) const {
    std::map<const Node*, Reader> found;
    std::set<std::string> seen;
    std::vector<std::string> open = {value};
    while (!open.empty()) {
      const std::string at = open.back();
      open.pop_back();
      const auto readers = readers_.find(at);
      if (readers == readers_.end() || !seen.insert(at).second) continue;
      for (const Reader& reader : readers->second) {
        if (is(*reader.node, "MatMul"))
          found.emplace(reader.node, reader);
        else if (is_one_of(*reader.node, through))
          open.insert(open.end(), reader.node->outputs.begin(), reader.node->outputs.end());
      }
    }
    return found;
  }

 private:
  std::unordered_map<std::string, std::vector<Reader>> readers_;
};

// Heads and channels of a cache [B,heads,T,channels]; false if it is none.
bool read_size(const ValueInfo& info, Cache* cache) {
  const std::vector<Dimension>& shape = info.shape;
  if (shape.size() != 4 || shape[0].size > 1 || shape[2].size >= 0) return false;
  cache->heads = shape[1].size;
  cache->channels = shape[3].size;
  return true;
}

bool known_size(const Cache& cache) {
  return cache.heads >= 1 && cache.heads <= kMaxWidth && cache.channels >= 1 && cache.channels <= kMaxWidth &&
         cache.heads * cache.channels <= kMaxWidth;
}

// Exporters merge transposes, so that the products need not read `all` itself.
void find_source(const Matcher& m, Cache* cache) {
  cache->source = cache->all;
  while (const Node* node = m.producer(cache->source, "Transpose")) {
    const auto perm = node->attributes.find("perm");
    if (perm == node->attributes.end() || perm->second.ints.size() != cache->order.size()) return;
    std::vector<size_t> order(cache->order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const auto from = static_cast<size_t>(perm->second.ints[i]);
      if (from >= order.size()) return;
      order[from] = cache->order[i];
    }
    const std::vector<size_t> any_order = {0, 1, 2, 3};
    if (!std::is_permutation(order.begin(), order.end(), any_order.begin())) return;
    cache->order = order;
    cache->source = m.origin(node->inputs.front());
  }
}

// Files of float16 cast the cache to and from it.
std::string before_casts(const Matcher& m, const std::string& value) {
  std::string at = m.origin(value);
  while (const Node* cast = m.producer(at, "Cast")) at = m.origin(cast->inputs.front());
  return at;
}

// The cache that an output is; nothing if it is none.
std::optional<Cache> read_cache(const Model& model, const Matcher& m, const ValueInfo& output) {
  Cache cache{.all = before_casts(m, output.name), .present = output.name};
  const Node* concat = m.producer(cache.all, "Concat");
  const ValueInfo* past =
      concat && concat->inputs.size() == 2 ? find_value(model.inputs, before_casts(m, concat->inputs[0])) : nullptr;
  if (past) {
    const auto axis = concat->attributes.find("axis");
    if (axis == concat->attributes.end() ||
        (axis->second.ints != std::vector<int64_t>{2} && axis->second.ints != std::vector<int64_t>{-2}))
      return {};
    cache.past = past->name;
    cache.source = cache.all;
    cache.fresh = concat->inputs[1];
    return read_size(*past, &cache) ? std::optional(cache) : std::nullopt;
  }
  constexpr std::string_view kPresent = "present";
  if (!output.name.starts_with(kPresent) || !read_size(output, &cache)) return {};
  cache.past = "past_key_values" + output.name.substr(kPresent.size());
  cache.fresh = cache.all;
  find_source(m, &cache);
  return cache;
}

// Computes the sizes of caches that the file does not state, as in files without a past, or with heads and samples in
// one dimension.
void complete_sizes(const Model& model, LanguageModel* language) {
  Model with_shapes = model;
  std::vector<std::string> wanted;
  for (const Cache& cache : language->caches) {
    if (known_size(cache)) continue;
    Node& node = with_shapes.nodes.emplace_back();
    node.op = "Shape";
    node.opset = model.opset;
    node.inputs = {cache.fresh};
    node.outputs = {cache.fresh + ".shape"};
    wanted.push_back(node.outputs.front());
  }
  if (wanted.empty()) return;
  Given given = given_for(model, *language, {0, steps_of(*language).front().tokens});
  for (const Cache& cache : language->caches) {
    given.shapes.erase(cache.source);
    given.shapes[cache.past] = {1, 1, 0, 1};  // an empty past is concatenated whatever its other sizes are
  }
  const std::map<std::string, Array> shapes = Evaluator(with_shapes).evaluate(wanted, given);
  for (Cache& cache : language->caches) {
    const auto found = shapes.find(cache.fresh + ".shape");
    if (found == shapes.end() || found->second.elements() != 4) continue;
    const std::vector<int64_t> dims = found->second.ints();
    cache.heads = dims[1];
    cache.channels = dims[3];
  }
}

std::vector<CachedAttention> find_attentions(const Model& model, const std::vector<Cache>& caches) {
  const Readers readers(model);
  std::map<const Node*, size_t> products;  // that read a cache as their second input
  for (size_t i = 0; i < caches.size(); ++i)
    for (const auto& [node, reader] : readers.products(caches[i].source, kMoves))
      if (reader.input == 1) products.emplace(node, i);
  std::vector<CachedAttention> found;
  for (const auto& [scores, key] : products) {
    for (const auto& [last, reader] : readers.products(scores->outputs.front(), kScoring)) {
      const auto value = products.find(last);
      if (reader.input == 0 && value != products.end() && value->second != key)
        found.push_back({.key = key, .value = value->second, .scores = scores, .last = last});
    }
  }
  return found;
}

}  // namespace

void prune(Model* model) {
  Matcher matcher(*model);
  model->nodes = matcher.finish();
}

const ValueInfo* find_value(const std::vector<ValueInfo>& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const ValueInfo& v) { return v.name == name; });
  return found == values.end() ? nullptr : &*found;
}

std::optional<LanguageModel> find_language_model(const Model& model) {
  const Matcher m(model);
  LanguageModel found;
  for (const ValueInfo& output : model.outputs) {
    if (const auto cache = read_cache(model, m, output))
      found.caches.push_back(*cache);
    else if (found.logits.empty())
      found.logits = output.name;
    else
      return {};
  }
  if (found.caches.empty() || found.logits.empty() || !find_value(model.inputs, kIds)) return {};
  for (const ValueInfo& input : model.inputs) {
    const bool past =
        std::any_of(found.caches.begin(), found.caches.end(), [&](const Cache& c) { return c.past == input.name; });
    const bool ordinary = input.name == kIds || input.name == kMask || input.name == kPositionIds;
    if (!past && !ordinary) return {};
    if (type_size(input.type) == 0 || (ordinary && is_float(input.type) && input.name != kMask)) return {};
    if (ordinary && (input.shape.size() != 2 || input.shape[0].size > 1 || input.shape[1].size > 1)) return {};
    if (input.name == kIds) found.one_token = input.shape[1].size == 1;
  }
  const auto without_past =
      std::count_if(found.caches.begin(), found.caches.end(), [](const Cache& c) { return c.fresh == c.all; });
  found.prompt_only = without_past > 0;
  if (found.prompt_only && without_past != static_cast<std::ptrdiff_t>(found.caches.size())) return {};
  found.attentions = find_attentions(model, found.caches);
  if (found.attentions.empty()) return {};
  complete_sizes(model, &found);
  std::vector<Reason> reasons;
  for (size_t i = 0; i < found.caches.size(); ++i) {
    const auto reads = [&](const CachedAttention& a) { return a.key == i || a.value == i; };
    const auto count = std::count_if(found.attentions.begin(), found.attentions.end(), reads);
    if (count != 1)
      reasons.push_back({"", found.caches[i].present, 0,
                         "the cache '" + found.caches[i].present + "' is read by " + std::to_string(count) +
                             " attentions that are recognised, expected one" + kOrdinary});
    else if (!known_size(found.caches[i]))
      reasons.push_back({"", found.caches[i].present, 0,
                         "the heads or channels of the cache '" + found.caches[i].present +
                             "' are not stated in the file" + kOrdinary});
  }
  if (!reasons.empty()) throw Refused(model.path.filename().string(), std::move(reasons));
  return found;
}

namespace {

Attribute integer_attribute(int64_t value) { return {.kind = Attribute::Kind::Int, .ints = {value}}; }

// Replaces each attention's last node, and the outputs of the caches by those of the new nodes.
Model replaced(const Model& model, const LanguageModel& language) {
  Model out = model;
  std::vector<ValueInfo> outputs;
  for (const ValueInfo& output : model.outputs)
    if (output.name == language.logits) outputs.push_back(output);
  for (const CachedAttention& a : language.attentions) {
    Node& node = out.nodes[static_cast<size_t>(a.last - model.nodes.data())];
    const Cache &key = language.caches[a.key], &value = language.caches[a.value];
    node.op = "CachedAttention";
    node.domain = "ferry";
    node.inputs = {a.scores->inputs[0], key.fresh, value.fresh, key.past, value.past};
    node.attributes = {{"scale", number_attribute(a.scale)},
                       {"window", integer_attribute(a.window)},
                       {"rank", integer_attribute(static_cast<int64_t>(a.result.size()) + 2)}};
    for (const Cache* cache : {&key, &value}) {
      node.outputs.push_back(cache->present + ".cached");
      outputs.push_back({.name = node.outputs.back()});
      std::erase_if(out.inputs, [&](const ValueInfo& input) { return input.name == cache->past; });
      out.inputs.push_back(
          {cache->past, Type::Float32, true, {{1, ""}, {cache->heads, ""}, {-1, ""}, {cache->channels, ""}}});
    }
  }
  out.outputs = std::move(outputs);
  prune(&out);
  return out;
}

// The file with one branch in place of the If that asks whether there is a past.
Model with_branch(const Model& model, const Node& choice, size_t branch) {
  Model out = model;
  const Branch& taken = choice.branches[branch];
  out.constants.insert(taken.constants.begin(), taken.constants.end());
  std::erase_if(out.inputs, [](const ValueInfo& input) { return input.name == kUseCache; });
  out.nodes.clear();
  for (const Node& node : model.nodes) {
    if (&node != &choice) {
      out.nodes.push_back(node);
      continue;
    }
    out.nodes.insert(out.nodes.end(), taken.nodes.begin(), taken.nodes.end());
    for (size_t i = 0; i < node.outputs.size() && i < taken.outputs.size(); ++i) {
      Node& copy = out.nodes.emplace_back();
      copy.op = "Identity";
      copy.opset = node.opset;
      copy.name = node.outputs[i];
      copy.inputs = {taken.outputs[i]};
      copy.outputs = {node.outputs[i]};
    }
  }
  return out;
}

// Lets nodes read what copies copy: exporters concatenate a past to nothing.
void skip_copies(Model* model) {
  const Matcher m(*model);
  for (Node& node : model->nodes)
    for (size_t i = 0; i < node.inputs.size() && node.branches.empty(); ++i) node.inputs[i] = m.origin(node.inputs[i]);
}

std::optional<CachedModel> cached_model(const Model& model, int64_t length) {
  std::optional<LanguageModel> language = find_language_model(model);
  if (!language) return {};
  prove_causal(model, &*language, kShortest);
  CachedModel made{.model = replaced(model, *language)};
  // Tables of masks and positions end somewhere; a longer run cannot be computed.
  const auto fits = [&](int64_t positions) {
    return has_masks(model, *language, positions) && has_positions(made.model, *language, positions);
  };
  int64_t good = std::min(length, kShortest), bad = length + 1;
  if (fits(length)) good = length;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  if (good < length) made.rows = good;
  prove_causal(model, &*language, good);
  made.model = replaced(model, *language);
  replace_positions(&made.model, *language, good);
  prune(&made.model);
  return made;
}

}  // namespace

std::optional<CachedModel> with_cached_attention(const Model& file, int64_t length) {
  Model model = file;
  expand_attention(&model);
  skip_copies(&model);
  separate_heads(&model);
  const auto choice = std::find_if(model.nodes.begin(), model.nodes.end(), [](const Node& node) {
    return node.op == "If" && node.domain.empty() && !node.inputs.empty() && node.inputs[0] == kUseCache &&
           node.branches.size() == 2;
  });
  if (choice == model.nodes.end()) return cached_model(model, length);
  try {
    return cached_model(with_branch(model, *choice, 0), length);
  } catch (const Refused&) {  // some exporters write the branch with a past for one token only
    return cached_model(with_branch(model, *choice, 1), length);
  }
}

}  // namespace ferry::onnx
