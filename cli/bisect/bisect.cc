#include "cli/bisect/bisect.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "cli/bisect/causes.h"
#include "cli/bisect/graphs.h"
#include "cli/bisect/integers.h"
#include "cli/bisect/matching.h"
#include "cli/bisect/reference.h"
#include "cli/bisect/region.h"
#include "cli/bisect/trial.h"
#include "cli/bisect/weights.h"
#include "cli/parameters.h"
#include "cli/parity/compare.h"
#include "cli/parity/equal_inputs.h"
#include "cli/parity/prompts.h"
#include "converter/pack/pack.h"
#include "converter/quantize/keys_and_values.h"
#include "converter/reference/interpreter.h"
#include "converter/source.h"
#include "sdk/model/elements.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"

namespace ferry::bisect {
namespace {

// An operator whose result differs from the oracle by more than this, relative to the absolute maximum, is wrong.
// Rounding within one float32 operator stays below; an error that moves a tensor out of parity's bounds does not.
constexpr double kTolerance = 3e-5;

std::string probe_name(TensorId tensor) { return "#" + std::to_string(index_of(tensor)); }

// Searches one graph of a blob.
class Bisector {
 public:
  // `table`: a blob of that graph alone, over `data`. `index`: the graph's number in the converted blob.
  Bisector(fbs::GraphT table, std::span<const std::byte> data, size_t index, const ConvertOptions& convert,
           const parity::Fixture& fixture, const RunNetwork& run, Families from)
      : data_(data), fixture_(fixture), run_(run) {
    model_ = std::move(table);
    show_keys_and_values(&model_);
    const ferry::Source& format = ferry::source_of(convert.checkpoint);
    checkpoint_ = format.family == nullptr ? open_checkpoint(convert.checkpoint)
                                           : format.weights(from, convert.checkpoint, convert.settings);
    other_file_ = model_.provenance && model_.provenance->source_sha256 != checkpoint_->sha256();
    try {
      matching_ = match(model_, index, convert, from);
    } catch (const Error& e) {
      if (!other_file_) throw;
      fail("the blob was made from a checkpoint with SHA-256 %s, but %s has %s and is another network: %s",
           model_.provenance->source_sha256.c_str(), convert.checkpoint.c_str(), checkpoint_->sha256().c_str(),
           e.what());
    }
    checkpoint_ = format.weights(from, convert.checkpoint, convert.settings);  // with the network's keys
    std::tie(read_, embeddings_) = constants_read(*matching_.graph);
    if (parity::computes_on_integers(model_)) restarts_ = parity::restart_from_reference(&model_, &fixture_);
    constants_of_integers_ = constants_of_integers(model_);
  }

  // The run that the search examined; valid while this object lives.
  const parity::Network& network() const { return *network_; }

  Finding find() {
    network_ = run_(assemble(model_, data_), fixture_);
    finding_.runs = 1;
    parity::Comparison comparison = parity::compare(fixture_, network_->tensors());
    if (parity::computes_on_integers(model_)) parity::bound_by_steps(model_, &comparison);
    const parity::Row* first = comparison.first_out_of_bounds();
    // If the blob is right, the fixture's weights are the blob's and have the checkpoint's names.
    if (first == nullptr) {
      if (other_file_ && !names_unlike(unlike_fixture(*checkpoint_, fixture_), Fault::OtherCheckpoint))
        is_unlike_blob();
      return finding_;
    }
    finding_.first = first->name;
    finding_.first_error = first->relative_error;
    if (other_file_ && is_unlike_blob()) return finding_;
    std::map<TensorId, std::string> good;
    for (const parity::Row& row : comparison.rows) {
      if (&row == first) break;
      good.emplace(tensor_of(row), row.name);
    }
    const TensorId bad = tensor_of(*first);
    good.erase(bad);
    look_into(bad, good);
    if (!departs()) judge_name(*first, bad);
    if (departs() || names_unlike(unlike_fixture(*checkpoint_, fixture_), Fault::OtherWeights)) return finding_;
    for (const parity::Row& row : comparison.rows)
      if (const auto tensor = tensor_of(row, model_); row.in_bounds && tensor) in_bounds_.insert(*tensor);
    graph_fault(*first, bad, good);
    return finding_;
  }

