// From a frame to a network's input in one pass over its rows.
#pragma once

#include "sdk/image/frame.h"
#include "sdk/image/normalizer.h"
#include "sdk/image/preprocess.h"

namespace ferry::image {

// Belongs to a session, for its memory is kept: it grows when frames of another size or kind come.
class Intake {
 public:
  // What the recipe makes of such a frame. `frame` is used by write().
  Status prepare(const fbs::Preprocess& recipe, const Frame& frame);

  const Plan& plan() const { return plan_; }
  // Into a network's input of the plan's seen height and width.
  void write(float* out);

 private:
  struct Kind {
    Side columns, rows;
    Resizer::Order order = Resizer::Order::ColumnsFirst;
    fbs::Filter filter = fbs::Filter::Nearest;
    int channels = 0;
    int left = 0;

    bool operator==(const Kind&) const = default;
  };

  Frame frame_;
  Plan plan_;
  Kind kind_;  // that resizer_ is prepared for
  FrameRows rows_;
  Resizer resizer_;
  Normalizer normalizer_;
};

}  // namespace ferry::image
