// Frames in GPU-readable memory, and the network's input for them.
#pragma once

#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "converter/graph/ops.h"
#include "sdk/gpu/device/device.h"
#include "sdk/image/normalizer.h"
#include "sdk/image/preprocess.h"
#include "tests/runtime/networks.h"
#include "tests/support/frames.h"
#include "tests/support/gpus.h"

namespace ferry::testing {

using FrameContents = OwnFrame::Contents;
using FrameValues = std::vector<float>;

inline constexpr size_t kFramePage = 4096;  // drivers import multiples of this
inline constexpr double kOneLevel = 1 + 1e-4;

// Returns its input.
inline std::unique_ptr<Graph> echo_network(const fbs::PreprocessT& recipe) {
  auto graph = std::make_unique<Graph>();
  const int channels = recipe.color == fbs::ColorOrder::Gray ? 1 : 3;
  const Shape image{1, 8, 8, channels};
  const Shape patches{4, channels * recipe.patch * recipe.patch * recipe.patch_frames};
  const Tensor x = recipe.patch > 0 ? graph->add_input("input", patches, fbs::Layout::Same)
                                    : graph->add_input("input", image, fbs::Layout::NCHW);
  graph->add_output("output", x * 1.0, recipe.patch > 0 ? fbs::Layout::Same : fbs::Layout::NCHW);
  graph->table.preprocess = std::make_unique<fbs::PreprocessT>(recipe);
  return graph;
}

class FrameNetwork {
 public:
  // `gpu`: "" for the CPU. `required`: no fallback to another backend.
  FrameNetwork(const fbs::PreprocessT& recipe, const std::string& gpu, bool required = true)
      : opened_(*echo_network(recipe)) {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    if (!gpu.empty()) {
      options.backend = FERRY_BACKEND_GPU;
      options.gpu_required = required;
      options.gpu_retry = true;
      options.gpu_device = gpu.c_str();
    }
    session_ = make_session(opened_.model, options);
  }
  ferry_session* get() const { return session_.get(); }
  FrameValues run() const {
    EXPECT_OK(ferry_session_run(get()));
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_output(get(), 0, &tensor));
    const auto* values = static_cast<const float*>(tensor.data);
    return {values, values + tensor.bytes / sizeof(float)};
  }
  FrameValues of(const ferry_frame& frame) const {
    EXPECT_OK(ferry_session_set_frame(get(), &frame));
    return run();
  }

 private:
  Opened opened_;
  SessionPtr session_;
};

// A frame's planes, consecutive in page-aligned memory.
class FrameBlock {
 public:
  explicit FrameBlock(const ferry_frame& given) : frame(given) {
    constexpr size_t kBefore = 13;  // a plane may begin at any byte
    size_t bytes = 0;
    for (const ferry_plane& plane : given.planes) bytes += kBefore + plane.size;
    size_ = (bytes + kFramePage - 1) / kFramePage * kFramePage;
    memory_ = static_cast<uint8_t*>(std::aligned_alloc(kFramePage, size_));
    std::fill_n(memory_, size_, uint8_t{0xff});
    size_t at = 0;
    for (size_t i = 0; i < 3 && given.planes[i].data != nullptr; ++i) {
      at += kBefore;
      std::copy_n(given.planes[i].data, given.planes[i].size, memory_ + at);
      frame.planes[i].data = nullptr;
      frame.gpu_offsets[i] = at;
      at += given.planes[i].size;
    }
  }
  ~FrameBlock() {
    ferry_gpu_memory_close(imported);
    std::free(memory_);
  }
  FrameBlock(const FrameBlock&) = delete;
  FrameBlock& operator=(const FrameBlock&) = delete;

  ferry_memory_source source() const {
    ferry_memory_source source{};
    source.struct_size = sizeof source;
    source.type = FERRY_MEMORY_HOST;
    source.address = memory_;
    source.bytes = size_;
    return source;
  }
  // False if the driver does not support import.
  bool import(ferry_session* session) {
    const ferry_memory_source from = source();
    const ferry_status status = ferry_gpu_memory_import(session, &from, &imported);
    if (status == FERRY_UNSUPPORTED) return false;
    EXPECT_EQ(status, FERRY_OK) << ferry_last_error();
    frame.gpu_memory = imported;
    return status == FERRY_OK;
  }

  ferry_frame frame;
  ferry_gpu_memory* imported = nullptr;

 private:
  uint8_t* memory_;
  size_t size_;
};

// The expected input: from the frame's float64 reference, by the steps for RGB images.
inline FrameValues expected_of(const OwnFrame& own, const fbs::PreprocessT& recipe) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::Preprocess::Pack(builder, &recipe));
  const auto& packed = *flatbuffers::GetRoot<fbs::Preprocess>(builder.GetBufferPointer());
  const Image seen = own.seen();
  const std::vector<uint8_t> rgb = bytes_of(seen);
  image::Prepared prepared;
  EXPECT_TRUE(image::prepare(packed, {rgb.data(), seen.width, seen.height, 3, 3 * seen.width}, &prepared).ok());
  FrameValues values(static_cast<size_t>(prepared.width * prepared.height * prepared.view.channels *
                                         std::max<int>(recipe.patch_frames, 1)));
  EXPECT_TRUE(image::normalize(packed, prepared, values.data()).ok());
  return values;
}

// In levels.
inline double levels_apart(const FrameValues& a, const FrameValues& b, double deviation = 1) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - double{b[i]}) * 255 * deviation;
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
  }
  return worst;
}

inline constexpr ferry_frame_format kFrameFormats[] = {FERRY_FRAME_YUV420, FERRY_FRAME_NV12, FERRY_FRAME_NV21,
                                                       FERRY_FRAME_P010,   FERRY_FRAME_YUY2, FERRY_FRAME_RGBA,
                                                       FERRY_FRAME_BGRA,   FERRY_FRAME_RGB,  FERRY_FRAME_GRAY};

class GpuFrames : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  // Runs with each driver that imports host memory; there must be at least one.
  template <typename Body>
  static void on_each(const Body& body) {
    size_t importing = 0;
    for (const std::string& gpu : test_gpus()) {
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, true, &device).ok());
      if (device->limits().import_alignment == 0) continue;
      device.reset();  // and the instance, which may be recreated with a layer
      SCOPED_TRACE(gpu);
      ++importing;
      body(gpu);
    }
    EXPECT_GT(importing, 0u);
  }
};

}  // namespace ferry::testing
