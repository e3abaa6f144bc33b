// Data movement: folded for constants of any type, operators for activations.
#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

void set_reshaped(Op& op, const Dims& dims) {
  if (op.known(0))
    op.set(op.array(0, "data").reshaped(dims));
  else
    op.set(reshape_to(op.tensor(0), dims));
}

std::vector<int64_t> range(int64_t begin, int64_t count, int64_t step = 1) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(begin + i * step);
  return positions;
}

}  // namespace

void identity(Op& op) { op.set(op.value(0)); }

// Dropout is an identity in inference, and in training mode with ratio 0.
void dropout(Op& op) {
  if (op.has(2) && op.single(2, "training_mode") != 0 && (!op.has(1) || op.single(1, "ratio") != 0))
    op.refuse("it is in training mode");
  identity(op);
  if (op.wants(1)) {
    // Undefined before opset 12, where ONNX Runtime writes zeros; of the input's type before opset 10.
    const Dims dims = op.dims(0);
    const std::vector<int64_t> mask(static_cast<size_t>(count_computed(dims)), op.opset() < 12 ? 0 : 1);
    op.set(1, make_array(op.opset() < 10 ? op.type(0) : Type::Bool, dims, mask));
  }
}

Dims reshaped_dims(Op& op, const Dims& from, Dims to, bool copy_zero) {
  int64_t known = 1;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && copy_zero) {
      if (i >= from.size()) op.refuse("dimension %zu copies the input's, which has %zu", i, from.size());
      to[i] = from[i];
    }
    if (to[i] < -1 || (to[i] == -1 && inferred)) op.refuse("the shape %s is invalid", to_string(to).c_str());
    if (to[i] == -1) inferred = i;
  }
  for (const int64_t d : to) {
    if (d > 0 && known > (int64_t{1} << 40) / d) op.refuse("%s has more than 2^40 elements", to_string(to).c_str());
    if (d > 0) known *= d;
  }
  if (inferred) {
    const int64_t all = count_elements(from);
    if (known == 0 || all % known != 0) op.refuse("%s does not fit %s", to_string(to).c_str(), to_string(from).c_str());
    to[*inferred] = all / known;
  }
  return to;
}

void reshape(Op& op) {
  const auto given = op.input_or_attribute(1, "shape");
  if (!given) op.refuse("it has no shape");
  set_reshaped(op, reshaped_dims(op, op.dims(0), *given, op.integer("allowzero", 0) == 0));
}

void flatten(Op& op) {
  const Dims dims = op.dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = op.integer("axis", 1);
  if (axis < -rank || axis > rank) op.refuse("axis %lld is outside", static_cast<long long>(axis));
  const auto cut = dims.begin() + (axis < 0 ? axis + rank : axis);
  set_reshaped(op, {count_elements(Dims(dims.begin(), cut)), count_elements(Dims(cut, dims.end()))});
}

void squeeze(Op& op) {
  const Dims dims = op.dims(0);
  const auto list = op.input_or_attribute(1, "axes");
  std::vector<int> axes = list ? op.axes(*list, op.rank(0)) : std::vector<int>{};
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool drop = list ? std::count(axes.begin(), axes.end(), static_cast<int>(i)) > 0 : dims[i] == 1;
    if (drop && dims[i] != 1) op.refuse("dimension %zu is %lld, expected 1", i, static_cast<long long>(dims[i]));
    if (!drop) kept.push_back(dims[i]);
  }
  set_reshaped(op, kept);
}

void unsqueeze(Op& op) {
  Dims dims = op.dims(0);
  const auto list = op.input_or_attribute(1, "axes");
  if (!list) op.refuse("axes are missing");
  std::vector<int> axes = op.axes(*list, static_cast<int>(dims.size() + list->size()));
  std::sort(axes.begin(), axes.end());
  for (const int a : axes) dims.insert(dims.begin() + a, 1);
  set_reshaped(op, dims);
}

void transpose(Op& op) {
  const int rank = op.rank(0);
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) reversed[static_cast<size_t>(i)] = rank - 1 - i;
  const std::vector<int> perm = op.axes(op.integers("perm", reversed), rank);
  if (static_cast<int>(perm.size()) != rank)
    op.refuse("attribute 'perm' has %zu values, expected %d", perm.size(), rank);
  if (op.known(0))
    op.set(transpose(op.array(0, "data"), perm));
  else
    op.set(transpose(op.tensor(0), std::vector<int32_t>(perm.begin(), perm.end())));
}