 private:
  struct Departure {
    const fbs::OperatorT* op = nullptr;  // in the blob
    Array ours, right;
    Difference difference;
  };

  bool departs() const { return finding_.fault != Fault::None; }

  bool names_unlike(const UnlikeTensors& found, Fault fault) {
    if (found.names.empty()) return false;
    finding_.fault = fault;
    finding_.unlike = found.names;
    finding_.alike = found.compared - found.names.size();
    return true;
  }

  bool is_unlike_blob() {
    return names_unlike(unlike_graph(blob_source(), source_of(*matching_.after_passes), matching_.passed),
                        Fault::OtherCheckpoint);
  }

  Source blob_source() const {
    return {&model_,
            [this](TensorId tensor) {
              const fbs::TensorT& t = graph_.at(tensor);
              const fbs::BufferT& buffer = *model_.buffers[t.buffer];
              StoredConstant stored{type_of(t), {}, data_.subspan(buffer.offset, buffer.size)};
              for (int d : t.shape) stored.shape[stored.shape.rank++] = d;
              if (stored.type.quantized && stored.type.float_scale == 0) {
                const fbs::TensorT& scales = graph_.at(stored.type.scale);
                const fbs::BufferT& stored_scales = *model_.buffers[scales.buffer];
                stored.scales = data_.subspan(stored_scales.offset, stored_scales.size);
                stored.scale_dtype = scales.dtype;
              }
              if (stored.type.dtype == fbs::DType::Int8 && constants_of_integers_.contains(tensor))
                return integer_constant(stored);
              Array out{stored.shape, std::vector<double>(static_cast<size_t>(stored.shape.elements()))};
              read_elements(stored, out.values.data());
              if (stored.type.dtype == fbs::DType::Int32) out.dtype = fbs::DType::Int32;
              out.quantized = stored.type.quantized;
              out.rounds_rows = out.quantized && !on_gpu_.contains(tensor);
              return out;
            },
            reference::empty_states(graph_)};
  }

  TensorId tensor_of(const parity::Row& row) const {
    const auto tensor = tensor_of(row, model_);
    if (!tensor) fail("the blob has no tensor '%s'", row.name.c_str());
    return *tensor;
  }

  static std::optional<TensorId> tensor_of(const parity::Row& row, const fbs::GraphT& graph) {
    for (const auto* ports : {&graph.taps, &graph.outputs})
      for (const auto& port : *ports)
        if (port->name == row.name || port->name == row.module) return port->tensor;
    return {};
  }

  // Runs the network once more and keeps the result of every operator between the good tensors and the bad one.
  // Compares each with the oracle.
  void look_into(TensorId bad, const std::map<TensorId, std::string>& good) {
    Values given;
    for (const auto& [tensor, name] : good) given[tensor];
    for (const auto& input : model_.inputs) given[input->tensor];
    const Source source = blob_source();
    const Piece part = cut(source, bad, given);
    std::set<TensorId> wanted;
    for (const auto& [tensor, value] : given) wanted.insert(tensor);
    for (const fbs::OperatorT& op : part.operators) wanted.insert(op.outputs.front());
    probe(wanted);
    for (size_t i = 0; i < part.operators.size() && !departs(); ++i) {
      ++finding_.operators;
      judge(source, part.operators[i]);
    }
    if (departs() || !passes_) return;
    finding_.fault = Fault::Passes;
    describe(*passes_);
  }

