// ScatterElements with indices that are expanded to whole rows, as PyTorch scatters regions of several feature maps.
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {

void recognise_scatter_rows(Matcher& m) {
  for (const Node& node : m.nodes()) {
    if (!is(node, "ScatterElements") || node.inputs.size() != 3) continue;
    const Node* expand = m.producer(node.inputs[1], "Expand");
    if (!expand) continue;
    std::vector<std::string> inputs = node.inputs;
    inputs.push_back(expand->inputs[0]);
    m.replace(&node, "ScatterRows", std::move(inputs), node.attributes);
  }
}

}  // namespace ferry::onnx
