#include "converter/onnx/dynamic.h"

#include <algorithm>
#include <charconv>

#include "converter/onnx/generalise.h"

namespace ferry::onnx {
namespace {

struct InputDimension {
  std::string input;
  size_t dim;
};

const ValueInfo* find_input(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.inputs.begin(), model.inputs.end(), [&](const auto& input) { return input.name == name; });
  return found == model.inputs.end() ? nullptr : &*found;
}

// Every dimension that the file calls by this name, or the one of "input:0".
std::vector<InputDimension> dimensions_of(const Model& model, const std::string& name) {
  std::vector<InputDimension> dimensions;
  std::string open;
  for (const ValueInfo& input : model.inputs) {
    for (size_t i = 0; i < input.shape.size(); ++i) {
      if (input.shape[i].size >= 0) continue;
      open += (open.empty() ? "" : ", ") +
              (input.shape[i].symbol.empty() ? input.name + ":" + std::to_string(i) : input.shape[i].symbol);
      if (input.shape[i].symbol == name) dimensions.push_back({input.name, i});
    }
  }
  if (!dimensions.empty()) return dimensions;
  const size_t colon = name.rfind(':');
  size_t dim = 0;
  if (colon != std::string::npos &&
      std::from_chars(name.data() + colon + 1, name.data() + name.size(), dim).ptr == name.data() + name.size()) {
    const ValueInfo* input = find_input(model, name.substr(0, colon));
    if (input && dim < input->shape.size() && input->shape[dim].size < 0) return {{input->name, dim}};
    if (input && dim < input->shape.size())
      fail("--dynamic %s: the file says that it is %lld", name.c_str(), static_cast<long long>(input->shape[dim].size));
  }
  fail("--dynamic %s: no dimension is called so; open in the file: %s", name.c_str(),
       open.empty() ? "none" : open.c_str());
}

// The sizes of every open input in the blob as it is written: unless --shape binds them, dimensions that stay open are
// 1, and so is a batch.
std::map<std::string, Dims> default_shapes(const Model& model, const std::vector<std::vector<InputDimension>>& open,
                                           const std::map<std::string, Dims>& shapes) {
  std::map<std::string, Dims> out = shapes;
  for (const auto& dimensions : open) {
    for (const InputDimension& dimension : dimensions) {
      if (out.contains(dimension.input)) continue;
      Dims& dims = out[dimension.input];
      const std::vector<Dimension>& shape = find_input(model, dimension.input)->shape;
      for (size_t i = 0; i < shape.size(); ++i) {
        const auto is_named = [&](const InputDimension& p) { return p.input == dimension.input && p.dim == i; };
        const bool stays = std::any_of(open.begin(), open.end(), [&](const auto& of_name) {
          return std::any_of(of_name.begin(), of_name.end(), is_named);
        });
        if (shape[i].size < 0 && i > 0 && !stays)
          fail("input '%s' dimension %zu%s%s is open, too: bind it with --shape, or name it with --dynamic",
               dimension.input.c_str(), i, shape[i].symbol.empty() ? "" : ", ", shape[i].symbol.c_str());
        dims.push_back(shape[i].size < 0 ? 1 : shape[i].size);
      }
    }
  }
  return out;
}

// Inputs of which an open dimension, but for a batch, was taken for 1 since nothing says more: a network that halves
// and doubles its maps, for example, takes no such size. A reason for each, which says what would be right.
std::vector<Reason> unsaid_sizes(const Model& model, const std::vector<std::vector<InputDimension>>& open,
                                 const std::map<std::string, Dims>& shapes) {
  std::map<std::string, Dims> likely;
  for (const auto& dimensions : open)
    for (const InputDimension& dimension : dimensions) {
      if (dimension.dim == 0 || shapes.contains(dimension.input)) continue;
      if (likely.contains(dimension.input)) continue;
      for (const Dimension& d : find_input(model, dimension.input)->shape)
        likely[dimension.input].push_back(d.size >= 0 ? d.size : likely[dimension.input].empty() ? 1 : 256);
    }
  std::vector<Reason> reasons;
  for (const auto& [input, dims] : likely) {
    std::string example = input + "=";
    for (size_t i = 0; i < dims.size(); ++i) example += (i == 0 ? "" : "x") + std::to_string(dims[i]);
    reasons.push_back({"", input, 0,
                       "input '" + input +
                           "' was tried with open dimensions of 1 and a few: give sizes that the network "
                           "takes with --shape, for example --shape " +
                           example});
  }
  return reasons;
}

// A file whose open dimensions are opened in the blob.
class Opening {
 public:
  Opening(const Model& model, std::vector<std::vector<InputDimension>> dimensions, std::map<std::string, Dims> written,
          const ImportAt& import_at)
      : model_(model), dimensions_(std::move(dimensions)), written_(std::move(written)), import_at_(import_at) {}

