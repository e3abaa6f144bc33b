// Frames in memory that a GPU reads: what a network gets of them, against the steps of a picture in RGB.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <ferry/image.h>

#include "converter/graph/ops.h"
#include "sdk/gpu/device.h"
#include "sdk/gpu/pipelines.h"
#include "sdk/image/normalizer.h"
#include "sdk/image/preprocess.h"
#include "tests/gpu/faults.h"
#include "tests/gpu/planted_fault.h"
#include "tests/runtime/networks.h"
#include "tests/support/frames.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using FrameContents = OwnFrame::Contents;
using Values = std::vector<float>;

constexpr size_t kPage = 4096;  // of which drivers import multiples
constexpr double kOneLevel = 1 + 1e-4;

fbs::PreprocessT recipe_of(fbs::ResizeMode mode, int height, int width, fbs::Filter filter, int crop = 0) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = mode;
  recipe.resize_h = height;
  recipe.resize_w = width;
  recipe.filter = filter;
  recipe.crop_h = recipe.crop_w = crop;
  return recipe;
}

// Gives what it is given.
std::unique_ptr<Graph> echo(const fbs::PreprocessT& recipe) {
  auto graph = std::make_unique<Graph>();
  const int channels = recipe.color == fbs::ColorOrder::Gray ? 1 : 3;
  const Shape picture{1, 8, 8, channels};
  const Shape patches{4, channels * recipe.patch * recipe.patch * recipe.patch_frames};
  const Tensor x = recipe.patch > 0 ? graph->add_input("input", patches, fbs::Layout::Same)
                                    : graph->add_input("input", picture, fbs::Layout::NCHW);
  graph->add_output("output", x * 1.0, recipe.patch > 0 ? fbs::Layout::Same : fbs::Layout::NCHW);
  graph->table.preprocess = std::make_unique<fbs::PreprocessT>(recipe);
  return graph;
}

class FrameNetwork {
 public:
  // `gpu`: "" for the CPU. `required`: none in its place.
  FrameNetwork(const fbs::PreprocessT& recipe, const std::string& gpu, bool required = true) : opened_(*echo(recipe)) {
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
  Values run() const {
    EXPECT_OK(ferry_session_run(get()));
    ferry_tensor tensor;
    EXPECT_OK(ferry_session_output(get(), 0, &tensor));
    const auto* values = static_cast<const float*>(tensor.data);
    return {values, values + tensor.bytes / sizeof(float)};
  }
  Values of(const ferry_frame& frame) const {
    EXPECT_OK(ferry_session_set_frame(get(), &frame));
    return run();
  }

 private:
  Opened opened_;
  SessionPtr session_;
};

// A frame's planes one behind the other in memory that begins and ends where pages do.
class Block {
 public:
  explicit Block(const ferry_frame& given) : frame(given) {
    constexpr size_t kBefore = 13;  // a plane begins at any byte
    size_t bytes = 0;
    for (const ferry_plane& plane : given.planes) bytes += kBefore + plane.size;
    size_ = (bytes + kPage - 1) / kPage * kPage;
    memory_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, size_));
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
  ~Block() {
    ferry_gpu_memory_close(imported);
    std::free(memory_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  ferry_memory_source source() const {
    ferry_memory_source source{};
    source.struct_size = sizeof source;
    source.type = FERRY_MEMORY_HOST;
    source.address = memory_;
    source.bytes = size_;
    return source;
  }
  // False: the driver does not import.
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

// As pictures in RGB become it, from the frame's definition in double.
Values expected(const OwnFrame& own, const fbs::PreprocessT& recipe) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::Preprocess::Pack(builder, &recipe));
  const auto& packed = *flatbuffers::GetRoot<fbs::Preprocess>(builder.GetBufferPointer());
  const Picture seen = own.seen();
  std::vector<uint8_t> rgb;
  for (const double level : seen.samples) rgb.push_back(static_cast<uint8_t>(level));
  image::Prepared prepared;
  EXPECT_TRUE(image::prepare(packed, {rgb.data(), seen.width, seen.height, 3, 3 * seen.width}, &prepared).ok());
  Values values(static_cast<size_t>(prepared.width * prepared.height * prepared.view.channels *
                                    std::max<int>(recipe.patch_frames, 1)));
  EXPECT_TRUE(image::normalize(packed, prepared, values.data()).ok());
  return values;
}

// In levels.
double apart(const Values& a, const Values& b, double deviation = 1) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - double{b[i]}) * 255 * deviation;
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
  }
  return worst;
}