  void probe(const std::set<TensorId>& wanted) {
    fbs::GraphT tapped = model_;
    tapped.taps.clear();
    parity::Fixture probing = fixture_;
    probing.entries.clear();
    for (TensorId tensor : wanted) {
      auto port = std::make_unique<fbs::PortT>();
      port->name = probe_name(tensor);
      port->tensor = graph_.at(tensor).dtype == fbs::DType::Int8 ? add_real(&tapped, tensor) : tensor;
      tapped.taps.push_back(std::move(port));
      probing.entries.emplace_back();
      probing.entries.back().name = probing.entries.back().module = probe_name(tensor);
    }
    const std::unique_ptr<parity::Network> network = run_(assemble(tapped, data_), probing);
    ++finding_.runs;
    for (size_t i = 0; i < model_.operators.size(); ++i)
      if (network->on_gpu(i)) on_gpu_.insert(model_.operators[i]->inputs.begin(), model_.operators[i]->inputs.end());
    const parity::ComputedTensors computed = network->tensors();
    for (TensorId tensor : wanted) {
      const parity::Computed& value = computed.at(probe_name(tensor));
      Array& array = values_[tensor];
      for (int64_t d : value.shape) array.shape[array.shape.rank++] = static_cast<int32_t>(d);
      const std::vector<float> read = value.read();
      array.values.assign(read.begin(), read.end());
      if (graph_.at(tensor).dtype == fbs::DType::Int8)
        array = integers_of(std::move(array), type_of(graph_.at(tensor)));
      else
        array.dtype = graph_.at(tensor).dtype;
    }
  }

  // Whether the blob's result for `output` is right: integers may differ by a step from those of rounded real numbers.
  bool is_right(TensorId output, const Departure& found) const {
    if (graph_.at(output).dtype != fbs::DType::Int8) return found.difference.relative <= kTolerance;
    return within_a_step(found.ours, found.right, type_of(graph_.at(output)));
  }

  // Compares the result of `op` with the oracle's for the same inputs, by the blob's parameters and by the
  // checkpoint's.
  void judge(const Source& source, const fbs::OperatorT& op) {
    const TensorId output = op.outputs.front();
    const Piece own = cut(source, output, values_);
    Values computed = compute(own);
    Departure found{&op, values_.at(output), std::move(computed.at(output))};
    found.difference = difference(found.ours, found.right);
    if (found.difference.relative > kTolerance) return report(Fault::Backend, own, found);

    const auto raw = matching_.raw.find(output);
    if (raw == matching_.raw.end()) return;
    const Source graph = source_of(*matching_.graph);
    const Piece piece = cut(graph, raw->second, translated(matching_.raw, graph));
    found.ours = real(std::move(found.ours));
    found.right = real(compute(piece).at(raw->second));
    found.difference = difference(found.ours, found.right);
    if (is_right(output, found)) return;
    // Passes may store a value in another layout. Then their graph agrees with the blob.
    const TensorId packed = matching_.passed.at(output);
    const Source after = source_of(*matching_.after_passes);
    const Piece passed = cut(after, packed, translated(matching_.passed, after));
    if (difference(found.ours, real(compute(passed).at(packed))).relative > kTolerance)
      return report(Fault::Conversion, piece, found);
    matching_.raw.erase(output);
    if (!passes_) passes_ = std::move(found);
  }

  // All operators that both graphs have agree. Checks that the tensor's name refers to the same value in both: if the
  // blob lacks an operator at a module's end, the value before it bears the module's name.
  void judge_name(const parity::Row& row, TensorId bad) {
    const auto tensor = tensor_of(row, matching_.graph->table);
    const auto matched = matching_.raw.find(bad);
    if (!tensor || (matched != matching_.raw.end() && matched->second == *tensor)) return;
    const auto gives = [bad](const auto& op) { return op->outputs.front() == bad; };
    const auto op = std::find_if(model_.operators.begin(), model_.operators.end(), gives);
    if (op == model_.operators.end()) return;
    const Source graph = source_of(*matching_.graph);
    const Piece piece = cut(graph, *tensor, translated(matching_.raw, graph));
    Departure found{op->get(), real(values_.at(bad)), real(compute(piece).at(*tensor))};
    found.difference = difference(found.ours, found.right);
    const bool steps = !restarts_.empty();  // the row is wrong by more than one
    if (!steps && found.difference.relative > parity::kRelativeBound) report(Fault::Conversion, piece, found);
  }

  static Source source_of(const Graph& graph) {
    return {&graph.table,
            [&graph, of_integers = constants_of_integers(graph.table)](TensorId tensor) {
              return of_integers.contains(tensor) ? reference::integer_constant(graph, tensor)
                                                  : reference::constant(graph, tensor);
            },
            reference::empty_states(graph)};
  }

