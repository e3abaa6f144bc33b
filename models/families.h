// The table of model families, and convert() with it. docs/port-a-model-family.md shows how to add one.
#pragma once

#include "converter/convert.h"

namespace ferry {

Families families();

inline Conversion convert(const ConvertOptions& options) { return convert(families(), options); }
inline std::unique_ptr<Graph> convert_to_graph(const ConvertOptions& options) {
  return convert_to_graph(families(), options);
}
inline std::vector<std::unique_ptr<Graph>> convert_to_graphs(const ConvertOptions& options) {
  return convert_to_graphs(families(), options);
}

}  // namespace ferry
