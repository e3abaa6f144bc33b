#include "converter/quantize/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/graph/macs.h"
#include "converter/quantize/calibration.h"
#include "converter/quantize/equalise.h"
#include "converter/quantize/integer_graph.h"

namespace ferry::int8 {
namespace {

// Multiply-accumulates of all networks that the search for ranges may run. It is not a time, so every machine makes
// the same choices.
constexpr double kWork = 3e12;

// The samples, in networks of the declared input size: images may be larger.
double networks_of(const Graph& graph, const Samples& samples) {
  const Shape declared = graph.shape(graph.table.inputs.front()->tensor);
  double networks = 0;
  for (const Sample* sample : samples)
    networks += static_cast<double>(sample->inputs.front().shape.elements()) / static_cast<double>(declared.elements());
  return networks;
}

class Search {
 public:
  Search(Graph& graph, const Split& split, const SearchOptions& options, const Distributions& distributions)
      : graph_(graph),
        split_(split),
        options_(options),
        distributions_(distributions),
        bounds_(bounds_of(graph)),
        roles_(roles_of(graph, distributions_)),
        groups_(graph, roles_),
        times_(options.times != nullptr ? std::make_optional<TimeModel>(graph, *options.times) : std::nullopt),
        releases_(graph, roles_, times_ ? &*times_ : nullptr, options.budget),
        judge_(graph, split, options.threads, options.answers) {
    if (options.bound && options.bound->kind == Bound::Kind::Top1 && !judge_.has_classes())
      fail("--bound top1 is for classifiers: output 0 of this network has no value per class");
    plan_.affine.resize(graph.table.tensors.size());
    plan_.weights = nearest_weights(graph, roles_);
    rules_.resize(groups_.members().size());
    plan_.int8 = releases_.integer();
    used_ = used_groups();
    choose_rule();
  }

  // With one rule for all ranges, so far.
  const OutputError& error() const { return error_; }

  Result run() {
    choose_rounding();
    choose_ranges();
    release();
    Result out;
    out.rows = options_.explain ? explained() : rows();
    out.graph = integer_graph(graph_, plan_).graph;
    out.tune = error_;
    out.held_out = judge_.held_out(plan_);
    out.has_classes = judge_.has_classes();
    out.rule = rule_;
    for (size_t g = 0; g < rules_.size(); ++g) {
      out.ranges += used_[g] ? 1 : 0;
      out.changed_ranges += used_[g] && rules_[g] != rule_ ? 1 : 0;
    }
    out.rounding = rounding_;
    if (times_)
      out.time = Prediction{times_->all_float(), releases_.fastest(), times_->total(plan_.int8), times_->known()};
    return out;
  }

 private:
  std::function<void(double)> step(const char* name) const {
    return [this, name](double fraction) {
      if (options_.progress) options_.progress(name, fraction);
    };
  }

  // ---- ranges

  Affine affine(size_t group, RangeRule rule) const {
    std::optional<Range> range;
    for (const TensorId t : groups_.members()[group]) {
      // The calibration images do not hold all pixels that an image can have.
      const bool input = t == graph_.table.inputs.front()->tensor;
      const Range own = range_of(distributions_[t], input ? RangeRule::Exact : rule, bounds_[t]);
      range = range ? joined(*range, own) : own;
    }
    for (const auto& op : graph_.table.operators)
      if (const fbs::PadT* pad = op->params.AsPad(); pad != nullptr && groups_.group_of(op->outputs.front()) == group)
        range = joined(*range, {static_cast<double>(pad->value), static_cast<double>(pad->value)});
    return affine_of(*range);
  }

  void set_range(size_t group, RangeRule rule) {
    rules_[group] = rule;
    const Affine value = affine(group, rule);
    for (const TensorId t : groups_.members()[group]) plan_.affine[t] = value;
  }

  // The groups that the integer graph reads or writes.
  std::vector<bool> used_groups() const {
    std::vector<bool> used(groups_.members().size());
    for (size_t i = 0; i < roles_.size(); ++i) {
      if (!plan_.int8[i]) continue;
      const fbs::OperatorT& op = *graph_.table.operators[i];
      for (const auto* tensors : {&op.inputs, &op.outputs})
        for (const TensorId t : *tensors)
          if (!graph_.is_constant(t) && distributions_[t].observed) used[groups_.group_of(t)] = true;
    }
    return used;
  }

  // ---- the steps

  // One rule for all ranges.
  void choose_rule() {
    std::optional<OutputError> best;
    for (const RangeRule rule : kRangeRules) {
      step("ranges")(static_cast<double>(rule) / static_cast<double>(std::size(kRangeRules)));
      for (size_t g = 0; g < rules_.size(); ++g) set_range(g, rule);
      const OutputError error = judge_.tune(plan_);
      if (best && error.cost() >= best->cost()) continue;
      best = error;
      rule_ = rule;
    }
    for (size_t g = 0; g < rules_.size(); ++g) set_range(g, rule_);
    error_ = *best;
  }