void concat(Op& op) {
  if (!op.has_attribute("axis")) op.refuse("attribute 'axis' is missing");
  const int rank = op.rank(0), axis = op.axis(op.integer("axis", 0), rank);
  if (!op.known()) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < op.input_count(); ++i)
      if (!op.known(i) || count_elements(op.dims(i)) > 0) parts.push_back(op.tensor(i));
    return op.set(parts.size() == 1 ? parts[0] : concat(parts, axis));
  }
  // Slices of all parts, concatenated.
  Dims dims = op.dims(0);
  const auto at = static_cast<size_t>(axis);
  dims[at] = 0;
  for (size_t i = 0; i < op.input_count(); ++i) {
    Dims part = op.dims(i);
    if (part.size() != dims.size()) op.refuse("inputs of different ranks are concatenated");
    dims[at] += part[at];
    part[at] = dims[at];
    if (part != dims)
      op.refuse("%s cannot be concatenated with %s", to_string(op.dims(i)).c_str(), to_string(op.dims(0)).c_str());
  }
  const Type type = op.array(0, "input").type;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  const int64_t outer = count_elements(Dims(dims.begin(), dims.begin() + axis));
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < op.input_count(); ++i) {
      const Array& part = op.array(i, "input");
      if (part.type != type) op.refuse("inputs of different types are concatenated");
      const size_t row = part.data.bytes.size() / static_cast<size_t>(outer);
      const auto from = part.data.bytes.subspan(static_cast<size_t>(o) * row, row);
      bytes->insert(bytes->end(), from.begin(), from.end());
    }
  }
  const std::span<const std::byte> all(*bytes);
  op.set(Array{type, dims, {std::move(bytes), all}});
}

void slice(Op& op) {
  const Dims dims = op.dims(0);
  const auto begins = op.input_or_attribute(1, "starts"), ends = op.input_or_attribute(2, "ends");
  if (!begins || !ends || begins->size() != ends->size()) op.refuse("starts and ends do not fit");
  std::vector<int64_t> steps(begins->size(), 1), list(begins->size());
  std::iota(list.begin(), list.end(), 0);
  if (const auto given = op.input_or_attribute(3, "axes")) list = *given;
  if (op.has(4)) steps = op.array(4, "steps").ints();
  const std::vector<int> axes = op.axes(list, op.rank(0));
  if (axes.size() != begins->size() || steps.size() != axes.size()) op.refuse("starts, axes and steps do not fit");
  Value x = op.value(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = dims[static_cast<size_t>(axes[i])], step = steps[i];
    if (step == 0) op.refuse("a step is 0");
    const auto position = [&](int64_t p, int64_t low, int64_t high) {
      return std::clamp(p < 0 ? std::max(p, -size - 1) + size : p, low, high);
    };
    const int64_t begin = position((*begins)[i], 0, step > 0 ? size : size - 1);
    const int64_t end = position((*ends)[i], step > 0 ? 0 : -1, size);
    const int64_t length = step > 0 ? end - begin : begin - end;
    const int64_t stride = step > 0 ? step : step == std::numeric_limits<int64_t>::min() ? size + 1 : -step;
    const int64_t count = length <= 0 ? 0 : (length - 1) / stride + 1;
    const std::vector<int64_t> positions = range(begin, count, count > 1 ? step : 1);
    // An end that is the size may be less than that of another size.
    const Tensor* tensor = std::get_if<Tensor>(&x);
    const bool whole = op.open_sizes() && tensor && count == size && step == 1 && (*ends)[i] == size;
    x = whole ? slice(*tensor, axes[i], 0, static_cast<int>(size)) : pick(op, x, axes[i], positions);
  }
  op.set(x);
}

void split(Op& op) {
  const Dims dims = op.dims(0);
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const int64_t size = dims[static_cast<size_t>(axis)], parts = static_cast<int64_t>(op.outputs().size());
  if (parts == 0) op.refuse("it has no outputs");
  std::vector<int64_t> sizes;
  if (const auto given = op.input_or_attribute(1, "split")) {
    sizes = *given;
  } else {
    const int64_t part = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  if (static_cast<int64_t>(sizes.size()) != parts || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != size)
    op.refuse("the parts do not sum to dimension %d of %s", axis, to_string(dims).c_str());
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
    if (sizes[i] < 0) op.refuse("a part has a negative size");
    op.set(i, pick(op, op.value(0), axis, range(begin, sizes[i])));
  }
}

