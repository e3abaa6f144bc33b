// Formats a comparison as text for a terminal, JSON for programs and HTML for a browser.
#pragma once

#include <string>

#include "cli/parity/compare.h"

namespace ferry::parity {

struct Report {
  Comparison comparison;
  std::string blob;        // file name
  std::string model;       // "resnet50.a1_in1k"
  std::string provenance;  // "timm resnet50.a1_in1k, ferry 0.3.0"
  std::string fixture;
  std::string architecture;
  std::string library;  // "timm 1.0.29.dev0"
  std::string backend;  // "cpu"
  int threads = 0;      // 0 means one per core
  std::string problem;  // why blob and fixture could not be compared; empty if they could
};

// "3.1e-06"; also "0", "nan" and "inf".
std::string number(double value);
// One sentence: the number of entries, the worst one, the first out of bounds.
std::string summary(const Report& report);
// "0,63,12,7"
std::string coordinates_text(const Dims& at);

struct TextStyle {
  bool color = false;    // ANSI escapes
  bool verbose = false;  // list the entries that are not in the blob
};
// One line per entry, then the summary.
std::string text_report(const Report& report, TextStyle style);

// One line per comparison, then the number that passed. `unused`: the number of fixtures without a blob.
std::string table_report(const std::vector<Report>& reports, size_t unused, TextStyle style);
bool passed(const Report& report);

// docs/parity.md lists the fields. Values that are not finite are null.
std::string json_report(const Report& report);
std::string json_report(const std::vector<Report>& reports);

// One page without external resources: no script, link or font. Light and dark.
std::string html_report(const Report& report);
// Only the page's plot as an image: the error through the depth of the network, on a logarithmic scale.
std::string plot_svg(const Report& report);

}  // namespace ferry::parity
