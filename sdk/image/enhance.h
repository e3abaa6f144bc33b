// Image-to-image networks on images of any size, in tiles.
#pragma once

#include "sdk/graph/session.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// Called after every tile; `user` is passed through.
struct Progress {
  void (*report)(void* user, int done, int total) = nullptr;
  void* user = nullptr;
};

// Runs `session` over RGB `image` in tiles and joins the results. The result is RGB or grey, as the network outputs,
// and postprocess.upscale times as large. If sides must be multiples of postprocess.multiple_of, the image is padded by
// reflection at the right and bottom, and the result is cropped. `tile`: pixels that a tile keeps; 0: kDefaultTile or
// less. The session keeps the tiles' input shape. FERRY_INVALID_ARGUMENT: not an image-to-image model, or the result
// exceeds kMaxSide or kMaxPixels.
Status enhance(Session& session, const View& image, int tile, const Progress& progress, Pixels* out);

// The automatic tile size. With a halo of 18 (Real-ESRGAN compact), a fifth of the work is overlap. Tiles are smaller
// if the session would need more than kArenaGoal bytes.
inline constexpr int kDefaultTile = 384;
inline constexpr int kMinTile = 32;
inline constexpr uint64_t kArenaGoal = uint64_t{256} << 20;

}  // namespace ferry::image
