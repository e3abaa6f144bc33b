#include "tests/support/fixtures.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "tests/shared.h"
#include "tests/support/esrgan_slim.h"
#include "tests/support/paths.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

// "a.{0..2}" expands to three names, and so does "a.{1..5..2}".
void expand(const std::string& pattern, std::vector<std::string>* names) {
  const size_t open = pattern.find('{'), close = pattern.find('}');
  if (open == pattern.npos) return names->push_back(pattern);
  int first = 0, last = 0, step = 1;
  if (std::sscanf(pattern.c_str() + open, "{%d..%d..%d}", &first, &last, &step) < 2 || close == pattern.npos)
    throw std::runtime_error("fixtures.json: '" + pattern + "', expected {first..last} or {first..last..step}");
  for (int i = first; i <= last; i += step)
    names->push_back(pattern.substr(0, open) + std::to_string(i) + pattern.substr(close + 1));
}

ParityFixture read_row(const nlohmann::json& row) {
  static const std::map<std::string, ParityFixture::Gpu> kGpus = {{"kernels", ParityFixture::Gpu::Kernels},
                                                                  {"modules", ParityFixture::Gpu::Modules},
                                                                  {"values", ParityFixture::Gpu::Values}};
  ParityFixture out;
  for (const auto& [key, value] : row.items()) {
    if (key == "name") {
      value.get_to(out.name);
    } else if (key == "model") {
      value.get_to(out.model);
    } else if (key == "variant") {
      value.get_to(out.variant);
    } else if (key == "weights") {
      value.get_to(out.weights);
    } else if (key == "options") {
      for (const auto& [option, given] : value.items())
        out.options.emplace_back(option, given.is_string() ? given.get<std::string>() : given.dump());
    } else if (key == "blocks" || key == "taps") {
      for (const auto& pattern : value) expand(pattern, key == "taps" ? &out.taps : &out.blocks);
    } else if (key == "gpu") {
      out.gpu = kGpus.at(value);
    } else {
      throw std::runtime_error("fixtures.json: '" + key + "' is no column");
    }
  }
  return out;
}

}  // namespace

fs::path ParityFixture::folder() const {
  const fs::path ours = source_folder() / "tests" / "data" / "fixtures" / name;
  if (fs::exists(ours)) return ours;
  return shared_dir().empty() ? fs::path() : shared_dir() / "fixtures" / name;
}

fs::path ParityFixture::weights_file() const {
  const size_t slash = weights.find('/');
  const fs::path root = weights.substr(0, slash) == "shared" ? shared_dir() : esrgan_slim_dir();
  return root.empty() ? root : root / weights.substr(slash + 1);
}

#if FERRY_HAS_CONVERTER
ConvertOptions ParityFixture::convert_options(const fs::path& checkpoint) const {
  ConvertOptions out;
  out.checkpoint = checkpoint;
  if (!model.empty()) out.settings.set("model", model);
  for (const auto& [option, value] : options) out.settings.set(option, value);
  return out;
}
#endif

std::ostream& operator<<(std::ostream& out, const ParityFixture& fixture) { return out << fixture.name; }

const std::vector<ParityFixture>& parity_fixtures() {
  static const std::vector<ParityFixture> fixtures = [] {
    std::ifstream file(source_folder() / "tests" / "parity" / "fixtures.json");
    std::vector<ParityFixture> rows;
    for (const auto& row : nlohmann::json::parse(file)) rows.push_back(read_row(row));
    return rows;
  }();
  return fixtures;
}

}  // namespace ferry
