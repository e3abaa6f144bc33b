#include "converter/onnx/importer.h"

#include <algorithm>

#include "converter/onnx/import.h"
#include "converter/onnx/integers.h"
#include "converter/onnx/patterns/patterns.h"
#include "converter/onnx/versions.h"
#include "converter/passes/passes.h"

namespace ferry::onnx {
namespace {

// The --shape option for an input, with letters for open dimensions.
std::string shape_wanted(const ValueInfo& input) {
  std::string text = input.name + "=";
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (i > 0) text += "x";
    if (input.shape[i].size >= 0)
      text += std::to_string(input.shape[i].size);
    else
      text += i == 0 ? "1" : input.shape.size() == 4 && i == 2 ? "H" : input.shape.size() == 4 && i == 3 ? "W" : "N";
  }
  return text;
}

// The input shape of the graph, from the file and the options.
Dims bound_shape(const ValueInfo& input, const ImportOptions& options) {
  const auto said = options.shapes.find(input.name);
  if (said == options.shapes.end() && !input.has_shape)
    fail("its shape is unknown: use --shape %s=...", input.name.c_str());
  if (said != options.shapes.end() && input.has_shape && said->second.size() != input.shape.size())
    fail("--shape gives it %zu dimensions, the file %zu", said->second.size(), input.shape.size());
  Dims dims;
  const size_t rank = said != options.shapes.end() ? said->second.size() : input.shape.size();
  for (size_t i = 0; i < rank; ++i) {
    const Dimension in_file = input.has_shape ? input.shape[i] : Dimension{};
    if (said != options.shapes.end()) {
      if (in_file.size >= 0 && said->second[i] != in_file.size)
        fail("--shape gives dimension %zu as %lld, the file as %lld", i, static_cast<long long>(said->second[i]),
             static_cast<long long>(in_file.size));
      dims.push_back(said->second[i]);
    } else if (in_file.size >= 0) {
      dims.push_back(in_file.size);
    } else if (i == 0) {
      dims.push_back(1);  // batch size 1
    } else {
      const std::string name = in_file.symbol.empty() ? input.name + ":" + std::to_string(i) : in_file.symbol;
      fail("dimension %zu%s%s is open: bind it with --shape %s, or leave it open with --dynamic %s", i,
           in_file.symbol.empty() ? "" : ", ", in_file.symbol.c_str(), shape_wanted(input).c_str(), name.c_str());
    }
    if (dims.back() < 0) fail("dimension %zu is %lld, expected 0 or more", i, static_cast<long long>(dims.back()));
  }
  if (rank > FERRY_MAX_RANK) fail("has %zu dimensions, at most %d can be run", rank, FERRY_MAX_RANK);
  count_elements(dims);
  return dims;
}

}  // namespace

// The tokens of a decoder, its states, and the positions of the tokens.
void Importer::add_decoder() {
  DecoderStates& made = *options_.decoder;
  for (const ValueInfo& input : model_.inputs)
    if (input.name == made.decoder.ids) add_input(input);
  const Tensor* ids = std::get_if<Tensor>(&values_.at(made.decoder.ids));
  if (!ids) throw Refused(model_.path.filename().string(), std::move(reasons_));
  for (const auto& [past, cache] : made.decoder.caches)
    made.states[past] = graph_->add_state(past, {1, made.max_length, cache.width}, 1);
  made.positions = reshape_to(ferry::positions(*ids, made.states.begin()->second), dims_of(*ids));
}

// The inputs of a decoder besides its tokens, which come first: an empty cache, a mask of this run's tokens, and
// positions that count on from earlier runs.
bool Importer::add_decoder_input(const ValueInfo& input) {
  if (!options_.decoder || input.name == options_.decoder->decoder.ids) return false;
  DecoderStates& made = *options_.decoder;
  const Tensor ids = std::get<Tensor>(values_.at(made.decoder.ids));
  if (input.name == made.decoder.positions) {
    values_[input.name] = *made.positions;
    types_[input.name] = input.type;
  } else if (made.decoder.caches.contains(input.name)) {
    values_[input.name] =
        make_array(input.type, {1, input.shape[1].size, 0, input.shape[3].size}, std::vector<double>{});
  } else {
    const Dims dims = dims_of(ids);
    values_[input.name] =
        make_array(input.type, dims, std::vector<double>(static_cast<size_t>(count_computed(dims)), 1.0));
  }
  return true;
}