  void choose_rounding() {
    WeightVariants variants =
        weight_variants(graph_, plan_, split_.calibrate, options_.threads, step("rounding weights"));
    for (const Rounding rounding : kRoundings) {
      Plan tried = plan_;
      tried.weights = variants[rounding];
      const OutputError error = judge_.tune(tried);
      if (error.cost() >= error_.cost()) continue;
      error_ = error;
      rounding_ = rounding;
      plan_.weights = tried.weights;
    }
  }

  // One range after the other, in the order of the network.
  void choose_ranges() {
    const double work = static_cast<double>(1 + macs_of(graph_)) * networks_of(graph_, split_.tune);
    auto left = static_cast<size_t>(std::max(kWork / work, static_cast<double>(std::size(kRangeRules))));
    for (size_t g = 0; g < rules_.size(); ++g) {
      step("ranges")(static_cast<double>(g) / static_cast<double>(rules_.size()));
      if (!used_[g]) continue;
      for (const RangeRule rule : kRangeRules) {
        const RangeRule former = rules_[g];
        const Affine now = plan_.affine[groups_.members()[g].front()], then = affine(g, rule);
        if (now.scale == then.scale && now.zero_point == then.zero_point) continue;
        if (left == 0) return;
        --left;
        set_range(g, rule);
        const OutputError error = judge_.tune(plan_);
        if (error.cost() < error_.cost() * (1 - kMinGain)) {
          error_ = error;
        } else {
          set_range(g, former);
        }
      }
    }
  }

  Plan with_operators(const std::vector<bool>& integer) const {
    Plan out = plan_;
    out.int8 = integer;
    return out;
  }

  void release() {
    ReleaseOptions options;
    options.bound = options_.bound ? &*options_.bound : nullptr;
    options.budget = options_.budget;
    options.measure = [this](const std::vector<bool>& integer, bool judge) {
      return judge_.tune(with_operators(integer), judge);
    };
    options.progress = step("releasing operators");
    error_ = releases_.improve(error_, options);
    plan_.int8 = releases_.integer();
    used_ = used_groups();
  }

  // ---- the report

  std::vector<OperatorError> rows() const {
    std::vector<OperatorError> out;
    for (size_t i = 0; i < roles_.size(); ++i) {
      OperatorError& row = out.emplace_back();
      row.op = i;
      row.role = roles_[i];
      row.int8 = computes_on_integers(graph_, plan_, i);
      row.reason = releases_.reasons()[i];
      if (!times_) continue;
      row.real_us = times_->of(i, false);
      row.int8_us = times_->of(i, true);
    }
    return out;
  }

  std::vector<OperatorError> explained() {
    std::vector<OperatorError> out = rows();
    for (OperatorError& row : out) {
      step("explaining")(static_cast<double>(row.op) / static_cast<double>(out.size()));
      if (row.role == Role::Float || row.role == Role::Mover) continue;
      Plan alone = plan_;
      alone.int8.assign(roles_.size(), false);
      alone.int8[row.op] = true;
      row.alone = judge_.tune(alone).sqnr();
      std::vector<bool> released(roles_.size());
      for (const OperatorError& other : out) released[other.op] = other.reason != Reason::None || other.op == row.op;
      if (row.int8) row.without = judge_.tune(with_operators(integer_operators(graph_, roles_, released))).sqnr();
    }
    return out;
  }

  Graph& graph_;
  const Split& split_;
  const SearchOptions& options_;
  const Distributions& distributions_;
  const PerTensor<std::optional<Range>> bounds_;
  const std::vector<Role> roles_;
  const ScaleGroups groups_;
  const std::optional<TimeModel> times_;
  Releases releases_;
  Judge judge_;

  Plan plan_;
  OutputError error_;  // of plan_ on the tuning samples
  RangeRule rule_ = RangeRule::MinMax;
  Rounding rounding_ = Rounding::Nearest;
  std::vector<RangeRule> rules_;  // by group
  std::vector<bool> used_;        // by group
};

}  // namespace

Result quantise(Graph& graph, const Split& split, const SearchOptions& options) {
  const auto observed = [&](Graph& of) {
    return observe(of, split.calibrate, options.threads, [&](double fraction) {
      if (options.progress) options.progress("calibrating", fraction);
    });
  };
  const Distributions plain = observed(graph);
  Search search(graph, split, options, plain);
  const std::unique_ptr<Graph> equal = equalised(graph, plain);
  if (equal == nullptr) return search.run();
  const Distributions distributions = observed(*equal);
  Search other(*equal, split, options, distributions);
  if (other.error().cost() >= search.error().cost()) return search.run();
  Result result = other.run();
  result.equalised = true;
  return result;
}

}  // namespace ferry::int8
