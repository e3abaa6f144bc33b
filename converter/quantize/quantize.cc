#include "converter/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "converter/graph/float16.h"
#include "converter/quantize/recover.h"
#include "sdk/model/elements.h"
#include "sdk/operators/pointwise.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

constexpr int64_t kSmall = 4096;
constexpr int kShortRow = 32;
constexpr double kMinScale = std::numeric_limits<float>::min();  // kernels need normal numbers

double absmax(std::span<const double> values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

int nearest(double value, double scale, int low, int high) {
  // Adding this number leaves no bits below 1: rounds to nearest even, without a call.
  constexpr double kRound = 0x1.8p52;
  const double clamped = std::clamp(value / scale, static_cast<double>(low), static_cast<double>(high));
  return static_cast<int>((clamped + kRound) - kRound);
}

constexpr int kLow = -8, kHigh = 7;

double squared_error(std::span<const double> block, double scale) {
  double sum = 0;
  for (double v : block) {
    const double difference = v - nearest(v, scale, kLow, kHigh) * scale;
    sum += difference * difference;
  }
  return sum;
}

// The same in units of the scale, in float32.
float approximate_error(const std::array<float, kInt4Block>& block, float scale) {
  using Lanes [[gnu::vector_size(16)]] = float;
  constexpr float kRound = 0x1.8p23f;  // as in nearest()
  constexpr Lanes kLowest = {kLow, kLow, kLow, kLow}, kHighest = {kHigh, kHigh, kHigh, kHigh};
  const float inverse = 1 / scale;
  Lanes sums = {};
  for (size_t i = 0; i < block.size(); i += 4) {
    Lanes value;
    std::memcpy(&value, &block[i], sizeof value);
    value *= inverse;
    const Lanes above = value < kLowest ? kLowest : value;
    const Lanes clamped = above > kHighest ? kHighest : above;
    const Lanes difference = value - ((clamped + kRound) - kRound);
    sums += difference * difference;
  }
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// The scale of the smallest error in double. Only scales whose error in float32 is near the smallest are tried.
uint16_t best_scale(std::span<const double> block) {
  // Values are at most 9 scales and differences at most 2, so 32 squares are off by less.
  constexpr double kUncertain = 1e-3;
  const double largest = absmax(block);
  if (largest == 0) return to_bfloat16(1);
  std::array<float, kInt4Block> values;
  std::transform(block.begin(), block.end(), values.begin(), [](double v) { return static_cast<float>(v); });
  struct Candidate {
    uint16_t bits;
    double scale, lowest;
  };
  std::array<Candidate, 13> candidates;
  double bound = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const uint16_t bits = to_bfloat16(std::max(largest / (6 + 0.25 * static_cast<double>(i)), kMinScale));
    const double scale = static_cast<double>(from_bfloat16(bits));
    const double error = static_cast<double>(approximate_error(values, from_bfloat16(bits)));
    candidates[i] = {bits, scale, (error - kUncertain) * scale * scale};
    bound = std::min(bound, (error + kUncertain) * scale * scale);
  }
  uint16_t best = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.lowest > bound) continue;
    const double error = squared_error(block, candidate.scale);
    if (error < smallest) smallest = error, best = candidate.bits;
  }
  return best;
}

// How the operators of all graphs use a buffer.
struct Use {
  std::vector<int32_t> shape;
  bool weight = false;   // as a weight that may be quantized
  bool last = false;     // likewise, and no other weight multiplies the result
  bool other = false;    // other uses than gathers of slices
  bool stacked = false;  // a stack of matrices
};

bool takes_integers(const fbs::OperatorT& op, size_t input, const Shape& shape) {
  if (op.params.type == fbs::OpParams::Experts) return is_weight(op.params.type, static_cast<unsigned>(input));
  if (input != 1) return false;
  if (op.params.type != fbs::OpParams::Conv2d) return op.params.type == fbs::OpParams::Linear;
  const SerializedOp serialized(op);
  return is_pointwise(*(*serialized).params_as_Conv2d(), shape);
}

Shape shape_of(const std::vector<int32_t>& dims) {
  Shape shape;
  for (int32_t d : dims) shape[shape.rank++] = d;
  return shape;
}

