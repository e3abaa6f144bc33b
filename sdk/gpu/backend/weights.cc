#include "sdk/gpu/backend/weights.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "sdk/gpu/device/pipelines.h"
#include "sdk/model/memory_budget.h"
#include "sdk/operators/type.h"
#include "sdk/version.h"

namespace ferry::gpu {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{8} << 20;

// Words of the push constants that all pack kernels begin with.
constexpr size_t kQuadCount = 0, kOutputOffset = 1, kInputOffset = 2, kLaneLimit = 11, kLaneOf = 12;

// Bytes to write to a region: packed ones, or a range of a piece's outermost coordinate; small enough to be staged.
struct RegionWrite {
  const Piece* piece;      // null: the source is packed and is copied to byte output_offset of the region
  BufferRange output;      // the whole region
  uint64_t output_offset;  // in quads of the region
  uint64_t first, count;   // range of the outermost coordinate
  std::span<const std::byte> source;
  fbs::DType dtype;
};

Dispatch dispatch_of(const RegionWrite& write, Storage storage, uint64_t input_offset, const Limits& limits) {
  Dispatch dispatch;
  dispatch.variant = packer(*write.piece, storage, write.dtype);
  const uint64_t quads = write.count * write.piece->outer_quads;
  dispatch.groups = spread(quads, kWorkgroup, limits);
  dispatch.bindings[0].kind = Operand::Kind::Weights;
  dispatch.bindings[1].kind = Operand::Kind::Host;
  dispatch.push = write.piece->push;
  dispatch.push[kQuadCount] = static_cast<uint32_t>(quads);
  dispatch.push[kOutputOffset] = static_cast<uint32_t>(write.output_offset + write.first * write.piece->outer_quads);
  dispatch.push[kInputOffset] = static_cast<uint32_t>(8 * input_offset / bits_of(write.dtype));
  if (dispatch.push[kLaneOf] == 0) dispatch.push[kLaneLimit] -= static_cast<uint32_t>(4 * write.first);
  return dispatch;
}

// The memory that holds the sources of all writes, constants of one blob.
std::span<const std::byte> extent(std::span<const RegionWrite> writes) {
  uintptr_t begin = UINTPTR_MAX, end = 0;
  const std::byte* first = nullptr;
  for (const RegionWrite& write : writes) {
    const auto at = reinterpret_cast<uintptr_t>(write.source.data());
    if (at < begin) first = write.source.data();
    begin = std::min(begin, at);
    end = std::max(end, at + write.source.size());
  }
  return first == nullptr ? std::span<const std::byte>() : std::span(first, end - begin);
}

Status run(Commands& commands) {
  FERRY_TRY(commands.end());
  FERRY_TRY(commands.submit());
  return commands.wait();
}

Status pack_in_place(Device& device, Storage storage, const Imported& imported, std::span<const RegionWrite> writes) {
  Commands commands(device);
  FERRY_TRY(commands.begin(writes.size()));
  for (const RegionWrite& write : writes) {
    uint64_t offset = 0;
    const BufferRange input = imported.range(write.source, device.limits().offset_alignment, &offset);
    FERRY_TRY(commands.dispatch(dispatch_of(write, storage, offset, device.limits()), {write.output, input, {}, {}}));
  }
  return run(commands);
}

Status bring_staged(Device& device, Storage storage, std::span<const RegionWrite> writes) {
  uint64_t largest = 0, total = 0;
  const uint64_t alignment = device.limits().offset_alignment;
  for (const RegionWrite& write : writes) {
    largest = std::max<uint64_t>(largest, aligned(write.source.size(), alignment));
    total += aligned(write.source.size(), alignment);
  }
  if (writes.empty()) return {};
  Buffer staging;
  FERRY_TRY(device.allocate(std::max(largest, std::min(total, kStagingBytes)), MemoryUse::Upload, &staging));
  for (size_t begin = 0, end = 0; begin < writes.size(); begin = end) {
    uint64_t used = 0;
    Commands commands(device);
    FERRY_TRY(commands.begin(writes.size() - begin));
    for (; end < writes.size(); ++end) {
      const RegionWrite& write = writes[end];
      const uint64_t bytes = aligned(write.source.size(), alignment);
      if (used + bytes > staging.bytes()) break;
      std::memcpy(staging.mapped() + used, write.source.data(), write.source.size());
      if (write.piece == nullptr) {
        commands.copy({staging.handle(), used, write.source.size()},
                      {write.output.buffer, write.output.offset + write.output_offset, write.source.size()});
      } else {
        FERRY_TRY(commands.dispatch(dispatch_of(write, storage, 0, device.limits()),
                                    {write.output, {staging.handle(), used, aligned(write.source.size(), 4)}, {}, {}}));
      }
      used += bytes;
    }
    FERRY_TRY(staging.flush());
    FERRY_TRY(run(commands));
  }
  return {};
}

// A write of packed bytes.
void add_copies(std::span<const std::byte> source, const BufferRange& output, std::vector<RegionWrite>* writes) {
  constexpr size_t kStep = kStagingBytes / 2;
  for (size_t first = 0; first < source.size(); first += kStep)
    writes->push_back(
        {nullptr, output, first, 0, 0, source.subspan(first, std::min(kStep, source.size() - first)), {}});
}

// Adds writes of the pieces of a region.
void add_pieces(const Region& region, const Constants& constants, const BufferRange& output,
                std::vector<RegionWrite>* writes) {
  uint64_t at = 0;
  for (const Piece& piece : region.pieces) {
    const std::span<const std::byte> source = constants.bytes(piece.tensor);
    const fbs::DType dtype = constants.dtype(piece.tensor);
    const uint64_t outer = piece.quads / piece.outer_quads;
    const uint64_t step_bytes = bytes_of(dtype, static_cast<int64_t>(piece.outer_elements));
    const uint64_t steps = step_bytes == 0 ? outer : std::max<uint64_t>(kStagingBytes / 2 / step_bytes, 1);
    for (uint64_t first = 0; first < outer; first += steps) {
      const uint64_t begin = first * step_bytes;
      const uint64_t size = step_bytes == 0 ? source.size() : std::min(steps * step_bytes, source.size() - begin);
      writes->push_back(
          {&piece, output, at, first, std::min(steps, outer - first), source.subspan(begin, size), dtype});
    }
    at += piece.quads;
  }
}

Status copy_to_host(Device& device, const BufferRange& range, std::byte* to) {
  Buffer staging;
  FERRY_TRY(device.allocate(std::min(range.bytes, kStagingBytes), MemoryUse::Readback, &staging));
  for (uint64_t done = 0; done < range.bytes; done += staging.bytes()) {
    const uint64_t bytes = std::min(staging.bytes(), range.bytes - done);
    Commands commands(device);
    FERRY_TRY(commands.begin(1));
    commands.copy({range.buffer, range.offset + done, bytes}, {staging.handle(), 0, bytes});
    FERRY_TRY(run(commands));
    FERRY_TRY(staging.invalidate());
    std::memcpy(to + done, staging.mapped(), bytes);
  }
  return {};
}

}  // namespace

