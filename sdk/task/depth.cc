#include <cmath>
#include <utility>

#include "sdk/task/sampler.h"

namespace ferry::task {

Status depth(Networks& networks, const TaskRequest& request, Answer* answer) {
  Grid grid;
  FERRY_TRY(run_image(networks, request.frame, &grid));
  const int width = request.frame.seen_width(), height = request.frame.seen_height();
  answer->values.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
  Sampler sampler(grid, input_extent(networks.session), networks.intake.plan().geometry, width, height);
  Pool& pool = *networks.session.pool();
  std::vector<std::pair<float, float>> ranges(pool.threads(), {INFINITY, -INFINITY});
  sampler.for_each_row(pool, 0, height, [&](int y, const float* row, size_t thread) {
    auto [minimum, maximum] = ranges[thread];
    float* to = answer->values.data() + int64_t{y} * width;
    for (int x = 0; x < width; ++x, ++to) {
      *to = sampler.at(row, x);
      if (!std::isfinite(*to)) continue;
      minimum = std::fmin(minimum, *to);
      maximum = std::fmax(maximum, *to);
    }
    ranges[thread] = {minimum, maximum};
  });
  auto [minimum, maximum] = ranges[0];
  for (const auto& range : ranges) {
    minimum = std::fmin(minimum, range.first);
    maximum = std::fmax(maximum, range.second);
  }
  answer->width = width;
  answer->height = height;
  answer->minimum = minimum <= maximum ? minimum : 0;
  answer->maximum = minimum <= maximum ? maximum : 0;
  const auto* params = networks.graph().postprocess()->params_as_Depth();
  answer->sense = params != nullptr && params->metric() ? FERRY_SENSE_METRES : FERRY_SENSE_NEARNESS;
  return {};
}

}  // namespace ferry::task