void Importer::add_input(const ValueInfo& input) {
  if (add_decoder_input(input)) return;
  Value& value = values_[input.name];
  if (const auto constant = options_.constants.find(input.name); constant != options_.constants.end()) {
    value = constant->second;
    return;
  }
  try {
    if (input.type == Type::Undefined) fail("is no tensor: sequences of tensors and maps are no inputs");
    const fbs::DType type = to_dtype(input.type);
    types_[input.name] = input.type;
    const std::vector<int32_t> dims = to_int32(bound_shape(input, options_));
    if (std::count(dims.begin(), dims.end(), 0) > 0) {  // a size of 0
      value = make_array(input.type, Dims(dims.begin(), dims.end()), std::vector<double>{});
      return;
    }
    Shape shape;
    for (const int32_t d : dims) shape[shape.rank++] = d;
    if (shape.rank != 4) {
      const Tensor added = graph_->add_input(input.name, shape, fbs::Layout::Same, type);
      inputs_.insert(added.id);
      value = added;
    } else {
      const Shape last{shape[0], shape[2], shape[3], shape[1]};
      const Tensor added = graph_->add_input(input.name, last, fbs::Layout::NCHW, type);
      inputs_.insert(added.id);
      value = to_channels_first(added);
    }
  } catch (const Error& error) {
    reasons_.push_back({"", input.name, 0, "input '" + input.name + "' " + error.what()});
  }
}

// A value as most functions see it.
Value Importer::plain(const Value& value, Type type) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  if (!tensor || !is_int8(*tensor)) return value;
  const auto [known, fresh] = int32_.try_emplace(tensor->id);
  if (fresh) known->second = as_int32(*tensor, type);
  return known->second;
}

// Makes inputs of Int8 what the node's function sees of them. Returns input 0 if its result, too, is Int8.
std::optional<Tensor> Importer::give_integers(const Node& node, std::vector<Value>* inputs, std::vector<Type>* types) {
  const Reads reads = reads_of(node);
  if (reads == Reads::Int8) return {};
  std::optional<Tensor> moved;
  for (size_t i = 0; i < inputs->size(); ++i) {
    Value& input = (*inputs)[i];
    const Tensor* tensor = std::get_if<Tensor>(&input);
    if (!tensor || !is_int8(*tensor)) continue;
    if (i == 0 && reads == Reads::Moved && node.outputs.size() == 1 && !counted_[node.inputs[0]].any()) {
      moved = *tensor;
      input = real_of(*tensor);
      (*types)[0] = Type::Float32;
    } else {
      input = plain(input, (*types)[i]);
    }
  }
  return moved;
}