void expand(Op& op) {
  const Dims dims = broadcast(op.dims(0), op.array(1, "the shape").ints());
  count_elements(dims);  // throws for invalid sizes
  if (op.known(0)) return op.set(expand(op.array(0, "input"), dims));
  Dims from(dims.size() - op.dims(0).size(), 1);
  for (const int64_t d : op.dims(0)) from.push_back(d);
  Tensor x = reshape_to(op.tensor(0), from);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (from[i] == dims[i]) continue;
    if (dims[i] > 1 << 24) op.refuse("an activation is repeated %lld times", static_cast<long long>(dims[i]));
    x = pick(op, x, static_cast<int>(i), std::vector<int64_t>(static_cast<size_t>(dims[i]), 0));
  }
  op.set(x);
}

void tile(Op& op) {
  const Dims dims = op.dims(0);
  std::vector<int64_t> repeats;
  if (op.opset() < 6) {  // a count and an axis, of the input's type
    repeats.assign(dims.size(), 1);
    repeats[static_cast<size_t>(op.axis(to_integer(op.single(2, "axis")), op.rank(0)))] =
        to_integer(op.single(1, "tiles"));
  } else {
    repeats = op.array(1, "repeats").ints();
  }
  if (repeats.size() != dims.size()) op.refuse("%zu repeats for %zu dimensions", repeats.size(), dims.size());
  Value x = op.value(0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] == 1) continue;
    if (repeats[i] < 0 || dims[i] > int64_t{1} << 24 || repeats[i] > (int64_t{1} << 24) / std::max<int64_t>(dims[i], 1))
      op.refuse("%lld repeats", static_cast<long long>(repeats[i]));
    std::vector<int64_t> positions;
    for (int64_t r = 0; r < repeats[i]; ++r)
      for (int64_t p = 0; p < dims[i]; ++p) positions.push_back(p);
    x = pick(op, x, static_cast<int>(i), positions);
  }
  op.set(x);
}

namespace {

// Of a Pad, along the axis in place `k` of its list.
struct PadAxis {
  size_t k;
  int axis;
  int64_t before, after;
};

// 0, 1... with as many more elements as an open size asks for, up to a multiple.
Tensor lengthened(Op& op, Tensor places, int64_t more) {
  fbs::PadT pad;
  pad.before = {0};
  pad.after = to_int32({more});
  pad.multiple = {1};  // until the sizes show which
  return op.graph().add_op("", pad, {places});
}

// Pads by an open size: gathers from computed positions.
Tensor padded_in_run(Op& op, Tensor x, const PadAxis& pad, const std::string& mode, double value) {
  using Kind = fbs::BinaryKind;
  const int64_t size = dims_of(x)[static_cast<size_t>(pad.axis)], total = pad.before + pad.after;
  const Tensor inside = op.add_table(make_vector(range(0, size))),
               last = slice(inside, 0, static_cast<int>(size - 1), 1);
  // As long as the result.
  const bool centred = op.varies(1, pad.k);
  const Tensor longer = lengthened(op, lengthened(op, inside, centred ? total : pad.after), centred ? 0 : pad.before);
  const Tensor all = binary(Kind::Max, longer, op.add_table(make_vector(range(0, size + total))));
  const Tensor before =
      centred ? slice(op.tensor(1), 0, static_cast<int>(pad.k), 1) : scalar(all, static_cast<double>(pad.before));
  const Tensor place = binary(Kind::Sub, all, before);
  const Tensor nearest = binary(Kind::Min, binary(Kind::Max, place, scalar(place, 0)), last);
  const Tensor reflected =
      binary(Kind::Sub, last, unary(binary(Kind::Sub, last, unary(place, fbs::UnaryKind::Abs)), fbs::UnaryKind::Abs));
  const Tensor wrapped = binary(Kind::Mod, place, binary(Kind::Add, last, scalar(last, 1)));
  fbs::GatherT gather;
  gather.axis = pad.axis;
  const Tensor y =
      op.graph().add_op("", gather, {x, mode == "reflect" ? reflected : (mode == "wrap" ? wrapped : nearest)});
  if (mode != "constant") return y;
  Dims along(dims_of(x).size(), 1);
  along[static_cast<size_t>(pad.axis)] = size + total;
  return select(reshape_to(binary(Kind::Equal, place, nearest), along), y, scalar(y, value));
}

// Source positions along an axis for reflect, edge and wrap padding.

int64_t padded_place(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1), within = ((at % period) + period) % period;
  return within < size ? within : period - within;
}

}  // namespace

