#include "converter/pack/pack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/checkpoint/sha256.h"
#include "converter/graph/float16.h"
#include "converter/pack/version.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"
#include "sdk/model/xxh64.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"

namespace ferry {
namespace {

static_assert(std::endian::native == std::endian::little, "blobs are little endian, and written as they lie in memory");

size_t round_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

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

// Writes elements of a constant, the first of which has index `first`, as `dtype`. Overflow is an error, not an
// infinity.
void write_constant(const fbs::TensorT& tensor, std::span<const std::byte> from, size_t first, fbs::DType dtype,
                    const Sink& sink) {
  if (dtype == tensor.dtype) return sink(from);
  const bool wide = tensor.dtype == fbs::DType::Float64, half = dtype == fbs::DType::Float16;
  const size_t stored = bits_of(tensor.dtype) / 8;
  constexpr size_t kAtOnce = 1 << 16;
  const size_t count = from.size() / stored, size = bits_of(dtype) / 8;
  std::vector<std::byte> part;
  for (size_t begin = 0; begin < count; begin += kAtOnce) {
    const size_t elements = std::min(count - begin, kAtOnce);
    part.resize(elements * size);
    if (!wide && to_float16(from.subspan(begin * stored, elements * stored), part.data())) {
      sink(part);
      continue;
    }
    for (size_t i = 0; i < elements; ++i) {
      const double value = wide ? load<double>(from.data(), begin + i) : load<float>(from.data(), begin + i);
      const uint16_t narrow = half ? to_float16(value) : 0;
      const bool fits = half ? (narrow & 0x7fff) < 0x7c00
                             : std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max());
      if (std::isfinite(value) && !fits)
        fail("constant '%s': element %zu is %g, beyond %s", tensor.name.c_str(), first + begin + i, value,
             half ? "float16" : "float32");
      half ? store(part.data(), i, narrow) : store(part.data(), i, static_cast<float>(value));
    }
    sink(part);
  }
}

// Storage type by buffer of the graph. A weight with readers of another kind is unchanged.
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
      const bool halved = options.weights == PackOptions::Weights::Float16;
      const fbs::GatherT* gather = op->params.AsGather();
      const bool looked_up = options.half_tables && gather != nullptr && gather->kind == fbs::GatherKind::Slices;
      for (size_t i = 0; i < op->inputs.size(); ++i)
        ((halved && is_weight(op->params.type, static_cast<unsigned>(i))) || (looked_up && i == 0)
             ? half
             : other)[table->tensors[index_of(op->inputs[i])]->buffer] = true;
    }
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool floating = types[i] == fbs::DType::Float32 || types[i] == fbs::DType::Float64;
    if (floating && half[i] && !other[i]) {
      types[i] = fbs::DType::Float16;
    } else if (types[i] == fbs::DType::Float64) {
      types[i] = fbs::DType::Float32;
    }
  }
  return types;
}

// A constant and its position in the data section.
struct Segment {
  const fbs::TensorT* tensor;  // in the graph
  uint32_t buffer;             // in the graph
  fbs::DType dtype;            // in the blob
  size_t size;                 // in the blob
};

// Reserves the place of a buffer's checksum, which is known once its bytes are written: a 0 would be omitted.
constexpr uint64_t kUnknownChecksum = 1;

// A blob's flatbuffer table, and its constants in the order of the data section.
struct BlobLayout {
  fbs::GraphT table;
  std::vector<Segment> segments;
  size_t data_bytes = 0;
};