void Importer::add_node(const Node& node) {
  if (!node.problem.empty()) {
    for (const std::string& output : node.outputs) values_[output] = Unknown{};
    return give_reason(node, node.problem);
  }
  if (node.branches.size() == 2 && !node.inputs.empty()) return add_branch(node);
  if (node.branches.size() == 1 && node.op == "Loop") return add_loop(node);
  if (node.branches.size() == 1 && node.op == "Scan") return add_scan(node);
  if (node.branches.size() == 1 && node.op == "SequenceMap") return add_sequence_map(node);
  std::vector<Value> inputs;
  std::vector<Type> types;
  bool unknown = false;
  for (const std::string& name : node.inputs) {
    const auto found = values_.find(name);
    if (!name.empty() && found == values_.end())  // input of a pattern's node that the original node did not have
      return give_reason(node, "it reads '" + name + "' before it is computed: disable patterns (--no-recognise)");
    inputs.push_back(name.empty() ? Value() : found->second);
    const Array* array = std::get_if<Array>(&inputs.back());
    types.push_back(array ? array->type : types_[name]);
    unknown = unknown || (!name.empty() && std::holds_alternative<Unknown>(inputs.back()));
  }
  const OpFunction function = find_op(node);
  for (const std::string& output : node.outputs) values_[output] = Unknown{};
  if (!function) return give_reason(node, why_unsupported(node));
  if (unknown) return;  // its producer has already given the reason
  for (size_t i = 0; i < inputs.size() && reads_of(node) != Reads::Sequences; ++i) {
    const bool sequence = std::holds_alternative<Sequence>(inputs[i]) || std::holds_alternative<Rows>(inputs[i]);
    if (sequence || std::holds_alternative<Absent>(inputs[i]))
      return give_reason(node,
                         "input " + std::to_string(i) + " '" + node.inputs[i] +
                             (sequence ? "' is a sequence of tensors" : "' is an optional value without an element"));
  }
  if (node.op != "ConcatFromSequence" &&
      std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return std::holds_alternative<Rows>(v); }))
    return give_reason(node, "it reads a sequence that a loop collects, which only ConcatFromSequence can do");
  const std::optional<Tensor> moved = give_integers(node, &inputs, &types);
  const size_t before = graph_->table.operators.size();
  const OpsetRow* row = find_opset_row(node);
  Node adapted;  // the node by today's rules, if it is of an older opset
  if (row && row->adapt) adapted = node;
  Op op(row && row->adapt ? adapted : node, *graph_, std::move(inputs), std::move(types), options_.decoder);
  if (options_.open_sizes) set_open(&op);
  op.set_leading_is_batch(options_.leading_is_batch);
  if (!op.known() && options_.open_values)
    open_inputs(&op, options_.open_values->opens_tables ? Opened::WithTables : Opened::WithoutTables);
  try {
    if (row && row->adapt) row->adapt(op, &adapted);
    std::vector<Counted> counted;
    for (const std::string& name : node.inputs) counted.push_back(counted_[name]);
    const bool any = std::any_of(counted.begin(), counted.end(), [](const Counted& c) { return c.any(); });
    op.set_inputs_counted(std::move(counted));
    if (any)
      import_counted(op, function);
    else
      function(op);
    if (moved) op.set(quantised_like(*moved, std::get<Tensor>(op.outputs().front())), types_[node.inputs.front()]);
    if (op.known() && graph_->table.operators.size() > before) fold(&op, before);
  } catch (const Error& error) {
    return give_reason(node, error.what());
  }
  for (size_t i = before; i < graph_->table.operators.size(); ++i) {
    fbs::OperatorT& added = *graph_->table.operators[i];
    if (added.name.empty()) added.name = node.name;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    values_[node.outputs[i]] = op.outputs()[i];
    producers_[node.outputs[i]] = {&node, i};
    in_run_.erase(node.outputs[i]);
    types_[node.outputs[i]] = op.output_type(i);
    counted_[node.outputs[i]] = op.output_counted(i);
    if (std::holds_alternative<Unknown>(op.outputs()[i]))
      give_reason(node, "output " + std::to_string(i) + " '" + node.outputs[i] + "' is not supported");
    add_taps(node.outputs[i]);
  }
}

// The taps of a value that the graph computes. Outputs have their names already. Of a counted value the graph has more
// rows than the run gives.
void Importer::add_taps(const std::string& name) {
  const auto names = taps_.find(name);
  if (names == taps_.end() || loops_ > 0) return;
  const Value tapped = plain(values_[name], types_[name]);
  const Tensor* tensor = std::get_if<Tensor>(&tapped);
  if (!tensor || graph_->is_constant(tensor->id) || counted_[name].any()) return;
  if (inputs_.contains(tensor->id)) return;
  const bool map = tensor->shape().rank == 4;
  std::optional<Tensor> value;
  for (const std::string& tap : names->second) {
    if (output_names_.contains(tap)) continue;
    if (!value) value = map ? to_channels_last(*tensor) : *tensor;
    graph_->add_tap(tap, *value, map ? fbs::Layout::NCHW : fbs::Layout::Same, false);
  }
}

// Folds the node's operators, from index `first` on, if all its inputs are constants.
void Importer::fold(Op* op, size_t first) {
  folded_ = true;
  fold_added_constants(*graph_, first);
  for (size_t i = 0; i < op->outputs().size(); ++i) {
    const Tensor* tensor = std::get_if<Tensor>(&op->outputs()[i]);
    if (!tensor || !graph_->is_constant(tensor->id)) continue;
    op->set(i, make_array(op->output_type(i), dims_of(*tensor), graph_->values(tensor->id)));
  }
}

void Importer::add_output(const ValueInfo& output, Tensor value) {
  const bool map = value.shape().rank == 4;
  if (types_.at(output.name) == Type::BFloat16) value = cast_to(value, fbs::DType::BFloat16);  // computed in float32
  value = computed(map ? to_channels_last(value) : value);
  std::vector<std::optional<Tensor>> sizes = counted_[output.name].sizes;
  // A counted output is cut in its memory, so it is the tensor of no other.
  if (outputs_.contains(value.id)) value = reshape(value, to_int32(dims_of(value)));
  outputs_.insert(value.id);
  graph_->add_output(output.name, value, map ? fbs::Layout::NCHW : fbs::Layout::Same, to_dtype(types_.at(output.name)));
  if (sizes.empty()) return;
  if (map) sizes = {sizes[0], sizes[2], sizes[3], sizes[1]};
  output_sizes_.emplace_back(graph_->table.outputs.size() - 1, std::move(sizes));
}

