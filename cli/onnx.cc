#include "cli/onnx.h"

#if defined(FERRY_HAS_ONNX)
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "converter/onnx/convert_onnx.h"

namespace ferry::cli {
namespace {

nlohmann::json reasons_json(const std::vector<onnx::Reason>& reasons) {
  nlohmann::json list = nlohmann::json::array();
  for (const onnx::Reason& r : reasons)
    list.push_back({{"op", r.op}, {"node", r.node}, {"opset", r.opset}, {"reason", r.what}});
  return list;
}

void print_json(const nlohmann::json& j) {
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

uint64_t count_macs(const Graph& graph) {
  uint64_t macs = 0;
  for (const auto& op : graph.table.operators)
    macs += macs_of(*SerializedOp(*op), [&](TensorId tensor) { return graph.shape(tensor); });
  return macs;
}

}  // namespace

int print_refusal(const onnx::Refused& refused, bool json) {
  if (json) {
    print_json({{"reasons", reasons_json(refused.reasons())}});
  } else {
    std::fprintf(stderr, "ferry convert: %s cannot be converted:\n", refused.file().c_str());
    for (const onnx::Reason& reason : refused.reasons()) std::fprintf(stderr, "  %s\n", to_string(reason).c_str());
  }
  return kBadInput;
}

int inspect_onnx(const std::string& path, const std::vector<std::string>& shapes, bool json) {
  const onnx::Model model = onnx::read_model(path);
  std::map<std::string, int> histogram;
  for (const onnx::Node& node : model.nodes) ++histogram[node.op];
  uint64_t parameters = 0;
  for (const auto& [name, array] : model.constants)
    if (onnx::is_float(array.type)) parameters += static_cast<uint64_t>(array.elements());
  std::vector<onnx::Reason> reasons;
  uint64_t macs = 0;
  try {
    macs = count_macs(*onnx::import_model(model, {.shapes = onnx::parse_shapes(shapes)}).graph);
  } catch (const onnx::Refused& refused) {
    reasons = refused.reasons();
  }
  if (json) {
    nlohmann::json j = {{"producer", model.producer},
                        {"opset", model.opset},
                        {"operators", histogram},
                        {"parameters", parameters},
                        {"refused", reasons_json(reasons)}};
    if (reasons.empty()) j["macs"] = macs;
    print_json(j);
    return kDone;
  }
  std::printf("%-12s  %s, opset %d%s%s\n", "file", path.c_str(), model.opset, model.producer.empty() ? "" : ", from ",
              model.producer.c_str());
  std::printf("%-12s  %s parameters", "size", grouped(parameters).c_str());
  if (reasons.empty()) std::printf(", %s multiply-adds", scaled(static_cast<double>(macs)).c_str());
  std::vector<std::string> counts;
  for (const auto& [op, count] : histogram) counts.push_back(op + " " + std::to_string(count));
  std::printf("\n%-12s  %zu: %s\n", "operators", model.nodes.size(), join(counts, ", ").c_str());
  std::printf("%-12s  %s\n", "refused", reasons.empty() ? "nothing: `ferry convert` takes it" : "");
  for (const onnx::Reason& reason : reasons) std::printf("  %s\n", to_string(reason).c_str());
  return kDone;
}

}  // namespace ferry::cli
#endif
