// What a quantised network must keep.
#pragma once

#include <string>

#include "converter/quantize/measure.h"

namespace ferry::int8 {

struct Bound {
  enum class Kind : uint8_t {
    Top1,   // at least this percentage of images have the float network's best class
    Sqnr,   // the outputs have at least this signal to quantisation noise ratio, in dB
    Iou,    // mean intersection over union of masks, or of the areas of classes
    Boxes,  // share of boxes with a partner of their class and an intersection over union of at least a half
    Depth,  // mean relative error of depth: at most this
    Lines,  // share of images with the same lines of text
  };
  Kind kind = Kind::Sqnr;
  double value = 0;

  // "top1=99", "sqnr=25", "iou=.98", "boxes=.98", "depth=.02" or "lines=1". Throws Error for anything else.
  static Bound parse(const std::string& text);
  // Whether images are judged by the answers of the network's task (Answers).
  bool needs_answers() const { return kind > Kind::Sqnr; }
  bool holds(const OutputError& error) const;
  // What the error reaches of it; larger is better.
  double measure(const OutputError& error) const;
  // The same in words.
  std::string reached(const OutputError& error) const;
  // What is shown with 95 % confidence, in the unit of `value`: a lower limit, of Depth an upper one.
  double limit(const OutputError& error) const;
  bool proven(const OutputError& error) const;
  // How many images like these would prove the bound, counted ones all agreeing; 0: no number would.
  size_t images_to_prove(const OutputError& error) const;
};

}  // namespace ferry::int8