constexpr ferry_frame_format kFormats[] = {FERRY_FRAME_YUV420, FERRY_FRAME_NV12, FERRY_FRAME_NV21,
                                           FERRY_FRAME_P010,   FERRY_FRAME_YUY2, FERRY_FRAME_RGBA,
                                           FERRY_FRAME_BGRA,   FERRY_FRAME_RGB,  FERRY_FRAME_GRAY};

class GpuFrames : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  }

  // With each driver that imports host memory, of which there is one at least.
  template <typename Body>
  static void on_each(const Body& body) {
    size_t importing = 0;
    for (const std::string& gpu : test_gpus()) {
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, true, &device).ok());
      if (device->limits().import_alignment == 0) continue;
      device.reset();  // and the instance, which may be made anew with a layer
      SCOPED_TRACE(gpu);
      ++importing;
      body(gpu);
    }
    EXPECT_GT(importing, 0u);
  }
};

TEST_F(GpuFrames, OfEveryFormatAndOrientationAreWithinALevelOfTheReference) {
  on_each([](const std::string& gpu) {
    for (const fbs::Filter filter : {fbs::Filter::Bilinear, fbs::Filter::Bicubic}) {
      const fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::Exact, 24, 40, filter);
      const FrameNetwork network(recipe, gpu);
      for (const ferry_frame_format format : kFormats) {
        for (const bool gaps : {false, true}) {
          OwnFrame own(format, 131, 77, gaps ? FrameContents::Noise : FrameContents::Picture, gaps);
          Block block(own.frame);
          ASSERT_TRUE(block.import(network.get()));
          for (int orientation = 0; orientation < 8; ++orientation) {
            own.frame.rotation = block.frame.rotation = orientation / 2 * 90;
            own.frame.mirror = block.frame.mirror = orientation % 2 != 0;
            EXPECT_LE(apart(network.of(block.frame), expected(own, recipe)), kOneLevel)
                << name_of(format) << ", " << fbs::EnumNameFilter(filter) << ", orientation " << orientation
                << (gaps ? ", gaps and noise" : "");
          }
        }
      }
    }
  });
}

TEST_F(GpuFrames, OfEveryMatrixRangeAndCropAreWithinALevelOfTheReference) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::None, 0, 0, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu);
    for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_P010, FERRY_FRAME_GRAY}) {
      for (const ferry_yuv_matrix matrix : {FERRY_MATRIX_BT601, FERRY_MATRIX_BT709, FERRY_MATRIX_BT2020}) {
        for (const ferry_yuv_range range : {FERRY_RANGE_FULL, FERRY_RANGE_LIMITED}) {
          OwnFrame own(format, 64, 40, FrameContents::Noise, false);
          own.frame.matrix = matrix;
          own.frame.range = range;
          own.frame.rotation = 90;
          own.frame.crop_left = 7;  // odd: it begins between two samples of chroma
          own.frame.crop_top = 11;
          own.frame.crop_width = 45;
          own.frame.crop_height = 23;
          Block block(own.frame);
          ASSERT_TRUE(block.import(network.get()));
          EXPECT_LE(apart(network.of(block.frame), expected(own, recipe)), kOneLevel)
              << name_of(format) << ", matrix " << matrix << ", range " << range;
        }
      }
    }
  });
}

