#include "sdk/image/intake.h"

namespace ferry::image {
namespace {

// Lines of the image, which are rows of it, or columns where it lies on its side.
class NormalizedLines final : public Lines {
 public:
  NormalizedLines(const Normalizer& normalizer, const Plan& plan, bool columns, int step, bool near, float* out)
      : normalizer_(normalizer),
        along_(columns ? plan.rows : plan.columns),
        across_(columns ? plan.columns : plan.rows),
        columns_(columns),
        step_(step),
        near_(near),
        out_(out) {}

  void line(int at, const uint8_t* pixels) override {
    put(across_.offset + at, {pixels, step_, along_.offset, along_.count, near_});
  }
  // Lines where there is no image, of `count`.
  void fill(int count) const {
    for (int at = 0; at < count; ++at)
      if (at < across_.offset || at >= across_.offset + across_.count) put(at, {});
  }

 private:
  void put(int at, const Normalizer::Line& line) const {
    columns_ ? normalizer_.column(at, line, out_) : normalizer_.row(at, line, out_);
  }

  const Normalizer& normalizer_;
  Span along_, across_;
  bool columns_;
  int step_;
  bool near_;
  float* out_;
};

}  // namespace

Status plan_conversion(const fbs::Preprocess& recipe, const Frame& frame, Conversion* out) {
  Plan& plan = out->plan;
  FERRY_TRY(image::plan(recipe, frame.seen_width(), frame.seen_height(), &plan));
  const bool gray = recipe.color() == fbs::ColorOrder::Gray;
  FERRY_TRY(out->normalizer.prepare(recipe, plan.seen_height, plan.seen_width, gray ? 1 : 3));
  out->resize = {{frame.seen_width(), plan.width, plan.columns.begin, plan.columns.count, frame.from_right},
                 {frame.seen_height(), plan.height, plan.rows.begin, plan.rows.count, frame.from_bottom},
                 recipe.filter()};
  return {};
}

Status Intake::prepare(const fbs::Preprocess& recipe, const Frame& frame) {
  frame_ = frame;
  return plan_conversion(recipe, frame, &conversion_);
}

namespace {

// Are sums of luma and chroma within a level of Pillow's, which rounds each pixel's colours? Where every output is the
// mean of several positions along each axis: their roundings cancel out. Weights of what overshoots are larger, and it
// is rounded between the passes, too. These are the reductions from which on no sample of some hundred million of noise
// was two levels off.
bool many_count(const Conversion::Resize& resize) {
  int quarters = 0;  // of the reduction that is enough
  switch (resize.filter) {
    case fbs::Filter::Nearest: return false;
    case fbs::Filter::Box: quarters = 16; break;
    case fbs::Filter::Bilinear:
    case fbs::Filter::Hamming: quarters = 8; break;
    case fbs::Filter::Bicubic:
    case fbs::Filter::Lanczos: quarters = 11; break;
  }
  const auto many = [&](const Side& side) { return int64_t{4} * side.source >= int64_t{quarters} * side.target; };
  return many(resize.columns) && many(resize.rows);
}

// What overshoots is clipped between Pillow's passes.
bool overshoots(fbs::Filter filter) { return filter == fbs::Filter::Bicubic || filter == fbs::Filter::Lanczos; }

}  // namespace

void Intake::make_room() {
  const Conversion::Resize& resize = conversion_.resize;
  using Order = Resizer::Order;
  const bool sums = !frame_.exact && many_count(resize);
  const Order order = sums && !overshoots(resize.filter) ? Order::SumsFirst
                      : frame_.transposed                ? Order::RowsFirst
                                                         : Order::ColumnsFirst;
  const int channels = conversion_.normalizer.channels() == 1 ? 1 : 4;
  const Kind kind = {resize, frame_.transposed, order, channels, frame_.left};
  if (kind == kind_) return;
  kind_ = {};
  const Side &along = frame_.transposed ? resize.rows : resize.columns,
             &across = frame_.transposed ? resize.columns : resize.rows;
  resizer_.prepare(along, across, order, resize.filter, channels);
  rows_.prepare(frame_, resizer_, sums);
  kind_ = kind;
}

void Intake::write(float* out) {
  make_room();
  const Plan& plan = conversion_.plan;
  NormalizedLines lines(conversion_.normalizer, plan, frame_.transposed, kind_.channels, !frame_.exact, out);
  lines.fill(frame_.transposed ? plan.seen_width : plan.seen_height);
  rows_.begin(frame_, kind_.channels);
  resizer_.run(rows_, lines);
}

}  // namespace ferry::image
