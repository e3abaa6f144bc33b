// What each operator of a quantised network costs: measured by `ferry quantise --explain`, kept in the blob's
// provenance, and printed again from there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/quantize/search.h"

namespace ferry {
class Model;
}

namespace ferry::cli {

struct CostRow {
  std::string graph;  // "" in a blob of one graph
  std::string name, kind;
  bool int8 = false;
  // SQNR of the outputs in dB with only this operator on Int8, and with all but this one; infinite: exact.
  std::optional<double> alone, without;
  double float_us = 0, int8_us = 0;  // 0: unknown
  std::string cause;                 // why it is in float; "" on Int8
};

struct CostTable {
  std::string title;
  std::vector<CostRow> rows;
  bool measured = true;  // false: the blob has no errors
};

// Adds the operators of `graph`, which is `name` in a blob of several.
void add_costs(const std::string& name, const Graph& graph, const int8::Result& result, CostTable* table);
// Of a finished blob.
CostTable cost_table(const std::string& title, const Model& blob);
// Adds the rows to the options of a blob, which `ferry inspect` leaves out.
void store(const CostTable& table, std::vector<std::string>* options);
bool is_stored_row(const std::string& option);

void print_costs(const CostTable& table);
std::string costs_page(const CostTable& table);

}  // namespace ferry::cli