  // The values that the blob's operators read, by the other graph's tensors.
  Values translated(const std::map<TensorId, TensorId>& names, const Source& graph) const {
    Values out;
    const auto set = [&](TensorId tensor, TensorId from) {
      const auto other = names.find(tensor);
      const auto value = values_.find(from);
      if (other == names.end() || value == values_.end()) return;
      const bool as_integers = graph.model->tensors[index_of(other->second)]->dtype == fbs::DType::Int8;
      out[other->second] = as_integers ? value->second : real(value->second);
    };
    for (const auto& [tensor, value] : values_) set(tensor, tensor);
    for (const parity::Restart& restart : restarts_) {
      set(restart.value, restart.given);
      set(restart.integers, restart.given_integers);
    }
    return out;
  }

  void describe(const Departure& found) {
    finding_.op = op_name(found.op->params.type);
    finding_.name = name_of(*found.op, model_);
    finding_.parameters = cli::parameters_text(*found.op);
    finding_.error = found.difference.relative;
    finding_.pattern = pattern_of(found.ours, found.right);
    if (found.ours.shape == found.right.shape) finding_.worst = worst_text(found.ours, found.right, found.difference);
  }

  void report(Fault fault, const Piece& right, const Departure& found) {
    finding_.fault = fault;
    describe(found);
    explain(right, Trial::MakesWrong, found.difference.relative,
            [&](const Array& tried) { return difference(real(tried), real(found.ours)).relative; });
    if (finding_.cause.empty()) {
      const Region region = region_of(right, source_of(*matching_.graph), {}, {});
      if (fault == Fault::Conversion && region.operators.size() > 1) finding_.region = region.operators;
    } else if (is_about_former(right, *found.op)) {
      name_planted(right);
    }
  }

  // True if the cause is about another operator than the departing one. If the departing operator computes nothing,
  // something before it is missing; an operator without a module is found by the next one that has a module.
  bool is_about_former(const Piece& right, const fbs::OperatorT& departing) const {
    const auto type = departing.params.type;
    if (type == fbs::OpParams::Reshape || type == fbs::OpParams::Transpose) return true;
    const auto later = right.operators.begin() + static_cast<std::ptrdiff_t>(planted_at_) + 1;
    return right.operators[planted_at_].name.empty() && right.operators[planted_at_].params.type != type &&
           std::any_of(later, right.operators.end(),
                       [&](const auto& op) { return op.params.type == type && op.name == departing.name; });
  }

  // Names the operator that the cause is about.
  void name_planted(const Piece& piece) {
    const fbs::OperatorT& op = piece.operators[planted_at_];
    finding_.op = op_name(op.params.type);
    finding_.name = name_of(op, matching_.graph->table);
    finding_.parameters = cli::parameters_text(op);
  }

  // Finds the cause that explains a piece's departure. `distance` measures what remains to be explained.
  void explain(const Piece& piece, Trial trial, double departure, const Distance& distance) {
    const Values computed = compute(piece);
    const Tried tried = try_causes({piece, computed, *checkpoint_, read_, embeddings_}, trial, departure, distance);
    finding_.causes += tried.count;
    finding_.limited |= tried.limited;
    finding_.cause = tried.text;
    finding_.cause_error = tried.left;
    planted_at_ = tried.at.value_or(planted_at_);
  }

