// A graph to look at: a row an operator, in the order in which they run, and a line from each value to all that read
// it, as version control draws histories.
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
  std::vector<size_t> from;         // the rows whose values it reads, each once
  int lane = 0;                     // where it stands, from the left
};

// A value on its way, which goes down in the lane of the row that gives it.
struct DrawnLine {
  size_t from, to;
};

struct Drawing {
  std::string title;
  std::vector<DrawnRow> rows;
  std::vector<DrawnLine> lines;
  int lanes = 0;
};

// `microseconds`: of each operator, or none. Throws Error where there are too many operators to look at.
Drawing draw(const Summary& summary, const std::vector<double>& microseconds);

// As an SVG file; as a part of a page without colours of its own and with a class a row.
std::string svg_of(const Drawing& drawing, bool in_page = false);
// As an HTML page that one can walk through: whatever is known of the chosen row beside it, what it reads and who reads
// it a key away.
std::string page_of(const Drawing& drawing);

}  // namespace ferry::cli
