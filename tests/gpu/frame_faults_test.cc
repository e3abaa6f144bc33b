// Frames and memory with wrong descriptions, and drivers that fail or read frames wrongly.
#include "sdk/gpu/device/pipelines.h"
#include "tests/gpu/faults.h"
#include "tests/gpu/gpu_frames.h"
#include "tests/gpu/planted_fault.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

TEST_F(GpuFrames, RefusedIfTheyDoNotMatch) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu), on_cpu(recipe, "");
    OwnFrame own(FERRY_FRAME_NV12, 64, 48, FrameContents::Image, false);
    FrameBlock block(own.frame);
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
    source.bytes = kFramePage;
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
    const FrameNetwork network(frame_recipe(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear), gpu);
    ferry_memory_source source{};
    source.struct_size = sizeof source;
    source.bytes = kFramePage;
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

// Frames remain usable: those of the app, on the CPU if the GPU is lost.
TEST_F(GpuFrames, AnyFailingCallOfTheDriverLeaksNothing) {
  const fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::Exact, 8, 8, fbs::Filter::Bilinear);
  on_each([&](const std::string& gpu) {
    for (const VkResult result : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
      Faults faults;
      bool fired = true;
      int failed = 0;
      for (uint32_t n = 0; fired; n += 6) {  // every sixth, because all take nearly a minute
        {
          const FrameNetwork network(recipe, gpu, false);
          OwnFrame own(FERRY_FRAME_NV12, 20, 14, FrameContents::Image, false);
          FrameBlock block(own.frame);
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
          EXPECT_LE(levels_apart(network.of(own.frame), expected_of(own, recipe)), kOneLevel) << "after call " << n;
        }
        faults.expect_nothing_alive();
      }
      EXPECT_GE(failed, 3);  // some failures are tolerated: another kind of memory
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

// With preprocessing that crops rows, so that lines do not begin at 0, and adds columns.
TEST_F(GpuFrames, AreRefusedWhereTheDriverReadsThemWrongly) {
  fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::LongestEdge, 54, 0, fbs::Filter::Bicubic);
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
      OwnFrame own(fault.format, 75, 50, FrameContents::Image, false);
      own.frame.rotation = fault.rotation;
      FrameBlock block(own.frame);
      ASSERT_TRUE(block.import(network.get()));
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(ferry_session_set_frame(network.get(), &block.frame), FERRY_GPU_UNAVAILABLE);
        EXPECT_NE(std::string(ferry_last_error()).find("reads frames incorrectly"), std::string::npos)
            << ferry_last_error();
      }
      EXPECT_LE(levels_apart(network.of(own.frame), expected_of(own, recipe)), kOneLevel) << "from the app's memory";
    }
  });
}

}  // namespace
}  // namespace ferry::testing
