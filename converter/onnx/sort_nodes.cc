#include <set>
#include <unordered_map>

#include "converter/onnx/model.h"

namespace ferry::onnx {

void sort_nodes(std::vector<Node>* nodes, const std::vector<std::string>& given) {
  std::set<std::string> known(given.begin(), given.end());
  std::unordered_map<std::string, size_t> producer;
  for (size_t i = 0; i < nodes->size(); ++i) {
    for (const std::string& output : (*nodes)[i].outputs) {
      if (output.empty()) continue;
      if (known.contains(output) || !producer.emplace(output, i).second)
        fail("value '%s' is computed twice, the second time by node '%s'", output.c_str(), (*nodes)[i].name.c_str());
    }
  }
  // The number of missing inputs of each node, and the readers of each node.
  std::vector<size_t> missing(nodes->size(), 0);
  std::vector<std::vector<size_t>> readers(nodes->size());
  std::set<size_t> ready;  // earliest in the file first, which keeps its order if possible
  for (size_t i = 0; i < nodes->size(); ++i) {
    for (const std::string& input : (*nodes)[i].inputs) {
      if (input.empty() || known.contains(input)) continue;
      const auto from = producer.find(input);
      if (from == producer.end())
        fail("node '%s' (%s) reads '%s', which no node computes", (*nodes)[i].name.c_str(), (*nodes)[i].op.c_str(),
             input.c_str());
      readers[from->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.insert(i);
  }
  std::vector<Node> sorted;
  sorted.reserve(nodes->size());
  std::vector<bool> done(nodes->size(), false);
  while (!ready.empty()) {
    const size_t i = *ready.begin();
    ready.erase(ready.begin());
    done[i] = true;
    for (const size_t reader : readers[i])
      if (--missing[reader] == 0) ready.insert(reader);
    sorted.push_back(std::move((*nodes)[i]));
  }
  for (size_t i = 0; i < done.size(); ++i)
    if (!done[i])
      fail("node '%s' (%s) waits for its own result: the graph is cyclic", (*nodes)[i].name.c_str(),
           (*nodes)[i].op.c_str());
  *nodes = std::move(sorted);
}

}  // namespace ferry::onnx