TEST_F(GpuFrames, GoThroughEveryKindOfRecipe) {
  fbs::PreprocessT patches = recipe_of(fbs::ResizeMode::PixelBudget, 0, 0, fbs::Filter::Bicubic);
  patches.multiple_of = 6;
  patches.max_pixels = 900;
  patches.patch = 3;
  patches.patch_block = 2;
  patches.patch_frames = 2;
  fbs::PreprocessT gray = recipe_of(fbs::ResizeMode::Fit, 30, 30, fbs::Filter::Bilinear, 30);
  gray.color = fbs::ColorOrder::Gray;
  fbs::PreprocessT bgr = recipe_of(fbs::ResizeMode::Cover, 20, 20, fbs::Filter::Lanczos, 20);
  bgr.color = fbs::ColorOrder::BGR;
  bgr.mean = {0.1f, 0.2f, 0.3f};
  bgr.std = {0.5f, 0.5f, 0.5f};
  fbs::PreprocessT filled = recipe_of(fbs::ResizeMode::Fit, 32, 32, fbs::Filter::Nearest, 32);
  filled.fill = {0.25f, 0.5f, 0.75f};
  const fbs::PreprocessT cropped = recipe_of(fbs::ResizeMode::ShortestEdge, 32, 0, fbs::Filter::Box, 28);
  on_each([&](const std::string& gpu) {
    for (const fbs::PreprocessT& recipe : {patches, gray, bgr, filled, cropped}) {
      const FrameNetwork network(recipe, gpu);
      for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_RGBA, FERRY_FRAME_GRAY}) {
        OwnFrame own(format, 75, 50, FrameContents::Picture, false);
        Block block(own.frame);
        ASSERT_TRUE(block.import(network.get()));
        for (int orientation = 0; orientation < 8; ++orientation) {
          own.frame.rotation = block.frame.rotation = orientation / 2 * 90;
          own.frame.mirror = block.frame.mirror = orientation % 2 != 0;
          EXPECT_LE(apart(network.of(block.frame), expected(own, recipe), recipe.std.empty() ? 1 : 0.5), kOneLevel)
              << name_of(format) << ", " << EnumNameResizeMode(recipe.resize_mode) << ", orientation " << orientation;
        }
      }
    }
  });
}

// A camera's buffers in turn, more of them than are remembered, each written anew; between them frames of the app's.
TEST_F(GpuFrames, ComeInTurnFromManyBuffers) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::Exact, 24, 40, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu);
    std::vector<std::unique_ptr<OwnFrame>> frames;
    std::vector<std::unique_ptr<Block>> blocks;
    for (int i = 0; i < 11; ++i) {
      frames.push_back(std::make_unique<OwnFrame>(FERRY_FRAME_NV12, 64 + i / 4, 48, FrameContents::Picture, false));
      blocks.push_back(std::make_unique<Block>(frames.back()->frame));
      ASSERT_TRUE(blocks.back()->import(network.get()));
    }
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < blocks.size(); ++i) {
        const Values right = expected(*frames[i], recipe);
        EXPECT_LE(apart(network.of(blocks[i]->frame), right), kOneLevel) << "frame " << i;
        if (i % 5 != 4) continue;
        EXPECT_LE(apart(network.of(frames[i]->frame), right), kOneLevel) << "in the app's memory";
      }
    }
    auto* luma = static_cast<uint8_t*>(blocks[0]->source().address) + blocks[0]->frame.gpu_offsets[0];
    std::fill_n(luma, blocks[0]->frame.planes[0].size, uint8_t{0});
    const Values dark = network.of(blocks[0]->frame);
    EXPECT_LT(*std::max_element(dark.begin(), dark.end()), 0.6f);

    // What was closed stays until no session needs it, and a resize leaves the frame for zeros.
    ferry_gpu_memory_close(std::exchange(blocks[0]->imported, nullptr));
    EXPECT_EQ(network.run(), dark);
    const int32_t shape[] = {1, 8, 8, 3};
    ASSERT_OK(ferry_session_resize(network.get(), 0, shape, 4));
    EXPECT_EQ(network.run(), Values(8 * 8 * 3, 0.0f));
  });
}

