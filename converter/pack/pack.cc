#include "converter/pack/pack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/checkpoint/sha256.h"
#include "converter/pack/version.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"

namespace ferry {
namespace {

static_assert(std::endian::native == std::endian::little, "blobs are little endian, and written as they lie in memory");

size_t round_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// IEEE 754 binary16, rounded to nearest, ties to even; 0x7c00 (infinity) where a finite number is too large.
uint16_t to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65536) return sign | 0x7c00;
  const int exponent = std::max(std::ilogb(size), -14);                                  // below: subnormal, or zero
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));  // 1024 to 2048 if normal
  return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + steps));
}

template <typename T>
double load(const std::byte* from, size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof value, sizeof value);
  return static_cast<double>(value);
}

template <typename T>
void store(std::byte* to, size_t i, T value) {
  std::memcpy(to + i * sizeof value, &value, sizeof value);
}

// Stores a constant as `dtype`. What that cannot say is an error, not an infinity.
void store_constant(const fbs::TensorT& tensor, std::span<const std::byte> from, fbs::DType dtype, std::byte* to) {
  if (dtype == tensor.dtype) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return;
  }
  const bool wide = tensor.dtype == fbs::DType::Float64, half = dtype == fbs::DType::Float16;
  for (size_t i = 0; i < 8 * from.size() / bits_of(tensor.dtype); ++i) {
    const double value = wide ? load<double>(from.data(), i) : load<float>(from.data(), i);
    const bool fits = half ? (to_half(value) & 0x7fff) < 0x7c00
                           : std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max());
    if (std::isfinite(value) && !fits)
      fail("constant '%s': element %zu is %g, beyond %s", tensor.name.c_str(), i, value, half ? "float16" : "float32");
    half ? store(to, i, to_half(value)) : store(to, i, static_cast<float>(value));
  }
}

// The graph's own table and those of the graphs in it.
template <typename Table>
std::vector<Table*> tables_of(Table& root) {
  std::vector<Table*> tables = {&root};
  for (const auto& graph : root.graphs) tables.push_back(graph.get());
  return tables;
}

// By the graph's buffer: the type that it is stored in. A weight that something else reads too stays as it is.
std::vector<fbs::DType> stored_types(const fbs::GraphT& root, const PackOptions& options) {
  std::vector<bool> half, other;
  std::vector<fbs::DType> types;
  for (const fbs::GraphT* table : tables_of(root)) {
    for (const auto& tensor : table->tensors) {
      if (types.size() <= tensor->buffer) types.resize(tensor->buffer + 1);
      types[tensor->buffer] = tensor->dtype;
    }
    half.resize(types.size());
    other.resize(types.size());
    for (const auto& op : table->operators) {
      const bool weighted = has_weight(op->params.type) && options.weights == PackOptions::Weights::Float16;
      const fbs::GatherT* gather = op->params.AsGather();
      const bool looked_up = options.half_tables && gather != nullptr && gather->kind == fbs::GatherKind::Slices;
      for (size_t i = 0; i < op->inputs.size(); ++i)
        ((weighted && i == 1) || (looked_up && i == 0)
             ? half
             : other)[table->tensors[static_cast<size_t>(op->inputs[i])]->buffer] = true;
    }
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool real = types[i] == fbs::DType::Float32 || types[i] == fbs::DType::Float64;
    if (real && half[i] && !other[i]) {
      types[i] = fbs::DType::Float16;
    } else if (types[i] == fbs::DType::Float64) {
      types[i] = fbs::DType::Float32;
    }
  }
  return types;
}

// A constant on its way into the data section.
struct Segment {
  const fbs::TensorT* tensor;  // as the graph has it
  std::span<const std::byte> bytes;
  fbs::DType dtype;  // as the blob will have it
  size_t offset;
};

std::vector<std::byte> serialize(const fbs::GraphT& model) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fbs::FinishGraphBuffer(builder, fbs::CreateGraph(builder, &model));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> pack(const Graph& graph, const PackOptions& options) {
  const std::vector<fbs::DType> types = stored_types(graph.table, options);
  fbs::GraphT model = graph.table;
  std::vector<Segment> segments;
  model.buffers.clear();
  model.buffers.push_back(std::make_unique<fbs::BufferT>());
  std::vector<uint32_t> renumbered(types.size());  // by the graph's buffer: tensors that share one go on sharing it
  size_t data_bytes = 0;
  const std::vector<const fbs::GraphT*> sources = tables_of(graph.table);
  const std::vector<fbs::GraphT*> tables = tables_of(model);
  for (size_t t = 0; t < tables.size(); ++t) {
    for (size_t i = 0; i < tables[t]->tensors.size(); ++i) {
      fbs::TensorT& tensor = *tables[t]->tensors[i];
      if (tensor.buffer == 0) continue;
      const fbs::DType type = types[tensor.buffer];
      uint32_t& buffer = renumbered[tensor.buffer];
      if (buffer == 0) {
        buffer = static_cast<uint32_t>(model.buffers.size());
        const auto bytes = graph.buffer(tensor.buffer).bytes;
        segments.push_back({sources[t]->tensors[i].get(), bytes, type, data_bytes});
        auto entry = std::make_unique<fbs::BufferT>();
        entry->offset = data_bytes;
        entry->size = bytes.size() * bits_of(type) / bits_of(tensor.dtype);
        data_bytes = round_up(data_bytes + entry->size + kExtraBytes);
        model.buffers.push_back(std::move(entry));
      }
      tensor.buffer = buffer;
      tensor.dtype = type;
    }
  }

  std::vector<std::byte> data(data_bytes);  // zeros: the padding
  for (const Segment& s : segments) store_constant(*s.tensor, s.bytes, s.dtype, data.data() + s.offset);
  model.content = sha256_hex(data);
  return assemble(model, data);
}

std::vector<std::byte> assemble(const fbs::GraphT& model, std::span<const std::byte> data) {
  const std::vector<std::byte> flat = serialize(model);
  BlobHeader header{};
  std::memcpy(header.magic, BlobHeader::kMagic, sizeof header.magic);
  header.version = format_version(model);
  header.header_bytes = sizeof header;
  header.graph_offset = sizeof header;
  header.graph_bytes = flat.size();
  header.data_offset = round_up(sizeof header + flat.size());
  header.data_bytes = data.size();

  std::vector<std::byte> blob(header.data_offset + data.size());
  std::memcpy(blob.data(), &header, sizeof header);
  std::memcpy(blob.data() + header.graph_offset, flat.data(), flat.size());
  std::copy(data.begin(), data.end(), blob.begin() + static_cast<std::ptrdiff_t>(header.data_offset));

  const fbs::Graph* verified = nullptr;
  std::span<const std::byte> verified_data;
  if (Status status = verify(blob, &verified, &verified_data); !status.ok())
    fail("the converted graph is inconsistent: %s", status.message().c_str());
  return blob;
}

}  // namespace ferry
