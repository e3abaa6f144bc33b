#include "converter/quantize/weight_variants.h"

#include <algorithm>

#include "converter/quantize/integer_graph.h"
#include "converter/quantize/network.h"
#include "converter/quantize/rounding.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

// Rows of a layer over all samples. More change the rounding little.
constexpr size_t kRows = 2048;
// Elements of a row; the work grows with its cube.
constexpr size_t kMaxWidth = 2304;
// Elements of the Hessians in memory at once.
constexpr size_t kMaxElements = size_t{1} << 25;

// The rows of a convolution or linear layer: for each output position and group, the inputs in the weight's order.
class Rows {
 public:
  Rows(const Graph& graph, size_t index) : op_(*graph.table.operators[index]), weight_(graph.shape(op_.inputs[1])) {
    if (const fbs::Conv2dT* conv = op_.params.AsConv2d()) conv_ = conv;
    groups_ = conv_ != nullptr ? static_cast<size_t>(conv_->groups) : 1;
    width_ = static_cast<size_t>(weight_.elements() / weight_[0]);
  }

  size_t groups() const { return groups_; }
  size_t width() const { return width_; }

  // Calls `use` with at most about `count` evenly spaced rows of each group.
  template <typename Visit>
  void visit(std::span<const float> values, const Shape& shape, size_t count, const Visit& use) const {
    return conv_ != nullptr ? visit_conv(values, shape, count, use) : visit_linear(values, count, use);
  }

 private:
  template <typename Visit>
  void visit_linear(std::span<const float> values, size_t count, const Visit& use) const {
    std::vector<double> row(width_);
    const size_t rows = values.size() / width_, used = std::min(rows, count);
    for (size_t k = 0; k < used; ++k) {
      const std::span<const float> from = values.subspan(k * rows / used * width_, width_);
      std::copy(from.begin(), from.end(), row.begin());
      use(0, row);
    }
  }

  template <typename Visit>
  void visit_conv(std::span<const float> values, const Shape& shape, size_t count, const Visit& use) const {
    const int kernel_h = weight_[1], kernel_w = weight_[2], per_group = weight_[3];
    const int height = shape[1], width = shape[2], channels = shape[3];
    const int reach_h = conv_->dilation_h * (kernel_h - 1) + 1, reach_w = conv_->dilation_w * (kernel_w - 1) + 1;
    const int out_h = (height + conv_->pad_top + conv_->pad_bottom - reach_h) / conv_->stride_h + 1;
    const int out_w = (width + conv_->pad_left + conv_->pad_right - reach_w) / conv_->stride_w + 1;
    const size_t plane = static_cast<size_t>(out_h) * static_cast<size_t>(out_w);
    const size_t positions = static_cast<size_t>(shape[0]) * plane, used = std::min(positions, count);
    std::vector<double> row(width_);
    for (size_t k = 0; k < used; ++k) {
      const size_t position = k * positions / used, sample = position / plane;
      const int y = static_cast<int>(position % plane) / out_w, x = static_cast<int>(position % plane) % out_w;
      for (size_t group = 0; group < groups_; ++group) {
        size_t at = 0;
        for (int ky = 0; ky < kernel_h; ++ky) {
          for (int kx = 0; kx < kernel_w; ++kx, at += static_cast<size_t>(per_group)) {
            const int from_y = y * conv_->stride_h - conv_->pad_top + ky * conv_->dilation_h;
            const int from_x = x * conv_->stride_w - conv_->pad_left + kx * conv_->dilation_w;
            const auto to = row.begin() + static_cast<std::ptrdiff_t>(at);
            if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) {
              std::fill_n(to, per_group, 0.0);
              continue;
            }
            const size_t pixel =
                (sample * static_cast<size_t>(height) + static_cast<size_t>(from_y)) * static_cast<size_t>(width) +
                static_cast<size_t>(from_x);
            const size_t begin = pixel * static_cast<size_t>(channels) + group * static_cast<size_t>(per_group);
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), per_group, to);
          }
        }
        use(group, row);
      }
    }
  }

  const fbs::OperatorT& op_;
  const fbs::Conv2dT* conv_ = nullptr;
  Shape weight_;
  size_t groups_ = 1, width_ = 0;
};

// Removes the mean error of each output channel.
std::shared_ptr<const Weight> corrected(const Weight& rounded, std::span<const double> exact,
                                        const std::vector<Hessian>& inputs) {
  auto out = std::make_shared<Weight>(rounded);
  const size_t per_group = rounded.channels / inputs.size();
  for (size_t c = 0; c < rounded.channels; ++c)
    for (size_t i = 0; i < rounded.width; ++i)
      out->bias[c] += (exact[c * rounded.width + i] - rounded.real(c, i)) * inputs[c / per_group].mean(i);
  return out;
}