// Adds the counts of the outputs' sizes, as outputs after all others.
void Importer::add_counts() {
  std::map<TensorId, int32_t> places;
  for (const auto& [index, sizes] : output_sizes_) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      int32_t place = -1;
      if (sizes[d]) {
        const auto [found, fresh] =
            places.try_emplace(sizes[d]->id, static_cast<int32_t>(graph_->table.outputs.size()));
        place = found->second;
        if (fresh) {
          const std::string name = graph_->table.outputs[index]->name + ".size" + std::to_string(d);
          // A tensor of its own, computed by the graph.
          graph_->add_output(name, reshape(*sizes[d], {1}), fbs::Layout::Same, fbs::DType::Int32);
          graph_->table.outputs.back()->is_count = true;
        }
      }
      graph_->table.outputs[index]->counts.push_back(place);
    }
  }
}

// Outputs that depend on no input are part of the answer if another one is computed, and they have elements.
void Importer::add_outputs() {
  const bool computes = std::any_of(model_.outputs.begin(), model_.outputs.end(), [&](const ValueInfo& output) {
    const auto found = values_.find(output.name);
    return found != values_.end() && std::holds_alternative<Tensor>(found->second);
  });
  for (const ValueInfo& output : model_.outputs) {
    if (options_.decoder && output.name != options_.decoder->decoder.logits) continue;  // a cache
    const auto found = values_.find(output.name);
    if (found == values_.end()) {
      reasons_.push_back({"", output.name, 0, "output '" + output.name + "' is computed by no node"});
      continue;
    }
    try {
      if (const Array* array = std::get_if<Array>(&found->second)) {
        known_outputs_[output.name] = *array;
        types_[output.name] = array->type;
        if (!computes || array->elements() == 0) continue;
        add_output(output, add_constant(*graph_, output.name, *array));
        graph_->table.operators.back()->name = output.name;
      } else if (const Tensor* tensor = std::get_if<Tensor>(&found->second)) {
        add_output(output, std::get<Tensor>(plain(*tensor, types_.at(output.name))));
      } else if (std::holds_alternative<Sequence>(found->second) || std::holds_alternative<Rows>(found->second)) {
        fail("it is a sequence of tensors, expected a tensor");
      } else if (std::holds_alternative<Absent>(found->second)) {
        fail("it is an optional value without an element, expected a tensor");
      }
    } catch (const Error& error) {
      reasons_.push_back({"", output.name, 0, "output '" + output.name + "': " + error.what()});
    }
  }
}

Imported Importer::import() {
  for (const auto& [name, array] : model_.constants) values_[name] = array;
  if (options_.decoder) add_decoder();
  for (const ValueInfo& input : model_.inputs)
    if (!options_.decoder || input.name != options_.decoder->decoder.ids) add_input(input);
  for (const auto& shape : options_.shapes) {
    const std::string& name = shape.first;
    if (std::none_of(model_.inputs.begin(), model_.inputs.end(), [&](const auto& input) { return input.name == name; }))
      reasons_.push_back({"", name, 0, "--shape " + name + ": the graph has no input of that name"});
  }
  const std::vector<Node> nodes = apply_patterns(model_, options_.disabled_patterns);
  for (const Node& node : nodes) add_node(node);
  if (folded_) fold_constants(*graph_, {});  // what the other nodes computed of constants
  add_outputs();
  add_counts();
  if (!reasons_.empty()) throw Refused(model_.path.filename().string(), std::move(reasons_));
  apply_patterns(*graph_, options_.disabled_patterns);
  Imported imported{
      .graph = std::move(graph_), .known = std::move(known_outputs_), .values = {}, .tables = std::move(tables_)};
  for (const auto& [name, value] : values_)
    if (const Array* array = std::get_if<Array>(&value);
        array && options_.open_sizes && !options_.open_values && !model_.constants.contains(name))
      imported.values[name] = *array;
  return imported;
}

Imported import_model(const Model& model, const ImportOptions& options) {
  int64_t stored = 0;
  for (const auto& [name, constant] : model.constants) stored += constant.elements();
  for (const Node& node : model.nodes)
    for (const auto& [name, attribute] : node.attributes) stored += attribute.tensor.elements();
  begin_computing(stored);
  return Importer(model, options).import();
}

}  // namespace ferry::onnx
