// Register tiles: the host side of shaders/tile.glsl.
#pragma once

#include <array>
#include <cstdint>

#include "sdk/gpu/lowering/program.h"
#include "sdk/status.h"

namespace ferry::gpu {

// Invocations per workgroup of kernels with tile.glsl.
inline constexpr uint32_t kTileWorkgroup = 64;

// Outputs of one invocation: rows (pixels) x quads.
struct RegisterTile {
  uint32_t rows = 1, quads = 1;
};

inline uint32_t ceil_div(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

// Tiles of a workgroup along the output's quads: at most 8, and the fewest that need as many blocks.
inline uint32_t tile_columns(uint32_t quad_tiles) { return ceil_div(quad_tiles, ceil_div(quad_tiles, 8)); }

inline std::array<uint32_t, 3> tile_groups(uint32_t quad_tiles, uint32_t row_tiles, const Limits& limits) {
  const uint32_t columns = tile_columns(quad_tiles);
  const uint64_t groups = uint64_t{ceil_div(quad_tiles, columns)} * ceil_div(row_tiles, kTileWorkgroup / columns);
  return spread(groups, 1, limits);
}

// FERRY_UNSUPPORTED: the loop iterations of an invocation exceed kMaxRounds (lavapipe).
Status check_rounds(uint64_t rounds);

// Input quads whose products float16 kernels accumulate in float16; matmul_shared: as many as it stages.
inline constexpr uint32_t kFloat16Block = 4;

// FERRY_UNSUPPORTED: storage is not float16, the device has no float16 arithmetic, or there are at most two blocks of
// `input_quads`. Canaries must cover whole blocks and a remainder.
Status check_float16s(Storage storage, const Limits& limits, uint32_t input_quads);

// With fewer invocations, a phone's GPU has idle lanes, and smaller tiles are faster.
inline constexpr uint64_t kEnoughInvocations = 1024;

}  // namespace ferry::gpu
