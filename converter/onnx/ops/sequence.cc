// Sequences of tensors: lists that are known at conversion, so that a blob has none.
#include <algorithm>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

using microsoft::Argument;

// More would take longer to import than anyone waits.
constexpr size_t kMaxItems = 1 << 16;

const Sequence& sequence(Op& op, size_t i) {
  const Sequence* found = std::get_if<Sequence>(&op.value(i));
  const char* is = std::holds_alternative<Absent>(op.value(i)) ? "an optional value without an element" : "a tensor";
  if (!found) op.refuse("input %zu is %s, expected a sequence of tensors", i, is);
  return *found;
}

void set_sequence(Op& op, Type type, std::vector<Value> items) {
  if (items.size() > kMaxItems) op.refuse("a sequence of %zu tensors, expected at most %zu", items.size(), kMaxItems);
  op.set(std::make_shared<const Items>(Items{type, std::move(items)}), type);
}

// The position in input `i`, from 0 to below `end`; `otherwise` if it is omitted. Negative ones count from `size`.
size_t position(Op& op, size_t i, size_t size, size_t end, size_t otherwise) {
  if (!op.has(i)) return otherwise;
  const std::vector<int64_t> list = op.array(i, "position").ints();
  if (list.size() != 1) op.refuse("position has %zu values, expected one", list.size());
  const int64_t at = list[0] < 0 ? list[0] + static_cast<int64_t>(size) : list[0];
  if (at < 0 || at >= static_cast<int64_t>(end))
    op.refuse("position %lld is outside a sequence of %zu tensors", static_cast<long long>(list[0]), size);
  return static_cast<size_t>(at);
}

// ConcatFromSequence of the rows of `all`.
void concat_rows(Op& op, Tensor all) {
  const int rank = all.shape().rank;
  const bool new_axis = op.integer("new_axis", 0) != 0;
  const int axis = op.axis(op.integer("axis", 0), new_axis ? rank : rank - 1);
  std::vector<int> order;  // the first dimension moves to `axis`
  for (int d = 1; d < rank; ++d) order.push_back(d);
  order.insert(order.begin() + axis, 0);
  const Tensor moved = axis == 0 ? all : transpose(all, order);
  Dims dims = dims_of(moved);
  if (!new_axis) {
    dims[static_cast<size_t>(axis)] *= dims[static_cast<size_t>(axis) + 1];
    dims.erase(dims.begin() + axis + 1);
  }
  op.set(new_axis ? moved : reshape_to(moved, dims), op.type(0));
}

}  // namespace

std::pair<Value, Type> joined(Op& op, const Items& list, int64_t axis, bool new_axis) {
  if (list.items.empty()) op.refuse("a sequence without tensors has no concatenation");
  std::vector<Argument> parts;
  for (const Value& item : list.items) {
    if (!std::holds_alternative<Array>(item) && !std::holds_alternative<Tensor>(item))
      op.refuse("a list of other values than tensors has no concatenation");
    Argument part;
    part.value = item;
    part.type = list.type;
    if (new_axis) {
      Argument axes(make_vector({axis}));
      part = microsoft::call_all(op, unsqueeze, {part, axes}, {}, 1).front();
    }
    parts.push_back(std::move(part));
  }
  const Argument all = microsoft::call_all(op, concat, parts, {{"axis", microsoft::attribute(axis)}}, 1).front();
  return {all.value, all.type};
}

void sequence_empty(Op& op) {
  set_sequence(op, static_cast<Type>(op.integer("dtype", static_cast<int64_t>(Type::Float32))), {});
}

void sequence_construct(Op& op) {
  std::vector<Value> items;
  for (size_t i = 0; i < op.input_count(); ++i) {
    if (op.type(i) != op.type(0))
      op.refuse("input %zu is of type %s, input 0 of %s", i, type_name(op.type(i)).c_str(),
                type_name(op.type(0)).c_str());
    items.push_back(op.value(i));
  }
  if (items.empty()) op.refuse("it has no inputs");
  set_sequence(op, op.type(0), std::move(items));
}

void sequence_at(Op& op) {
  const Items& list = *sequence(op, 0);
  if (!op.has(1)) op.refuse("input 1, the position, is missing");
  op.set(list.items[position(op, 1, list.items.size(), list.items.size(), 0)], list.type);
}

void sequence_insert(Op& op) {
  const Items& list = *sequence(op, 0);
  const size_t size = list.items.size();
  if (!std::holds_alternative<Array>(op.value(1)) && !std::holds_alternative<Tensor>(op.value(1)))
    op.refuse("input 1 is no tensor");
  if (op.type(1) != list.type && list.type != Type::Undefined)  // undefined: of a SequenceMap over no tensors
    op.refuse("a tensor of type %s in a sequence of %s", type_name(op.type(1)).c_str(), type_name(list.type).c_str());
  std::vector<Value> items = list.items;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(position(op, 2, size, size + 1, size)), op.value(1));
  set_sequence(op, op.type(1), std::move(items));
}

void sequence_erase(Op& op) {
  const Items& list = *sequence(op, 0);
  const size_t size = list.items.size();
  if (size == 0) op.refuse("the sequence has no tensors");
  std::vector<Value> items = list.items;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(position(op, 1, size, size, size - 1)));
  set_sequence(op, list.type, std::move(items));
}

