#include "cli/bench_types.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "cli/command.h"
#include "cli/kernels.h"
#include "cli/machine.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "converter/graph/from_blob.h"
#include "converter/pack/pack.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/integer_graph.h"
#include "converter/quantize/plain.h"
#include "converter/quantize/times.h"
#include "converter/write_file.h"
#include "sdk/api/handles.h"

namespace ferry::cli {
namespace {

// A session of a graph, whose operators are timed.
class Profiled {
 public:
  Profiled(const Graph& graph, ferry_session_options options) : memory_(nullptr, std::free) {
    options.profile = true;
    const std::vector<std::byte> blob = pack(graph);
    memory_ = aligned_copy(blob);
    ferry_model* model = nullptr;
    check(ferry_model_open_memory(memory_.get(), blob.size(), &model));
    model_.reset(model);
    session_ = create_session(model_, options);
    check_backend(session_);
    for (size_t i = 0; i < ferry_model_input_count(model_.get()); ++i) {
      ferry_tensor t;
      check(ferry_session_input(session_.get(), i, &t));
      if (t.dtype == FERRY_FLOAT32) fill({static_cast<float*>(t.data), t.bytes / sizeof(float)});
    }
  }

  // Pseudorandom values in [-1, 1).
  static void fill(std::span<float> values) {
    uint32_t state = 1;
    for (float& v : values) {
      state = state * 1664525u + 1013904223u;
      v = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
  }

  void run() {
    check(ferry_session_run(session_.get()));
    const size_t count = ferry_session_profile_count(session_.get());
    times_.resize(count, INFINITY);
    for (size_t i = 0; i < count; ++i) {
      ferry_profile_entry e;
      check(ferry_session_profile(session_.get(), i, &e));
      times_[i] = std::min(times_[i], e.microseconds);
    }
  }

  size_t threads() const { return report_of(session_.get()).threads; }
  // By operator, the minimum over the runs. 0: its time is that of a later one.
  const std::vector<double>& times() const { return times_; }

 private:
  AlignedBytes memory_;
  ModelHandle model_;
  SessionHandle session_;
  std::vector<double> times_;
};

// Divides the time of operators that were computed together among them, as the rates would.
std::vector<double> divided(const Graph& graph, const std::vector<double>& times,
                            const std::vector<double>& estimates) {
  std::vector<double> out = times;
  const PerTensor<size_t> producers = int8::producers_of(graph);
  for (size_t last = 0; last < times.size(); ++last) {
    if (times[last] <= 0) continue;
    std::vector<size_t> together = {last};
    double sum = estimates[last];
    for (size_t i = 0; i < together.size(); ++i) {
      for (const TensorId t : graph.table.operators[together[i]]->inputs) {
        const size_t op = producers[t];
        if (op >= times.size() || times[op] > 0 || std::count(together.begin(), together.end(), op) > 0) continue;
        together.push_back(op);
        sum += estimates[op];
      }
    }
    for (const size_t op : together) out[op] = sum > 0 ? times[last] * estimates[op] / sum : times[last];
  }
  return out;
}

int8::Sample random_sample(const Graph& graph) {
  int8::Sample sample{"random values", "", {}};
  for (const auto& input : graph.table.inputs) {
    int8::Sample::Input& value = sample.inputs.emplace_back();
    value.shape = graph.shape(input->tensor);
    value.bytes.resize(static_cast<size_t>(value.shape.elements()) * sizeof(float));
    if (graph.dtype(input->tensor) != fbs::DType::Float32) continue;
    std::vector<float> values(value.bytes.size() / sizeof(float));
    Profiled::fill(values);
    std::memcpy(value.bytes.data(), values.data(), value.bytes.size());
  }
  return sample;
}

// Conversions of as many elements as the network's activations have.
std::vector<int8::ConversionTime> conversions_of(const Graph& graph, const ferry_session_options& options, int runs) {
  std::set<int64_t> sizes;
  for (const TensorId t : int8::float_activations(graph)) sizes.insert(graph.shape(t).elements());
  std::vector<int8::ConversionTime> out;
  for (const int64_t elements : sizes) {
    Graph alone;
    const Tensor x = alone.add_input("x", {1, static_cast<int32_t>(elements)}, fbs::Layout::Same);
    fbs::RequantizeT to_integer, to_real;
    to_integer.to = fbs::DType::Int8;
    to_real.to = fbs::DType::Float32;
    const Tensor integer = alone.add_op("to_int8", to_integer, {x});
    alone.set_quantization(integer.id, 1 / 127.0f, 0);
    alone.add_output("y", alone.add_op("to_float", to_real, {integer}), fbs::Layout::Same);
    Profiled profiled(alone, options);
    for (int run = 0; run < runs; ++run) profiled.run();
    out.push_back({elements, profiled.times()[0], profiled.times()[1]});
  }
  return out;
}

void print_table(const Graph& graph, const std::vector<double>& real, const std::vector<double>& integer) {
  print("%10s %10s  %s\n", "float us", "Int8 us", "operator");
  double sum = 0, on_integers = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    const bool both = !std::isnan(integer[i]);
    print("%10.1f %10s  %s\n", real[i], both ? printed("%.1f", integer[i]).c_str() : "-",
          int8::time_key(graph, *graph.table.operators[i]).c_str());
    sum += real[i];
    on_integers += both ? integer[i] : real[i];
  }
  print("%10.1f %10.1f  all operators, without conversions; -: has no Int8 form here\n", sum, on_integers);
}

}  // namespace

int bench_types(const TypesOptions& o) {
  if (o.backend.gpu()) fail("--backend gpu: the CPU computes Int8 operators, so --types times the CPU");
  const ModelHandle model = open_model(o.model);
  const std::unique_ptr<Graph> graph = graph_of(model->model);
  if (!graph->table.graphs.empty() || !graph->table.states.empty())
    fail("%s has several graphs or states: only blobs that can be quantised have times of both types", o.model.c_str());
  if (int8::has_int8_activations(graph->table))
    fail("%s is quantised already: expected the float blob that it was made from", o.model.c_str());
  graph->table.taps.clear();
  ferry_session_options options = session_options(o.threads);
  set_backend(o.backend, &options);
  const int8::Sample sample = random_sample(*graph);
  const int8::Plan plan = int8::plain_plan(*graph, {&sample}, o.threads.count);
  const int8::IntegerGraph on_integers = int8::integer_graph(*graph, plan);

  const int runs = o.runs > 0 ? o.runs : 30;
  Profiled real(*graph, options), integer(*on_integers.graph, options);
  {
    ProgressLine line("run");
    for (int run = 0; run < runs; ++run) {
      real.run();
      integer.run();
      line.update(run + 1, runs);
    }
  }
  const std::string set = instruction_set();
  const int8::Times rates = int8::Times::of_set(set);
  std::vector<double> estimates, estimates8;
  for (const auto& op : graph->table.operators) estimates.push_back(rates.estimate(*graph, *op, false));
  for (const size_t source : on_integers.sources)
    estimates8.push_back(
        source == int8::IntegerGraph::kConversion ? 0 : rates.estimate(*graph, *graph->table.operators[source], true));
  const std::vector<double> times = divided(*graph, real.times(), estimates);
  const std::vector<double> times8 = divided(*on_integers.graph, integer.times(), estimates8);

  // Of equal operators the mean: what is in the cache before differs.
  std::vector<double> by_operator(times.size(), NAN);
  std::map<std::string, std::vector<double>> reals, integers;
  for (size_t i = 0; i < times8.size(); ++i) {
    const size_t source = on_integers.sources[i];
    if (source == int8::IntegerGraph::kConversion || !int8::computes_on_integers(*graph, plan, source)) continue;
    by_operator[source] = times8[i];
    integers[int8::time_key(*graph, *graph->table.operators[source])].push_back(times8[i]);
  }
  for (size_t i = 0; i < times.size(); ++i)
    reals[int8::time_key(*graph, *graph->table.operators[i])].push_back(times[i]);
  const auto mean = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  };
  std::map<std::string, int8::OperatorTime> operators;
  for (const auto& [key, values] : reals) {
    int8::OperatorTime& time = operators[key];
    time.real = mean(values);
    if (const auto found = integers.find(key); found != integers.end()) time.integer = mean(found->second);
  }
  const bool halves = options.precision == FERRY_PRECISION_FLOAT16;
  write_text_file(o.output, int8::Times::text(this_machine().cpu, set, halves ? "float16" : "float32", real.threads(),
                                              operators, conversions_of(*graph, options, runs)));
  print_table(*graph, times, by_operator);
  print("%s: times of %zu operators, for `ferry quantise --device`\n", o.output.c_str(), operators.size());
  return kDone;
}

}  // namespace ferry::cli
