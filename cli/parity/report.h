// A comparison, told three ways: for a terminal, for programs, for people to look at.
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
  int threads = 0;      // 0: one a core
  std::string problem;  // why this blob could not be compared with this fixture; "" where it could
};

// "3.1e-06"; "0", "nan" and "inf" as they are.
std::string number(double value);
// One sentence: how many were compared, the worst, the first out of bounds.
std::string summary(const Report& report);
// "0,63,12,7"
std::string coordinates_text(const Dims& at);

struct TextStyle {
  bool color = false;    // ANSI escapes
  bool verbose = false;  // name what is not in the blob
};
// One line an entry, then the summary.
std::string text_report(const Report& report, TextStyle style);

// One line a comparison, then how many passed. `unused`: fixtures for which there is no blob.
std::string table_report(const std::vector<Report>& reports, size_t unused, TextStyle style);
bool passed(const Report& report);

// docs/parity.md lists the fields. Values that are not a number are null.
std::string json_report(const Report& report);
std::string json_report(const std::vector<Report>& reports);

// One page that needs nothing else: no script, no link, no font; light and dark.
std::string html_report(const Report& report);
// The page's plot alone, as an image: error through the depth of the network, on a logarithmic scale.
std::string plot_svg(const Report& report);

}  // namespace ferry::parity
