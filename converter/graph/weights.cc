#include "converter/graph/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "converter/checkpoint/mxfp4.h"
#include "converter/checkpoint/quantized.h"

namespace ferry {
namespace {

std::string list(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

Shape to_shape(const CheckpointTensor& tensor, const std::string& key) {
  Shape shape;
  if (tensor.shape.size() > FERRY_MAX_RANK)
    fail("'%s' has shape %s: more than %d dimensions", key.c_str(), list(tensor.shape).c_str(), FERRY_MAX_RANK);
  for (int64_t d : tensor.shape) {
    if (d < 1 || d > std::numeric_limits<int32_t>::max())
      fail("'%s' has shape %s: every dimension must be at least 1", key.c_str(), list(tensor.shape).c_str());
    shape[shape.rank++] = static_cast<int32_t>(d);
  }
  return shape;
}

// Throws Error unless `shape` is `expected`, in which 0 matches any size.
void check_shape(const Shape& shape, const Shape& expected, const std::string& key, const std::string& module) {
  bool fits = shape.rank == expected.rank;
  for (int i = 0; fits && i < shape.rank; ++i) fits = expected[i] == 0 || expected[i] == shape[i];
  if (fits) return;
  std::string want = to_string(expected);
  for (size_t i = 0; (i = want.find("0", i)) != want.npos; ++i)
    if ((want[i - 1] == '[' || want[i - 1] == ',') && (want[i + 1] == ']' || want[i + 1] == ',')) want[i] = '?';
  fail("'%s' has shape %s, but module '%s' needs %s", key.c_str(), to_string(shape).c_str(), module.c_str(),
       want.c_str());
}

// Zeros for a trial run's weights: calloc maps no memory before it is written.
Constant zeros(size_t bytes) {
  std::shared_ptr<void> owner(std::calloc(std::max<size_t>(bytes, 1), 1), std::free);
  return {owner, {static_cast<const std::byte*>(owner.get()), bytes}};
}

// Dimension i of the output is dimension perm[i] of the input.
template <typename T>
std::vector<T> permute(const std::vector<T>& in, const Shape& shape, const std::vector<int>& perm) {
  const size_t rank = perm.size();
  std::vector<int64_t> strides(rank, 1), step(rank);
  for (size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[static_cast<int>(i) + 1];
  for (size_t i = 0; i < rank; ++i) step[i] = strides[static_cast<size_t>(perm[i])];
  std::vector<T> out(in.size());
  std::vector<int32_t> index(rank, 0);
  int64_t from = 0;
  for (T& value : out) {
    value = in[static_cast<size_t>(from)];
    for (size_t d = rank; d-- > 0;) {
      from += step[d];
      if (++index[d] < shape[perm[d]]) break;
      from -= step[d] * index[d];
      index[d] = 0;
    }
  }
  return out;
}

Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = static_cast<int32_t>(rows);
  return shape;
}

// Lets a constant of `rows` rows be computed in parts. `read` computes the rows [first, first + count); `first` is a
// multiple of `block`.
void compute_by_rows(Constant* constant, int64_t rows, int64_t block,
                     std::function<Constant(int64_t first, int64_t count)> read) {
  if (constant->size == 0) return;
  const size_t row = constant->size / static_cast<size_t>(rows);
  constant->part_unit = row * static_cast<size_t>(block);
  constant->compute_part = [row, block, read = std::move(read)](size_t begin, size_t size) {
    const auto first = static_cast<int64_t>(begin / row) / block * block;
    const auto end = static_cast<int64_t>((begin + size + row - 1) / row);
    Constant part = read(first, end - first);
    part.bytes = part.bytes.subspan(begin - static_cast<size_t>(first) * row, size);
    return part;
  };
}

// Whether the values are 0, 1, 2...
bool counts(const CheckpointTensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<double>(i)) return false;
  return true;
}

// Counters of training and of profilers: BatchNorm's, those of averaged models, of thop.
constexpr std::string_view kCounters[] = {"num_batches_tracked", "n_averaged", "num_updates", "total_ops",
                                          "total_params"};

// What an unused tensor is, if it cannot change an output; else empty.
std::string cannot_matter(const std::string& key, const CheckpointTensor& tensor, Ledger::Mode mode) {
  const std::string name = key.substr(key.find_last_of("./") + 1);
  if (tensor.elements() == 0) return "tensors without elements";
  if (tensor.elements() == 1 && std::find(std::begin(kCounters), std::end(kCounters), name) != std::end(kCounters))
    return name;
  // The positions that networks with learned position tables count up.
  if (name == "position_ids" && (mode == Ledger::Mode::Try || counts(tensor))) return name;
  return "";
}

}  // namespace

Ledger::Ledger(std::shared_ptr<const Checkpoint> checkpoint, const Naming& naming, Mode mode)
    : checkpoint_(std::move(checkpoint)), naming_(naming), mode_(mode) {}

const CheckpointTensor* Ledger::find(const std::string& key) const {
  const auto& tensors = checkpoint_->tensors();
  const auto it = tensors.find(key);
  return it == tensors.end() ? nullptr : &it->second;
}

const CheckpointTensor& Ledger::use(const std::string& key, const std::string& module) {
  const CheckpointTensor* tensor = find(key);
  if (!tensor) fail("the checkpoint has no '%s', which module '%s' needs", key.c_str(), module.c_str());
  if (!used_.insert(key).second)
    fail("'%s' is used twice, the second time by module '%s': two names map to one key", key.c_str(), module.c_str());
  return *tensor;
}

size_t Ledger::discard(const std::string& prefix) {
  const auto& tensors = checkpoint_->tensors();
  size_t count = 0;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it, ++count)
    used_.insert(it->first);
  return count;
}

