#include "converter/detect/decode.h"

#include <algorithm>

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"

namespace ferry::detect {
namespace {

using Numbers = std::vector<double>;

// One pair per row, [1,rows,2]; [1,1,2] if all rows are equal.
Tensor pairs(Graph& graph, const Numbers& values) {
  bool same = true;
  for (size_t i = 2; i < values.size(); ++i) same = same && values[i] == values[i - 2];
  const size_t rows = same ? 1 : values.size() / 2;
  return graph.add_constant("", Shape{1, static_cast<int32_t>(rows), 2},
                            Numbers(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(2 * rows)));
}

Tensor scaled(Tensor x, const Numbers& factors) {
  const bool ones = std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; });
  return ones ? x : x * pairs(*x.graph, factors);
}

class Decoder {
 public:
  Decoder(Graph& graph, const DecodingPlan& plan) : graph_(graph), plan_(plan), spec_(plan.spec) {}

  Tensor boxes() const {
    const Boxes& form = spec_.boxes;
    Tensor x = plan_.boxes.append(graph_);
    if (form.bins > 1) x = expectation(x, form.bins);
    if (form.form == Form::Corners && form.unit == Unit::Share && !form.y_first) return x;
    const Tensor first = pair(x, 0), second = pair(x, 1);
    switch (form.form) {
      case Form::Corners: return concat({scaled(first, unit(1)), scaled(second, unit(1))}, 2);
      case Form::CenterSize: return around(scaled(first, unit(1)), scaled(second, unit(0.5)));
      case Form::Distances: {
        const Tensor at = centres();
        return concat({at - scaled(first, unit(1)), at + scaled(second, unit(1))}, 2);
      }
      case Form::Offsets: {
        const Tensor grown = unary(form.variances[1] == 1 ? second : second * form.variances[1], fbs::UnaryKind::Exp);
        return around(scaled(first, sizes(form.variances[0])) + centres(), scaled(grown, sizes(0.5)));
      }
      case Form::Sizes:
        return around(scaled(first, sizes(form.variances[0])) + centres(),
                      scaled(second, sizes(0.5 * form.variances[1])));
      case Form::SigmoidExp:
        return around(scaled(sigmoid(first), steps(1)) + centres(),
                      scaled(unary(second, fbs::UnaryKind::Exp), sizes(0.5)));
      case Form::SigmoidSquare:
        return around(scaled(sigmoid(first), steps(2)) + centres(-0.5),
                      scaled(unary(sigmoid(second), fbs::UnaryKind::Square), sizes(2)));
    }
    fail("%s: boxes of an unknown form", spec_.name.c_str());
  }

  Tensor scores() const {
    Tensor x = activated(plan_.scores.append(graph_), spec_.scores, plan_.scores, plan_.background >= 0);
    if (const int b = plan_.background; b >= 0) {
      std::vector<Tensor> kept;
      if (b > 0) kept.push_back(slice(x, 2, 0, b));
      if (b < plan_.classes) kept.push_back(slice(x, 2, b + 1, plan_.classes - b));
      x = kept.size() == 1 ? kept.front() : concat(kept, 2);
    }
    if (spec_.best_class && plan_.classes > 1) x = maximum_only(x);
    if (!plan_.objectness) return x;
    x = x * activated(plan_.objectness->append(graph_), *spec_.objectness, *plan_.objectness, false);
    return spec_.objectness->join == Join::Root ? unary(x, fbs::UnaryKind::Sqrt) : x;
  }

  Tensor landmarks() const {
    const Landmarks& form = *spec_.landmarks;
    Tensor x = plan_.landmarks->append(graph_);
    const int points = channels(x) / form.numbers;
    std::vector<Tensor> places;
    for (int p = 0; p < points; ++p) {
      Tensor at = slice(x, 2, p * form.numbers, 2);
      if (form.y_first) at = swapped(at);
      places.push_back(form.offsets ? scaled(at, sizes(form.variance)) + centres() : scaled(at, unit(1, form.unit)));
    }
    return places.size() == 1 ? places.front() : concat(places, 2);
  }

  // The third of each point's numbers, [1,rows,points].
  Tensor landmark_scores() const {
    const int numbers = spec_.landmarks->numbers, rows = plan_.boxes.rows;
    const Tensor x = plan_.landmarks->append(graph_);
    const int points = channels(x) / numbers;
    return reshape(slice(reshape(x, {1, rows, points, numbers}), 3, 2, 1), {1, rows, points});
  }

 private:
  static Tensor swapped(Tensor pair) { return concat({slice(pair, 2, 1, 1), slice(pair, 2, 0, 1)}, 2); }

  // The first two (`half` 0) or last two (1) of four elements.
  Tensor pair(Tensor x, int half) const {
    const int begin = 2 * half;
    const Tensor pair = slice(x, 2, begin, 2);
    return spec_.boxes.y_first ? swapped(pair) : pair;
  }

