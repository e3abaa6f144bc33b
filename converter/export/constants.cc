#include "converter/export/constants.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ferry {
namespace {

constexpr size_t kHashedBytes = 64;   // bytes at the beginning of a row
constexpr size_t kMaxCandidates = 8;  // maximum number of candidate rows with equal beginnings
constexpr size_t kMinRunBytes = 64;   // minimum average size of a run in bytes: shorter ones cost as much as the data

constexpr size_t kForgotten = size_t{1} << 25;  // bytes that are compared before the blob's pages are released

uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < kHashedBytes; i += sizeof hash) {
    uint64_t word;
    std::memcpy(&word, &bytes[i], sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

size_t common(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr size_t kStep = 4096;  // memcmp() is many times faster than std::mismatch()
  const size_t size = std::min(a.size(), b.size());
  size_t same = 0;
  while (size - same >= kStep && std::memcmp(&a[same], &b[same], kStep) == 0) same += kStep;
  while (same < size && a[same] == b[same]) ++same;
  return same;
}

}  // namespace

size_t row_bytes(std::span<const int32_t> dims, size_t element) {
  size_t bytes = element;
  for (size_t i = dims.size(); i-- > 0 && bytes < kHashedBytes;) bytes *= static_cast<size_t>(dims[i]);
  return bytes;
}

Constants::Constants(const fbs::GraphT& table, const WrittenData& data) : data_(data) {
  std::vector<bool> known(table.buffers.size());
  for (const fbs::GraphT* graph : tables_of(table)) {
    for (const auto& tensor : graph->tensors) {
      const bool half = tensor->dtype == fbs::DType::Float16;
      if (tensor->buffer == 0 || known[tensor->buffer] || (!half && tensor->dtype != fbs::DType::Float32)) continue;
      known[tensor->buffer] = true;
      const fbs::BufferT& buffer = *table.buffers[tensor->buffer];
      buffers_.push_back({.buffer = tensor->buffer,
                          .half = half,
                          .row = row_bytes(tensor->shape, half ? sizeof(uint16_t) : sizeof(float)),
                          .bytes = data.bytes.subspan(buffer.offset, buffer.size),
                          .name = tensor->name});
    }
  }
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    for (size_t at = 0, read = 0; at + kHashedBytes <= buffers_[i].bytes.size(); at += buffers_[i].row) {
      begins_.push_back({hash_of(buffers_[i].bytes.subspan(at, kHashedBytes)), i, at});
      if (at - read < kForgotten) continue;
      data.forget();
      read = at;
    }
    data.forget();
  }
  std::sort(begins_.begin(), begins_.end(), [](const Begin& a, const Begin& b) {
    return std::tie(a.hash, a.segment, a.offset) < std::tie(b.hash, b.segment, b.offset);
  });
}

std::vector<Constants::Begin> Constants::like(std::span<const std::byte> begin, bool half) const {
  const uint64_t hash = hash_of(begin);
  auto found = std::lower_bound(begins_.begin(), begins_.end(), hash,
                                [](const Begin& b, uint64_t value) { return b.hash < value; });
  std::vector<Begin> out;
  for (size_t tried = 0; tried < kMaxCandidates && found != begins_.end() && found->hash == hash; ++tried, ++found)
    if (buffers_[found->segment].half == half) out.push_back(*found);
  return out;
}

std::optional<fbs::Run> Constants::first_like(const ElementReader& wanted, bool half) const {
  if (wanted.bytes() < kHashedBytes) return {};
  for (const Begin& begin : like(wanted.from(0).first(kHashedBytes), half)) {
    const FloatBuffer& buffer = buffers_[begin.segment];
    if (buffer.bytes.size() - begin.offset >= wanted.bytes())
      return fbs::Run(buffer.buffer, begin.offset, wanted.bytes());
  }
  return {};
}

// Finds the longest run that matches `wanted` from byte `at` on; returns its size in bytes.
size_t Constants::longest(const ElementReader& wanted, size_t at, bool half, fbs::Run* run) const {
  struct Candidate {
    const FloatBuffer* segment;
    size_t offset, same;
    bool ended;
  };
  static_assert(kHashedBytes <= ElementReader::kAtLeast);
  const size_t left = wanted.bytes() - at;
  if (left < kHashedBytes) return 0;
  std::span<const std::byte> part = wanted.from(at);
  std::vector<Candidate> candidates;
  for (const Begin& begin : like(part.first(kHashedBytes), half))
    candidates.push_back({&buffers_[begin.segment], begin.offset, 0, false});
  for (size_t done = 0; !candidates.empty();) {
    bool any = false;
    for (Candidate& c : candidates) {
      if (c.ended) continue;
      const size_t same = common(part, c.segment->bytes.subspan(c.offset + c.same));
      c.same += same;
      c.ended = same < part.size();
      any = any || !c.ended;
    }
    if ((done + part.size()) / kForgotten > done / kForgotten) data_.forget();
    done += part.size();
    if (!any || done == left) break;
    part = wanted.from(at + done);
  }
  size_t best = 0;
  for (const Candidate& c : candidates) {
    if (c.same <= best) continue;
    best = c.same;
    *run = {c.segment->buffer, c.offset, c.same};
  }
  return best;
}

std::vector<fbs::Run> Constants::find(const ElementReader& wanted, bool half, size_t row) const {
  std::vector<fbs::Run> runs;
  for (size_t at = 0; at < wanted.bytes();) {
    fbs::Run run;
    size_t bytes = longest(wanted, at, half, &run);
    if (at + bytes < wanted.bytes()) bytes = std::max((at + bytes) / row * row, at) - at;  // whole rows
    if (bytes == 0 || (runs.size() + 1) * kMinRunBytes > wanted.bytes()) return {};
    runs.push_back({run.buffer(), run.offset(), bytes});
    at += bytes;
  }
  return runs;
}

}  // namespace ferry
