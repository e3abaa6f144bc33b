#include "converter/graph/from_blob.h"

#include <utility>

#include "sdk/model/model.h"

namespace ferry {

std::unique_ptr<Graph> graph_of(const std::shared_ptr<const Model>& blob) {
  fbs::GraphT table;
  blob->root().UnPackTo(&table);
  std::vector<Constant> segments(1);
  for (uint32_t i = 1; i < table.buffers.size(); ++i) segments.push_back({.owner = blob, .bytes = blob->segment(i)});
  table.buffers.clear();
  table.packed.clear();
  table.content.clear();
  table.checkpoint = 0;
  for (fbs::GraphT* graph : tables_of(table)) graph->certificate.reset();
  auto out = std::make_unique<Graph>();
  out->adopt(std::move(table), std::move(segments));
  return out;
}

std::vector<std::unique_ptr<Graph>> graphs_of(const std::shared_ptr<const Model>& blob) {
  std::vector<std::unique_ptr<Graph>> out;
  out.push_back(graph_of(blob));
  const auto others = std::exchange(out.front()->table.graphs, {});
  for (const auto& table : others) {
    out.push_back(out.front()->copy());
    out.back()->table = *table;
  }
  return out;
}

}  // namespace ferry
