// Image to image on images of any size, tile by tile.
#pragma once

#include "sdk/graph/session.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// Told after every tile; `user` is the caller's.
struct Progress {
  void (*report)(void* user, int done, int total) = nullptr;
  void* user = nullptr;
};

// Runs `session` over RGB `image` and joins the results: RGB or grey as the network gives, the blob's
// postprocess.upscale times as large. An image whose sides are no multiples of postprocess.multiple_of is mirrored at
// its right and bottom edge up to the next ones, and the result cut. `tile`: pixels a tile keeps, 0 for kDefaultTile or
// less (below). The session is left at the tiles' input shape. FERRY_INVALID_ARGUMENT: not an image-to-image model, or
// a result beyond kMaxSide or kMaxPixels.
Status enhance(Session& session, const View& image, int tile, const Progress& progress, Pixels* out);

// The library's choice of tiles. With a halo of 18 (Real-ESRGAN compact) a fifth of the work is overlap. Where the
// session would take more than kArenaGoal bytes, tiles get smaller.
inline constexpr int kDefaultTile = 384;
inline constexpr int kMinTile = 32;
inline constexpr uint64_t kArenaGoal = uint64_t{256} << 20;

}  // namespace ferry::image