std::shared_ptr<const Weight> by_hessian(const Weight& nearest, std::span<const double> exact,
                                         const std::vector<Hessian>& inputs) {
  constexpr double kMax = 127;
  auto out = std::make_shared<Weight>(nearest);
  const size_t per_group = nearest.channels / inputs.size(), width = nearest.width;
  const std::vector<double> scales(nearest.scales.begin(), nearest.scales.end());
  for (size_t group = 0; group < inputs.size(); ++group) {
    const std::vector<double> feedback = feedback_of(inputs[group].sums(), width, nullptr);
    if (feedback.empty()) continue;  // of inputs that are all zero
    const size_t first = group * per_group;
    round_by_hessian(exact.subspan(first * width, per_group * width), width, feedback,
                     std::span(scales).subspan(first, per_group), {-kMax, kMax, width},
                     std::span(out->integers).subspan(first * width, per_group * width));
  }
  return out;
}

}  // namespace

const char* name_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::Nearest: return "nearest";
    case Rounding::NearestCorrected: return "nearest, bias corrected";
    case Rounding::Hessian: return "Hessian";
    case Rounding::HessianCorrected: return "Hessian, bias corrected";
  }
  return "";
}

Weights nearest_weights(const Graph& graph, const std::vector<Role>& roles) {
  Weights out(roles.size());
  for (size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] != Role::Weighted) continue;
    const fbs::OperatorT& op = *graph.table.operators[i];
    const auto channels = static_cast<size_t>(graph.shape(op.inputs[1])[0]);
    std::vector<double> bias = op.inputs.size() > 2 ? graph.values(op.inputs[2]) : std::vector<double>();
    out[i] =
        std::make_shared<Weight>(quantise_to_nearest(graph.values(op.inputs[1]), channels, std::move(bias), op.name));
  }
  return out;
}

WeightVariants weight_variants(const Graph& graph, const Plan& plan, const Samples& samples, int threads,
                               const std::function<void(double)>& progress) {
  WeightVariants out;
  for (Weights& weights : out.by_rounding) weights = plan.weights;
  std::vector<size_t> layers;
  for (size_t i = 0; i < plan.int8.size(); ++i)
    if (plan.int8[i] && plan.weights[i] != nullptr && Rows(graph, i).width() <= kMaxWidth) layers.push_back(i);
  const size_t per_sample = std::max<size_t>(kRows / samples.size(), 1);
  for (size_t first = 0; first < layers.size();) {
    struct Layer {
      size_t op;
      TensorId input;
      Rows rows;
      std::vector<Hessian> inputs;
    };
    std::vector<Layer> group;
    std::vector<TensorId> watched;
    size_t elements = 0, end = first;
    for (; end < layers.size(); ++end) {
      Rows rows(graph, layers[end]);
      const size_t more = rows.groups() * rows.width() * rows.width();
      if (!group.empty() && elements + more > kMaxElements) break;
      elements += more;
      watched.push_back(graph.table.operators[layers[end]]->inputs[0]);
      std::vector<Hessian> inputs(rows.groups(), Hessian(rows.width()));
      group.push_back({layers[end], watched.back(), rows, std::move(inputs)});
    }
    const IntegerGraph integer = integer_graph(graph, plan, watched);
    for (TensorId& t : watched) t = integer.floats[t];
    Network network(*integer.graph, watched, threads);
    for (const Sample* sample : samples) {
      network.run(*sample);
      for (size_t i = 0; i < group.size(); ++i)
        group[i].rows.visit(network.values(watched[i]), network.shape(watched[i]), per_sample,
                            [&](size_t g, std::span<const double> row) { group[i].inputs[g].add(row); });
    }
    for (const Layer& layer : group) {
      const std::vector<double> exact = graph.values(graph.table.operators[layer.op]->inputs[1]);
      const Weight& nearest = *plan.weights[layer.op];
      const auto hessian = by_hessian(nearest, exact, layer.inputs);
      out[Rounding::NearestCorrected][layer.op] = corrected(nearest, exact, layer.inputs);
      out[Rounding::Hessian][layer.op] = hessian;
      out[Rounding::HessianCorrected][layer.op] = corrected(*hessian, exact, layer.inputs);
    }
    first = end;
    if (progress) progress(static_cast<double>(first) / static_cast<double>(layers.size()));
  }
  return out;
}

}  // namespace ferry::int8