// By buffer.
std::map<uint32_t, Use> uses_of(const fbs::GraphT& root) {
  std::map<uint32_t, Use> uses;
  for (const fbs::GraphT* graph : tables_of(root)) {
    PerTensor<bool> followed(graph->tensors.size());  // reaches another weight
    for (auto it = graph->operators.rbegin(); it != graph->operators.rend(); ++it) {
      const fbs::OperatorT& op = **it;
      const bool stacked = op.params.type == fbs::OpParams::Experts;
      bool after = false;
      for (TensorId output : op.outputs) after = after || followed[output];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const TensorId tensor = op.inputs[i];
        if (after || has_weight(op.params.type) || stacked) followed[tensor] = true;
        const fbs::TensorT& t = *graph->tensors[index_of(tensor)];
        if (t.buffer == 0) continue;
        Use& use = uses.emplace(t.buffer, Use{.shape = t.shape}).first->second;
        const bool takes = t.shape == use.shape && takes_integers(op, i, shape_of(t.shape));
        const fbs::GatherT* gather = op.params.AsGather();
        const bool looks_up = i == 0 && gather != nullptr && gather->kind == fbs::GatherKind::Slices;
        if (!looks_up) (takes ? use.weight : use.other) = true;
        use.last = use.last || (takes && !after);
        use.stacked = use.stacked || stacked;
      }
    }
  }
  return uses;
}

bool is_float(const fbs::TensorT& t) {
  return t.dtype == fbs::DType::Float64 || t.dtype == fbs::DType::Float32 || t.dtype == fbs::DType::Float16 ||
         t.dtype == fbs::DType::BFloat16;
}

// Quantizes values that share a scale: writes the integers, returns the scale.
using QuantizeBlock = std::function<float(std::span<const double> values, std::byte* out)>;

// A constant's integers and scales, computed part by part when they are written: a large weight is never in memory
// whole. Integers that are read before their scales are computed once.
class Quantized {
 public:
  Quantized(Constant source, const fbs::TensorT& constant, size_t width, const Type& type, fbs::DType scales,
            QuantizeBlock block)
      : source_(std::move(source)),
        dtype_(constant.dtype),
        name_(constant.name),
        width_(width),
        unit_(bytes_of(type.dtype, static_cast<int64_t>(width))),
        of_scales_(scales),
        block_(std::move(block)) {}

  size_t scale_bytes() const { return bits_of(of_scales_) / 8; }
  size_t units() const { return source_.byte_count() / unit_of_source(); }
  size_t unit() const { return unit_; }
  // Of the integers, as Constant::part_unit.
  size_t part_unit() const { return std::lcm(source_.part_unit, unit_of_source()) / unit_of_source() * unit_; }

  // The bytes [begin, begin + size) of the integers.
  Constant integers(size_t begin, size_t size) {
    const size_t first = begin / unit_, end = (begin + size + unit_ - 1) / unit_;
    std::vector<std::byte> out((end - first) * unit_);
    compute(first, end - first, out.data());
    Constant part = hold(std::move(out));
    part.bytes = part.bytes.subspan(begin - first * unit_, size);
    return part;
  }

  // All scales; `self` keeps them until the reader is done.
  static Constant scales(const std::shared_ptr<Quantized>& self) {
    self->begin();
    for (size_t next = 0; next < self->units();) {
      if (self->known_[next]) {
        ++next;
      } else {
        const size_t count = std::min<size_t>(self->units() - next, std::max<size_t>(kPart / self->width_, 1));
        std::vector<std::byte> unused(count * self->unit_);
        self->compute(next, count, unused.data());
        next += count;
      }
    }
    return {.owner = self, .bytes = self->scales_, .done = [self] { self->end(); }};
  }

 private:
  static constexpr size_t kPart = size_t{1} << 20;  // elements

  size_t unit_of_source() const { return bytes_of(dtype_, static_cast<int64_t>(width_)); }

  void begin() {
    if (!scales_.empty()) return;
    scales_.resize(units() * scale_bytes());
    known_.resize(units());
  }
  void end() {
    std::vector<std::byte>().swap(scales_);  // an assignment of {} would keep the memory
    std::vector<bool>().swap(known_);
  }

