// Register tiles: the host's side of shaders/tile.glsl.
#pragma once

#include <array>
#include <cstdint>

#include "sdk/gpu/lowering/program.h"
#include "sdk/status.h"

namespace ferry::gpu {

// Invocations of the workgroups that tile.glsl divides.
inline constexpr uint32_t kTileWorkgroup = 64;

// What one invocation computes: rows (pixels) x quads of the output.
struct RegisterTile {
  uint32_t rows = 1, quads = 1;
};

inline uint32_t ceil_div(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

// Tiles that a workgroup covers along the output's quads: at most 8, and as few as cover them in as many blocks.
inline uint32_t tile_columns(uint32_t quad_tiles) { return ceil_div(quad_tiles, ceil_div(quad_tiles, 8)); }

inline std::array<uint32_t, 3> tile_groups(uint32_t quad_tiles, uint32_t row_tiles, const Limits& limits) {
  const uint32_t columns = tile_columns(quad_tiles);
  const uint64_t groups = uint64_t{ceil_div(quad_tiles, columns)} * ceil_div(row_tiles, kTileWorkgroup / columns);
  return spread(groups, 1, limits);
}

// FERRY_UNSUPPORTED: an invocation would go through its loops more often than drivers allow: lavapipe leaves them after
// 65535 rounds in all.
Status check_rounds(uint64_t rounds);

// Input quads whose products kernels that multiply in halves add up in halves; matmul_shared: as many as it stages.
inline constexpr uint32_t kFloat16Block = 4;

// FERRY_UNSUPPORTED: halves are not stored, the device has no arithmetic of them, or sums of `input_quads` are not
// worth blocks. More than two blocks it must be, so that every canary goes through whole ones and a rest.
Status check_float16s(Storage storage, const Limits& limits, uint32_t input_quads);

// With fewer invocations a phone's GPU has idle lanes: smaller tiles are better then.
inline constexpr uint64_t kEnoughInvocations = 1024;

}  // namespace ferry::gpu
