#include <algorithm>
#include <cmath>

#include "sdk/task/labels.h"
#include "sdk/task/sampler.h"

namespace ferry::task {
namespace {

// The classes in `labels` with their shares, most frequent first.
void make_legend(const fbs::Graph& graph, const std::vector<uint16_t>& labels, int channels,
                 std::vector<ferry_class>* legend) {
  std::vector<int64_t> counts(static_cast<size_t>(channels));
  for (const uint16_t label : labels) ++counts[label];
  for (int c = 0; c < channels; ++c) {
    const int64_t count = counts[static_cast<size_t>(c)];
    if (count == 0) continue;
    const auto share = static_cast<float>(static_cast<double>(count) / static_cast<double>(labels.size()));
    // Insertion keeps equal shares sorted by class; there are few.
    size_t place = legend->size();
    legend->push_back({});
    for (; place > 0 && (*legend)[place - 1].probability < share; --place) (*legend)[place] = (*legend)[place - 1];
    (*legend)[place] = {c, share, label_of(graph, c)};
  }
}

// The classes that can have the maximum score somewhere between two cells. Scores are interpolated linearly, so such a
// class has a maximum above the best class's minimum. Usually this is one class for many pixels.
class Candidates {
 public:
  explicit Candidates(int classes) : classes_(classes), found_(static_cast<size_t>(classes)) {}

  void find(const float* first, const float* next) {
    float bound = -INFINITY;
    for (int c = 0; c < classes_; ++c) bound = std::max(bound, std::min(first[c], next[c]));
    count_ = 0;
    for (int c = 0; c < classes_; ++c) {
      if (std::max(first[c], next[c]) >= bound) found_[count_++] = static_cast<uint16_t>(c);
    }
    if (count_ == 0) found_[count_++] = 0;  // only NaN
  }
  std::span<const uint16_t> list() const { return {found_.data(), count_}; }

 private:
  int classes_;
  std::vector<uint16_t> found_;
  size_t count_ = 0;
};

}  // namespace

Status label(Networks& networks, const TaskRequest& request, Answer* answer) {
  Grid grid;
  FERRY_TRY(run_image(networks, request.frame, &grid));
  const int width = request.frame.seen_width(), height = request.frame.seen_height();
  answer->labels.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
  Sampler sampler(grid, input_extent(networks.session), networks.intake.plan().geometry, width, height);
  Pool& pool = *networks.session.pool();
  std::vector<Candidates> of_threads(pool.threads(), Candidates(grid.channels));
  sampler.for_each_row(pool, 0, height, [&](int y, const float* row, size_t thread) {
    Candidates& candidates = of_threads[thread];
    uint16_t* to = answer->labels.data() + int64_t{y} * width;
    for (int x = 0; x < width; ++x, ++to) {
      const Sample& column = sampler.column(x);
      if (x == 0 || column.first != sampler.column(x - 1).first) {
        candidates.find(row + int64_t{column.first} * grid.channels, row + int64_t{column.next} * grid.channels);
      }
      int best = candidates.list().front();
      float largest = sampler.at(row, x, best);
      for (const uint16_t c : candidates.list().subspan(1)) {
        const float value = sampler.at(row, x, c);
        if (value > largest) largest = value, best = c;
      }
      *to = static_cast<uint16_t>(best);
    }
  });
  answer->width = width;
  answer->height = height;
  make_legend(networks.graph(), answer->labels, grid.channels, &answer->classes);
  return {};
}

}  // namespace ferry::task
