#include "converter/quantize/times.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "converter/graph/macs.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;
using Json = nlohmann::ordered_json;

// Billions a second on one core: of multiply-accumulates in float and on Int8, or of elements for works without them.
// `results`: Int8 results, which products requantise.
struct Rate {
  double real, integer, results = 1000;
};

struct Rates {
  const char* name;
  std::array<Rate, kWorks> by_work;  // in the order of Work
  double to_integer, to_real;        // conversions, elements
};

// The first row was measured with `ferry bench --types` on an AMD EPYC (Zen 5). The others are estimates from the
// peak rates of the instructions.
constexpr Rates kRates[] = {
    {"x86-64 avx512vnni",
     {{{52, 206, 6}, {118, 294, 1.1}, {50, 90, 1.3}, {26, 51}, {5, 21}, {9.7, 4.8}, {1, 4}, {8, 14}, {0.5, 0.5}}},
     10,
     16},
    {"x86-64 avx512",
     {{{50, 80, 5}, {110, 110, 1}, {48, 45, 1.2}, {25, 25}, {5, 15}, {9, 4}, {1, 4}, {8, 14}, {0.5, 0.5}}},
     9,
     14},
    {"x86-64 avx2",
     {{{30, 40, 4}, {60, 45, 1}, {28, 22, 1}, {15, 15}, {4, 12}, {7, 3}, {0.7, 2}, {6, 10}, {0.4, 0.4}}},
     5,
     8},
    {"arm64 dotprod",
     {{{14, 45, 1.5}, {22, 45, 1.5}, {10, 18, 1}, {6, 7}, {2.5, 8}, {2, 1.5}, {0.2, 1}, {2, 5}, {0.3, 0.3}}},
     1.5,
     2},
    {"arm64",
     {{{5, 6, 1}, {8, 6, 1}, {4, 4, 0.5}, {2.5, 2}, {1, 3}, {0.8, 0.6}, {0.1, 0.5}, {0.8, 2}, {0.15, 0.15}}},
     0.6,
     0.8},
    {"other", {{{4, 4, 1}, {4, 4, 1}, {3, 3, 1}, {2, 2}, {1, 2}, {1, 0.7}, {0.1, 0.5}, {1, 3}, {0.2, 0.2}}}, 0.5, 0.5},
};

Work work_of(const Graph& graph, const fbs::OperatorT& op) {
  constexpr int kImageChannels = 8;  // fewer leave the channel blocks of Int8 kernels partly empty
  if (const auto* conv = op.params.AsConv2d()) {
    const Shape weight = graph.shape(op.inputs[1]);
    if (conv->groups > 1) return Work::Depthwise;
    if (weight[3] < kImageChannels) return Work::FewChannels;
    return weight[1] * weight[2] > 1 ? Work::Spatial : Work::Pointwise;
  }
  if (op.params.type == OpParams::Linear) {
    const Shape x = graph.shape(op.inputs.front());
    return x.elements() == x[x.rank - 1] ? Work::Row : Work::Pointwise;
  }
  switch (role_of(op)) {
    case Role::Arithmetic: return Work::Arithmetic;
    case Role::Table: return Work::Table;
    case Role::Mover: return Work::Mover;
    default: return Work::Other;
  }
}

double elements_of(const Graph& graph, const fbs::OperatorT& op) {
  return static_cast<double>(std::max<int64_t>(graph.shape(op.outputs.front()).elements(),
                                               op.inputs.empty() ? 0 : graph.shape(op.inputs.front()).elements()));
}

std::string kind_of(const fbs::OperatorT& op) {
  const fbs::OpParamsUnion& p = op.params;
  if (const auto* unary = p.AsUnary()) return std::string(".") + fbs::EnumNameUnaryKind(unary->kind);
  if (const auto* binary = p.AsBinary()) return std::string(".") + fbs::EnumNameBinaryKind(binary->kind);
  if (const auto* reduce = p.AsReduce()) return std::string(".") + fbs::EnumNameReduceKind(reduce->kind);
  if (const auto* pool = p.AsPool2d()) return std::string(".") + fbs::EnumNamePoolKind(pool->kind);
  if (const auto* resize = p.AsResize2d()) return std::string(".") + fbs::EnumNameResizeKind(resize->kind);
  return "";
}

