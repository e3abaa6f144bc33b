// What follows from the mask and the past's length besides the attention: positions of the tokens, and tables cut to
// the number of positions so far.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "converter/onnx/cached_attention.h"
#include "converter/onnx/cached_model.h"

namespace ferry::onnx {
namespace {

using Names = std::unordered_set<std::string>;

bool is_cached_attention(const Node& node) { return node.domain == "ferry" && node.op == "CachedAttention"; }

bool reads_any(const Node& node, const Names& names) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& input) { return names.contains(input); });
}

// Values that depend on the elements of the tokens, not on their number alone.
Names data_of(const Model& model) {
  Names data = {kIds};
  for (const Node& node : model.nodes)
    if (is_cached_attention(node) || (node.op != "Shape" && node.op != "Size" && reads_any(node, data)))
      data.insert(node.outputs.begin(), node.outputs.end());
  return data;
}

// The mask and the past; the number of tokens in a file without a past, where it is the length so far.
Names sources_of(const Model& model, const LanguageModel& language, const Names& data) {
  Names sources = {kMask};
  for (const Cache& cache : language.caches) sources.insert(cache.past);
  if (language.prompt_only)
    for (const Node& node : model.nodes)
      if ((node.op == "Shape" || node.op == "Size") && reads_any(node, data))
        sources.insert(node.outputs.begin(), node.outputs.end());
  return sources;
}

// Whether the outputs of a node may be sequences of tensors.
bool has_sequences(const Node& node) { return node.op == "Loop" || node.op.find("Sequence") != std::string::npos; }

// Outputs of nodes that are computed from the sources, positions included, and not from the tokens.
std::vector<std::string> followers(const Model& model, const Names& sources, const Names& data) {
  Names from = sources;
  from.insert(kPositionIds);
  std::vector<std::string> found;
  for (const Node& node : model.nodes) {
    if (is_cached_attention(node) || has_sequences(node) || !reads_any(node, from)) continue;
    from.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& output : node.outputs)
      if (!output.empty() && !data.contains(output)) found.push_back(output);
  }
  return found;
}

std::map<std::string, Array> evaluate(const Model& model, const LanguageModel& language,
                                      const std::vector<std::string>& wanted, const Step& step) {
  Given given = given_for(model, language, step);
  for (const CachedAttention& a : language.attentions) {
    Dims result = a.result;
    result.insert(result.end(), {step.tokens, language.caches[a.value].channels});
    given.shapes[a.last->outputs[0]] = result;
  }
  return Evaluator(model).evaluate(wanted, given);
}

// A run after which there are `length` tokens.
Step longest(const LanguageModel& language, int64_t length) {
  return language.prompt_only ? Step{0, length} : Step{length - 1, 1};
}

// A value at each of the steps.
using Series = std::vector<const Array*>;

struct Positions {
  size_t rank, axis;
  int64_t offset;
};

// Whether the value has the positions of the tokens, plus a number, along one dimension.
std::optional<Positions> as_positions(const Series& series, const std::vector<Step>& steps) {
  std::optional<Positions> found;  // the first step has several tokens, if any has
  for (size_t s = 0; s < steps.size(); ++s) {
    const Array& array = *series[s];
    if (array.elements() != steps[s].tokens || array.dims.empty()) return {};
    const auto longest = std::max_element(array.dims.begin(), array.dims.end());
    const std::vector<double> values = array.floats();
    if (!(std::fabs(values.front()) < 0x1p31)) return {};
    const auto axis = steps[s].tokens > 1 || !found ? static_cast<size_t>(longest - array.dims.begin()) : found->axis;
    const Positions here{array.dims.size(), axis, to_integer(values.front()) - steps[s].past};
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != static_cast<double>(steps[s].past + static_cast<int64_t>(i) + here.offset)) return {};
    if (found && (found->rank != here.rank || found->offset != here.offset || found->axis != here.axis)) return {};
    found = here;
  }
  return found;
}

bool same(const Array& a, const Array& b) { return a.dims == b.dims && a.floats() == b.floats(); }

bool is_uniform(const Array& array) {
  const std::vector<double> values = array.floats();
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
}

// Whether the value does not change with the length so far: in a file without a past, with the number of tokens.
bool is_settled(const Series& series, const std::vector<Step>& steps, bool prompt_only) {
  for (size_t a = 0; a < steps.size(); ++a)
    for (size_t b = a + 1; b < steps.size(); ++b)
      if ((prompt_only || steps[a].tokens == steps[b].tokens) && !same(*series[a], *series[b])) return false;
  return true;
}