Variant packer(const Piece& piece, Storage storage, fbs::DType dtype) {
  const bool float16_scales = piece.kernel == Kernel::PackQuantized && dtype == fbs::DType::Float16;
  return {.kernel = piece.kernel,
          .storage = storage,
          .count = static_cast<uint8_t>(float16_scales ? 5 : 4),
          .constants = {kWorkgroup, 1, 1, bits_of(dtype), float16_scales ? 1u : 0u}};
}

Status packed_target(const Model& model, const Device& device, Storage storage, PackedTarget* out) {
  const VkPhysicalDeviceProperties& p = device.info().properties;
  const bool float16 = storage == Storage::Float16;
  PackingId id(kVersion, 1);
  for (const uint64_t number : {kShadersHash, uint64_t{p.vendorID}, uint64_t{p.deviceID}, uint64_t{p.driverVersion}})
    id.add(number);
  for (const uint8_t byte : p.pipelineCacheUUID) id.add(byte);
  return PackedTarget::of(model, id.add(float16).value(), std::string(p.deviceName) + (float16 ? ", f16" : ", f32"),
                          out);
}

Imported::Imported(Device& device, std::span<const std::byte> memory) {
  const uint64_t granule = device.limits().import_alignment;
  if (granule == 0 || memory.empty()) return;
  const auto begin = reinterpret_cast<uintptr_t>(memory.data());
  begin_ = begin / granule * granule;
  const Status status =
      device.import(reinterpret_cast<const void*>(begin_), aligned(begin - begin_ + memory.size(), granule), &buffer_);
  if (!status.ok()) buffer_ = Buffer();  // use the staging buffer
}

BufferRange Imported::range(std::span<const std::byte> bytes, uint64_t alignment, uint64_t* offset) const {
  const uint64_t at = reinterpret_cast<uintptr_t>(bytes.data()) - begin_;
  const uint64_t start = at / alignment * alignment;
  *offset = at - start;
  return {buffer_.handle(), start, std::min(aligned(*offset + bytes.size(), 4), buffer_.bytes() - start)};
}

// Regions are equal if the same bytes are packed the same way, in any graph of the blob.
Weights::Entry Weights::entry_of(const Region& region, const Constants& constants) const {
  constexpr uint32_t kLayouts = 1;  // version of the layouts that kernels of lower_...() read
  PackingId id("gpu", kLayouts);
  id.add(static_cast<uint64_t>(storage_));
  for (const Piece& piece : region.pieces) {
    id.add(static_cast<uint64_t>(piece.kernel));
    id.add(constants.buffer(piece.tensor)).add(static_cast<uint64_t>(constants.dtype(piece.tensor)));
    for (const uint32_t word : piece.push) id.add(word);
    id.add(piece.quads).add(piece.outer_elements).add(piece.outer_quads);
  }
  Entry entry{{.packing = id.value()}, static_cast<size_t>(region.quads() * quad_bytes(storage_))};
  entry.key.weight = constants.buffer(region.pieces[0].tensor);
  if (region.pieces.size() > 1) entry.key.bias = constants.buffer(region.pieces[1].tensor);
  return entry;
}

