#include "sdk/gpu/weights.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "sdk/gpu/pipelines.h"
#include "sdk/operators/type.h"

namespace ferry::gpu {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{8} << 20;
constexpr uint32_t kWorkgroup = 64;

// Words of the push constants that pack kernels begin with.
constexpr size_t kQuads = 0, kOutputOffset = 1, kInputOffset = 2, kLaneLimit = 11, kLaneOf = 12;

// A run of a piece's outermost coordinate, small enough to be staged.
struct Part {
  const Piece* piece;
  Place output;            // of the whole region
  uint64_t output_offset;  // in quads of the region
  uint64_t first, count;   // of the outermost coordinate
  std::span<const std::byte> source;
  fbs::DType dtype;
};

Dispatch dispatch_of(const Part& part, Storage storage, uint64_t input_offset, const Limits& limits) {
  Dispatch dispatch;
  dispatch.variant = packer(*part.piece, storage, part.dtype);
  const uint64_t quads = part.count * part.piece->outer_quads;
  dispatch.groups = spread(quads, kWorkgroup, limits);
  dispatch.bindings[0].kind = Operand::Kind::Weights;
  dispatch.bindings[1].kind = Operand::Kind::Host;
  dispatch.push = part.piece->push;
  dispatch.push[kQuads] = static_cast<uint32_t>(quads);
  dispatch.push[kOutputOffset] = static_cast<uint32_t>(part.output_offset + part.first * part.piece->outer_quads);
  dispatch.push[kInputOffset] = static_cast<uint32_t>(8 * input_offset / bits_of(part.dtype));
  if (dispatch.push[kLaneOf] == 0) dispatch.push[kLaneLimit] -= static_cast<uint32_t>(4 * part.first);
  return dispatch;
}

// Host memory that the device reads in place, where it can.
class Imported {
 public:
  Imported(Device& device, std::span<const Part> parts) : granule_(device.limits().import_alignment) {
    if (granule_ == 0 || parts.empty()) return;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (const Part& part : parts) {
      begin = std::min(begin, reinterpret_cast<uintptr_t>(part.source.data()));
      end = std::max(end, reinterpret_cast<uintptr_t>(part.source.data() + part.source.size()));
    }
    begin_ = begin / granule_ * granule_;
    const Status status =
        device.import(reinterpret_cast<const void*>(begin_), aligned(end - begin_, granule_), &buffer_);
    if (!status.ok()) buffer_ = Buffer();  // the staging buffer serves
  }
  bool works() const { return buffer_.handle() != VK_NULL_HANDLE; }
  // The binding for a part, and where in it the part begins, in bytes.
  Place place(const Part& part, uint64_t alignment, uint64_t* offset) const {
    const uint64_t at = reinterpret_cast<uintptr_t>(part.source.data()) - begin_;
    const uint64_t start = at / alignment * alignment;
    *offset = at - start;
    return {buffer_.handle(), start, std::min(aligned(*offset + part.source.size(), 4), buffer_.bytes() - start)};
  }

 private:
  uint64_t granule_;
  uintptr_t begin_ = 0;
  Buffer buffer_;
};

Status run(Commands& commands) {
  FERRY_TRY(commands.end());
  FERRY_TRY(commands.submit());
  return commands.wait();
}

Status pack_in_place(Device& device, Storage storage, const Imported& imported, std::span<const Part> parts) {
  Commands commands(device);
  FERRY_TRY(commands.begin(parts.size()));
  for (const Part& part : parts) {
    uint64_t offset = 0;
    const Place input = imported.place(part, device.limits().offset_alignment, &offset);
    FERRY_TRY(commands.dispatch(dispatch_of(part, storage, offset, device.limits()), {part.output, input, {}, {}}));
  }
  return run(commands);
}

Status pack_staged(Device& device, Storage storage, std::span<const Part> parts) {
  uint64_t most = 0, total = 0;
  const uint64_t alignment = device.limits().offset_alignment;
  for (const Part& part : parts) {
    most = std::max<uint64_t>(most, aligned(part.source.size(), alignment));
    total += aligned(part.source.size(), alignment);
  }
  Buffer staging;
  FERRY_TRY(device.allocate(std::max(most, std::min(total, kStagingBytes)), MemoryUse::Upload, &staging));
  for (size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    uint64_t used = 0;
    Commands commands(device);
    FERRY_TRY(commands.begin(parts.size() - begin));
    for (; end < parts.size(); ++end) {
      const Part& part = parts[end];
      const uint64_t bytes = aligned(part.source.size(), alignment);
      if (used + bytes > staging.bytes()) break;
      std::memcpy(staging.mapped() + used, part.source.data(), part.source.size());
      FERRY_TRY(commands.dispatch(dispatch_of(part, storage, 0, device.limits()),
                                  {part.output, {staging.handle(), used, aligned(part.source.size(), 4)}, {}, {}}));
      used += bytes;
    }
    FERRY_TRY(staging.flush());
    FERRY_TRY(run(commands));
  }
  return {};
}

}  // namespace