// Whether the value is as long as all tokens so far along `axis`, and a longer one begins with it.
bool is_prefix(const Series& series, const std::vector<Step>& steps, size_t axis) {
  for (size_t s = 0; s < steps.size(); ++s) {
    const Array &array = *series[s], &first = *series[0];
    if (array.dims.size() != first.dims.size() || axis >= array.dims.size()) return false;
    if (array.dims[axis] != steps[s].total()) return false;
    Dims dims = first.dims;
    dims[axis] = array.dims[axis];
    if (array.dims != dims) return false;
    const int64_t common = std::min(first.dims[axis], array.dims[axis]);
    int64_t inner = 1;
    for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
    const std::vector<double> a = first.floats(), b = array.floats();
    const auto stride = [&](const Array& of) { return static_cast<size_t>(of.dims[axis] * inner); };
    const auto count = static_cast<std::ptrdiff_t>(common * inner);
    for (size_t i = 0, j = 0; i < a.size(); i += stride(first), j += stride(array)) {
      const auto begin = a.begin() + static_cast<std::ptrdiff_t>(i);
      if (!std::equal(begin, begin + count, b.begin() + static_cast<std::ptrdiff_t>(j))) return false;
    }
  }
  return true;
}

// The axis along which a node reads rows of its first input by indices.
std::optional<size_t> gathered_axis(const Node& node, size_t rank) {
  if (!node.domain.empty() || (node.op != "Gather" && node.op != "GatherElements") || node.inputs.size() != 2)
    return {};
  const auto axis = node.attributes.find("axis");
  const int64_t stated = axis == node.attributes.end() || axis->second.ints.empty() ? 0 : axis->second.ints.front();
  const int64_t from_front = stated < 0 ? stated + static_cast<int64_t>(rank) : stated;
  return from_front >= 0 ? std::optional(static_cast<size_t>(from_front)) : std::nullopt;
}

class Replacer {
 public:
  Replacer(Model* model, const LanguageModel& language, int64_t length)
      : model_(*model), language_(language), length_(length), data_(data_of(*model)), steps_(steps_of(language)) {}

  void replace() {
    following_ = sources_of(model_, language_, data_);
    const std::vector<std::string> wanted = followers(model_, following_, data_);
    if (!language_.prompt_only) steps_.push_back({0, 1});
    steps_.push_back(longest(language_, length_));
    for (const Step& step : steps_) values_.push_back(evaluate(model_, language_, wanted, step));
    for (size_t i = 0; i < model_.nodes.size(); ++i)
      if (!is_cached_attention(model_.nodes[i]) && reads_any(model_.nodes[i], following_)) add_node(i);
    add_tables();
    if (!reasons_.empty()) throw Refused(model_.path.filename().string(), std::move(reasons_));
    model_.nodes.insert(model_.nodes.begin(), std::make_move_iterator(positions_.begin()),
                        std::make_move_iterator(positions_.end()));
  }

 private:
  std::optional<Series> series_of(const std::string& value) const {
    Series series;
    for (const auto& at_step : values_) {
      const auto found = at_step.find(value);
      if (found == at_step.end()) return {};
      series.push_back(&found->second);
    }
    return series;
  }

  void add_node(size_t index) {
    if (reads_table(index)) return;
    for (std::string& output : model_.nodes[index].outputs) {
      const std::optional<Series> series = output.empty() ? std::nullopt : series_of(output);
      if (!series) return add_reader(index);
      if (const auto positions = as_positions(*series, steps_))
        output = add_positions(output, *series->front(), *positions);
      else if (!is_settled(*series, steps_, language_.prompt_only))
        following_.insert(output);
    }
  }

  // Adds a node for the positions. Returns a new name for what computed them before.
  std::string add_positions(const std::string& output, const Array& array, const Positions& positions) {
    const auto integer = [](int64_t value) { return Attribute{.kind = Attribute::Kind::Int, .ints = {value}}; };
    Node& node = positions_.emplace_back();
    node.op = "Positions";
    node.domain = "ferry";
    node.name = output;
    node.outputs = {output};
    node.attributes = {{"rank", integer(static_cast<int64_t>(positions.rank))},
                       {"axis", integer(static_cast<int64_t>(positions.axis))},
                       {"offset", integer(positions.offset)},
                       {"type", integer(static_cast<int64_t>(array.type))}};
    return output + ".computed";
  }

