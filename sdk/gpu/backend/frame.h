// Reads frames from device-visible memory: two kernels apply a blob's preprocessing and write the network's float32
// input.
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
  BufferRange range() const { return {buffer_.handle(), 0, buffer_.bytes()}; }
  bool belongs_to(const Device& device) const { return buffer_.device() == &device; }
  bool foreign() const { return foreign_; }  // written by others than the host

 private:
  Buffer buffer_;
  uint64_t bytes_;  // as the application declared; the buffer has whole words
  bool foreign_;
};

class FrameReader {
 public:
  explicit FrameReader(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Whether result() keeps its address for such frames.
  bool is_ready_for(const image::Conversion& conversion) const { return conversion.resize == resize_; }
  // Reads the frame, which lies in an ImportedMemory of this device, and waits for it. Allocates nothing if the frame
  // has the format of the last one and its memory is one of the last few. FERRY_UNSUPPORTED: beyond the device's
  // limits. FERRY_GPU_UNAVAILABLE: the driver computes the kernels incorrectly.
  Status read(const image::Frame& frame, const image::Conversion& conversion);
  // Rows without padding, like an input that the application binds.
  BufferRange result() const { return {result_.handle(), 0, result_.bytes()}; }

 private:
  using Dispatches = std::array<Dispatch, 2>;
  struct Recording {
    std::shared_ptr<const DeviceMemory> memory;
    Dispatches dispatches;
    std::unique_ptr<Commands> commands;
  };

  Status prepare(const image::Conversion& conversion);
  Status lower(const image::Frame& frame, const image::Conversion& conversion, Dispatches* out) const;
  Status record(const Dispatches& dispatches, const BufferRange& frame, const BufferRange& result, bool foreign,
                std::unique_ptr<Commands>* out) const;
  Status try_out(const image::Frame& frame, const image::Conversion& conversion, const Dispatches& dispatches,
                 bool* well) const;
  Status prove(const image::Frame& frame, const image::Conversion& conversion, const Dispatches& dispatches) const;

  std::shared_ptr<Device> device_;
  image::Conversion::Resize resize_;  // of the tables, buffers and recordings
  image::Axis columns_, rows_;        // of the upright image
  Buffer tables_;                     // the entries of both axes, then the table from levels to values
  Buffer lines_;                      // intermediate image: levels, one word per pixel
  Buffer result_;
  std::vector<Recording> recordings_;
};

}  // namespace ferry::gpu