  static Tensor around(Tensor centre, Tensor half) { return concat({centre - half, centre + half}, 2); }

  // Sets all scores of a row but its maximum to 0. The maximum is a max pool; a score is suppressed by its distance to
  // the maximum, times a large factor. All of these operators run on GPUs, and float16 can represent the factor.
  Tensor maximum_only(Tensor x) const {
    constexpr double kFactor = 60000;
    const int rows = plan_.scores.rows, classes = channels(x);
    fbs::Pool2dT largest;
    largest.kind = fbs::PoolKind::Max;
    largest.kernel_h = largest.stride_h = 1;
    largest.kernel_w = largest.stride_w = classes;
    const Tensor best = graph_.add_op("", largest, {reshape(x, {1, rows, classes, 1})});
    const Tensor below = clamp((reshape(best, {1, rows, 1}) - x) * kFactor, 0, 1);
    return x - x * below;
  }

  // Distribution focal loss: each of the four distances is the expectation over `bins` bins, with softmax as the
  // distribution.
  Tensor expectation(Tensor x, int bins) const {
    Numbers distances;
    for (int i = 0; i < bins; ++i) distances.push_back(i);
    x = softmax(reshape(x, {1, plan_.boxes.rows * 4, bins}));
    const Tensor weight = graph_.add_constant("", Shape{1, bins}, std::move(distances));
    x = graph_.add_op("", fbs::LinearT{}, {x, weight, graph_.add_constant("", Shape{1}, Numbers{0})});
    return reshape(x, {1, plan_.boxes.rows, 4});
  }

  // The unit of box coordinates, relative to the input (0..1).
  Numbers unit(double factor) const { return unit(factor, spec_.boxes.unit); }
  Numbers unit(double factor, Unit counted) const {
    switch (counted) {
      case Unit::Share: return {factor, factor};
      case Unit::Pixels: return {factor / plan_.width, factor / plan_.height};
      case Unit::Stride: break;
    }
    return steps(factor);
  }
  template <typename Of>
  Numbers of_rows(const Of& of) const {
    Numbers values;
    for (const Anchor& anchor : plan_.anchors)
      for (const double value : of(anchor)) values.push_back(value);
    return values;
  }
  Numbers steps(double factor) const {
    return of_rows([factor](const Anchor& a) { return std::array{a.step_x * factor, a.step_y * factor}; });
  }
  Numbers sizes(double factor) const {
    return of_rows([factor](const Anchor& a) { return std::array{a.width * factor, a.height * factor}; });
  }
  // Centres of the anchors, offset by `shifted` strides.
  Tensor centres(double shifted = 0) const {
    return pairs(graph_, of_rows([shifted](const Anchor& a) {
                   return std::array{a.x + shifted * a.step_x, a.y + shifted * a.step_y};
                 }));
  }

  Tensor activated(Tensor x, const ColumnSpec& part, const OutputColumns& chosen, bool one_of_all) const {
    Activation activation = part.activation;
    if (activation == Activation::Auto) {
      const Origin& from = chosen.origin;
      const bool done = (from.sigmoid || from.softmax) && !from.raw && !from.other;
      if (!done && (!from.raw || from.sigmoid || from.softmax || from.other))
        fail(
            "%s: %s: what computes output '%s' does not show whether its values are probabilities: specify an "
            "activation",
            spec_.name.c_str(), chosen.what.c_str(), chosen.levels.front().name.c_str());
      activation = done ? Activation::None : one_of_all ? Activation::Softmax : Activation::Sigmoid;
    }
    switch (activation) {
      case Activation::Sigmoid: return sigmoid(x);
      case Activation::Softmax: return softmax(x);
      case Activation::Clamp: return clamp(x, 0, 1);
      default: return x;
    }
  }

  Graph& graph_;
  const DecodingPlan& plan_;
  const DetectorSpec& spec_;
};

// Integers are levels (detector.cc).
bool is_image_type(fbs::DType type) { return type == fbs::DType::Float32 || type == fbs::DType::Int32; }

// Checks that there is one input, an image.
void check_input(const Graph& graph, DecodingPlan* plan) {
  const auto& inputs = graph.table.inputs;
  const Shape shape = inputs.empty() ? Shape{} : graph.shape(inputs.front()->tensor);
  if (inputs.size() != 1 || shape.rank != 4 || shape[0] != 1 || !is_image_type(graph.dtype(inputs.front()->tensor)) ||
      (shape[3] != 1 && shape[3] != 3))
    fail(
        "%s: the file has %zu inputs, the first of %d dimensions: a detector has one input, an image "
        "[1,3,height,width]",
        plan->spec.name.c_str(), inputs.size(), shape.rank);
  plan->height = shape[1];
  plan->width = shape[2];
  plan->channels = shape[3];
}

