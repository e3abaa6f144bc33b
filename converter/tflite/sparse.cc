#include "converter/tflite/sparse.h"

#include <algorithm>
#include <cstring>

#include "converter/error.h"

namespace ferry::tflite {
namespace {

constexpr int64_t kMaxExpanded = int64_t{1} << 28;  // elements

// A level's segments or indices, which have one of three types.
std::vector<int64_t> vector_of(schema::SparseIndexVector type, const void* table) {
  const auto copy = [](const auto* values) {
    return values == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(values->begin(), values->end());
  };
  if (table == nullptr) return {};
  switch (type) {
    case schema::SparseIndexVector::Int32Vector: return copy(static_cast<const schema::Int32Vector*>(table)->values());
    case schema::SparseIndexVector::Uint16Vector:
      return copy(static_cast<const schema::Uint16Vector*>(table)->values());
    case schema::SparseIndexVector::Uint8Vector: return copy(static_cast<const schema::Uint8Vector*>(table)->values());
    default: return {};
  }
}

// One level of the traversal: an index along it moves an element by `stride` elements.
struct Level {
  int64_t size = 1, stride = 1;
  const schema::DimensionMetadata* metadata = nullptr;
};

std::vector<Level> levels_of(const schema::SparsityParameters& sparsity, const Shape& shape) {
  const auto rank = static_cast<unsigned>(shape.rank);
  const unsigned blocks = count(sparsity.block_map()), all = rank + blocks;
  if (count(sparsity.traversal_order()) != all || count(sparsity.dim_metadata()) != all)
    fail("a sparse constant of %u dimensions and %u of blocks has %u levels", rank, blocks,
         count(sparsity.dim_metadata()));
  // By dimension, the blocks' after the shape's.
  std::vector<Level> dimensions(all);
  int64_t stride = 1;
  for (unsigned d = rank; d-- > 0; stride *= dimensions[d].size)
    dimensions[d] = {shape[static_cast<int>(d)], stride, nullptr};
  std::vector<bool> blocked(rank), seen(all);
  std::vector<unsigned> order;
  for (unsigned i = 0; i < all; ++i) {
    const int d = sparsity.traversal_order()->Get(i);
    if (d < 0 || static_cast<unsigned>(d) >= all || seen[static_cast<size_t>(d)])
      fail("the levels of a sparse constant are no order of its dimensions");
    seen[static_cast<size_t>(d)] = true;
    order.push_back(static_cast<unsigned>(d));
    dimensions[order.back()].metadata = sparsity.dim_metadata()->Get(i);
  }
  for (unsigned i = 0; i < blocks; ++i) {
    const int of = sparsity.block_map()->Get(i);
    Level& block = dimensions[rank + i];
    block.size = block.metadata->dense_size();
    if (of < 0 || static_cast<unsigned>(of) >= rank || blocked[static_cast<size_t>(of)] || block.size < 1 ||
        dimensions[static_cast<size_t>(of)].size % block.size != 0)
      fail("a block of a sparse constant does not divide its shape %s", to_string(shape).c_str());
    Level& outer = dimensions[static_cast<size_t>(of)];
    blocked[static_cast<size_t>(of)] = true;
    block.stride = outer.stride;
    outer.size /= block.size;
    outer.stride *= block.size;
  }
  std::vector<Level> levels;
  for (const unsigned d : order) levels.push_back(dimensions[d]);
  return levels;
}

// The positions that each of `positions` has along a level.
std::vector<int64_t> descend(const std::vector<int64_t>& positions, const Level& level, size_t most) {
  std::vector<int64_t> next;
  const auto add = [&](int64_t position) {
    if (next.size() >= most) fail("a sparse constant has more values than elements");
    next.push_back(position);
  };
  if (level.metadata->format() == schema::DimensionType::DENSE) {
    if (level.metadata->dense_size() != level.size)
      fail("a level of a sparse constant has %d indices, expected %lld", level.metadata->dense_size(),
           static_cast<long long>(level.size));
    for (const int64_t position : positions)
      for (int64_t i = 0; i < level.size; ++i) add(position + i * level.stride);
    return next;
  }
  const std::vector<int64_t> segments =
      vector_of(level.metadata->array_segments_type(), level.metadata->array_segments());
  const std::vector<int64_t> indices = vector_of(level.metadata->array_indices_type(), level.metadata->array_indices());
  if (segments.size() != positions.size() + 1 || segments.front() != 0 ||
      !std::is_sorted(segments.begin(), segments.end()) || segments.back() > static_cast<int64_t>(indices.size()))
    fail("the segments of a sparse constant do not fit its indices");
  for (size_t i = 0; i < positions.size(); ++i)
    for (int64_t k = segments[i]; k < segments[i + 1]; ++k) {
      const int64_t index = indices[static_cast<size_t>(k)];
      if (index < 0 || index >= level.size)
        fail("an index of a sparse constant is %lld, expected less than %lld", static_cast<long long>(index),
             static_cast<long long>(level.size));
      add(positions[i] + index * level.stride);
    }
  return next;
}

}  // namespace

std::vector<std::byte> expand_sparse(const schema::SparsityParameters& sparsity, const Shape& shape, int size,
                                     std::span<const std::byte> values) {
  if (size < 1) fail("a sparse constant of integers of less than a byte");
  if (shape.elements() > kMaxExpanded) fail("a sparse constant of shape %s is too large", to_string(shape).c_str());
  const auto width = static_cast<size_t>(size), most = static_cast<size_t>(shape.elements());
  std::vector<int64_t> positions = {0};
  for (const Level& level : levels_of(sparsity, shape)) positions = descend(positions, level, most);
  if (positions.size() * width != values.size())
    fail("a sparse constant has %zu bytes, expected %zu", values.size(), positions.size() * width);
  std::vector<std::byte> dense(most * width);
  for (size_t i = 0; i < positions.size(); ++i)
    std::memcpy(&dense[static_cast<size_t>(positions[i]) * width], &values[i * width], width);
  return dense;
}

}  // namespace ferry::tflite
