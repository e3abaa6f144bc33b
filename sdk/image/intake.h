// Converts a frame to a network's input in one pass over its rows.
#pragma once

#include "sdk/image/frame.h"
#include "sdk/image/normalizer.h"
#include "sdk/image/preprocess.h"

namespace ferry::image {

// The conversion of a frame by the preprocessing, for any backend.
struct Conversion {
  // The resize of its levels: axes of the upright image.
  struct Resize {
    Side columns, rows;
    fbs::Filter filter = fbs::Filter::Nearest;

    bool operator==(const Resize&) const = default;
  };
  Plan plan;
  Resize resize;
  Normalizer normalizer;  // from levels to values, and whether levels are grey
};
Status plan_conversion(const fbs::Preprocess& recipe, const Frame& frame, Conversion* out);

// Belongs to a session and keeps its memory, which grows when the size or format of frames changes.
class Intake {
 public:
  Intake() = default;
  Intake(const Conversion& conversion, const Frame& frame) : frame_(frame), conversion_(conversion) {}
  // Prepares the conversion of such a frame. write() reads `frame`.
  Status prepare(const fbs::Preprocess& recipe, const Frame& frame);

  const Conversion& conversion() const { return conversion_; }
  const Plan& plan() const { return conversion_.plan; }
  // Writes the network's input, of the plan's seen height and width. The frame is in the app's memory.
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
  Kind kind_;  // for which resizer_ is prepared
  FrameRows rows_;
  Resizer resizer_;
};

}  // namespace ferry::image
