// A model's weights on a device: packed regions, created once or loaded packed, and shared by the model's sessions.
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

// The source of constants: a model, or generated values for a canary.
class Constants {
 public:
  virtual ~Constants() = default;
  // kExtraBytes past the end are readable.
  virtual std::span<const std::byte> bytes(TensorId tensor) const = 0;
  virtual fbs::DType dtype(TensorId tensor) const = 0;
  // Identifies the bytes: tensors of a model, in any graph, that share a buffer share an id.
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

// The kernel that packs a piece of a constant of that type.
Variant packer(const Piece& piece, Storage storage, fbs::DType dtype);

// The target of packed files of this model on this device. It includes the driver, whose packing kernels may round
// differently. FERRY_UNSUPPORTED as in PackedTarget::of().
Status packed_target(const Model& model, const Device& device, Storage storage, PackedTarget* out);

// Host memory that the device reads in place, if it can.
class Imported {
 public:
  Imported() = default;  // empty
  Imported(Device& device, std::span<const std::byte> memory);
  bool works() const { return buffer_.handle() != VK_NULL_HANDLE; }
  // A binding, aligned to `alignment`, that contains `bytes` from byte *offset on.
  BufferRange range(std::span<const std::byte> bytes, uint64_t alignment, uint64_t* offset) const;

 private:
  uintptr_t begin_ = 0;
  Buffer buffer_;
};

class Weights {
 public:
  Weights(Device& device, Storage storage) : device_(device.shared_from_this()), storage_(storage) {}

  // The weights of a blob, shared by all its sessions. Sessions must not outlive the model.
  static std::shared_ptr<Weights> of(const Model& model, Device& device, Storage storage);

  // The store to which files of packed regions are attached.
  PackedStore& store() { return store_; }

  // Outputs the ranges of all regions. Missing regions are taken from the store's files, in place if the device shares
  // the host's memory. Others are packed from the constants, in place (imported) if the device can, otherwise through a
  // staging buffer. Thread-safe.
  Status pack(const Constants& constants, std::span<const Region> regions, std::vector<BufferRange>* out);
  // Copies newly packed regions to the store's heap, so that they can be written to a file. Thread-safe.
  Status read_back();

  // Bytes of packed weights.
  uint64_t bytes() const;

 private:
  struct Entry {
    PackedKey key;
    size_t size = 0;
    auto operator<=>(const Entry&) const = default;
  };
  // A region that is not on the device yet.
  struct Missing {
    const Region* region = nullptr;
    PackedStore::Found found;
  };

  Entry entry_of(const Region& region, const Constants& constants) const;
  BufferRange find_in_place(const PackedStore::Found& found, size_t size);
  Status bring(const Constants& constants, const std::map<Entry, Missing>& missing);

  std::shared_ptr<Device> device_;
  Storage storage_;
  mutable std::mutex mutex_;
  PackedStore store_;
  std::map<const std::byte*, Imported> files_;  // the store's files, by address
  std::vector<Buffer> buffers_;
  std::map<Entry, BufferRange> ranges_;
  std::vector<Entry> unsaved_;  // packed here and not read back
};

}  // namespace ferry::gpu