Variant packer(const Piece& piece, Storage storage, fbs::DType dtype) {
  return {.kernel = piece.kernel, .storage = storage, .count = 4, .constants = {kWorkgroup, 1, 1, bits_of(dtype)}};
}

Status Weights::pack(const Constants& constants, std::span<const Region> regions, std::vector<Place>* out) {
  const std::lock_guard lock(mutex_);
  std::vector<const Region*> missing;
  uint64_t bytes = 0;
  std::vector<uint64_t> offsets;
  const uint64_t alignment = device_->limits().offset_alignment;
  for (const Region& region : regions) {
    const auto same = [&](const Region* other) { return *other == region; };
    if (places_.contains(region) || std::any_of(missing.begin(), missing.end(), same)) continue;
    missing.push_back(&region);
    offsets.push_back(bytes);
    bytes += aligned(region.quads() * quad_bytes(storage_), alignment);
  }
  if (!missing.empty()) {
    Buffer buffer;
    FERRY_TRY(device_->allocate(bytes, MemoryUse::Device, &buffer));
    std::map<Region, Place> packed;
    std::vector<Part> parts;
    for (size_t i = 0; i < missing.size(); ++i) {
      const Place place{buffer.handle(), offsets[i], missing[i]->quads() * quad_bytes(storage_)};
      packed[*missing[i]] = place;
      uint64_t at = 0;
      for (const Piece& piece : missing[i]->pieces) {
        const std::span<const std::byte> source = constants.bytes(piece.tensor);
        const fbs::DType dtype = constants.dtype(piece.tensor);
        const uint64_t outer = piece.quads / piece.outer_quads;
        const uint64_t step_bytes = bytes_of(dtype, static_cast<int64_t>(piece.outer_elements));
        const uint64_t steps = step_bytes == 0 ? outer : std::max<uint64_t>(kStagingBytes / 2 / step_bytes, 1);
        for (uint64_t first = 0; first < outer; first += steps) {
          const uint64_t begin = first * step_bytes;
          const uint64_t size = step_bytes == 0 ? source.size() : std::min(steps * step_bytes, source.size() - begin);
          parts.push_back(
              {&piece, place, at, first, std::min(steps, outer - first), source.subspan(begin, size), dtype});
        }
        at += piece.quads;
      }
    }
    const Imported imported(*device_, parts);
    FERRY_TRY(imported.works() ? pack_in_place(*device_, storage_, imported, parts)
                               : pack_staged(*device_, storage_, parts));
    buffers_.push_back(std::move(buffer));
    places_.merge(packed);
  }
  out->clear();
  for (const Region& region : regions) out->push_back(places_.at(region));
  return {};
}

uint64_t Weights::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Buffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

std::shared_ptr<Weights> Weights::of(const Model& model, Device& device, Storage storage) {
  using Key = std::tuple<const Model*, const Device*, Storage>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<Weights>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Weights>& entry = all[{&model, &device, storage}];
  std::shared_ptr<Weights> weights = entry.lock();
  if (weights == nullptr) {
    weights = std::make_shared<Weights>(device, storage);
    entry = weights;
  }
  return weights;
}

}  // namespace ferry::gpu