  // No operator departs from the checkpoint's graph, so the graph itself differs from the reference's network.
  void graph_fault(const parity::Row& row, TensorId bad, const std::map<TensorId, std::string>& good) {
    finding_.fault = Fault::Graph;
    finding_.name = row.module;
    std::optional<TensorId> target = tensor_of(row, matching_.graph->table);
    if (const auto matched = matching_.raw.find(bad); matched != matching_.raw.end()) target = matched->second;
    const auto entry = std::find_if(fixture_.entries.begin(), fixture_.entries.end(),
                                    [&](const parity::Entry& e) { return e.name == row.name; });
    if (!target || entry == fixture_.entries.end()) return;
    Values given;
    std::map<TensorId, std::string> names;
    std::set<TensorId> right;
    for (const auto& [tensor, raw] : matching_.raw) {
      if (in_bounds_.contains(tensor)) right.insert(raw);
      const auto value = values_.find(tensor);
      if (value == values_.end() || !(good.contains(tensor) || is_input(tensor))) continue;
      given[raw] = value->second;
      if (good.contains(tensor)) names[raw] = good.at(tensor);
    }
    const Source graph = source_of(*matching_.graph);
    for (const auto& [tensor, value] : translated(matching_.raw, graph))
      if (!restarts_.empty() && given.contains(tensor)) given[tensor] = value;
    const Piece piece = cut(graph, *target, given);
    const bool channels_first = layout_of(bad) == fbs::Layout::NCHW;
    const auto error = [&](const Array& value) { return reference_error(*entry, real(value), channels_first); };
    finding_.error = error(compute(piece).at(piece.target));
    finding_.worst = worst_text(row);
    explain(piece, Trial::Repairs, finding_.error, error);
    const Region region = region_of(piece, graph, names, right);
    finding_.from = region.from;
    finding_.region = region.operators;
    if (finding_.cause.empty()) {
      if (region.places.size() != 1) return;  // any of these may be the one
      planted_at_ = region.places.front();
    }
    name_planted(piece);
    if (finding_.name.empty()) finding_.name = row.module;
  }

  bool is_input(TensorId tensor) const {
    return std::any_of(model_.inputs.begin(), model_.inputs.end(),
                       [&](const auto& port) { return port->tensor == tensor; });
  }

  fbs::Layout layout_of(TensorId tensor) const {
    for (const auto* ports : {&model_.outputs, &model_.taps})
      for (const auto& port : *ports)
        if (port->tensor == tensor) return port->source_layout;
    return fbs::Layout::Same;
  }

  std::span<const std::byte> data_;
  parity::Fixture fixture_;
  const RunNetwork& run_;
  Graph graph_;  // the blob's graph, without constants
  fbs::GraphT& model_ = graph_.table;
  std::shared_ptr<const Checkpoint> checkpoint_;
  Matching matching_;
  std::set<std::string> read_, embeddings_;  // names of the constants that the family's graph reads; those that
                                             // embeddings read
  std::set<TensorId> on_gpu_;                // inputs of operators that ran on the GPU, which quantizes no rows
  Values values_;                            // by the blob's tensors, as the backend computed them
  std::optional<Departure> passes_;          // the first value that the passes changed
  std::set<TensorId> in_bounds_;             // the fixture's tensors in bounds, before and after the bad one
  std::vector<parity::Restart> restarts_;    // of a network on integers
  std::set<TensorId> constants_of_integers_;
  bool other_file_ = false;  // the checkpoint is not the file that the blob was made from
  size_t planted_at_ = 0;
  std::unique_ptr<parity::Network> network_;
  Finding finding_;
};

}  // namespace

Finding bisect(std::span<const std::byte> blob, const ConvertOptions& convert, const parity::Fixture& fixture,
               const RunNetwork& run, Families from) {
  const fbs::Graph* root = nullptr;
  std::span<const std::byte> data;
  if (const Status status = verify(blob, &root, &data); !status.ok()) fail("%s", status.message().data());
  const size_t prompted = parity::prompted_graph(*root);
  if (prompted == 0) {
    fbs::GraphT table;
    root->UnPackTo(&table);
    return Bisector(std::move(table), data, 0, convert, fixture, run, from).find();
  }
  parity::Fixture second_fixture;
  Finding first;
  {
    Bisector bisector(alone(*root, 0), data, 0, convert, parity::without_prompts(fixture), run, from);
    first = bisector.find();
    first.graph = text(root->name());
    if (first.fault != Fault::None) return first;
    second_fixture = parity::with_prompts(*root->graphs()->Get(static_cast<unsigned>(prompted - 1)), fixture,
                                          with_reference(*root, fixture, bisector.network().tensors()));
  }
  Bisector bisector(alone(*root, prompted), data, prompted, convert, second_fixture, run, from);
  Finding second = bisector.find();
  second.graph = root->graphs()->Get(static_cast<unsigned>(prompted - 1))->name()->str();
  second.runs += first.runs;
  return second;
}

}  // namespace ferry::bisect
