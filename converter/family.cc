#include "converter/family.h"

namespace ferry {

std::vector<std::unique_ptr<Graph>> build_graphs(const Configured& network, Ledger& ledger) {
  std::vector<std::unique_ptr<Graph>> all;
  all.push_back(std::make_unique<Graph>());
  network.build(*all.back(), Weights(*all.back(), ledger));
  for (const Configured::Named& more : network.graphs) {
    all.push_back(std::make_unique<Graph>());
    all.back()->table.name = more.name;
    more.build(*all.back(), Weights(*all.back(), ledger));
  }
  ledger.finish();
  return all;
}

}  // namespace ferry