void Ledger::use_buffer(const std::string& key, const std::string& module, const std::string& what) {
  use(key, module);
  ++computed_[what];
}

void Ledger::finish() {
  constexpr size_t kNamed = 5;
  size_t unread = 0;
  std::string names;
  for (const auto& [key, tensor] : checkpoint_->tensors()) {
    if (used_.contains(key)) continue;
    if (const std::string name = cannot_matter(key, tensor, mode_); !name.empty()) {
      ++computed_[name];
      continue;
    }
    if (++unread <= kNamed) names += (names.empty() ? "'" : ", '") + key + "' " + list(tensor.shape);
  }
  std::string buffers;
  for (const auto& [name, count] : computed_)
    buffers += (buffers.empty() ? "" : ", ") + name + " (" + std::to_string(count) + ")";
  if (!buffers.empty()) details.push_back("keys that cannot change an output: " + buffers);
  if (unread == 0) return;
  if (unread > kNamed) names += " and " + std::to_string(unread - kNamed) + " more";
  fail("the network does not use %zu %s of the checkpoint: %s (--ignore-keys REGEX leaves out keys that do not matter)",
       unread, unread == 1 ? "key" : "keys", names.c_str());
}

Weights Weights::operator[](std::string_view name) const {
  Weights inner = *this;
  if (!inner.path_.empty()) inner.path_ += '.';
  inner.path_ += name;
  return inner;
}

const char* Weights::separator() const { return ledger_->naming().layout == WeightLayout::Keras ? "/" : "."; }

std::string Weights::key(std::string_view leaf) const {
  const std::string module = name();
  const bool both = !module.empty() && !leaf.empty();
  return module + (both ? separator() : "") + std::string(leaf);
}

bool Weights::has(std::string_view leaf) const { return ledger_->find(key(leaf)) != nullptr; }

Shape Weights::stored_shape(std::string_view leaf) const {
  const std::string k = key(leaf);
  const CheckpointTensor* tensor = ledger_->find(k);
  return tensor ? to_shape(*tensor, k) : Shape{};
}

Weights Weights::again(int n) const {
  Weights same = *this;
  same.run_ = n;
  return same;
}