  void compute(size_t first, size_t count, std::byte* out) {
    begin();
    const size_t from = unit_of_source();
    const Constant part = source_.read_part(first * from, count * from);
    const std::vector<double> values = values_of({.owner = part.owner, .bytes = part.bytes}, dtype_, name_);
    if (part.done) part.done();
    for (size_t i = 0; i < values.size(); ++i)
      if (!(std::fabs(values[i]) <= static_cast<double>(std::numeric_limits<float>::max())))
        fail("constant '%s': element %zu is %g, which no integer represents", name_.c_str(), first * width_ + i,
             values[i]);
    for (size_t i = 0; i < count; ++i) {
      const float scale = block_(std::span(values).subspan(i * width_, width_), out + i * unit_);
      const double wide = static_cast<double>(scale);
      const uint16_t half = of_scales_ == fbs::DType::Float16 ? to_float16(wide) : to_bfloat16(wide);
      const bool whole = of_scales_ == fbs::DType::Float32;
      std::memcpy(scales_.data() + (first + i) * scale_bytes(),
                  whole ? static_cast<const void*>(&scale) : static_cast<const void*>(&half), scale_bytes());
      known_[first + i] = true;
    }
  }

  Constant source_;
  fbs::DType dtype_;
  std::string name_;
  size_t width_, unit_;  // elements and bytes of integers with a scale
  fbs::DType of_scales_;
  QuantizeBlock block_;
  std::vector<std::byte> scales_;
  std::vector<bool> known_;
};

// `of_blocks`: the type of the scales, if there are blocks.
void quantize(Graph& graph, const fbs::TensorT& constant, const Type& type, size_t width, QuantizeBlock block,
              fbs::DType of_blocks = fbs::DType::BFloat16) {
  const fbs::DType of_scales = type.block > 0 ? of_blocks : fbs::DType::Float32;
  const auto quantized =
      std::make_shared<Quantized>(graph.buffer(constant.buffer), constant, width, type, of_scales, std::move(block));
  Constant integers, scales;
  integers.part_unit = quantized->part_unit();
  integers.size = quantized->units() * quantized->unit();
  // A source that is only computed whole is computed once.
  const Constant& source = graph.buffer(constant.buffer);
  if (!source.compute || source.compute_part)
    integers.compute_part = [quantized](size_t begin, size_t size) { return quantized->integers(begin, size); };
  integers.compute = [quantized, size = integers.size] { return quantized->integers(0, size); };
  scales.size = quantized->units() * quantized->scale_bytes();
  scales.compute = [quantized] { return Quantized::scales(quantized); };
  graph.store_integers(constant.buffer, type, std::move(integers), std::move(scales), of_blocks);
}

// How a weight that a file holds as integers is stored without another rounding.
struct Form {
  fbs::DType dtype, scales;
  int block;  // 0: whole rows
};

// The bits, 4 or 8, of the integers that all runs of `width` values are multiples of; 0 if they are not.
unsigned bits_of_integers(const Constant& source, const fbs::TensorT& constant, size_t width, fbs::DType scales) {
  constexpr size_t kPart = size_t{1} << 20;
  const size_t size = source.byte_count();
  const size_t unit =
      std::lcm(bytes_of(constant.dtype, static_cast<int64_t>(width)), std::max<size_t>(source.part_unit, 1));
  const bool whole = source.compute && !source.compute_part;
  const size_t step = whole ? size : std::max<size_t>(kPart / unit, 1) * unit;
  unsigned bits = 4;
  for (size_t begin = 0; begin < size; begin += step) {
    const Constant part = source.read_part(begin, std::min(step, size - begin));
    const std::vector<double> values = values_of({.owner = part.owner, .bytes = part.bytes}, constant.dtype, "");
    if (part.done) part.done();
    for (size_t i = 0; i < values.size(); i += width) {
      const auto found = recover(std::span(values).subspan(i, width), scales);
      if (!found || !found->scale_in(8)) return 0;
      if (!found->scale_in(4)) bits = 8;
    }
  }
  return bits;
}

std::optional<Form> form_of(const Graph& graph, const fbs::TensorT& constant, bool stacked) {
  const Constant& source = graph.buffer(constant.buffer);
  const auto row = static_cast<size_t>(constant.shape.back());
  std::optional<Form> bytes;
  for (const fbs::DType scales : {fbs::DType::Float16, fbs::DType::BFloat16}) {
    const unsigned bits = row % kInt4Block == 0 ? bits_of_integers(source, constant, kInt4Block, scales) : 0;
    if (bits == 4) return Form{fbs::DType::Int4, scales, kInt4Block};
    if (bits == 8 && !bytes) bytes = Form{fbs::DType::Int8, scales, kInt4Block};
  }
  const auto columns = static_cast<size_t>(shape_of(constant.shape).elements() / constant.shape.front());
  if (!stacked && bits_of_integers(source, constant, columns, fbs::DType::Float32) > 0)
    return Form{fbs::DType::Int8, fbs::DType::Float32, 0};
  return bytes;
}

