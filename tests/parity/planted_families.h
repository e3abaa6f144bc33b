// Families with a planted fault: the mistakes that a port might make.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/families.h"

namespace ferry::bisect {

struct Plant {
  std::function<void(nlohmann::json&)> config = {};  // config.json is read wrongly
  std::function<void(Graph&)> graph = {};            // the graph is built wrongly
};

class PlantedFamily : public Family {
 public:
  PlantedFamily(const Family& right, Plant plant) : right_(right), plant_(std::move(plant)) {}

  const char* name() const override { return right_.name(); }
  std::vector<const Variant*> variants() const override { return right_.variants(); }
  std::span<const Naming> namings() const override { return right_.namings(); }
  std::span<const std::string_view> settings() const override { return right_.settings(); }
  Description describe(const Variant& variant) const override { return right_.describe(variant); }
  const Variant* described_by(const nlohmann::json& config) const override { return right_.described_by(config); }
  std::vector<const Variant*> candidates(const Naming& naming) const override { return right_.candidates(naming); }

  Configured configure(const ConfigureRequest& r) const override {
    nlohmann::json config = r.config;
    if (plant_.config) plant_.config(config);
    Configured out = right_.configure({.checkpoint = r.checkpoint,
                                       .naming = r.naming,
                                       .variant = r.variant,
                                       .config = config,
                                       .settings = r.settings,
                                       .labels = r.labels,
                                       .trial = r.trial});
    out.build = planted(out.build);
    for (Configured::Named& graph : out.graphs) graph.build = planted(graph.build);
    return out;
  }

 private:
  Configured::Build planted(const Configured::Build& build) const {
    return [build, change = plant_.graph](Graph& graph, const Weights& weights) {
      build(graph, weights);
      if (change) change(graph);
    };
  }

  const Family& right_;
  Plant plant_;
};

class PlantedFamilies {
 public:
  explicit PlantedFamilies(const Plant& plant) {
    for (const Family* right : families()) {
      owned_.push_back(std::make_unique<PlantedFamily>(*right, plant));
      all_.push_back(owned_.back().get());
    }
  }
  Families all() const { return all_; }

 private:
  std::vector<std::unique_ptr<Family>> owned_;
  std::vector<const Family*> all_;
};

// ---- changes of a graph as a family builds it ----

inline bool is(const fbs::OperatorT& op, fbs::OpParams type) { return op.params.type == type; }

// Readers of operator `at`'s output read its input number `input` instead.
inline void leave_out(Graph& graph, size_t at, size_t input = 0) {
  const TensorId was = graph.table.operators[at]->outputs.front(), now = graph.table.operators[at]->inputs[input];
  for (const auto& op : graph.table.operators) std::replace(op->inputs.begin(), op->inputs.end(), was, now);
  for (auto* ports : {&graph.table.outputs, &graph.table.taps})
    std::erase_if(*ports, [was](const auto& port) { return port->tensor == was; });
  graph.table.operators.erase(graph.table.operators.begin() + static_cast<std::ptrdiff_t>(at));
}

// Moves the operators that `make` appends before operator `at`.
inline void insert_before(Graph& graph, size_t at, const std::function<void()>& make) {
  auto& all = graph.table.operators;
  const size_t count = all.size();
  make();
  std::rotate(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(count),
              all.end());
}

// Recomputes an operator's constant input number `input`, each value from its position.
inline void recompute(Graph& graph, fbs::OperatorT& op, size_t input,
                      const std::function<double(const std::vector<double>&, size_t)>& value) {
  const TensorId old = op.inputs[input];
  const std::vector<double> values = graph.values(old);
  std::vector<double> changed;
  for (size_t i = 0; i < values.size(); ++i) changed.push_back(value(values, i));
  op.inputs[input] = graph.add_constant(graph.at(old).name, graph.shape(old), std::move(changed)).id;
}

// The same for the operator of that module and kind, if the graph has it.
inline Plant recomputed(const std::string& module, fbs::OpParams type,
                        const std::function<double(const std::vector<double>&, size_t)>& value) {
  return {.graph = [=](Graph& graph) {
    for (const auto& op : graph.table.operators)
      if (op->name == module && is(*op, type)) recompute(graph, *op, 1, value);
  }};
}

}  // namespace ferry::bisect
