// A model's weights on a device: regions packed once, shared by the sessions of that model there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sdk/gpu/commands.h"
#include "sdk/gpu/program.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Where constants come from: a model, or made-up ones for a canary.
class Constants {
 public:
  virtual ~Constants() = default;
  // kExtraBytes more may be read.
  virtual std::span<const std::byte> bytes(int tensor) const = 0;
  virtual fbs::DType dtype(int tensor) const = 0;
};

class ModelConstants : public Constants {
 public:
  explicit ModelConstants(const Model& model) : model_(model) {}
  std::span<const std::byte> bytes(int tensor) const override { return model_.constant(tensor); }
  fbs::DType dtype(int tensor) const override { return model_.tensor(tensor).dtype(); }

 private:
  const Model& model_;
};

// Which kernel packs a piece of a constant of that type.
Variant packer(const Piece& piece, Storage storage, fbs::DType dtype);

class Weights {
 public:
  Weights(Device& device, Storage storage) : device_(device.shared_from_this()), storage_(storage) {}

  // Those of a model, whoever holds them already. They must not outlive it.
  static std::shared_ptr<Weights> of(const Model& model, Device& device, Storage storage);

  // Packs the regions that are not here yet and gives the places of all. Reads constants where they lie (imported)
  // where the device can, through a staging buffer otherwise. Thread-safe.
  Status pack(const Constants& constants, std::span<const Region> regions, std::vector<Place>* out);

  // Bytes on the device.
  uint64_t bytes() const;

 private:
  std::shared_ptr<Device> device_;
  Storage storage_;
  mutable std::mutex mutex_;
  std::vector<Buffer> buffers_;
  std::map<Region, Place> places_;
};

}  // namespace ferry::gpu