Tensor Weights::once(const std::string& what, const std::function<Tensor()>& make) const {
  auto& made = ledger_->made();
  const std::string id = path_ + ": " + what;
  const auto first = made.find(id);
  if (run_ > 0 && first != made.end()) return first->second;
  return made.insert_or_assign(id, make()).first->second;
}

const CheckpointTensor& Weights::use(const std::string& key) const {
  const CheckpointTensor* tensor = run_ > 0 ? ledger_->find(key) : nullptr;
  return tensor ? *tensor : ledger_->use(key, path_);
}

std::vector<std::string> Weights::tap_names() const {
  std::vector<std::string> names = ferry::tap_names(ledger_->naming(), path_);
  if (run_ == 0) return names;
  for (std::string& name : names) {
    const size_t mark = name.find('#');
    const int before = mark == name.npos ? 0 : std::atoi(name.c_str() + mark + 1);
    name = name.substr(0, mark) + "#" + std::to_string(before + run_);
  }
  return names;
}

void Weights::discard() const {
  if (run_ > 0) return;
  const std::string own = name();
  ledger_->discard(own.empty() ? own : own + separator());
  if (ledger_->find(own)) ledger_->use(own, path_);
}

void Weights::leave_out(const std::string& what) const {
  const std::string prefix = name() + separator();
  if (const size_t count = ledger_->discard(prefix); count > 0)
    ledger_->notes.push_back(prefix + "* is left out: " + what + ", " + std::to_string(count) + " tensors");
}

Tensor Weights::permuted(const std::string& key, const Shape& stored, const std::vector<int>& perm) const {
  return once(key, [&] { return read(key, stored, perm); });
}

Tensor Weights::read(const std::string& key, const Shape& stored, const std::vector<int>& perm) const {
  const CheckpointTensor& tensor = use(key);
  if (!is_float(tensor.type) && !tensor.scales)
    fail("'%s' is %s: weights of module '%s' must be floating-point", key.c_str(), element_name(tensor.type),
         path_.c_str());
  ledger_->readings.insert_or_assign(key, Reading{stored, perm});
  Shape shape;
  for (int p : perm) shape[shape.rank++] = stored[p];
  // Moving a dimension of 1 moves no element: only the order of the others matters.
  std::vector<int> moving;
  for (int p : perm)
    if (stored[p] > 1) moving.push_back(p);
  const bool stays = std::is_sorted(moving.begin(), moving.end());
  if (trying()) {
    const size_t bytes = static_cast<size_t>(shape.elements()) * sizeof(float);
    return graph_->add_constant(key, fbs::DType::Float32, shape, zeros(bytes));
  }
  // The graph holds no copy of a weight: mapped ones stay in the file, others are converted or permuted on demand.
  const auto checkpoint = ledger_->checkpoint();
  const auto done = [checkpoint, bytes = tensor.bytes] { checkpoint->forget(bytes); };
  if (stays && tensor.type == ElementType::F32 && !tensor.encoding) {
    Constant constant = {.owner = checkpoint, .bytes = tensor.bytes, .done = done};
    constant.compute_part = [checkpoint, bytes = tensor.bytes](size_t begin, size_t size) {
      auto buffer = std::make_shared<std::vector<std::byte>>();
      const auto part = checkpoint->fetch(bytes.subspan(begin, size), buffer.get());
      return Constant{.owner = std::move(buffer), .bytes = part};
    };
    return graph_->add_constant(key, fbs::DType::Float32, shape, std::move(constant));
  }
  const bool wide = tensor.type == ElementType::F64;
  Constant constant;
  constant.size = static_cast<size_t>(shape.elements()) * (wide ? sizeof(double) : sizeof(float));
  if (stays) constant.owner = std::shared_ptr<const void>(checkpoint, &tensor);
  const auto read = [checkpoint, wide, stays, perm](const CheckpointTensor& part, const Shape& order) {
    std::vector<std::byte> buffer;
    CheckpointTensor fetched = part;
    fetched.bytes = checkpoint->fetch(part.bytes, &buffer);
    const auto ordered = [&](auto values) {
      std::vector<std::byte>().swap(buffer);
      return hold(stays ? std::move(values) : permute(values, order, perm));
    };
    return wide ? ordered(fetched.to_doubles()) : ordered(fetched.to_floats());
  };
  constant.compute = [&tensor, read, stored] { return read(tensor, stored); };
  // The elements of the first dimension alone, if they stay together. An encoded vector's blocks cross its elements.
  const bool by_rows = tensor.encoding ? tensor.shape.size() > 1 && tensor.encoding->by_rows() : !tensor.shape.empty();
  if (by_rows && (stays || (perm.front() == 0 && stored[0] == tensor.shape[0])))
    compute_by_rows(&constant, tensor.shape[0], first_block(tensor),
                    [&tensor, read, stored](int64_t first, int64_t count) {
                      return read(rows_of(tensor, first, count), with_rows(stored, count));
                    });
  return graph_->add_constant(key, wide ? fbs::DType::Float64 : fbs::DType::Float32, shape, std::move(constant));
}