BlobLayout layout_of(const Graph& graph, const PackOptions& options) {
  const std::vector<fbs::DType> types = stored_types(graph.table, options);
  BlobLayout out{.table = graph.table, .segments = {}};
  auto& buffers = out.table.buffers;
  buffers.clear();
  buffers.push_back(std::make_unique<fbs::BufferT>());
  std::vector<uint32_t> renumbered(types.size());  // by the graph's buffer: shared buffers stay shared
  if (!out.table.text.empty()) out.table.text_checksum = checksum_of(std::as_bytes(std::span(out.table.text)));
  const std::vector<const fbs::GraphT*> sources = tables_of(graph.table);
  const std::vector<fbs::GraphT*> tables = tables_of(out.table);
  for (size_t t = 0; t < tables.size(); ++t) {
    const auto place = [&](size_t i) {
      fbs::TensorT& tensor = *tables[t]->tensors[i];
      if (tensor.buffer == 0) return;
      const fbs::DType type = types[tensor.buffer];
      uint32_t& buffer = renumbered[tensor.buffer];
      if (buffer == 0) {
        buffer = static_cast<uint32_t>(buffers.size());
        auto entry = std::make_unique<fbs::BufferT>();
        entry->offset = out.data_bytes;
        entry->checksum = kUnknownChecksum;
        entry->size = graph.buffer(tensor.buffer).byte_count() * bits_of(type) / bits_of(tensor.dtype);
        out.segments.push_back({sources[t]->tensors[i].get(), tensor.buffer, type, static_cast<size_t>(entry->size)});
        out.data_bytes += padded_size(entry->size);
        buffers.push_back(std::move(entry));
      }
      tensor.buffer = buffer;
      tensor.dtype = type;
    };
    // Scales follow their integers, with which they are computed (converter/quantize/quantize.cc).
    std::vector<bool> placed(tables[t]->tensors.size());
    for (size_t i = 0; i < placed.size(); ++i) {
      if (!placed[i]) place(i);
      const auto& quantization = tables[t]->tensors[i]->quantization;
      if (!quantization || placed[index_of(quantization->scale)]) continue;
      placed[index_of(quantization->scale)] = true;
      if (index_of(quantization->scale) > i) place(index_of(quantization->scale));
    }
  }
  return out;
}

// Writes the data section. Sets the checksums of its buffers.
void write_segments(const Graph& graph, BlobLayout* layout, const std::function<void(double)>& progress,
                    const Sink& to) {
  uint64_t written = 0;
  for (size_t i = 0; i < layout->segments.size(); ++i) {
    const Segment& segment = layout->segments[i];
    const size_t bits = bits_of(segment.tensor->dtype);
    Xxh64 hash;
    const Sink sink = [&](std::span<const std::byte> bytes) {
      hash.update(bytes);
      to(bytes);
    };
    read_in_parts(graph.buffer(segment.buffer), std::max<size_t>(bits / 8, 1),
                  [&](std::span<const std::byte> part, size_t begin) {
                    write_constant(*segment.tensor, part, 8 * begin / bits, segment.dtype, sink);
                    written += part.size() * bits_of(segment.dtype) / bits;
                    if (progress) progress(static_cast<double>(written) / static_cast<double>(layout->data_bytes));
                  });
    layout->table.buffers[i + 1]->checksum = std::max(hash.digest(), kUnknownChecksum);
    to(std::vector<std::byte>(padded_size(segment.size) - segment.size));
  }
}

// Everything before the data section.
std::vector<std::byte> head_of(const fbs::GraphT& table, size_t data_bytes) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fbs::FinishGraphBuffer(builder, fbs::CreateGraph(builder, &table));
  BlobHeader header{};
  std::memcpy(header.magic, BlobHeader::kMagic, sizeof header.magic);
  header.version = format_version(table);
  header.header_bytes = sizeof header;
  header.graph_offset = sizeof header;
  header.graph_bytes = builder.GetSize();
  header.data_offset = round_up(sizeof header + builder.GetSize());
  header.data_bytes = data_bytes;
  std::vector<std::byte> head(header.data_offset);
  std::memcpy(head.data(), &header, sizeof header);
  std::memcpy(head.data() + sizeof header, builder.GetBufferPointer(), builder.GetSize());
  return head;
}

// The digest precedes the content that it covers: a placeholder of the same length reserves its place.
const std::string kUnknownContent(64, '0');
// Likewise for a buffer's size: a 0 would be omitted.
constexpr uint64_t kUnknownSize = 1;

struct Parts {
  const fbs::Graph* graph = nullptr;
  std::span<const std::byte> data;
};

Parts verified(std::span<const std::byte> blob) {
  Parts parts;
  if (Status status = verify(blob, &parts.graph, &parts.data); !status.ok())
    fail("the converted graph is inconsistent: %s", status.message().data());
  return parts;
}

std::unique_ptr<Mapping> mapped(const NewFile& file) {
  std::unique_ptr<Mapping> mapping;
  if (Status status = Mapping::map_path(file.path().c_str(), &mapping); !status.ok())
    fail("%s: %s", file.path().c_str(), status.message().data());
  return mapping;
}

