#include "sdk/image/intake.h"

#include <algorithm>

namespace ferry::image {
namespace {

// Lines of the picture, which are rows of it, or columns where it lies on its side.
class NormalizedLines final : public Lines {
 public:
  NormalizedLines(const Normalizer& normalizer, const Plan& plan, bool columns, int step, float* out)
      : normalizer_(normalizer),
        along_(columns ? plan.rows : plan.columns),
        across_(columns ? plan.columns : plan.rows),
        columns_(columns),
        step_(step),
        out_(out) {}

  void line(int at, const uint8_t* pixels) override {
    put(across_.offset + at, {pixels, step_, along_.offset, along_.count});
  }
  // Lines where there is no picture, of `count`.
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
  float* out_;
};

}  // namespace

Status Intake::prepare(const fbs::Preprocess& recipe, const Frame& frame) {
  frame_ = frame;
  FERRY_TRY(image::plan(recipe, frame.seen_width(), frame.seen_height(), &plan_));
  const bool gray = recipe.color() == fbs::ColorOrder::Gray;
  FERRY_TRY(normalizer_.prepare(recipe, plan_.seen_height, plan_.seen_width, gray ? 1 : 3));
  Side columns = {frame.seen_width(), plan_.width, plan_.columns.begin, plan_.columns.count, frame.from_right};
  Side rows = {frame.seen_height(), plan_.height, plan_.rows.begin, plan_.rows.count, frame.from_bottom};
  if (frame.transposed) std::swap(columns, rows);
  // Rows first is faster. It rounds apart, and what overshoots would be clipped at another place.
  const bool overshoots = recipe.filter() == fbs::Filter::Bicubic || recipe.filter() == fbs::Filter::Lanczos;
  using Order = Resizer::Order;
  const Order order = !frame.exact && !overshoots ? Order::SumsFirst
                      : frame.transposed          ? Order::RowsFirst
                                                  : Order::ColumnsFirst;
  const Kind kind = {columns, rows, order, recipe.filter(), gray ? 1 : 4, frame.left};
  if (kind == kind_) return {};
  kind_ = {};
  resizer_.prepare(columns, rows, order, kind.filter, kind.channels);
  if (order == Order::SumsFirst) rows_.prepare(frame, resizer_.columns());
  kind_ = kind;
  return {};
}

void Intake::write(float* out) {
  NormalizedLines lines(normalizer_, plan_, frame_.transposed, kind_.channels, out);
  lines.fill(frame_.transposed ? plan_.seen_width : plan_.seen_height);
  rows_.begin(frame_, kind_.channels);
  resizer_.run(rows_, lines);
}

}  // namespace ferry::image