  // Whether the node reads a table that is cut to the length so far, by indices that do not follow from it. Then it
  // reads the whole table.
  bool reads_table(size_t index) {
    Node& node = model_.nodes[index];
    const std::optional<Series> series = series_of(node.inputs[0]);
    const auto axis = series ? gathered_axis(node, series->front()->dims.size()) : std::nullopt;
    if (!axis || !following_.contains(node.inputs[0]) || following_.contains(node.inputs[1]) ||
        !is_prefix(*series, steps_, *axis))
      return false;
    tables_.insert(node.inputs[0]);
    node.inputs[0] += ".table";
    return true;
  }

  // A node that computes with the tokens, and reads what follows from the length so far.
  void add_reader(size_t index) {
    const Node& node = model_.nodes[index];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!following_.contains(node.inputs[i]) || (language_.prompt_only && is_shape(node, i))) continue;
      reasons_.push_back({node.op, node.name, node.opset,
                          "it reads '" + node.inputs[i] +
                              "', which follows from the mask or the number of earlier tokens, and is neither the mask "
                              "of an attention nor the tokens' positions" +
                              kOrdinary});
      return;
    }
  }

  // Whether an input is a shape with the number of this run's tokens, or the same number everywhere.
  bool is_shape(const Node& node, size_t input) const {
    constexpr std::string_view kShaped[] = {"Expand", "Reshape", "Slice", "Tile"};
    if (input > 0 && std::find(std::begin(kShaped), std::end(kShaped), node.op) != std::end(kShaped)) return true;
    const std::optional<Series> series = series_of(node.inputs[input]);
    return series && std::all_of(series->begin(), series->end(),
                                 [](const Array* array) { return array->dims.size() > 0 && is_uniform(*array); });
  }

  // Tables with all rows, in place of those that are cut.
  void add_tables() {
    for (const std::string& name : tables_) model_.constants[name + ".table"] = values_.back().at(name);
  }

  Model& model_;
  const LanguageModel& language_;
  const int64_t length_;
  const Names data_;
  std::vector<Step> steps_;
  std::vector<std::map<std::string, Array>> values_;  // at each step
  Names following_;                                   // values that change with the length so far
  std::set<std::string> tables_;
  std::vector<Node> positions_;
  std::vector<Reason> reasons_;
};

}  // namespace

Dims source_dims(const Cache& cache, int64_t total) {
  const Dims all = {1, cache.heads, total, cache.channels};
  Dims dims;
  for (const size_t i : cache.order) dims.push_back(all[i]);
  return dims;
}

Given given_for(const Model& model, const LanguageModel& language, const Step& step) {
  Given given;
  given.shapes[kIds] = {1, step.tokens};
  if (const ValueInfo* mask = find_value(model.inputs, kMask))
    given.known[kMask] =
        make_array(mask->type, {1, step.total()}, std::vector<double>(static_cast<size_t>(step.total()), 1.0));
  if (find_value(model.inputs, kPositionIds)) {
    std::vector<int64_t> positions;
    for (int64_t i = step.past; i < step.total(); ++i) positions.push_back(i);
    given.known[kPositionIds] = make_array(Type::Int64, {1, step.tokens}, positions);
  }
  for (const Cache& cache : language.caches) {
    given.shapes[cache.past] = {1, cache.heads, step.past, cache.channels};
    given.shapes[cache.source] = source_dims(cache, step.total());
  }
  return given;
}

std::vector<Step> steps_of(const LanguageModel& language) {
  if (language.prompt_only) return {{0, 5}, {0, 2}, {0, 7}};
  if (language.one_token) return {{5, 1}, {7, 1}, {2, 1}};
  return {{0, 5}, {7, 5}, {3, 2}, {6, 2}};
}

Step last_step(const LanguageModel& language, int64_t length) {
  constexpr int64_t kMaxPrompt = 128;  // its scores are computed for each query
  return language.prompt_only ? Step{0, std::min(length, kMaxPrompt)} : Step{length - 1, 1};
}

bool has_positions(const Model& model, const LanguageModel& language, int64_t length) {
  const Names data = data_of(model);
  try {
    evaluate(model, language, followers(model, sources_of(model, language, data), data), longest(language, length));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void replace_positions(Model* model, const LanguageModel& language, int64_t length) {
  Replacer(model, language, length).replace();
}

}  // namespace ferry::onnx
