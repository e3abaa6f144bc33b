// A drawing of a graph: one row per operator, in run order, and lines from each value to its readers, as version
// control draws histories.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/summary.h"

namespace ferry::cli {

struct DrawnRow {
  std::string kind;                // "conv2d"; "input"
  std::string module, parameters;  // as text
  std::string output;              // its type and shape
  std::vector<std::string> weights, taps, outputs;
  uint64_t macs = 0, elements = 0;  // elements: of its weights
  double microseconds = -1;         // negative: not measured
  size_t with = kAlone;             // the row of the operator that it is fused with, whose time includes its own
  std::vector<size_t> from;         // the rows whose values it reads, each once
  int lane = 0;                     // its column, from the left

  static constexpr size_t kAlone = SIZE_MAX;
};

// A value, drawn down the lane of the row that returns it.
struct DrawnLine {
  size_t from, to;
};

struct Drawing {
  std::string title;
  std::vector<DrawnRow> rows;
  std::vector<DrawnLine> lines;
  int lanes = 0;
  uint64_t parameters = 0;  // elements of all weights, tied ones counted once
};

// The time of a row: "0.123 ms", "4.2 us", "with row 7" of a fused operator, "" where none was measured.
std::string time_text(const DrawnRow& row);

// `microseconds`: of each operator, or empty. Throws Error if the graph has too many operators to draw.
Drawing draw(const Summary& summary, const std::vector<double>& microseconds);

// The drawing as SVG. `in_page`: without a background, and with an area per row that can be clicked.
std::string svg_of(const Drawing& drawing, bool in_page = false);
// The drawing as an HTML page. It shows the details of the chosen row; keys go to the rows that it reads, and to its
// readers.
std::string page_of(const Drawing& drawing);

}  // namespace ferry::cli
