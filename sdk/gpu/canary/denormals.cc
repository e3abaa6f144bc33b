#include "sdk/gpu/canary/denormals.h"

#include <cstring>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/program.h"

namespace ferry::gpu {

Status flushes_float16(Device& device, bool* flushes) {
  if (const std::optional<bool> known = device.pipelines().flushes_float16()) {
    *flushes = *known;
    return {};
  }
  // Denormals that float16 represents exactly, of both signs, down to the least, and two normal values.
  constexpr float kValues[] = {0x1p-15f, -0x1p-15f, 0x1.8p-16f, 0x1p-20f, -0x1p-24f, 0x1p-24f, 0x1p-14f, 1};
  constexpr uint64_t kBytes = sizeof kValues;
  const uint64_t step = aligned(kBytes, device.limits().offset_alignment);
  Buffer buffer;
  FERRY_TRY(device.allocate(3 * step, MemoryUse::Readback, &buffer));
  std::memset(buffer.mapped(), 0xff, 3 * step);
  std::memcpy(buffer.mapped(), kValues, kBytes);
  const Shape shape{1, static_cast<int32_t>(std::size(kValues))};
  const BufferRange in{buffer.handle(), 0, kBytes}, quads{buffer.handle(), step, kBytes / 2},
      out{buffer.handle(), 2 * step, kBytes};
  Commands commands(device);
  FERRY_TRY(commands.begin(2));
  const Dispatch up = transfer(Kernel::Upload, TensorId::First, shape, Storage::Float16, device.limits());
  const Dispatch down = transfer(Kernel::Download, TensorId::First, shape, Storage::Float16, device.limits());
  FERRY_TRY(commands.dispatch(up, {quads, in, {}, {}}));
  FERRY_TRY(commands.dispatch(down, {out, quads, {}, {}}));
  FERRY_TRY(commands.end());
  FERRY_TRY(buffer.flush());
  FERRY_TRY(commands.submit());
  FERRY_TRY(commands.wait());
  FERRY_TRY(buffer.invalidate());
  *flushes = std::memcmp(buffer.mapped() + 2 * step, kValues, kBytes) != 0;
  device.pipelines().set_flushes_float16(*flushes);
  return {};
}

}  // namespace ferry::gpu
