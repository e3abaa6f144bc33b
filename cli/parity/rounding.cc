#include "cli/parity/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/parity/network.h"
#include "cli/parity/operators.h"
#include "cli/parity/prompts.h"
#include "cli/parity/report.h"
#include "cli/sdk.h"
#include "converter/pack/pack.h"
#include "sdk/model/elements.h"
#include "sdk/model/model.h"
#include "sdk/model/seeded.h"

namespace ferry::parity {
namespace {

// The number of runs with different noise. Their mean is the cost; a single run is too noisy for outputs of few values.
constexpr uint64_t kRuns = 4;

bool is_rounded(const fbs::Tensor& tensor) {
  return tensor.buffer() != 0 && (tensor.quantization() != nullptr || tensor.dtype() == fbs::DType::Float16);
}

// The distance of each value to its neighbour in the type that stores it.
std::vector<float> steps(const StoredConstant& stored, std::span<const float> numbers) {
  std::vector<float> out(numbers.size());
  if (!stored.type.quantized) {  // float16: 10 bits after the leading one; subnormals have the step of the smallest
                                 // normal value
    const auto step = [](float v) { return std::ldexp(1.f, std::max(v == 0 ? -14 : std::ilogb(v), -14) - 10); };
    std::transform(numbers.begin(), numbers.end(), out.begin(), step);
    return out;
  }
  const std::byte one = stored.type.dtype == fbs::DType::Int4 ? std::byte{0x11} : std::byte{1};
  const std::vector<std::byte> ones(stored.bytes.size(), one);
  StoredConstant scales = stored;
  scales.bytes = ones;
  scales.type.zero_point = 0;
  read_elements(scales, out.data());
  return out;
}

std::vector<float> with_noise(const Model& model, TensorId tensor, uint64_t seed) {
  const StoredConstant stored = model.stored(tensor);
  std::vector<float> numbers(static_cast<size_t>(stored.shape.elements()));
  read_elements(stored, numbers.data());
  const std::vector<float> step = steps(stored, numbers);
  const Stream noise(text(model.tensor(tensor).name()), seed + (uint64_t{index_of(tensor)} << 8));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += static_cast<float>(noise.unit(i)) * step[i] / 2;
  return numbers;
}

// The same network with float32 constants, with noise added to those that were rounded.
std::vector<std::byte> moved(const Model& model, uint64_t seed) {
  fbs::GraphT copy;
  model.graph().UnPackTo(&copy);
  if (graphs_of_fixtures(model.root()).size() == 1) copy.graphs.clear();  // only the first graph runs
  copy.certificate = nullptr;
  copy.packed.clear();
  copy.buffers.resize(1);
  std::vector<std::byte> data;
  const std::vector<fbs::GraphT*> tables = tables_of(copy);
  for (size_t i = 0; i < tables.size(); ++i) {
    std::shared_ptr<const Model> graph;
    cli::check(model.open_graph(i, &graph));
    tables[i]->certificate = nullptr;
    for (const TensorId t : graph->tensors()) {
      fbs::TensorT& tensor = *tables[i]->tensors[index_of(t)];
      if (tensor.buffer == 0) continue;
      std::vector<float> numbers;
      std::span<const std::byte> bytes = graph->constant(t);
      if (is_rounded(graph->tensor(t))) {
        numbers = with_noise(*graph, t, seed);
        bytes = std::as_bytes(std::span(numbers));
        tensor.dtype = fbs::DType::Float32;
        tensor.quantization = nullptr;
      }
      tensor.buffer = add_segment(bytes, &copy, &data);
    }
  }
  return assemble(copy, data);
}

bool has_rounded_constants(const Model& model) {
  const auto rounded = [](const fbs::Graph& graph) {
    const auto& tensors = *graph.tensors();
    return std::any_of(tensors.begin(), tensors.end(), [](const fbs::Tensor* tensor) { return is_rounded(*tensor); });
  };
  const std::vector<size_t> graphs = graphs_of_fixtures(model.root());
  return std::any_of(graphs.begin(), graphs.end(), [&](size_t i) {
    return rounded(i == 0 ? model.root() : *model.root().graphs()->Get(static_cast<unsigned>(i - 1)));
  });
}

struct Sums {
  double squared_errors = 0, squares = 0, largest_error = 0;
};

void add(const std::vector<float>& rounded, const std::vector<float>& exact, Sums* sums) {
  for (size_t i = 0; i < exact.size(); ++i) {
    const double right = static_cast<double>(exact[i]), error = static_cast<double>(rounded[i]) - right;
    sums->squared_errors += error * error;
    sums->squares += right * right;
    sums->largest_error = std::max(sums->largest_error, std::fabs(error));
  }
}

}  // namespace

double rounding_factor(size_t values) { return kRoundingFactor * (1 + 8 / static_cast<double>(values)); }

bool has_rounded_constants(const std::filesystem::path& blob) { return has_rounded_constants(*open_blob(blob)); }

void bound_by_rounding(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& options, Comparison* comparison) {
  const std::shared_ptr<Model> model = open_blob(blob);
  const ferry_session_options session = cli::same_threads(options);
  std::map<std::string, Sums> sums;
  const auto add_run = [&](const Network& network) {
    for (const auto& [name, exact] : network.tensors()) add(computed.at(name).read(), exact.read(), &sums[name]);
  };
  if (has_rounded_constants(*model)) {
    for (uint64_t seed = 0; seed < kRuns; ++seed) add_run(Network(moved(*model, seed), fixture, session));
  } else {  // only float16 arithmetic rounds
    add_run(Network(blob, fixture, session));
  }
  for (Row& row : comparison->rows) {
    if (!row.problem.empty()) continue;
    const Sums& of = sums.at(computed.contains(row.name) ? row.name : row.module);
    row.reference_error = row.squared_error;
    row.rounding_cost = of.squares == 0 ? 0 : of.squared_errors / of.squares;
    row.rounding_reach = of.largest_error;
    const double bound = std::max(rounding_factor(row.compared) * row.rounding_cost, kOperatorBound);
    if (row.reference_error <= bound) continue;
    row.in_bounds = false;
    row.bound = bound;
    row.problem = "mean squared error " + number(row.reference_error) +
                  " against the reference, but rounding costs only " + number(row.rounding_cost) + ",";
  }
}

}  // namespace ferry::parity
