#include "sdk/image/intake.h"

namespace ferry::image {
namespace {

// Lines of the image: its rows, or its columns if it is rotated by 90 degrees.
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
  // Writes `count` lines outside the image.
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

// Whether sums of luma and chroma are within one level of Pillow's result, which rounds each pixel's colours. This
// holds if every output averages several positions along each axis, because rounding errors cancel. Overshooting
// filters have larger weights, and intermediate results are rounded too. The limits below are the reductions at which
// hundreds of millions of random samples were never two levels off.
bool sums_suffice(const Conversion::Resize& resize) {
  int quarters = 0;  // of the minimum reduction
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

// Pillow clips overshoot between its passes.
bool overshoots(fbs::Filter filter) { return filter == fbs::Filter::Bicubic || filter == fbs::Filter::Lanczos; }

}  // namespace

void Intake::make_room() {
  const Conversion::Resize& resize = conversion_.resize;
  using Order = Resizer::Order;
  const bool sums = !frame_.exact && sums_suffice(resize);
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
