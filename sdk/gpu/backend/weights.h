// A model's weights on a device: regions packed once, or found packed, and shared by the sessions of that model there.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_file.h"
#include "sdk/model/packed_store.h"

namespace ferry::gpu {

// Where constants come from: a model, or made-up ones for a canary.
class Constants {
 public:
  virtual ~Constants() = default;
  // kExtraBytes more may be read.
  virtual std::span<const std::byte> bytes(TensorId tensor) const = 0;
  virtual fbs::DType dtype(TensorId tensor) const = 0;
  // Tells it from others with other bytes: a model's lie in buffers, which its graphs share.
  virtual uint32_t buffer(TensorId tensor) const = 0;
};

class ModelConstants : public Constants {
 public:
  explicit ModelConstants(const Model& model) : model_(model) {}
  std::span<const std::byte> bytes(TensorId tensor) const override { return model_.constant(tensor); }
  fbs::DType dtype(TensorId tensor) const override { return model_.tensor(tensor).dtype(); }
  uint32_t buffer(TensorId tensor) const override { return model_.tensor(tensor).buffer(); }

 private:
  const Model& model_;
};

// Which kernel packs a piece of a constant of that type.
Variant packer(const Piece& piece, Storage storage, fbs::DType dtype);

// What packed files of this model are made for on this device: of its driver, too, whose packing kernels may round in
// their own way. FERRY_UNSUPPORTED as PackedTarget::of().
Status packed_target(const Model& model, const Device& device, Storage storage, PackedTarget* out);

// Host memory that the device reads in place, where it can.
class Imported {
 public:
  Imported() = default;  // nothing
  Imported(Device& device, std::span<const std::byte> memory);
  bool works() const { return buffer_.handle() != VK_NULL_HANDLE; }
  // A binding at a multiple of `alignment` that holds `bytes` of the memory, from its byte *offset on.
  Place place(std::span<const std::byte> bytes, uint64_t alignment, uint64_t* offset) const;

 private:
  uintptr_t begin_ = 0;
  Buffer buffer_;
};

class Weights {
 public:
  Weights(Device& device, Storage storage) : device_(device.shared_from_this()), storage_(storage) {}

  // Those of a blob, whoever holds them already. They must not outlive it.
  static std::shared_ptr<Weights> of(const Model& model, Device& device, Storage storage);

  // Files that hold packed regions are attached to it.
  PackedStore& store() { return store_; }

  // Gives the places of all regions. Those that are not here yet are taken from the store's files, where they lie if
  // the device's memory is the host's; what no file has is packed: from constants where they lie (imported) where the
  // device can, through a staging buffer otherwise. Thread-safe.
  Status pack(const Constants& constants, std::span<const Region> regions, std::vector<Place>* out);
  // Copies what was packed here to the store's heap, from where it can be written to a file. Thread-safe.
  Status read_back();

  // Bytes of packed weights.
  uint64_t bytes() const;

 private:
  struct Entry {
    PackedKey key;
    size_t size = 0;
    auto operator<=>(const Entry&) const = default;
  };
  // A region that is not here yet.
  struct Missing {
    const Region* region = nullptr;
    PackedStore::Found found;
  };

  Entry entry_of(const Region& region, const Constants& constants) const;
  Place find_in_place(const PackedStore::Found& found, size_t size);
  Status bring(const Constants& constants, const std::map<Entry, Missing>& missing);

  std::shared_ptr<Device> device_;
  Storage storage_;
  mutable std::mutex mutex_;
  PackedStore store_;
  std::map<const std::byte*, Imported> files_;  // of the store, by where they begin
  std::vector<Buffer> buffers_;
  std::map<Entry, Place> places_;
  std::vector<Entry> unsaved_;  // packed here, and not read back
};

}  // namespace ferry::gpu
