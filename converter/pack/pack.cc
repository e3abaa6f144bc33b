#include "converter/pack/pack.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "sdk/model/model.h"

namespace ferry {
namespace {

static_assert(std::endian::native == std::endian::little, "blobs are little endian, and written as they lie in memory");

size_t round_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Float64 is the converter's own; what cannot be said in float32 is an error, not an infinity.
void narrow(const fbs::TensorT& tensor, std::span<const std::byte> from, std::byte* to) {
  for (size_t i = 0; i < from.size() / sizeof(double); ++i) {
    double wide;
    std::memcpy(&wide, from.data() + i * sizeof wide, sizeof wide);
    if (std::isfinite(wide) && std::fabs(wide) > static_cast<double>(std::numeric_limits<float>::max()))
      fail("constant '%s': element %zu is %g, beyond float32", tensor.name.c_str(), i, wide);
    const float value = static_cast<float>(wide);
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

// A constant on its way into the data section.
struct Segment {
  const fbs::TensorT* tensor;  // as the graph has it, before narrowing
  std::span<const std::byte> bytes;
  size_t offset, size;
};

std::vector<std::byte> serialize(const fbs::ModelT& model) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fbs::FinishModelBuffer(builder, fbs::CreateModel(builder, &model));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> pack(const Graph& graph) {
  fbs::ModelT model = graph.model;
  std::vector<Segment> segments;
  model.buffers.clear();
  model.buffers.push_back(std::make_unique<fbs::BufferT>());
  std::vector<uint32_t> renumbered;  // by the graph's buffer: tensors that share one go on sharing it
  size_t data_bytes = 0;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    fbs::TensorT& tensor = *model.tensors[i];
    if (tensor.buffer == 0) continue;
    if (renumbered.size() <= tensor.buffer) renumbered.resize(tensor.buffer + 1);
    uint32_t& buffer = renumbered[tensor.buffer];
    if (buffer == 0) {
      buffer = static_cast<uint32_t>(model.buffers.size());
      const bool wide = tensor.dtype == fbs::DType::Float64;
      const auto bytes = graph.constant(static_cast<int>(i)).bytes;
      segments.push_back({graph.model.tensors[i].get(), bytes, data_bytes, wide ? bytes.size() / 2 : bytes.size()});
      auto entry = std::make_unique<fbs::BufferT>();
      entry->offset = data_bytes;
      entry->size = segments.back().size;
      model.buffers.push_back(std::move(entry));
      data_bytes = round_up(data_bytes + segments.back().size + kExtraBytes);
    }
    tensor.buffer = buffer;
    if (tensor.dtype == fbs::DType::Float64) tensor.dtype = fbs::DType::Float32;
  }

  const std::vector<std::byte> flat = serialize(model);
  BlobHeader header{};
  std::memcpy(header.magic, BlobHeader::kMagic, sizeof header.magic);
  header.version = BlobHeader::kVersion;
  header.header_bytes = sizeof header;
  header.graph_offset = sizeof header;
  header.graph_bytes = flat.size();
  header.data_offset = round_up(sizeof header + flat.size());
  header.data_bytes = data_bytes;

  std::vector<std::byte> blob(header.data_offset + data_bytes);  // zeros: the padding
  std::memcpy(blob.data(), &header, sizeof header);
  std::memcpy(blob.data() + header.graph_offset, flat.data(), flat.size());
  for (const Segment& s : segments) {
    std::byte* to = blob.data() + header.data_offset + s.offset;
    if (s.tensor->dtype == fbs::DType::Float64) {
      narrow(*s.tensor, s.bytes, to);
    } else if (!s.bytes.empty()) {
      std::memcpy(to, s.bytes.data(), s.bytes.size());
    }
  }

  const fbs::Model* verified = nullptr;
  std::span<const std::byte> data;
  if (Status status = verify(blob, &verified, &data); !status.ok())
    fail("the converted graph is inconsistent: %s", status.message().c_str());
  return blob;
}

}  // namespace ferry