std::string shape_of(const Graph& graph, TensorId t) {
  const Shape shape = graph.shape(t);
  std::string out;
  for (int i = 0; i < shape.rank; ++i) out += (i > 0 ? "x" : "") + std::to_string(shape[i]);
  return shape.rank == 0 ? "1" : out;
}

double microseconds(const Json& json, const char* key, const std::string& path) {
  const double value = json.at(key).get<double>();
  if (!(value >= 0) || value > 1e12) fail("%s: '%s' is %g: expected microseconds", path.c_str(), key, value);
  return value;
}

}  // namespace

std::string time_key(const Graph& graph, const fbs::OperatorT& op) {
  std::string key = op_name(op.params.type) + kind_of(op);
  for (const TensorId t : op.inputs) key += " " + shape_of(graph, t);
  key += " >";
  for (const TensorId t : op.outputs) key += " " + shape_of(graph, t);
  return key;
}

std::vector<std::string> Times::sets() {
  std::vector<std::string> out;
  for (const Rates& rates : kRates) out.emplace_back(rates.name);
  return out;
}

Times Times::of_set(const std::string& set) {
  Times out;
  const auto found = std::find_if(std::begin(kRates), std::end(kRates), [&](const Rates& r) { return r.name == set; });
  if (found == std::end(kRates)) fail("there are no rates of the instruction set '%s'", set.c_str());
  out.set_ = static_cast<size_t>(found - std::begin(kRates));
  out.source_ = "rates of " + set + ", not measured";
  return out;
}

Times Times::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("--device %s: there is no such file; `ferry bench --types` writes one", path.c_str());
  std::stringstream text;
  text << file.rdbuf();
  try {
    const Json json = Json::parse(text.str());
    if (json.at("ferry_times").get<int>() != 1) fail("%s: a later ferry wrote these times", path.c_str());
    Times out = of_set(json.at("set").get<std::string>());
    for (const Json& row : json.at("operators")) {
      OperatorTime time{.real = microseconds(row, "float_us", path)};
      if (row.contains("int8_us")) time.integer = microseconds(row, "int8_us", path);
      out.operators_[row.at("operator").get<std::string>()] = time;
    }
    for (const Json& row : json.at("conversions"))
      out.conversions_.push_back({row.at("elements").get<int64_t>(), microseconds(row, "to_int8_us", path),
                                  microseconds(row, "to_float_us", path)});
    std::sort(out.conversions_.begin(), out.conversions_.end(),
              [](const ConversionTime& a, const ConversionTime& b) { return a.elements < b.elements; });
    out.source_ = path + ", measured on " + json.at("device").get<std::string>() + " in " +
                  json.at("precision").get<std::string>();
    return out;
  } catch (const nlohmann::json::exception&) {
    fail("--device %s: expected a file of `ferry bench --types`", path.c_str());
  }
}

std::string Times::text(const std::string& device, const std::string& set, const std::string& precision, size_t threads,
                        const std::map<std::string, OperatorTime>& operators,
                        const std::vector<ConversionTime>& conversions) {
  const auto rounded = [](double us) { return std::round(us * 100) / 100; };
  Json json = {{"ferry_times", 1}, {"device", device}, {"set", set}, {"precision", precision}, {"threads", threads}};
  json["operators"] = Json::array();
  for (const auto& [key, time] : operators) {
    Json row = {{"operator", key}, {"float_us", rounded(time.real)}};
    if (time.integer) row["int8_us"] = rounded(*time.integer);
    json["operators"].push_back(row);
  }
  json["conversions"] = Json::array();
  for (const ConversionTime& c : conversions)
    json["conversions"].push_back(
        {{"elements", c.elements}, {"to_int8_us", rounded(c.to_integer)}, {"to_float_us", rounded(c.to_real)}});
  return json.dump(1) + "\n";
}

double Times::estimate(const Graph& graph, const fbs::OperatorT& op, bool integer) const {
  if (op.params.type == OpParams::Reshape) return 0;
  const Work work = work_of(graph, op);
  const Rate& rate = kRates[set_].by_work[static_cast<size_t>(work)];
  MacCounter counter;
  const auto macs = static_cast<double>(counter.count(*SerializedOp(op), [&](TensorId t) { return graph.shape(t); }));
  const double amount = work > Work::Row ? std::max(elements_of(graph, op), macs) : macs;
  const auto results = static_cast<double>(graph.shape(op.outputs.front()).elements());
  const double nanoseconds = integer ? amount / rate.integer + results / rate.results : amount / rate.real;
  return nanoseconds / 1e3;
}

