#include "converter/quantize/keep_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "converter/quantize/weights.h"
#include "sdk/model/per_tensor.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;

bool reads_integers(const fbs::OperatorT& op, size_t input) {
  if (const auto* gather = op.params.AsGather()) return input == 0 && gather->kind == fbs::GatherKind::Slices;
  return input == 1 && (op.params.type == OpParams::Linear || op.params.type == OpParams::Conv2d);
}

// How a graph reads a constant.
struct Use {
  TensorId tensor = TensorId::None;
  std::vector<size_t> operators;
  bool other = false;
};

// By buffer. Products of integers that are cast are exact sums, whose inputs must not be rounded.
std::map<uint32_t, Use> uses_of(const fbs::GraphT& graph) {
  std::map<uint32_t, Use> uses;
  PerTensor<bool> cast(graph.tensors.size());
  for (const auto& op : graph.operators)
    if (op->params.type == OpParams::Cast) cast[op->inputs.front()] = true;
  for (size_t i = 0; i < graph.operators.size(); ++i)
    for (size_t k = 0; k < graph.operators[i]->inputs.size(); ++k) {
      const TensorId id = graph.operators[i]->inputs[k];
      const fbs::TensorT& tensor = *graph.tensors[index_of(id)];
      if (tensor.buffer == 0) continue;
      Use& use = uses.emplace(tensor.buffer, Use{.tensor = id, .operators = {}}).first->second;
      use.operators.push_back(i);
      const bool is_float = tensor.dtype == fbs::DType::Float32 || tensor.dtype == fbs::DType::Float64;
      use.other = use.other || !is_float || tensor.quantization || tensor.shape.size() < 2 ||
                  tensor.shape != graph.tensors[index_of(use.tensor)]->shape || !reads_integers(*graph.operators[i], k);
    }
  return uses;
}

// A weight [rows,width] as the sum of two: integers of -127 to 127 for all rows, and for some rows a second one, with
// twice the scale, of what exceeds them.
struct Parts {
  std::vector<int8_t> integers, excess;  // [rows,width], [wide,width]
  std::vector<float> scales;             // by row
  std::vector<size_t> wide;              // rows with an excess
};

std::optional<Parts> parts_of(std::span<const double> values, size_t rows) {
  constexpr double kMost = 127;
  Parts out;
  const size_t width = values.size() / rows;
  for (size_t r = 0; r < rows; ++r) {
    const std::span<const double> row = values.subspan(r * width, width);
    const double step = step_of(row);
    if (!(step >= static_cast<double>(std::numeric_limits<float>::min()))) return {};
    std::vector<int8_t> excess;
    bool wide = false;
    for (const double w : row) {
      const double integer = std::nearbyint(w / step);
      const double over = std::copysign(std::ceil(std::max(std::fabs(integer) - kMost, 0.0) / 2), integer);
      wide = wide || over != 0;
      excess.push_back(static_cast<int8_t>(over));
      out.integers.push_back(static_cast<int8_t>(integer - 2 * over));
    }
    out.scales.push_back(static_cast<float>(step));
    if (!wide) continue;
    out.wide.push_back(r);
    out.excess.insert(out.excess.end(), excess.begin(), excess.end());
  }
  return out;
}

class Keeping {
 public:
  explicit Keeping(Graph& graph) : graph_(graph) {}

  void run() {
    for (const auto& [buffer, use] : uses_of(graph_.table)) {
      if (use.other) continue;
      const std::vector<double> values = graph_.values(use.tensor);
      const auto rows = static_cast<size_t>(graph_.shape(use.tensor)[0]);
      auto parts = parts_of(values, rows);
      if (!parts) continue;
      if (parts->wide.empty()) {
        store(buffer, std::move(parts->integers), std::move(parts->scales), 0);
      } else if (is_linear(use)) {
        add_excess(use, *parts);
        store(buffer, std::move(parts->integers), std::move(parts->scales), 0);
      } else if (auto weight = recover_integers(values, rows, {}); weight && weight->rounded == 0) {
        store(buffer, std::move(weight->integers), std::move(weight->scales), weight->zero_point);
      }
    }
    if (!second_.empty()) add_second_products();
  }

