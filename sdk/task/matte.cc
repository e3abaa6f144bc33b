#include <cmath>

#include "sdk/task/sampler.h"

namespace ferry::task {

Status matte(Networks& networks, const TaskRequest& request, Answer* answer) {
  Grid grid;
  FERRY_TRY(run_image(networks, request.frame, &grid));
  const int width = request.frame.seen_width(), height = request.frame.seen_height();
  FERRY_TRY(answer->pixels.allocate(width, height, 1));
  Sampler sampler(grid, input_extent(networks.session), networks.intake.plan().geometry, width, height);
  sampler.for_each_row(*networks.session.pool(), 0, height, [&](int y, const float* row, size_t) {
    uint8_t* to = answer->pixels.row(y);
    for (int x = 0; x < width; ++x) {
      const float part = 1 / (1 + std::exp(-sampler.at(row, x)));
      to[x] = part >= 0 ? static_cast<uint8_t>(std::lrintf(part * 255)) : 0;  // also NaN
    }
  });
  return {};
}

}  // namespace ferry::task
