#include "converter/onnx/flat_caches.h"

#include <algorithm>
#include <map>
#include <optional>

#include "converter/onnx/cached_model.h"
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// The node that concatenates past keys or values to new ones.
struct FlatCache {
  const Node* concat;
  const ValueInfo* past;
  bool turned;  // [heads,channels,T]
};

std::optional<FlatCache> read_flat(const Model& model, const Matcher& m, const ValueInfo& output) {
  const Node* found = m.producer(output.name, "Concat");
  if (!found || found->inputs.size() != 2) return {};
  const ValueInfo* past = find_value(model.inputs, m.origin(found->inputs[0]));
  const auto axis = found->attributes.find("axis");
  if (!past || past->shape.size() != 3 || axis == found->attributes.end() || axis->second.ints.size() != 1) return {};
  const int64_t stated = axis->second.ints[0], along = stated < 0 ? stated + 3 : stated;
  if (along < 1 || along > 2 || past->shape[static_cast<size_t>(along)].size >= 0) return {};
  return FlatCache{&model.nodes[static_cast<size_t>(found - m.nodes().data())], past, along == 2};
}

class Separator {
 public:
  explicit Separator(Model* model) : model_(*model) {}

  void separate(const std::vector<FlatCache>& caches) {
    const std::vector<Node> nodes = std::move(model_.nodes);
    model_.nodes.clear();
    for (const FlatCache& cache : caches) flatten(cache.past->name, cache.turned);
    for (const Node& node : nodes) {
      const auto is_its = [&](const FlatCache& cache) { return cache.concat->outputs == node.outputs; };
      const auto cache = std::find_if(caches.begin(), caches.end(), is_its);
      if (cache == caches.end())
        copy(node);
      else
        concatenate(*cache, node);
    }
  }

 private:
  Node& add(const char* op, std::vector<std::string> inputs, const std::string& output, const char* attribute,
            Attribute value) {
    Node& node = model_.nodes.emplace_back();
    node.op = op;
    node.opset = 11;  // the last one whose axes are attributes
    node.name = output;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes[attribute] = std::move(value);
    return node;
  }

  static Attribute integers(std::vector<int64_t> values) {
    return {.kind = Attribute::Kind::Ints, .ints = std::move(values)};
  }

  // Adds the value without samples, which all readers but of its shape get.
  void flatten(const std::string& name, bool turned) {
    std::string flat = name + ".flat";
    if (turned) {
      add("Squeeze", {name}, name + ".rows", "axes", integers({0}));
      add("Transpose", {name + ".rows"}, flat, "perm", integers({0, 2, 1}));
    } else {
      add("Squeeze", {name}, flat, "axes", integers({0}));
    }
    flat_[name] = {flat, turned};
  }

  void copy(const Node& node) {
    const auto first = node.inputs.empty() ? flat_.end() : flat_.find(node.inputs[0]);
    if (first != flat_.end() && is(node, "Shape") && node.attributes.empty()) {
      const std::string sizes = node.outputs[0] + ".sizes", order = node.outputs[0] + ".order";
      model_.nodes.push_back(node);
      model_.nodes.back().outputs = {sizes};
      model_.constants[order] =
          make_vector(first->second.turned ? std::vector<int64_t>{1, 3, 2} : std::vector<int64_t>{1, 2, 3});
      add("Gather", {sizes, order}, node.outputs[0], "axis", {.kind = Attribute::Kind::Int, .ints = {0}});
      return;
    }
    model_.nodes.push_back(node);
    for (std::string& input : model_.nodes.back().inputs)
      if (const auto found = flat_.find(input); found != flat_.end()) input = found->second.name;
  }

  void concatenate(const FlatCache& cache, const Node& node) {
    const std::string& all = node.outputs[0];
    std::string fresh = node.inputs[1];
    if (cache.turned) add("Transpose", {fresh}, all + ".turned", "perm", integers({0, 2, 1}));
    if (cache.turned) fresh = all + ".turned";
    add("Unsqueeze", {fresh}, all + ".fresh", "axes", integers({0}));
    add("Concat", {cache.past->name, all + ".fresh"}, all, "axis", {.kind = Attribute::Kind::Int, .ints = {2}});
    flatten(all, cache.turned);
  }

  struct Flat {
    std::string name;
    bool turned;
  };

  Model& model_;
  std::map<std::string, Flat> flat_;  // by the value of four dimensions
};

}  // namespace

void separate_heads(Model* model) {
  const Matcher m(*model);
  std::vector<FlatCache> caches;
  for (const ValueInfo& output : model->outputs) {
    const auto found = read_flat(*model, m, output);
    if (!found) continue;
    const auto is_known = [&](const FlatCache& c) { return c.concat == found->concat || c.past == found->past; };
    if (std::any_of(caches.begin(), caches.end(), is_known)) return;
    caches.push_back(*found);
  }
  if (caches.empty()) return;
  Model separate = *model;
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::vector<Dimension>& flat = caches[i].past->shape;
    const Dimension channels = flat[caches[i].turned ? 1 : 2];
    separate.inputs[static_cast<size_t>(caches[i].past - model->inputs.data())].shape = {
        {1, ""}, flat[0], {}, channels};
  }
  for (ValueInfo& output : separate.outputs)
    for (const FlatCache& cache : caches)
      if (m.origin(output.name) == cache.concat->outputs[0])
        output = {.name = cache.concat->outputs[0], .type = output.type};
  Separator(&separate).separate(caches);
  *model = std::move(separate);
}

}  // namespace ferry::onnx