void sequence_length(Op& op) {
  const auto size = static_cast<int64_t>(sequence(op, 0)->items.size());
  op.set(make_vector({size}).reshaped({}));
}

void without_body(Op& op) { op.refuse("attribute 'body' is missing"); }

void concat_from_sequence(Op& op) {
  if (const Rows* rows = std::get_if<Rows>(&op.value(0))) return concat_rows(op, rows->all);
  if (!op.has_attribute("axis")) op.refuse("attribute 'axis' is missing");
  const auto all = joined(op, *sequence(op, 0), op.integer("axis", 0), op.integer("new_axis", 0) != 0);
  op.set(all.first, all.second);
}

namespace {

// The parts of x along an axis, of these sizes.
std::vector<Value> parts_of(Op& op, const Value& x, const Dims& dims, int axis, const std::vector<int64_t>& sizes) {
  std::vector<Value> items;
  int64_t begin = 0;
  for (const int64_t part : sizes) {
    if (part < 0 || part > dims[static_cast<size_t>(axis)] - begin) break;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < part; ++i) positions.push_back(begin + i);
    items.push_back(pick(op, x, axis, positions));
    begin += part;
  }
  if (items.size() != sizes.size() || begin != dims[static_cast<size_t>(axis)])
    op.refuse("the parts do not sum to dimension %d of %s", axis, to_string(dims).c_str());
  return items;
}

}  // namespace

Items unstacked(Op& op, const Value& x, Type type, int64_t axis) {
  const Array* array = std::get_if<Array>(&x);
  if (!array && !std::holds_alternative<Tensor>(x)) op.refuse("a sequence, expected a tensor");
  const Dims dims = array ? array->dims : dims_of(std::get<Tensor>(x));
  const int along = op.axis(axis, static_cast<int>(dims.size()));
  const int64_t size = dims[static_cast<size_t>(along)];
  if (size > static_cast<int64_t>(kMaxItems)) op.refuse("more than %zu parts", kMaxItems);
  Dims kept = dims;
  kept.erase(kept.begin() + along);
  Items list{type, parts_of(op, x, dims, along, std::vector<int64_t>(static_cast<size_t>(size), 1))};
  for (Value& item : list.items) {
    if (const Array* known = std::get_if<Array>(&item))
      item = known->reshaped(kept);
    else
      item = reshape_to(std::get<Tensor>(item), kept);
  }
  return list;
}

void split_to_sequence(Op& op) {
  if (!op.has(1) && op.integer("keepdims", 1) == 0)
    return set_sequence(op, op.type(0), unstacked(op, op.value(0), op.type(0), op.integer("axis", 0)).items);
  const Dims dims = op.dims(0);
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const int64_t size = dims[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  if (op.has(1) && op.rank(1) > 0) {
    sizes = op.array(1, "split").ints();
  } else {
    const int64_t part = op.has(1) ? to_integer(op.single(1, "split")) : 1;
    if (part < 1) op.refuse("parts of %lld, expected 1 or more", static_cast<long long>(part));
    if (size / part > static_cast<int64_t>(kMaxItems)) op.refuse("more than %zu parts", kMaxItems);
    for (int64_t begin = 0; begin < size; begin += part) sizes.push_back(std::min(part, size - begin));
  }
  set_sequence(op, op.type(0), parts_of(op, op.value(0), dims, axis, sizes));
}

// Position t of sample n is position length - 1 - t up to its length, and t from there on.
void reverse_sequence(Op& op) {
  const Dims dims = op.dims(0);
  const int time = op.axis(op.integer("time_axis", 0), op.rank(0)),
            batch = op.axis(op.integer("batch_axis", 1), op.rank(0));
  if (time + batch != 1) op.refuse("time_axis is %d and batch_axis %d, expected 0 and 1 or 1 and 0", time, batch);
  const int64_t steps = dims[static_cast<size_t>(time)], samples = dims[static_cast<size_t>(batch)];
  const std::vector<int64_t> lengths = op.array(1, "sequence_lens").ints();
  if (static_cast<int64_t>(lengths.size()) != samples)
    op.refuse("%zu lengths for %lld samples", lengths.size(), static_cast<long long>(samples));
  for (const int64_t length : lengths)
    if (length < 0 || length > steps)
      op.refuse("length %lld, expected 0 to %lld", static_cast<long long>(length), static_cast<long long>(steps));
  const auto reversed = [&](const Value& x, int64_t length) {
    std::vector<int64_t> positions;
    for (int64_t t = 0; t < steps; ++t) positions.push_back(t < length ? length - 1 - t : t);
    return pick(op, x, time, positions);
  };
  if (samples > 0 && std::count(lengths.begin(), lengths.end(), lengths[0]) == samples)
    return op.set(reversed(op.value(0), lengths[0]));
  std::vector<Argument> parts;
  for (int64_t n = 0; n < samples; ++n) {
    Argument part;
    part.type = op.type(0);
    part.value = reversed(pick(op, op.value(0), batch, {n}), lengths[static_cast<size_t>(n)]);
    parts.push_back(std::move(part));
  }
  const Argument all =
      microsoft::call_all(op, concat, parts, {{"axis", microsoft::attribute(int64_t{batch})}}, 1).front();
  op.set(all.value, all.type);
}

}  // namespace ferry::onnx