 private:
  bool is_linear(const Use& use) const {
    return std::all_of(use.operators.begin(), use.operators.end(),
                       [&](size_t i) { return graph_.table.operators[i]->params.type == OpParams::Linear; });
  }

  void store(uint32_t buffer, std::vector<int8_t> integers, std::vector<float> scales, int32_t zero_point) {
    graph_.store_integers(buffer, {.dtype = fbs::DType::Int8, .zero_point = zero_point}, hold(std::move(integers)),
                          hold(std::move(scales)));
  }

  // The weight of the product to add: of all rows, or of the wide ones and a matrix that places their results.
  struct Second {
    Tensor weight, places;
    bool has_places = false;
  };

  Tensor add_integers(const std::string& name, const Shape& shape, std::vector<int8_t> integers,
                      std::vector<float> scales) {
    const Tensor out = graph_.add_constant(name, fbs::DType::Int8, shape, hold(std::move(integers)));
    auto quantization = std::make_unique<fbs::QuantizationT>();
    quantization->scale = graph_.add_constant(name + ".scale", Shape{shape[0]}, std::move(scales)).id;
    graph_.at(out.id).quantization = std::move(quantization);
    return out;
  }

  void add_excess(const Use& use, const Parts& parts) {
    const std::string name = graph_.at(use.tensor).name + ".excess";
    const Shape shape = graph_.shape(use.tensor);
    const auto rows = static_cast<size_t>(shape[0]), width = static_cast<size_t>(shape[1]), wide = parts.wide.size();
    Second second;
    second.has_places = wide * (width + rows * sizeof(float)) < rows * width;
    if (second.has_places) {
      std::vector<float> scales, places(rows * wide);
      for (size_t i = 0; i < wide; ++i) {
        scales.push_back(2 * parts.scales[parts.wide[i]]);
        places[parts.wide[i] * wide + i] = 1;
      }
      const auto count = static_cast<int32_t>(wide);
      second.weight = add_integers(name, {count, shape[1]}, parts.excess, std::move(scales));
      second.places = graph_.add_constant(name + ".places", Shape{shape[0], count}, std::move(places));
    } else {
      std::vector<int8_t> integers(rows * width);
      std::vector<float> scales = parts.scales;
      for (float& scale : scales) scale *= 2;
      for (size_t i = 0; i < wide; ++i)
        std::copy_n(parts.excess.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                    integers.begin() + static_cast<std::ptrdiff_t>(parts.wide[i] * width));
      second.weight = add_integers(name, shape, std::move(integers), std::move(scales));
    }
    for (const size_t i : use.operators) second_.emplace(i, second);
  }

  void add_second_products() {
    std::vector<std::unique_ptr<fbs::OperatorT>> operators = std::move(graph_.table.operators);
    graph_.table.operators.clear();
    for (size_t i = 0; i < operators.size(); ++i) {
      const auto found = second_.find(i);
      if (found == second_.end()) {
        graph_.table.operators.push_back(std::move(operators[i]));
        continue;
      }
      fbs::OperatorT& op = *operators[i];
      const auto tensor = [&](TensorId id) { return Tensor{&graph_, id}; };
      Tensor more = graph_.add_op(op.name, fbs::LinearT{}, {tensor(op.inputs[0]), found->second.weight});
      if (found->second.has_places) more = graph_.add_op(op.name, fbs::LinearT{}, {more, found->second.places});
      std::vector<Tensor> inputs;
      for (const TensorId input : op.inputs) inputs.push_back(tensor(input));
      const Tensor narrow = graph_.add_op(op.name, fbs::LinearT{}, inputs);
      fbs::BinaryT sum;
      sum.output_min = op.params.AsLinear()->output_min;
      sum.output_max = op.params.AsLinear()->output_max;
      op.params.Set(sum);
      op.inputs = {narrow.id, more.id};
      graph_.table.operators.push_back(std::move(operators[i]));
    }
  }

  Graph& graph_;
  std::map<size_t, Second> second_;  // by operator
};

}  // namespace

void keep_integer_weights(Graph& graph) { Keeping(graph).run(); }

}  // namespace ferry::int8
