// What the pages of `ferry parity`, `ferry bench --suite` and `ferry inspect --graph` share: one file each that needs
// nothing else, in the reader's colours, light or dark.
#pragma once

#include <string>
#include <string_view>

namespace ferry::parity {

// Up to the end of the page's <head>: its title, the colours and type that all have, then `style`.
std::string page_head(const std::string& title, std::string_view style);

// Of pages to read: <main> is open afterwards. Figures on cards, tables with meters in them.
std::string report_head(const std::string& title);
inline constexpr const char* kReportEnd = "</main></body></html>\n";

// A figure and what it is, both as markup.
std::string card(const std::string& figure, const std::string& caption);
// A name that may be broken after its dots.
std::string breakable(const std::string& name);

}  // namespace ferry::parity