// Appends the checkpoint's buffer after the constants in `file`; the head has a placeholder for its entry.
void attach_to(const Attach& attach, const NewFile& file, BlobLayout* layout, const Sink& sink) {
  fbs::BufferT& buffer = *layout->table.buffers[layout->table.checkpoint];
  const std::unique_ptr<Mapping> so_far = mapped(file);
  buffer.size = 0;
  const std::span<const std::byte> data = so_far->bytes().last(layout->data_bytes);
  attach(layout->table, {data, [&] { so_far->forget(data); }}, [&](std::span<const std::byte> bytes) {
    buffer.size += bytes.size();
    sink(bytes);
  });
  sink(std::vector<std::byte>(padded_size(buffer.size) - buffer.size));
  layout->data_bytes += padded_size(buffer.size);
}

}  // namespace

uint64_t packed_size(const Graph& graph, const PackOptions& options) {
  BlobLayout layout = layout_of(graph, options);
  layout.table.content = kUnknownContent;
  return head_of(layout.table, layout.data_bytes).size() + layout.data_bytes;
}

uint64_t pack_file(const Graph& graph, const PackOptions& options, const std::filesystem::path& path,
                   const Certify& certify, const Attach& checkpoint) {
  BlobLayout layout = layout_of(graph, options);
  NewFile file;
  or_fail(file.open(path.string(), {.rewritten = true}));
  layout.table.content = kUnknownContent;
  if (checkpoint) {
    layout.table.checkpoint = static_cast<uint32_t>(layout.table.buffers.size());
    auto placeholder = std::make_unique<fbs::BufferT>();
    placeholder->offset = layout.data_bytes;
    placeholder->size = kUnknownSize;
    layout.table.buffers.push_back(std::move(placeholder));
  }
  or_fail(file.write(head_of(layout.table, layout.data_bytes)));
  Sha256 hash;
  const Sink sink = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    or_fail(file.write(bytes));
  };
  write_segments(graph, &layout, options.progress, sink);
  if (checkpoint) attach_to(checkpoint, file, &layout, sink);
  layout.table.content = hash.hex();
  or_fail(file.write_at(0, head_of(layout.table, layout.data_bytes)));
  const std::unique_ptr<Mapping> blob = mapped(file);
  const Parts parts = verified(blob->bytes());
  if (!certify) {
    or_fail(file.keep());
    return blob->bytes().size();
  }
  // Writes a new flatbuffer before the same data.
  Certificates certificates = certify(file.path());
  const std::vector<fbs::GraphT*> tables = tables_of(layout.table);
  for (size_t i = 0; i < certificates.size(); ++i) tables.at(i)->certificate = std::move(certificates[i]);
  NewFile certified;
  or_fail(certified.open(path.string(), {.rewritten = true}));
  or_fail(certified.write(head_of(layout.table, parts.data.size())));
  or_fail(certified.write(parts.data));
  const std::unique_ptr<Mapping> certified_blob = mapped(certified);
  verified(certified_blob->bytes());
  or_fail(certified.keep());
  return certified_blob->bytes().size();
}

std::vector<std::byte> pack(const Graph& graph, const PackOptions& options) {
  BlobLayout layout = layout_of(graph, options);
  layout.table.content = kUnknownContent;
  std::vector<std::byte> blob = head_of(layout.table, layout.data_bytes);
  Sha256 hash;
  write_segments(graph, &layout, options.progress, [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    blob.insert(blob.end(), bytes.begin(), bytes.end());
  });
  layout.table.content = hash.hex();
  const std::vector<std::byte> head = head_of(layout.table, layout.data_bytes);
  std::copy(head.begin(), head.end(), blob.begin());
  verified(blob);
  return blob;
}

uint64_t checksum_of(std::span<const std::byte> bytes) { return std::max(xxh64(bytes), kUnknownChecksum); }

uint32_t add_segment(std::span<const std::byte> bytes, fbs::GraphT* table, std::vector<std::byte>* data) {
  auto buffer = std::make_unique<fbs::BufferT>();
  buffer->offset = data->size();
  buffer->size = bytes.size();
  data->insert(data->end(), bytes.begin(), bytes.end());
  data->resize(padded_size(data->size()));
  table->buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(table->buffers.size() - 1);
}

std::vector<std::byte> assemble(const fbs::GraphT& table, std::span<const std::byte> data) {
  std::vector<std::byte> blob = head_of(table, data.size());
  blob.insert(blob.end(), data.begin(), data.end());
  verified(blob);
  return blob;
}

}  // namespace ferry