TEST_F(GpuFrames, ThatDoNotFitAreRefused) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu), on_cpu(recipe, "");
    OwnFrame own(FERRY_FRAME_NV12, 64, 48, FrameContents::Picture, false);
    Block block(own.frame);
    ASSERT_TRUE(block.import(network.get()));
    const auto refused = [&](const ferry_frame& frame) {
      EXPECT_EQ(ferry_session_set_frame(network.get(), &frame), FERRY_INVALID_ARGUMENT);
      return std::string(ferry_last_error());
    };
    ferry_frame frame = block.frame;
    frame.planes[1].data = own.frame.planes[1].data;
    EXPECT_EQ(refused(frame), "NV12 frame: planes[1].data is given, and gpu_memory, too");
    frame = block.frame;
    frame.gpu_offsets[1] = block.source().bytes - 1535;
    EXPECT_EQ(refused(frame), "NV12 frame: planes[1] has 1536 bytes from 6657 on, gpu_memory has 8192");
    frame.gpu_offsets[1] = SIZE_MAX;
    EXPECT_NE(refused(frame).find("gpu_memory has 8192"), std::string::npos);
    frame = block.frame;
    frame.planes[0].size -= 1;
    EXPECT_NE(refused(frame).find("planes[0] has 3071 bytes, but 48 rows"), std::string::npos);
    EXPECT_EQ(ferry_session_set_frame(on_cpu.get(), &block.frame), FERRY_GPU_UNAVAILABLE);
    EXPECT_STREQ(ferry_last_error(), "the session is on the CPU, which reads frames in the app's memory alone");

    ferry_gpu_memory* none = nullptr;
    const auto no_import = [&](ferry_session* session, const ferry_memory_source& source, ferry_status status) {
      EXPECT_EQ(ferry_gpu_memory_import(session, &source, &none), status) << ferry_last_error();
      EXPECT_EQ(none, nullptr);
      return std::string(ferry_last_error());
    };
    no_import(on_cpu.get(), block.source(), FERRY_GPU_UNAVAILABLE);
    ferry_memory_source source = block.source();
    source.address = static_cast<uint8_t*>(source.address) + 64;
    source.bytes = kPage;
    EXPECT_NE(no_import(network.get(), source, FERRY_INVALID_ARGUMENT).find("imports multiples of"), std::string::npos);
    source = block.source();
    source.bytes -= 1;
    EXPECT_NE(no_import(network.get(), source, FERRY_INVALID_ARGUMENT).find("imports multiples of"), std::string::npos);
    source.bytes = 0;
    EXPECT_EQ(no_import(network.get(), source, FERRY_INVALID_ARGUMENT), "source.bytes is 0");
    source = block.source();
    source.address = nullptr;
    EXPECT_EQ(no_import(network.get(), source, FERRY_INVALID_ARGUMENT), "source.address is NULL");
    source.type = static_cast<ferry_memory_type>(4);
    EXPECT_EQ(no_import(network.get(), source, FERRY_INVALID_ARGUMENT),
              "source.type is 4: must be 1 to 3, a ferry_memory_type");
    source.type = FERRY_MEMORY_DMA_BUF;
    source.fd = -1;
    EXPECT_EQ(no_import(network.get(), source, FERRY_INVALID_ARGUMENT), "source.fd is -1: no file");
    source.struct_size = 8;
    EXPECT_EQ(no_import(network.get(), source, FERRY_INVALID_ARGUMENT),
              "struct_size is 8: set it to sizeof(ferry_memory_source)");
  });
}

// Software drivers import neither.
TEST_F(GpuFrames, OfMemoryThatTheDriverDoesNotImportAreRefused) {
  for (const std::string& gpu : test_gpus()) {
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
    const FrameNetwork network(recipe_of(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear), gpu);
    ferry_memory_source source{};
    source.struct_size = sizeof source;
    source.bytes = kPage;
    source.address = &source;
    ferry_gpu_memory* none = nullptr;
    for (const ferry_memory_type type : {FERRY_MEMORY_DMA_BUF, FERRY_MEMORY_HARDWARE_BUFFER}) {
      source.type = type;
      if (type == FERRY_MEMORY_DMA_BUF && device->vk().vkGetMemoryFdPropertiesKHR != nullptr) continue;
      EXPECT_EQ(ferry_gpu_memory_import(network.get(), &source, &none), FERRY_UNSUPPORTED);
      EXPECT_NE(std::string(ferry_last_error()).find("does not import"), std::string::npos) << ferry_last_error();
    }
  }
}

