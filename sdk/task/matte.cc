#include <cmath>

#include "sdk/task/sampler.h"

namespace ferry::task {

Status matte(Networks& networks, const Request& request, Answer* answer) {
  Session& session = networks.session;
  image::Geometry geometry;
  FERRY_TRY(set_picture(session, request.picture, &geometry));
  FERRY_TRY(session.run());
  Grid grid;
  FERRY_TRY(output_grid(session, &grid));
  const int width = request.picture.width, height = request.picture.height;
  FERRY_TRY(answer->pixels.allocate(width, height, 1));
  Sampler sampler(grid, input_extent(session), geometry, width, height);
  for (int y = 0; y < height; ++y) {
    const float* row = sampler.row(y);
    uint8_t* to = answer->pixels.row(y);
    for (int x = 0; x < width; ++x) {
      const float part = 1 / (1 + std::exp(-sampler.at(row, x)));
      to[x] = part >= 0 ? static_cast<uint8_t>(std::lrintf(part * 255)) : 0;  // NaN too
    }
  }
  return {};
}

}  // namespace ferry::task