void check_form(const DecodingPlan& plan) {
  const Origin& from = plan.boxes.origin;
  const Form form = plan.spec.boxes.form;
  const bool places = form == Form::Corners || form == Form::CenterSize;
  const bool raw = from.raw && !from.sigmoid && !from.softmax && !from.other;
  if (places ? raw : form == Form::Offsets && from.other)
    fail("%s: boxes: output '%s' holds %s, apparently: use a detector file", plan.spec.name.c_str(),
         plan.boxes.levels.front().name.c_str(), raw ? "offsets" : "finished boxes");
}

void check_rows(const DecodingPlan& plan, const OutputColumns& part, const char* expected, bool good) {
  if (part.rows != plan.boxes.rows)
    fail("%s: %s have %d rows and the boxes %d: expected equal numbers", plan.spec.name.c_str(), part.what.c_str(),
         part.rows, plan.boxes.rows);
  if (!good)
    fail("%s: %s: output '%s' gives %d values per row, expected %s", plan.spec.name.c_str(), part.what.c_str(),
         part.levels.front().name.c_str(), part.size, expected);
}

void check_points(const fbs::DetectionT& params, int points, const std::string& detector) {
  const auto number = static_cast<size_t>(points);
  if (!params.points.empty() && params.points.size() != number)
    fail("%s: landmarks: %zu names for %d points", detector.c_str(), params.points.size(), points);
  for (const uint16_t point : params.lines)
    if (point >= number) fail("%s: landmarks: a line to point %u of %d", detector.c_str(), point, points);
}

}  // namespace

DecodingPlan plan_decoding(const Graph& graph, const DetectorSpec& spec, bool strict) {
  DecodingPlan plan;
  plan.spec = spec;
  check_input(graph, &plan);
  const std::vector<int> counts = anchors_per_position(spec);
  const auto chosen = [&](const ColumnSpec& part, const char* what) {
    return choose(graph, part, counts, spec.name, what);
  };
  plan.boxes = chosen(spec.boxes, "boxes");
  // In maps, the anchors of a position are adjacent rows, whatever the order in the file.
  if (plan.boxes.levels.front().map) plan.spec.anchors.first = false;
  const std::string four = std::to_string(4 * spec.boxes.bins);
  check_rows(plan, plan.boxes, four.c_str(), plan.boxes.size == 4 * spec.boxes.bins);
  plan.scores = chosen(spec.scores, "scores");
  check_rows(plan, plan.scores, "one a class", true);
  plan.classes = plan.scores.size;
  if (spec.scores.background) {
    plan.background = *spec.scores.background < 0 ? plan.classes - 1 : *spec.scores.background;
    if (plan.background >= plan.classes || --plan.classes == 0)
      fail("%s: scores: background %d of %d classes leaves nothing", spec.name.c_str(), plan.background,
           plan.scores.size);
  }
  if (spec.objectness) {
    plan.objectness = chosen(*spec.objectness, "objectness");
    check_rows(plan, *plan.objectness, "1", plan.objectness->size == 1);
  }
  if (spec.landmarks) {
    const auto& outputs = graph.table.outputs;
    const auto has_width = [&](const auto& port) {
      const Shape shape = graph.shape(port->tensor);
      return shape.rank > 0 && shape[shape.rank - 1] == spec.landmarks->width;
    };
    if (!spec.landmarks_optional || std::any_of(outputs.begin(), outputs.end(), has_width)) {
      plan.landmarks = chosen(*spec.landmarks, "landmarks");
      check_rows(plan, *plan.landmarks, "x and y of points", plan.landmarks->size % spec.landmarks->numbers == 0);
      check_points(spec.params, plan.landmarks->size / spec.landmarks->numbers, spec.name);
    }
  }
  // Counts anchors even if the boxes do not use them: the number must match.
  const bool needed = spec.boxes.form != Form::Corners && spec.boxes.form != Form::CenterSize;
  if (needed || !spec.strides.empty() || !spec.anchors.boxes.empty() || (spec.landmarks && spec.landmarks->offsets))
    plan.anchors = make_anchors(plan.spec, plan.height, plan.width, plan.boxes.rows);
  if (strict) check_form(plan);
  return plan;
}

void append_decoding(Graph& graph, const DecodingPlan& plan) {
  const Decoder decoder(graph, plan);
  const Tensor boxes = decoder.boxes(), scores = decoder.scores();
  std::optional<Tensor> landmarks, landmark_scores;
  if (plan.landmarks) landmarks = decoder.landmarks();
  if (plan.landmarks && plan.spec.landmarks->scored) landmark_scores = decoder.landmark_scores();
  graph.table.outputs.clear();
  graph.add_output("boxes", boxes, fbs::Layout::Same);
  graph.add_output("scores", scores, fbs::Layout::Same);
  if (landmarks) graph.add_output("landmarks", *landmarks, fbs::Layout::Same);
  if (landmark_scores) graph.add_output("landmark_scores", *landmark_scores, fbs::Layout::Same);
}

}  // namespace ferry::detect