  // Imports the file as it is written and at more sizes.
  void begin();
  // One graph for all sizes, or null, with reasons().
  std::unique_ptr<Graph> open();
  // The same after open() found none, where attention in three dimensions may have an open number of samples.
  std::unique_ptr<Graph> open_batches();
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  // `grids`: the graph may hold constants that grow in several dimensions.
  std::unique_ptr<Graph> generalise(bool grids);
  // Imports the file again, for which a run computes constants that follow from sizes: those that are no tables, or
  // those and tables. False if it computes none.
  bool compute_in_run(bool tables);
  // Imports the file again with constants.
  void compute_nothing();
  std::map<std::string, Dims> sizes_at(int64_t times, int64_t more) const;
  void import_all();
  bool import_more();
  std::vector<const Graph*> others() const;
  AtSize at(const std::map<std::string, Dims>& sizes) const {
    return import_at_(sizes, {open_ ? &*open_ : nullptr, leading_is_batch_});
  }
  // The same, whose values are recorded the first time.
  AtSize recorded_at(const std::map<std::string, Dims>& sizes);
  void upscale(const Generaliser& generaliser, const std::vector<InputDimension>& dimensions,
               std::map<std::string, Dims>* largest, std::vector<Shape>* largest_tables) const;
  void lengthen_tables(Generaliser* generaliser) const;

