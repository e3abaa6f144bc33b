// Verifies the structure: header, sections, flatbuffer. verify_meaning.cc verifies the graphs.
#include <algorithm>
#include <bit>
#include <cstring>

#include "sdk/model/model.h"
#include "sdk/model/verify_meaning.h"

namespace ferry {
namespace {

static_assert(std::endian::native == std::endian::little, "blobs are read in place, and they are little endian");

using ull = unsigned long long;

Status check_section(const char* name, uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  if (offset % kAlignment != 0)
    return error(FERRY_CORRUPT, "header: the %s section begins at %llu, expected a multiple of %zu", name,
                 static_cast<ull>(offset), kAlignment);
  if (offset < sizeof(BlobHeader))
    return error(FERRY_CORRUPT, "header: the %s section begins at %llu, inside the header of %zu bytes", name,
                 static_cast<ull>(offset), sizeof(BlobHeader));
  if (offset > file_bytes || bytes > file_bytes - offset)
    return error(
        FERRY_CORRUPT,
        "the %s section of %llu bytes from offset %llu reaches past the blob's end at %llu: it is truncated or "
        "damaged",
        name, static_cast<ull>(bytes), static_cast<ull>(offset), static_cast<ull>(file_bytes));
  return {};
}

Status check_header(std::span<const std::byte> blob, BlobHeader* header) {
  constexpr size_t kMagicBytes = sizeof(BlobHeader::kMagic);
  if (blob.size() < kMagicBytes || std::memcmp(blob.data(), BlobHeader::kMagic, kMagicBytes) != 0)
    return error(FERRY_NOT_A_BLOB, "this is not a ferry blob: its first %zu bytes are not the blob's mark",
                 kMagicBytes);
  if (blob.size() < sizeof *header)
    return error(FERRY_CORRUPT, "the blob ends after %zu bytes, inside its header of %zu: it is truncated", blob.size(),
                 sizeof *header);
  std::memcpy(header, blob.data(), sizeof *header);
  const BlobHeader& h = *header;
  if (h.version == 0) return error(FERRY_CORRUPT, "header: format version 0, expected 1 to %u", BlobHeader::kVersion);
  if (h.version > BlobHeader::kVersion)
    return error(FERRY_UNSUPPORTED_VERSION,
                 "the blob has format version %u, this library reads versions up to %u: it needs a later library",
                 h.version, BlobHeader::kVersion);
  if (h.header_bytes != sizeof h)
    return error(FERRY_CORRUPT, "header: header_bytes is %u, expected %zu", h.header_bytes, sizeof h);
  for (uint8_t byte : h.reserved)
    if (byte != 0) return error(FERRY_CORRUPT, "header: a reserved byte is %u, expected 0", byte);
  FERRY_TRY(check_section("graph", h.graph_offset, h.graph_bytes, blob.size()));
  FERRY_TRY(check_section("data", h.data_offset, h.data_bytes, blob.size()));
  if (h.data_offset < h.graph_offset + h.graph_bytes)
    return error(FERRY_CORRUPT, "header: the data section begins at %llu, before the graph section ends at %llu",
                 static_cast<ull>(h.data_offset), static_cast<ull>(h.graph_offset + h.graph_bytes));
  if (h.data_offset + h.data_bytes != blob.size())
    return error(FERRY_CORRUPT, "the blob has %zu bytes, but its data section ends at %llu", blob.size(),
                 static_cast<ull>(h.data_offset + h.data_bytes));
  if (h.graph_bytes > kMaxGraphBytes)
    return error(FERRY_CORRUPT, "header: a graph of %llu bytes, at most %llu are allowed",
                 static_cast<ull>(h.graph_bytes), static_cast<ull>(kMaxGraphBytes));
  return {};
}

// The version that the graph's quantised tensors need: 6 for blocks with Float16 scales, 2 for others.
uint32_t version_of_quantized(const fbs::Graph& graph) {
  uint32_t version = 1;
  for (const fbs::Tensor* tensor : *graph.tensors()) {
    if (tensor->quantization() == nullptr) continue;
    const Type type = type_of(*tensor);
    const bool half = type.block > 0 && graph.tensors()->Get(index_of(type.scale))->dtype() == fbs::DType::Float16;
    version = std::max(version, half ? 6u : 2u);
  }
  for (unsigned i = 0; graph.graphs() != nullptr && i < graph.graphs()->size(); ++i)
    version = std::max(version, version_of_quantized(*graph.graphs()->Get(i)));
  return version;
}

}  // namespace

Status verify(std::span<const std::byte> blob, const fbs::Graph** graph, std::span<const std::byte>* data) {
  BlobHeader header;
  FERRY_TRY(check_header(blob, &header));
  const auto* bytes = reinterpret_cast<const uint8_t*>(blob.data()) + header.graph_offset;
  const size_t graph_bytes = static_cast<size_t>(header.graph_bytes);
  // The identifier is checked first: it distinguishes another flatbuffer from a damaged one.
  if (graph_bytes < 2 * sizeof(flatbuffers::uoffset_t) || !fbs::GraphBufferHasIdentifier(bytes))
    return error(FERRY_CORRUPT, "the graph section is no flatbuffer with the identifier %s", fbs::GraphIdentifier());
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;  // Model, Operator, its parameters: 3
  options.max_tables = kMaxTables;
  flatbuffers::Verifier verifier(bytes, graph_bytes, options);
  if (!fbs::VerifyGraphBuffer(verifier))
    return error(FERRY_CORRUPT, "the graph section is damaged: an offset or a length leads outside its %zu bytes",
                 graph_bytes);
  const fbs::Graph& model = *fbs::GetGraph(bytes);
  FERRY_TRY(verify_meaning(model, header.data_bytes));
  if (const uint32_t needed = version_of_quantized(model); header.version < needed)
    return error(FERRY_CORRUPT,
                 "header: format version %u, but the graph has quantised constants%s, expected %u or more",
                 header.version, needed > 2 ? " with Float16 scales" : "", needed);
  *graph = &model;
  *data = blob.subspan(static_cast<size_t>(header.data_offset), static_cast<size_t>(header.data_bytes));
  return {};
}

}  // namespace ferry
