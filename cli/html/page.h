// The frame of the HTML pages that `ferry parity`, `ferry bench --suite` and `ferry inspect --graph` write. Each page
// is one file without external resources, and follows the reader's light or dark scheme.
#pragma once

#include <string>
#include <string_view>

namespace ferry::parity {

// Everything up to the end of <head>: the title, the shared colours and fonts, then `style`.
std::string page_head(const std::string& title, std::string_view style);

// For report pages: adds the styles of cards and tables with meters, and opens <main>.
std::string report_head(const std::string& title);
inline constexpr const char* kReportEnd = "</main></body></html>\n";

// A card with a figure and its caption; both are markup.
std::string card(const std::string& figure, const std::string& caption);
// The name with a line-break opportunity after each dot.
std::string breakable(const std::string& name);

}  // namespace ferry::parity
