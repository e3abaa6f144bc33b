// Frames in memory that the device reads: by two kernels, through a blob's recipe, to the floats of a network's input.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sdk/gpu/device/commands.h"
#include "sdk/image/intake.h"

namespace ferry::gpu {

class ImportedMemory final : public DeviceMemory {
 public:
  ImportedMemory(Buffer buffer, uint64_t bytes, bool foreign)
      : buffer_(std::move(buffer)), bytes_(bytes), foreign_(foreign) {}
  uint64_t bytes() const override { return bytes_; }
  Place place() const { return {buffer_.handle(), 0, buffer_.bytes()}; }
  bool belongs_to(const Device& device) const { return buffer_.device() == &device; }
  bool foreign() const { return foreign_; }  // others than the host write it

 private:
  Buffer buffer_;
  uint64_t bytes_;  // that the app told; the buffer has whole words
  bool foreign_;
};

class FrameReader {
 public:
  explicit FrameReader(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Whether result() stays where it is for such frames.
  bool is_ready_for(const image::Conversion& conversion) const { return conversion.resize == resize_; }
  // Reads the frame, in an ImportedMemory of this device, and waits for it. Allocates nothing for frames of the last
  // one's kind in the memory of one of the last few. FERRY_UNSUPPORTED: beyond the device's limits.
  // FERRY_GPU_UNAVAILABLE: its driver computes the kernels wrongly.
  Status read(const image::Frame& frame, const image::Conversion& conversion);
  // Rows without padding, as the app's own inputs.
  Place result() const { return {result_.handle(), 0, result_.bytes()}; }

 private:
  using Dispatches = std::array<Dispatch, 2>;
  struct Recording {
    std::shared_ptr<const DeviceMemory> memory;
    Dispatches dispatches;
    std::unique_ptr<Commands> commands;
  };

  Status prepare(const image::Conversion& conversion);
  Status lower(const image::Frame& frame, const image::Conversion& conversion, Dispatches* out) const;
  Status record(const Dispatches& dispatches, const Place& frame, const Place& result, bool foreign,
                std::unique_ptr<Commands>* out) const;
  Status try_out(const image::Frame& frame, const image::Conversion& conversion, const Dispatches& dispatches,
                 bool* well) const;
  Status prove(const image::Frame& frame, const image::Conversion& conversion, const Dispatches& dispatches) const;

  std::shared_ptr<Device> device_;
  image::Conversion::Resize resize_;  // that all of this is for
  image::Axis columns_, rows_;        // of the image as it is seen
  Buffer tables_;                     // both axes' entries, then what levels become
  Buffer lines_;                      // between the kernels: levels, a word a pixel
  Buffer result_;
  std::vector<Recording> recordings_;
};

}  // namespace ferry::gpu
