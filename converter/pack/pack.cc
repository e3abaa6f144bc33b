#include "converter/pack/pack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "sdk/model/dtype.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"

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

// Takes the bytes of a blob in their order.
using Sink = std::function<void(std::span<const std::byte>)>;

// Gives a constant's elements as `dtype`. What that cannot say is an error, not an infinity.
void write_constant(const fbs::TensorT& tensor, std::span<const std::byte> from, fbs::DType dtype, const Sink& sink) {
  if (dtype == tensor.dtype) return sink(from);
  const bool wide = tensor.dtype == fbs::DType::Float64, half = dtype == fbs::DType::Float16;
  constexpr size_t kAtOnce = 1 << 16;
  const size_t count = from.size() / dtype_size(tensor.dtype), size = dtype_size(dtype);
  std::vector<std::byte> part;
  for (size_t begin = 0; begin < count; begin += kAtOnce) {
    const size_t elements = std::min(count - begin, kAtOnce);
    part.resize(elements * size);
    for (size_t i = 0; i < elements; ++i) {
      const double value = wide ? load<double>(from.data(), begin + i) : load<float>(from.data(), begin + i);
      const bool fits = half ? (to_half(value) & 0x7fff) < 0x7c00
                             : std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max());
      if (std::isfinite(value) && !fits)
        fail("constant '%s': element %zu is %g, beyond %s", tensor.name.c_str(), begin + i, value,
             half ? "float16" : "float32");
      half ? store(part.data(), i, to_half(value)) : store(part.data(), i, static_cast<float>(value));
    }
    sink(part);
  }
}

// By tensor: the type that its constant is stored in. A weight that something else reads too stays as it is.
std::vector<fbs::DType> stored_types(const Graph& graph, const PackOptions& options) {
  const auto& tensors = graph.table.tensors;
  std::vector<bool> weight(tensors.size()), other(tensors.size());
  for (const auto& op : graph.table.operators) {
    const bool weighted = has_weight(op->params.type);
    for (size_t i = 0; i < op->inputs.size(); ++i)
      (weighted && i == 1 ? weight : other)[static_cast<size_t>(op->inputs[i])] = true;
  }
  std::vector<fbs::DType> types;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const fbs::DType own = tensors[i]->dtype;
    const bool real = own == fbs::DType::Float32 || own == fbs::DType::Float64;
    if (real && weight[i] && !other[i] && options.weights == PackOptions::Weights::Float16) {
      types.push_back(fbs::DType::Float16);
    } else {
      types.push_back(own == fbs::DType::Float64 ? fbs::DType::Float32 : own);
    }
  }
  return types;
}

// A constant on its way into the data section.
struct Segment {
  int tensor;        // of the graph
  fbs::DType dtype;  // as the blob will have it
  size_t size;       // there
};

size_t padded(size_t size) { return round_up(size + kExtraBytes); }

// What a graph becomes: the flatbuffer's table, and the constants in the order of the data section.
struct Layout {
  fbs::GraphT table;
  std::vector<Segment> segments;
  size_t data_bytes = 0;
};

Layout layout_of(const Graph& graph, const PackOptions& options) {
  const std::vector<fbs::DType> types = stored_types(graph, options);
  Layout out{.table = graph.table, .segments = {}};
  fbs::GraphT& table = out.table;
  table.buffers.clear();
  table.buffers.push_back(std::make_unique<fbs::BufferT>());
  std::vector<uint32_t> renumbered;  // by the graph's buffer: tensors that share one go on sharing it
  for (size_t i = 0; i < table.tensors.size(); ++i) {
    fbs::TensorT& tensor = *table.tensors[i];
    if (tensor.buffer == 0) continue;
    if (renumbered.size() <= tensor.buffer) renumbered.resize(tensor.buffer + 1);
    uint32_t& buffer = renumbered[tensor.buffer];
    if (buffer == 0) {
      buffer = static_cast<uint32_t>(table.buffers.size());
      const int index = static_cast<int>(i);
      auto entry = std::make_unique<fbs::BufferT>();
      entry->offset = out.data_bytes;
      entry->size = graph.constant_bytes(index) / dtype_size(tensor.dtype) * dtype_size(types[i]);
      out.segments.push_back({index, types[i], entry->size});
      out.data_bytes += padded(entry->size);
      table.buffers.push_back(std::move(entry));
    }
    tensor.buffer = buffer;
    tensor.dtype = types[i];
  }
  return out;
}