// Frames of the app's remain, on the CPU where the GPU is lost.
TEST_F(GpuFrames, WhicheverCallOfTheDriverFailsNothingIsLeftBehind) {
  const fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear);
  on_each([&](const std::string& gpu) {
    for (const VkResult result : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
      Faults faults;
      bool fired = true;
      int failed = 0;
      for (uint32_t n = 0; fired; n += 6) {  // all of them were tried: nearly a minute
        {
          const FrameNetwork network(recipe, gpu, false);
          OwnFrame own(FERRY_FRAME_NV12, 20, 14, FrameContents::Picture, false);
          Block block(own.frame);
          faults.arm(n, result);
          const ferry_memory_source source = block.source();
          ferry_status status = ferry_gpu_memory_import(network.get(), &source, &block.imported);
          block.frame.gpu_memory = block.imported;
          if (status == FERRY_OK) status = ferry_session_set_frame(network.get(), &block.frame);
          fired = faults.fired() != 0;
          faults.disarm();
          if (status != FERRY_OK) {
            EXPECT_TRUE(fired);
            EXPECT_EQ(status, result == VK_ERROR_DEVICE_LOST ? FERRY_GPU_LOST : FERRY_OUT_OF_MEMORY) << "call " << n;
            ++failed;
          }
          EXPECT_LE(apart(network.of(own.frame), expected(own, recipe)), kOneLevel) << "after call " << n;
        }
        faults.expect_nothing_alive();
      }
      EXPECT_GE(failed, 3);  // some can be done without: another kind of memory
    }
  });
}

struct FrameFault {
  const char* kernel;
  const char* from;
  const char* to;
  ferry_frame_format format = FERRY_FRAME_NV12;
  int rotation = 0;
};

constexpr FrameFault kFrameFaults[] = {
    {"frame_columns", "at % 4 * 8", "0"},
    {"frame_columns", "at + 1) << 8) >> 6", "at + 1) << 8) >> 8", FERRY_FRAME_P010},
    {"frame_columns", "kHalfRows ? y / 2 : y", "y / 2", FERRY_FRAME_YUY2},
    {"frame_columns", "+ v * push.green_v", ""},
    {"frame_columns", "push.left + across", "push.left + along", FERRY_FRAME_NV12, 90},
    {"frame_columns", "push.first_line + line", "line"},
    {"frame_columns", "push.plane[plane] + ", "", FERRY_FRAME_RGB},
    {"frame_columns", "clamp(sum >> kPrecisionBits, 0, 255)", "sum >> kPrecisionBits & 0xff"},
    {"frame_rows", "- push.first_line", ""},
    {"frame_rows", "levels >> 8 & 0xff", "levels & 0xff"},
    {"frame_rows", "kChannels - 1 - c", "c"},
    {"frame_rows", "inside ? c * 256 + level", "true ? c * 256 + level"},
    {"frame_rows", "x - push.left", "x"},
    {"frame_rows", "(begin + k) * push.columns + column", "(begin + k) * push.columns + x"},
};

// By a recipe that cuts rows off, so that lines do not begin with 0, and adds columns.
TEST_F(GpuFrames, AreRefusedWhereTheDriverReadsThemWrongly) {
  fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::LongestEdge, 54, 0, fbs::Filter::Bicubic);
  recipe.crop_h = 20;
  recipe.crop_w = 60;
  recipe.color = fbs::ColorOrder::BGR;
  recipe.fill = {0.25f, 0.5f, 0.75f};
  on_each([&](const std::string& gpu) {
    for (const FrameFault& fault : kFrameFaults) {
      SCOPED_TRACE(std::string(fault.kernel) + ": " + fault.from + " -> " + fault.to);
      const ScratchFolder scratch;
      std::vector<uint32_t> code = compile_with_fault(fault.kernel, (std::string(fault.kernel) + ".comp").c_str(),
                                                      fault.from, fault.to, false, scratch.path() / "shaders");
      ASSERT_FALSE(code.empty()) << "the fault is not planted: not once in the file, or no GLSL";
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
      const bool columns = fault.kernel == std::string("frame_columns");
      device->pipelines().shaders().replace(columns ? gpu::Kernel::FrameColumns : gpu::Kernel::FrameRows,
                                            gpu::Storage::Float32, std::move(code));
      const FrameNetwork network(recipe, gpu);
      OwnFrame own(fault.format, 75, 50, FrameContents::Picture, false);
      own.frame.rotation = fault.rotation;
      Block block(own.frame);
      ASSERT_TRUE(block.import(network.get()));
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(ferry_session_set_frame(network.get(), &block.frame), FERRY_GPU_UNAVAILABLE);
        EXPECT_NE(std::string(ferry_last_error()).find("reads frames wrongly"), std::string::npos)
            << ferry_last_error();
      }
      EXPECT_LE(apart(network.of(own.frame), expected(own, recipe)), kOneLevel) << "from the app's memory";
    }
  });
}

}  // namespace
}  // namespace ferry::testing
