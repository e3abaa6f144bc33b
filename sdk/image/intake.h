// From a frame to a network's input in one pass over its rows.
#pragma once

#include "sdk/image/frame.h"
#include "sdk/image/normalizer.h"
#include "sdk/image/preprocess.h"

namespace ferry::image {

// What a recipe makes of a frame, whoever computes it.
struct Conversion {
  // How its levels are resized: the axes of the image as it is seen.
  struct Resize {
    Side columns, rows;
    fbs::Filter filter = fbs::Filter::Nearest;

    bool operator==(const Resize&) const = default;
  };
  Plan plan;
  Resize resize;
  Normalizer normalizer;  // what its levels become, and whether they are grey
};
Status plan_conversion(const fbs::Preprocess& recipe, const Frame& frame, Conversion* out);

// Belongs to a session, for its memory is kept: it grows when frames of another size or kind come.
class Intake {
 public:
  Intake() = default;
  Intake(const Conversion& conversion, const Frame& frame) : frame_(frame), conversion_(conversion) {}
  // What the recipe makes of such a frame. `frame` is used by write().
  Status prepare(const fbs::Preprocess& recipe, const Frame& frame);

  const Conversion& conversion() const { return conversion_; }
  const Plan& plan() const { return conversion_.plan; }
  // Into a network's input of the plan's seen height and width. The frame lies in the app's memory.
  void write(float* out);

 private:
  struct Kind {
    Conversion::Resize resize;
    bool transposed = false;
    Resizer::Order order = Resizer::Order::ColumnsFirst;
    int channels = 0;
    int left = 0;

    bool operator==(const Kind&) const = default;
  };
  void make_room();

  Frame frame_;
  Conversion conversion_;
  Kind kind_;  // that resizer_ is prepared for
  FrameRows rows_;
  Resizer resizer_;
};

}  // namespace ferry::image