void pad(Op& op) {
  const auto rank = static_cast<size_t>(op.rank(0));
  const Dims dims = op.dims(0);
  const std::string mode = op.text("mode", "constant");
  const auto given = op.input_or_attribute(1, "pads");
  if (!given) op.refuse("pads are missing");
  std::vector<int64_t> axes_list(rank);
  std::iota(axes_list.begin(), axes_list.end(), 0);
  if (op.has(3)) axes_list = op.array(3, "axes").ints();
  const std::vector<int> axes = op.axes(axes_list, op.rank(0));
  if (given->size() != 2 * axes.size()) op.refuse("%zu pads for %zu axes", given->size(), axes.size());
  double value = op.number("value", 0);
  if (op.has(2)) value = op.single(2, "the value");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    before[static_cast<size_t>(axes[i])] = (*given)[i];
    after[static_cast<size_t>(axes[i])] = (*given)[axes.size() + i];
  }
  // Negative padding crops. Where it leaves nothing, the result is padding only.
  Dims result = dims;
  bool nothing = false;
  for (size_t i = 0; i < rank; ++i) {
    result[i] += before[i] + after[i];
    nothing = nothing || std::max<int64_t>(-before[i], 0) + std::max<int64_t>(-after[i], 0) >= dims[i];
  }
  if (nothing && mode == "constant" && std::all_of(result.begin(), result.end(), [](int64_t d) { return d > 0; })) {
    const std::vector<double> values(static_cast<size_t>(count_computed(result)), value);
    return op.set(make_array(op.type(0), result, values));
  }
  Tensor x = op.tensor(0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t low = std::max<int64_t>(-before[i], 0), high = std::max<int64_t>(-after[i], 0);
    if (low + high >= dims[i]) op.refuse("nothing is left of dimension %zu", i);
    if (low + high > 0) x = pick(op, x, static_cast<int>(i), range(low, dims[i] - low - high));
    before[i] = std::max<int64_t>(before[i], 0);
    after[i] = std::max<int64_t>(after[i], 0);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto at = static_cast<size_t>(axes[k]);
    const bool plain = mode == "constant" && !op.varies(1, k) && before[at] == 0;  // reaches a multiple at the end
    if (plain || !(op.varies(1, k) || op.varies(1, axes.size() + k))) continue;
    x = padded_in_run(op, x, {k, axes[k], before[at], after[at]}, mode, value);
    before[at] = after[at] = 0;
  }
  if (mode == "constant") {
    fbs::PadT params;
    params.before = to_int32(before);
    params.after = to_int32(after);
    params.value = static_cast<float>(value);
    const bool none = std::all_of(given->begin(), given->end(), [](int64_t p) { return p <= 0; }) && !op.open_sizes();
    if (op.open_sizes()) params.multiple.assign(rank, 1);  // until the sizes show which
    return op.set(none ? x : op.graph().add_op("", params, {x}));
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") op.refuse("attribute 'mode' is '%s'", mode.c_str());
  for (size_t i = 0; i < rank; ++i) {
    if (before[i] + after[i] == 0) continue;
    const int64_t size = dims_of(x)[i];
    if (before[i] + after[i] > 1 << 20) op.refuse("dimension %zu is padded by more than 2^20", i);
    std::vector<int64_t> positions;
    for (int64_t p = -before[i]; p < size + after[i]; ++p) positions.push_back(padded_place(mode, p, size));
    x = pick(op, x, static_cast<int>(i), positions);
  }
  op.set(x);
}

void depth_to_space(Op& op) {
  const int block = to_int32({op.integer("blocksize", 0)})[0];
  if (op.rank(0) != 4 || block < 1 || block > 1024) op.refuse("expected four dimensions and a block of 1 to 1024");
  const std::string mode = op.text("mode", "DCR");
  const Tensor x = to_channels_last(op.tensor(0));
  op.set(to_channels_first(mode == "CRD" ? pixel_shuffle(x, block) : depth_to_space(x, block)));
}

void space_to_depth(Op& op) {
  const int64_t b = op.integer("blocksize", 0);
  const Dims d = op.dims(0);
  if (d.size() != 4 || b < 1 || d[2] % b != 0 || d[3] % b != 0) op.refuse("the block does not divide the map");
  const Tensor cells = reshape_to(op.tensor(0), {d[0], d[1], d[2] / b, b, d[3] / b, b});
  op.set(reshape_to(transpose(cells, {0, 3, 5, 1, 2, 4}), {d[0], d[1] * b * b, d[2] / b, d[3] / b}));
}

}  // namespace ferry::onnx