namespace {

// Whether the device reads what the host reads. A driver may import a file's pages and read others.
bool reads_alike(Device& device, const Imported& file, std::span<const std::byte> bytes) {
  std::byte seen[4096];
  const size_t size = std::min(sizeof seen, bytes.size());
  for (const std::span<const std::byte> part : {bytes.first(size), bytes.last(size)}) {
    uint64_t offset = 0;
    BufferRange range = file.range(part, 1, &offset);
    range.bytes = size;
    if (!copy_to_host(device, range, seen).ok() || std::memcmp(seen, part.data(), size) != 0) return false;
  }
  return true;
}

}  // namespace

// Null if the device cannot read the file's bytes, or has faster memory of its own.
BufferRange Weights::find_in_place(const PackedStore::Found& found, size_t size) {
  const Limits& limits = device_->limits();
  if (!limits.host_memory || found.file.empty()) return {};
  const auto [entry, fresh] = files_.try_emplace(found.file.data(), *device_, found.file);
  Imported& file = entry->second;
  if (fresh && file.works() && !reads_alike(*device_, file, found.file)) file = Imported();
  if (!file.works()) return {};
  uint64_t offset = 0;
  const BufferRange range = file.range({found.bytes.get(), size}, limits.offset_alignment, &offset);
  return offset == 0 ? range : BufferRange();
}

Status Weights::pack(const Constants& constants, std::span<const Region> regions, std::vector<BufferRange>* out) {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  std::map<Entry, Missing> missing;
  for (const Region& region : regions) {
    const Entry& entry = entries.emplace_back(entry_of(region, constants));
    if (ranges_.contains(entry) || missing.contains(entry)) continue;
    PackedStore::Found found = store_.find(entry.key, entry.size);
    if (const BufferRange range = find_in_place(found, entry.size); range.buffer != VK_NULL_HANDLE)
      ranges_[entry] = range;
    else
      missing[entry] = {&region, std::move(found)};
  }
  if (!missing.empty()) FERRY_TRY(bring(constants, missing));
  out->clear();
  for (const Entry& entry : entries) out->push_back(ranges_.at(entry));
  return {};
}

// Writes the missing regions to a buffer of the device.
Status Weights::bring(const Constants& constants, const std::map<Entry, Missing>& missing) {
  std::map<Entry, BufferRange> ranges;
  uint64_t bytes = 0;
  for (const auto& [entry, what] : missing) {
    ranges[entry] = {VK_NULL_HANDLE, bytes, entry.size};
    bytes += aligned(entry.size, device_->limits().offset_alignment);
  }
  FERRY_TRY(MemoryBudget::check_weights(bytes));
  Buffer buffer;
  FERRY_TRY(device_->allocate(bytes, MemoryUse::Device, &buffer));
  std::vector<RegionWrite> copies, packs;
  std::vector<Entry> packed;
  for (auto& [entry, range] : ranges) {
    range.buffer = buffer.handle();
    const Missing& what = missing.at(entry);
    if (what.found.bytes != nullptr) {
      add_copies({what.found.bytes.get(), entry.size}, range, &copies);
    } else {
      add_pieces(*what.region, constants, range, &packs);
      packed.push_back(entry);
    }
  }
  FERRY_TRY(bring_staged(*device_, storage_, copies));
  const Imported imported(*device_, extent(packs));
  FERRY_TRY(imported.works() ? pack_in_place(*device_, storage_, imported, packs)
                             : bring_staged(*device_, storage_, packs));
  unsaved_.reserve(unsaved_.size() + packed.size());
  buffers_.push_back(std::move(buffer));
  ranges_.merge(ranges);
  unsaved_.insert(unsaved_.end(), packed.begin(), packed.end());
  MemoryBudget::add_weights(bytes);
  return {};
}

Status Weights::read_back() {
  const std::lock_guard lock(mutex_);
  for (; !unsaved_.empty(); unsaved_.pop_back()) {
    const Entry& entry = unsaved_.back();
    const auto copy = [&](std::byte* to) { return copy_to_host(*device_, ranges_.at(entry), to); };
    PackedBytes bytes;
    FERRY_TRY(store_.get(entry.key, entry.size, copy, &bytes));
  }
  return {};
}

uint64_t Weights::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [entry, range] : ranges_) sum += entry.size;
  return sum;
}

std::shared_ptr<Weights> Weights::of(const Model& model, Device& device, Storage storage) {
  using Key = std::tuple<const PackedStore*, const Device*, Storage>;  // the store identifies the blob
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<Weights>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  const Key key = {&model.packed(), &device, storage};
  const auto entry = all.find(key);
  std::shared_ptr<Weights> weights = entry != all.end() ? entry->second.lock() : nullptr;
  if (weights == nullptr) {
    weights = std::make_shared<Weights>(device, storage);
    all[key] = weights;
  }
  return weights;
}

}  // namespace ferry::gpu