  const Model& model_;
  const std::vector<std::vector<InputDimension>> dimensions_;
  const std::map<std::string, Dims> written_;
  const ImportAt& import_at_;
  bool smaller_ = false;  // sizes are parts of what is written
  bool leading_is_batch_ = false;
  std::vector<Shape> inputs_, outputs_;  // of the blob as it is written
  AtSize one_, other_;
  std::map<int64_t, AtSize> more_;  // by the number that is added to the sizes of one_
  OpenValues values_;               // of imports that compute nothing in a run
  std::optional<OpenValues> open_;  // what a run computes
  std::vector<Reason> reasons_;
};

// Open dimension i is `times` + i times as large as it is written, and `more` on top; or, where the network takes no
// such sizes, parts of what is written, the smaller for two times.
std::map<std::string, Dims> Opening::sizes_at(int64_t times, int64_t more) const {
  std::map<std::string, Dims> sizes = written_;
  for (size_t i = 0; i < dimensions_.size(); ++i)
    for (const InputDimension& dimension : dimensions_[i]) {
      int64_t& size = sizes.at(dimension.input).at(dimension.dim);
      const auto place_of_name = static_cast<int64_t>(i);
      const int64_t part = size / (5 - times + place_of_name);
      size = (smaller_ && part > 1 ? part : size * (times + place_of_name)) + more;
    }
  return sizes;
}

// Adds an import at sizes that are no multiples, if the network takes some: padding may go by what is left over when a
// size is divided, by the number of patches or windows that fit.
bool Opening::import_more() {
  constexpr int64_t kMore[] = {1, 38, 55, 6, 23, 8, 28, 32, 2, 3, 5, 7, 11, 13, 18, 22, 25, 31, 64, 96, 112, 160};
  for (const int64_t more : kMore) {
    if (more_.contains(more)) continue;
    try {
      more_[more] = recorded_at(sizes_at(2, more));
    } catch (const Error&) {
      more_[more] = {};  // the network takes no such size
      continue;
    }
    return true;
  }
  return false;
}

std::vector<const Graph*> Opening::others() const {
  std::vector<const Graph*> graphs = {other_.graph.get()};
  for (const auto& [added, at_size] : more_)
    if (at_size.graph) graphs.push_back(at_size.graph.get());
  return graphs;
}

AtSize Opening::recorded_at(const std::map<std::string, Dims>& sizes) {
  AtSize made = at(sizes);
  if (!open_) values_.add(sizes, made.values);
  made.values.clear();
  return made;
}

void Opening::import_all() {
  if (!open_) values_ = {};
  one_ = recorded_at(sizes_at(2, 0));
  other_ = recorded_at(sizes_at(3, 0));
  more_.clear();
  constexpr int kEnough = 5;
  for (int i = 0; i < kEnough && import_more(); ++i) {
  }
  while (Generaliser(*one_.graph, others(), model_.opset, one_.tables, true).has_ambiguous_padding() && import_more()) {
  }
}

void Opening::begin() {
  const AtSize as_written = at(written_);
  const Graph& graph = *as_written.graph;
  for (const auto& port : graph.table.inputs) inputs_.push_back(graph.shape(port->tensor));
  for (const auto& port : graph.table.outputs) outputs_.push_back(graph.shape(port->tensor));
  try {
    import_all();
  } catch (const Error&) {
    smaller_ = true;
    import_all();
  }
}

bool Opening::compute_in_run(bool tables) {
  if (values_.empty()) return false;
  open_ = values_;
  open_->opens_tables = tables;
  try {
    import_all();
  } catch (const Error&) {
    return false;
  }
  return !one_.tables.empty();
}

void Opening::compute_nothing() {
  open_.reset();
  import_all();
}

// Where tables grow with the dimension at these places, it gets in `largest` the largest size that the network takes;
// but where there is none, as positions may be computed, kLongest or twice its size. `largest_tables` get as large in
// each dimension as they are then.
void Opening::upscale(const Generaliser& generaliser, const std::vector<InputDimension>& dimensions,
                      std::map<std::string, Dims>* largest, std::vector<Shape>* largest_tables) const {
  constexpr int64_t kLongest = 2048;
  const std::map<std::string, Dims> sizes = sizes_at(2, 0);
  const auto set = [&](std::map<std::string, Dims>* of, int64_t size) {
    for (const InputDimension& dimension : dimensions) of->at(dimension.input).at(dimension.dim) = size;
  };
  std::vector<Shape> tables;
  const auto imports = [&](int64_t size) {
    std::map<std::string, Dims> tried = sizes;
    set(&tried, size);
    try {
      tables = generaliser.table_shapes(*at(tried).graph);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  int64_t good = sizes.at(dimensions.front().input).at(dimensions.front().dim), bad = std::max(kLongest, 2 * good);
  if (!imports(good)) return;
  const std::vector<Shape> before = tables;
  if (imports(2 * good) && tables == before) return;
  if (imports(bad)) good = bad;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (imports(middle) ? good : bad) = middle;
  }
  set(largest, good);
  for (size_t i = 0; i < tables.size(); ++i)
    for (int d = 0; d < tables[i].rank; ++d) (*largest_tables)[i][d] = std::max((*largest_tables)[i][d], tables[i][d]);
}

void Opening::lengthen_tables(Generaliser* generaliser) const {
  std::map<std::string, Dims> largest = sizes_at(2, 0);
  std::vector<Shape> tables = generaliser->table_shapes(*one_.graph);
  for (const std::vector<InputDimension>& of_name : dimensions_) upscale(*generaliser, of_name, &largest, &tables);
  constexpr int64_t kMaxFoldedElements = int64_t{1} << 26;
  for (const Shape& table : tables)
    if (table.elements() > kMaxFoldedElements)
      fail("%s: a constant that grows with the open sizes would be %s, more than a blob should hold",
           model_.path.filename().string().c_str(), to_string(table).c_str());
  generaliser->lengthen_tables(*at(largest).graph);
}

std::unique_ptr<Graph> Opening::generalise(bool grids) {
  const std::vector<const Graph*> graphs = others();
  Generaliser generaliser(*one_.graph, graphs, model_.opset, one_.tables, grids);
  generaliser.include();
  for (const Graph* graph : graphs)
    if (generaliser.reasons().empty()) generaliser.check(*graph);
  if (generaliser.reasons().empty() && generaliser.has_tables()) lengthen_tables(&generaliser);
  reasons_ = generaliser.reasons();
  if (!reasons_.empty()) return nullptr;
  generaliser.lengthen_progressions();
  generaliser.finish(inputs_);
  const auto& ports = one_.graph->table.outputs;
  if (ports.size() != outputs_.size())
    reasons_.push_back({"", "", model_.opset, "the open sizes decide which outputs there are"});
  for (size_t i = 0; i < ports.size() && reasons_.empty(); ++i) {
    const Shape is = one_.graph->shape(ports[i]->tensor), should = outputs_[i];
    if (is != should)
      reasons_.push_back({"", "", model_.opset,
                          "output '" + ports[i]->name + "' would be " + to_string(is) +
                              " at the sizes of --shape, not " + to_string(should)});
  }
  return reasons_.empty() ? std::move(one_.graph) : nullptr;
}

std::unique_ptr<Graph> Opening::open() {
  // Constants are best, since passes fold and fuse them, unless they take the memory of a square.
  std::unique_ptr<Graph> graph = generalise(false);
  for (const bool grids : {false, true}) {
    if (!graph && grids) {
      compute_nothing();
      graph = generalise(true);
    }
    for (const bool tables : {false, true})
      if (!graph && compute_in_run(tables)) graph = generalise(grids);
  }
  return graph;
}

std::unique_ptr<Graph> Opening::open_batches() {
  const auto& operators = other_.graph->table.operators;
  if (std::none_of(operators.begin(), operators.end(), [](const auto& op) { return op->params.AsAttention(); }))
    return nullptr;
  const std::vector<Reason> reasons = reasons_;
  leading_is_batch_ = true;
  compute_nothing();
  std::unique_ptr<Graph> graph = open();
  reasons_ = reasons;
  return graph;
}

}  // namespace

AtSize at_size(Imported imported) {
  AtSize at{std::move(imported.graph), {}, std::move(imported.values)};
  std::map<TensorId, std::vector<double>> values;
  std::erase_if(at.graph->table.inputs, [&](const auto& port) {
    const auto table = imported.tables.find(port->name);
    if (table == imported.tables.end()) return false;
    values[port->tensor] = table->second.floats();
    return true;
  });
  for (const auto& op : at.graph->table.operators)
    for (TensorId& input : op->inputs)
      if (const auto table = values.find(input); table != values.end()) {
        // For this operator alone, which decides how the blob holds it.
        input = add_alike(*at.graph, input, at.graph->shape(input), table->second);
        at.tables.insert(input);
      }
  return at;
}

std::unique_ptr<Graph> import_dynamic(const Model& model, const std::vector<std::string>& open,
                                      const std::map<std::string, Dims>& shapes, const ImportAt& import_at) {
  std::vector<std::vector<InputDimension>> dimensions;
  for (const std::string& name : open) dimensions.push_back(dimensions_of(model, name));
  Opening opening(model, dimensions, default_shapes(model, dimensions, shapes), import_at);
  try {
    opening.begin();
  } catch (const Refused& refused) {
    std::vector<Reason> reasons = unsaid_sizes(model, dimensions, shapes);
    reasons.insert(reasons.end(), refused.reasons().begin(), refused.reasons().end());
    throw Refused(refused.file(), reasons);
  }
  std::unique_ptr<Graph> graph = opening.open();
  if (!graph) graph = opening.open_batches();
  if (!graph) throw Refused(model.path.filename().string(), opening.reasons());
  return graph;
}

}  // namespace ferry::onnx