bool Times::has(const Graph& graph, const fbs::OperatorT& op) const { return operators_.contains(time_key(graph, op)); }

double Times::of(const Graph& graph, const fbs::OperatorT& op, bool integer) const {
  const auto found = operators_.find(time_key(graph, op));
  if (found == operators_.end()) return estimate(graph, op, integer);
  if (!integer) return found->second.real;
  if (found->second.integer) return *found->second.integer;
  // The ratio of the rates carries over.
  const double real = estimate(graph, op, false);
  return real > 0 ? found->second.real * estimate(graph, op, true) / real : 0;
}

double Times::conversion(int64_t elements, bool to_integer) const {
  const Rates& rates = kRates[set_];
  if (conversions_.empty())
    return static_cast<double>(elements) / (1e3 * (to_integer ? rates.to_integer : rates.to_real));
  const auto time = [&](const ConversionTime& c) { return to_integer ? c.to_integer : c.to_real; };
  auto above = std::lower_bound(conversions_.begin(), conversions_.end(), elements,
                                [](const ConversionTime& c, int64_t count) { return c.elements < count; });
  if (above == conversions_.end()) above = std::prev(conversions_.end());
  return time(*above) * static_cast<double>(elements) / static_cast<double>(std::max<int64_t>(above->elements, 1));
}

TimeModel::TimeModel(const Graph& graph, const Times& times) {
  const auto& operators = graph.table.operators;
  PerTensor<size_t> index(graph.table.tensors.size(), SIZE_MAX);
  const PerTensor<size_t> producers = producers_of(graph);
  for (const TensorId t : float_activations(graph)) {
    const int64_t elements = graph.shape(t).elements();
    index[t] = values_.size();
    values_.push_back({.producer = producers[t],
                       .readers = {},
                       .to_integer = times.conversion(elements, true),
                       .to_real = times.conversion(elements, false)});
  }
  for (size_t i = 0; i < operators.size(); ++i) {
    const fbs::OperatorT& op = *operators[i];
    real_.push_back(times.of(graph, op, false));
    integer_.push_back(times.of(graph, op, true));
    known_ += times.has(graph, op) ? 1 : 0;
    for (size_t j = 0; j < op.inputs.size(); ++j) {
      const bool only_shape = j == 1 && may_be_sized_by_input(op.params.type);
      if (index[op.inputs[j]] != SIZE_MAX && !only_shape) values_[index[op.inputs[j]]].readers.push_back(i);
    }
  }
  for (const auto& output : graph.table.outputs)
    if (index[output->tensor] != SIZE_MAX) values_[index[output->tensor]].output = true;
}

double TimeModel::total(const std::vector<bool>& integer) const {
  double sum = 0;
  for (size_t i = 0; i < real_.size(); ++i) sum += integer[i] ? integer_[i] : real_[i];
  for (const Value& value : values_) {
    const bool made = value.producer < integer.size() && integer[value.producer];
    const bool other =
        std::any_of(value.readers.begin(), value.readers.end(), [&](size_t reader) { return integer[reader] != made; });
    if (made && (other || value.output)) sum += value.to_real;
    if (!made && other) sum += value.to_integer;
  }
  return sum;
}

std::vector<bool> fastest_release(const Graph& graph, const std::vector<Role>& roles, const TimeModel& times,
                                  std::vector<bool> released, bool may_take_back) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] != Role::Float && (may_take_back || !released[i])) candidates.push_back(i);
  double best = times.total(integer_operators(graph, roles, released));
  constexpr size_t kRuns[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, SIZE_MAX};
  for (bool improved = true; improved;) {
    improved = false;
    for (const size_t run : kRuns) {
      for (size_t begin = 0; begin < candidates.size(); ++begin) {
        const size_t end = std::min(candidates.size() - begin, run) + begin;
        for (const bool release : {true, false}) {
          if (!release && !may_take_back) continue;
          std::vector<bool> tried = released;
          for (size_t i = begin; i < end; ++i) tried[candidates[i]] = release;
          const double time = times.total(integer_operators(graph, roles, tried));
          if (time >= best * (1 - 1e-9)) continue;
          best = time;
          released = std::move(tried);
          improved = true;
        }
        if (end == candidates.size()) break;
      }
    }
  }
  return released;
}

}  // namespace ferry::int8
