#include "sdk/text/images.h"

#include <algorithm>

namespace ferry {
namespace {

// Position `index` of `count` equally spaced ones from 0 to side - 1. Rounded as torch.linspace, which computes from
// both ends in float: other roundings may select another cell.
float spread(int32_t index, int32_t count, int32_t side) {
  if (count < 2) return 0;
  const float end = static_cast<float>(side - 1), step = end / static_cast<float>(count - 1);
  return index < count / 2 ? step * static_cast<float>(index) : end - step * static_cast<float>(count - 1 - index);
}

// Interpolation along one axis of the table: two cells, and the weight of the second.
struct Between {
  int32_t first, second;
  float share;
};

Between between(int32_t index, int32_t count, int32_t side) {
  const float place = spread(index, count, side);
  const auto first = static_cast<int32_t>(place);
  return {first, std::min(first + 1, side - 1), place - static_cast<float>(first)};
}

}  // namespace

PatchPositions patch_positions(ImageGrid patches, int32_t merge, int32_t side) {
  const auto count = static_cast<size_t>(patches.size());
  PatchPositions out;
  out.places.resize(2 * count);
  out.table.resize(4 * count);
  out.table_weights.resize(4 * count);
  for (size_t at = 0; at < count; ++at) {
    // Merged patches row by row, and patches row by row within each.
    const auto index = static_cast<int32_t>(at);
    const int32_t square = index / (merge * merge), within = index % (merge * merge);
    const int32_t across = patches.columns / merge;
    const int32_t row = square / across * merge + within / merge, column = square % across * merge + within % merge;
    out.places[at] = row;
    out.places[count + at] = column;
    const Between y = between(row, patches.rows, side), x = between(column, patches.columns, side);
    const int32_t cells[] = {y.first * side + x.first, y.first * side + x.second, y.second * side + x.first,
                             y.second * side + x.second};
    const float weights[] = {(1 - y.share) * (1 - x.share), (1 - y.share) * x.share, y.share * (1 - x.share),
                             y.share * x.share};
    for (size_t corner = 0; corner < 4; ++corner) {
      out.table[corner * count + at] = cells[corner];
      out.table_weights[corner * count + at] = weights[corner];
    }
  }
  return out;
}

void TokenPositions::append_plain() {
  for (std::vector<int32_t>& axis : axes_) axis.push_back(next_);
  rows_.push_back(0);
  ++next_;
}

Status TokenPositions::append(std::span<const int32_t> tokens, std::span<const ImageGrid> images) {
  for (const int32_t token : tokens) {
    if (token != image_token_) {
      if (within_image())
        return error(FERRY_INVALID_ARGUMENT, "token %zu, %d, is inside image %zu, after %d of its %lld tokens", size(),
                     token, image_, square_, static_cast<long long>(images[image_].size()));
      append_plain();
      continue;
    }
    if (image_ >= images.size())
      return error(FERRY_INVALID_ARGUMENT, "token %zu, %d, is an image placeholder, and the text has %zu images",
                   size(), token, images.size());
    const ImageGrid grid = images[image_];
    axes_[0].push_back(next_);
    axes_[1].push_back(next_ + square_ / grid.columns);
    axes_[2].push_back(next_ + square_ % grid.columns);
    rows_.push_back(++row_);
    if (++square_ < grid.size()) continue;
    next_ += std::max(grid.rows, grid.columns);
    square_ = 0;
    ++image_;
  }
  return {};
}

}  // namespace ferry