void keep(Graph& graph, const fbs::TensorT& constant, const Form& form) {
  const unsigned bits = bits_of(form.dtype);
  const int64_t width = form.block > 0 ? form.block : shape_of(constant.shape).elements() / constant.shape.front();
  const auto block = [bits, scales = form.scales](std::span<const double> values, std::byte* out) {
    const double scale = *recover(values, scales)->scale_in(bits);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto integer = static_cast<unsigned>(nearest(values[i], scale, -128, 127));
      if (bits == 8)
        out[i] = static_cast<std::byte>(integer);
      else if (i % 2 == 0)
        out[i / 2] = static_cast<std::byte>(integer & 15u);
      else
        out[i / 2] |= static_cast<std::byte>((integer & 15u) << 4);
    }
    return static_cast<float>(scale);
  };
  quantize(graph, constant, {.dtype = form.dtype, .block = form.block}, static_cast<size_t>(width), block, form.scales);
}

}  // namespace

KeptWeights keep_integers(Graph& graph) {
  KeptWeights out;
  std::map<uint32_t, Use> uses = uses_of(graph.table);
  for (const fbs::GraphT* table : tables_of(graph.table)) {
    for (size_t i = 0, count = table->tensors.size(); i < count; ++i) {
      const fbs::TensorT& constant = *table->tensors[i];
      const auto use = uses.find(constant.buffer);
      if (use == uses.end() || use->second.other || !is_float(constant) || constant.shape.size() < 2) continue;
      use->second.other = true;  // once, whichever graphs share it
      if (const std::optional<Form> form = form_of(graph, constant, use->second.stacked)) {
        ++(form->dtype == fbs::DType::Int4 ? out.four : out.eight);
        keep(graph, constant, *form);
      } else if (use->second.weight) {
        out.floats.push_back(constant.name);
      }
    }
  }
  return out;
}

void quantize_to_int8(Graph& graph, const fbs::TensorT& constant, int block) {
  const int64_t width = block > 0 ? block : shape_of(constant.shape).elements() / constant.shape[0];
  quantize(graph, constant, {.dtype = fbs::DType::Int8, .block = block}, static_cast<size_t>(width),
           [block](std::span<const double> values, std::byte* out) {
             const double largest = absmax(values);
             float scale = largest > 0 ? static_cast<float>(std::max(largest / 127, kMinScale)) : 1.0f;
             if (block > 0) scale = from_bfloat16(to_bfloat16(static_cast<double>(scale)));
             for (double value : values)
               *out++ = static_cast<std::byte>(nearest(value, static_cast<double>(scale), -127, 127));
             return scale;
           });
}

void quantize_to_int8(Graph& graph, const fbs::TensorT& constant) { quantize_to_int8(graph, constant, 0); }

void quantize_to_int4(Graph& graph, const fbs::TensorT& constant) {
  quantize(graph, constant, {.dtype = fbs::DType::Int4, .block = kInt4Block}, kInt4Block,
           [](std::span<const double> values, std::byte* out) {
             const float scale = from_bfloat16(best_scale(values));
             const auto nibble = [&](double value) {
               return static_cast<unsigned>(nearest(value, static_cast<double>(scale), kLow, kHigh)) & 15u;
             };
             for (size_t i = 0; i < values.size(); i += 2)
               *out++ = static_cast<std::byte>(nibble(values[i]) | nibble(values[i + 1]) << 4);
             return scale;
           });
}

void quantize_weights(Graph& graph, WeightBits bits) {
  const std::map<uint32_t, Use> uses = uses_of(graph.table);
  for (const fbs::GraphT* table : tables_of(graph.table)) {
    for (size_t i = 0, count = table->tensors.size(); i < count; ++i) {
      const fbs::TensorT& constant = *table->tensors[i];
      const auto use = uses.find(constant.buffer);
      if (use == uses.end() || !use->second.weight || use->second.other || !is_float(constant)) continue;
      const Shape shape = shape_of(constant.shape);
      const int32_t row = shape[shape.rank - 1];
      if (shape.elements() < kSmall || row < kShortRow) continue;
      const bool four = bits == WeightBits::Four && row % kInt4Block == 0 && !use->second.last;
      const int block = !use->second.stacked ? 0 : row % kInt4Block == 0 ? kInt4Block : row;
      four ? quantize_to_int4(graph, constant) : quantize_to_int8(graph, constant, block);
    }
  }
}

}  // namespace ferry