void write_zeros(size_t count, const Sink& sink) { sink(std::vector<std::byte>(count)); }

void write_segments(const Graph& graph, const Layout& layout, const Sink& sink) {
  for (const Segment& segment : layout.segments) {
    const Constant constant = graph.constant(segment.tensor);
    write_constant(graph.at(segment.tensor), constant.bytes, segment.dtype, sink);
    write_zeros(padded(segment.size) - segment.size, sink);
    if (constant.done) constant.done();
  }
}

// All that stands before the data section.
void write_head(const fbs::GraphT& table, size_t data_bytes, const Sink& sink) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fbs::FinishGraphBuffer(builder, fbs::CreateGraph(builder, &table));
  const auto flat = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  BlobHeader header{};
  std::memcpy(header.magic, BlobHeader::kMagic, sizeof header.magic);
  header.version = BlobHeader::kVersion;
  header.header_bytes = sizeof header;
  header.graph_offset = sizeof header;
  header.graph_bytes = flat.size();
  header.data_offset = round_up(sizeof header + flat.size());
  header.data_bytes = data_bytes;
  sink(std::as_bytes(std::span(&header, 1)));
  sink(flat);
  write_zeros(header.data_offset - sizeof header - flat.size(), sink);
}

Sink append_to(std::vector<std::byte>* blob) {
  return [blob](std::span<const std::byte> bytes) { blob->insert(blob->end(), bytes.begin(), bytes.end()); };
}

Sink append_to(NewFile* file) {
  return [file](std::span<const std::byte> bytes) { file->write(bytes); };
}

struct Parts {
  const fbs::Graph* graph = nullptr;
  std::span<const std::byte> data;
};

Parts verified(std::span<const std::byte> blob) {
  Parts parts;
  if (Status status = verify(blob, &parts.graph, &parts.data); !status.ok())
    fail("the converted graph is inconsistent: %s", status.message().c_str());
  return parts;
}

std::unique_ptr<Mapping> mapped(const NewFile& file) {
  std::unique_ptr<Mapping> mapping;
  if (Status status = Mapping::map_path(file.path().c_str(), &mapping); !status.ok())
    fail("%s: %s", file.path().c_str(), status.message().c_str());
  return mapping;
}

}  // namespace

uint64_t pack_file(const Graph& graph, const PackOptions& options, const std::filesystem::path& path,
                   const Certify& certify) {
  const Layout layout = layout_of(graph, options);
  NewFile file(path);
  write_head(layout.table, layout.data_bytes, append_to(&file));
  write_segments(graph, layout, append_to(&file));
  const std::unique_ptr<Mapping> blob = mapped(file);
  const Parts parts = verified(blob->bytes());
  if (!certify) {
    file.keep();
    return blob->bytes().size();
  }
  // Another flatbuffer before the same data.
  fbs::GraphT table;
  parts.graph->UnPackTo(&table);
  table.certificate = certify(file.path());
  NewFile certified(path);
  write_head(table, parts.data.size(), append_to(&certified));
  certified.write(parts.data);
  const std::unique_ptr<Mapping> certified_blob = mapped(certified);
  verified(certified_blob->bytes());
  certified.keep();
  return certified_blob->bytes().size();
}

std::vector<std::byte> pack(const Graph& graph, const PackOptions& options) {
  const Layout layout = layout_of(graph, options);
  std::vector<std::byte> blob;
  write_head(layout.table, layout.data_bytes, append_to(&blob));
  write_segments(graph, layout, append_to(&blob));
  verified(blob);
  return blob;
}

std::vector<std::byte> assemble(const fbs::GraphT& table, std::span<const std::byte> data) {
  std::vector<std::byte> blob;
  write_head(table, data.size(), append_to(&blob));
  blob.insert(blob.end(), data.begin(), data.end());
  verified(blob);
  return blob;
}

}  // namespace ferry
