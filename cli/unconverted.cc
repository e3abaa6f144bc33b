#include "cli/unconverted.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "converter/foreign.h"
#include "converter/graph/macs.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_file.h"
#if defined(FERRY_HAS_CONVERTER)
#include "converter/source.h"
#endif

namespace ferry::cli {
namespace {

nlohmann::json reasons_json(const std::vector<Reason>& reasons) {
  nlohmann::json list = nlohmann::json::array();
  for (const Reason& r : reasons)
    list.push_back({{"op", r.op}, {"node", r.node}, {"opset", r.opset}, {"reason", r.what}});
  return list;
}

bool begins_with(std::span<const std::byte> bytes, const char (&magic)[8]) {
  return bytes.size() >= sizeof magic && std::equal(magic, magic + sizeof magic, bytes.begin(),
                                                    [](char m, std::byte b) { return static_cast<std::byte>(m) == b; });
}

}  // namespace

int print_refusal(const Refused& refused, bool json) {
  if (json) {
    print_document(nlohmann::json{{"reasons", reasons_json(refused.reasons())}});
  } else {
    print_error("ferry convert: %s cannot be converted:\n", refused.file().c_str());
    for (const Reason& reason : refused.reasons()) print_error("  %s\n", to_string(reason).c_str());
  }
  return kBadInput;
}

#if defined(FERRY_HAS_CONVERTER)

bool has_outline(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const ferry::Source* source = find_source(path);
  return source != nullptr && source->outline != nullptr;
}

int inspect_source(const std::string& path, const std::vector<std::string>& shapes, const std::string& network,
                   bool json) {
  Settings settings;
  if (!network.empty()) settings.set("network", network);
  for (const std::string& shape : shapes) settings.add("shape", shape);
  const Outline outline = source_of(path).outline(path, settings);
  const uint64_t macs = outline.graph ? macs_of(*outline.graph) : 0;
  if (json) {
    nlohmann::json j = {{"producer", outline.producer},
                        {"opset", outline.opset},
                        {"operators", outline.operators},
                        {"parameters", outline.parameters},
                        {"refused", reasons_json(outline.refused)}};
    if (outline.graph) j["macs"] = macs;
    print_document(j);
    return kDone;
  }
  const std::string opset = outline.opset > 0 ? ", opset " + std::to_string(outline.opset) : "";
  print("%-12s  %s%s%s%s\n", "file", path.c_str(), opset.c_str(), outline.producer.empty() ? "" : ", from ",
        outline.producer.c_str());
  print("%-12s  %s parameters", "size", grouped(outline.parameters).c_str());
  if (outline.graph) print(", %s multiply-adds", scaled(static_cast<double>(macs)).c_str());
  std::vector<std::string> counts;
  int nodes = 0;
  for (const auto& [op, count] : outline.operators) {
    counts.push_back(op + " " + std::to_string(count));
    nodes += count;
  }
  print("\n%-12s  %d: %s\n", "operators", nodes, join(counts, ", ").c_str());
  print("%-12s  %s\n", "refused", outline.refused.empty() ? "nothing: `ferry convert` takes it" : "");
  for (const Reason& reason : outline.refused) print("  %s\n", to_string(reason).c_str());
  return kDone;
}

#else

bool has_outline(const std::string&) { return false; }
int inspect_source(const std::string& path, const std::vector<std::string>&, const std::string&, bool) {
  fail("%s: this build has no converter", path.c_str());
}

#endif

void require_blob(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return;
  const auto file = MappedFile::open(path);
  if (begins_with(file->bytes(), BlobHeader::kMagic) || begins_with(file->bytes(), PackedHeader::kMagic)) return;
#if defined(FERRY_HAS_CONVERTER)
  if (const ferry::Source* source = find_source(path))
    fail("%s: is %s; convert it first: ferry convert %s -o MODEL.ferry", path.c_str(), source->name, path.c_str());
#endif
  if (const std::string foreign = describe_foreign(*file); !foreign.empty())
    fail("%s: %s", path.c_str(), foreign.c_str());
}

}  // namespace ferry::cli