Tensor Weights::operator()(std::string_view leaf, const Shape& shape) const {
  const std::string k = key(leaf);
  const Shape stored = stored_shape(leaf);
  if (ledger_->find(k) && shape.rank > 0) check_shape(stored, shape, k, path_);
  std::vector<int> same;
  for (int i = 0; i < stored.rank; ++i) same.push_back(i);
  return permuted(k, stored, same);
}

Tensor Weights::kernel(const Shape& shape) const {
  const bool keras = ledger_->naming().layout == WeightLayout::Keras;
  const std::string k = key(keras ? "kernel" : "weight");
  const CheckpointTensor* tensor = ledger_->find(k);
  if (!tensor) ledger_->use(k, path_);  // throws
  const Shape stored = to_shape(*tensor, k);
  // O,KH,KW,I in the framework's order
  const Shape expected =
      keras ? Shape{shape[1], shape[2], shape[3], shape[0]} : Shape{shape[0], shape[3], shape[1], shape[2]};
  check_shape(stored, expected, k, path_);
  return permuted(k, stored, keras ? std::vector{3, 0, 1, 2} : std::vector{0, 2, 3, 1});
}

Tensor Weights::transposed_kernel(const Shape& shape, int groups) const {
  const bool keras = ledger_->naming().layout == WeightLayout::Keras;
  const std::string k = key(keras ? "kernel" : "weight");
  const CheckpointTensor* tensor = ledger_->find(k);
  if (!tensor) ledger_->use(k, path_);  // throws
  const Shape stored = to_shape(*tensor, k);
  if (keras) {  // KH,KW,O,I; no groups
    check_shape(stored, {shape[1], shape[2], shape[0], shape[3]}, k, path_);
    return permuted(k, stored, {2, 0, 1, 3});
  }
  // I,O/groups,KH,KW
  check_shape(stored, {shape[3] * groups, shape[0] / groups, shape[1], shape[2]}, k, path_);
  const Tensor grouped = permuted(k, {groups, stored[0] / groups, stored[1], stored[2], stored[3]}, {0, 2, 3, 4, 1});
  graph_->at(grouped.id).shape = {stored[1] * groups, stored[2], stored[3], stored[0] / groups};
  return grouped;
}

Tensor Weights::matrix(const Shape& shape) const {
  const bool keras = ledger_->naming().layout == WeightLayout::Keras;
  const std::string k = key(keras ? "kernel" : "weight");
  const CheckpointTensor* tensor = ledger_->find(k);
  if (!tensor) ledger_->use(k, path_);  // throws
  const Shape stored = to_shape(*tensor, k);
  check_shape(stored, keras ? Shape{shape[1], shape[0]} : shape, k, path_);
  return permuted(k, stored, keras ? std::vector{1, 0} : std::vector{0, 1});
}

Tensor Weights::reordered(std::string_view leaf, const Order& order) const {
  const std::string k = key(leaf);
  const CheckpointTensor* tensor = ledger_->find(k);
  if (!tensor) ledger_->use(k, path_);  // throws
  check_shape(to_shape(*tensor, k), order.stored, k, path_);
  const Tensor seen = permuted(k, order.seen, order.perm);
  graph_->at(seen.id).shape.assign(order.shape.dims.begin(), order.shape.dims.begin() + order.shape.rank);
  return seen;
}

Tensor Weights::reordered_mxfp4(std::string_view leaf, const Order& order) const {
  const std::string k = key(leaf);
  const CheckpointTensor &blocks = use(k + "_blocks"), &scales = use(k + "_scales");
  check_mxfp4(blocks, scales, k);
  Shape stored = to_shape(scales, k + "_scales");
  stored[stored.rank - 1] *= kMxfp4Block;
  check_shape(stored, order.stored, k, path_);
  ledger_->readings.insert_or_assign(k + "_blocks", Reading{order.seen, order.perm, k + "_scales"});
  if (trying())
    return graph_->add_constant(k, fbs::DType::Float32, order.shape,
                                zeros(static_cast<size_t>(order.shape.elements()) * sizeof(float)));
  Constant constant;
  constant.size = static_cast<size_t>(order.shape.elements()) * sizeof(float);
  const auto checkpoint = ledger_->checkpoint();
  constant.compute = [&blocks, &scales, checkpoint, seen = order.seen, perm = order.perm] {
    std::vector<float> values = read_mxfp4(blocks, scales);
    checkpoint->forget(blocks.bytes);
    return hold(permute(values, seen, perm));
  };
  if (order.perm.front() == 0 && order.seen[0] == stored[0])
    compute_by_rows(&constant, stored[0], 1, [&blocks, &scales, order, checkpoint](int64_t first, int64_t count) {
      const CheckpointTensor own = rows_of(blocks, first, count);
      Constant part =
          hold(permute(read_mxfp4(own, rows_of(scales, first, count)), with_rows(order.seen, count), order.perm));
      checkpoint->forget(own.bytes);
      return part;
    });
  return graph_->add_constant(k, fbs::DType::Float32, order.shape, std::move(constant));
}

void Weights::computed(std::string_view leaf, const std::vector<std::vector<double>>& expected) const {
  const std::string k = key(leaf);
  const CheckpointTensor* tensor = ledger_->find(k);
  if (!tensor || run_ > 0) return;
  ledger_->use_buffer(k, path_, std::string(leaf));
  if (trying()) return;
  const std::vector<double> values = tensor->to_doubles();
  // Of the type's rounding, and of float32 arithmetic.
  const double relative = tensor->type == ElementType::BF16 ? 0x1p-7 : tensor->type == ElementType::F16 ? 0x1p-9 : 1e-4;
  const auto equal = [&](double a, double b) { return std::fabs(a - b) <= relative * std::fabs(b) + 0x1p-24; };
  for (const std::vector<double>& one : expected)
    if (std::equal(values.begin(), values.end(), one.begin(), one.end(), equal)) return;
  size_t i = 0;
  while (i < values.size() && i < expected.front().size() && equal(values[i], expected.front()[i])) ++i;
  if (values.size() != expected.front().size())
    fail("'%s' has %zu values, but the configuration results in %zu", k.c_str(), values.size(),
         expected.front().size());
  fail(
      "'%s' has %g at %zu, but the configuration results in %g: config.json is another model's, or --ignore-keys "
      "'%s' trusts it",
      k.c_str(), values[i], i, expected.front()[i], std::string(leaf).c_str());
}

std::vector<double> Weights::values(std::string_view leaf, int count) const {
  const std::string k = key(leaf);
  if (const CheckpointTensor* tensor = ledger_->find(k)) check_shape(to_shape(*tensor, k), Shape{count}, k, path_);
  const CheckpointTensor& tensor = use(k);
  return trying() ? std::vector<double>(static_cast<size_t>(count), 1.0) : tensor.to_doubles();
}

}  // namespace ferry
