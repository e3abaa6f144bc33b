#include "cli/parity/pairs.h"

#include <algorithm>
#include <set>

#include "converter/error.h"

namespace ferry::parity {

namespace fs = std::filesystem;

namespace {

bool is_fixture(const fs::path& folder) { return fs::exists(folder / "manifest.json"); }

template <typename Wanted>
std::vector<fs::path> list(const fs::path& folder, Wanted wanted) {
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (wanted(entry)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// Variants' names contain dots: the longest fixture name that is a prefix of the blob's wins.
fs::path fixture_of(const fs::path& blob, const std::vector<fs::path>& fixtures) {
  const std::string file = blob.filename().string();
  fs::path best;
  for (const fs::path& fixture : fixtures) {
    const std::string name = fixture.filename().string();
    if (file.starts_with(name + ".") && name.size() > best.filename().string().size()) best = fixture;
  }
  return best;
}

}  // namespace

Pairs find_pairs(const fs::path& blobs, const fs::path& fixtures) {
  const bool many_blobs = fs::is_directory(blobs), many_fixtures = fs::is_directory(fixtures) && !is_fixture(fixtures);
  Pairs out;
  if (!many_blobs && !many_fixtures) {
    out.pairs.push_back({blobs, fixtures});
    out.single = true;
    return out;
  }
  std::vector<fs::path> all_blobs{blobs}, all_fixtures{fixtures};
  if (many_blobs) all_blobs = list(blobs, [](const auto& entry) { return entry.path().extension() == ".ferry"; });
  if (many_fixtures) all_fixtures = list(fixtures, [](const auto& entry) { return is_fixture(entry.path()); });
  if (all_blobs.empty()) fail("%s: this folder has no *.ferry file", blobs.c_str());
  if (all_fixtures.empty())
    fail("%s: no fixture: a fixture is a folder with manifest.json and fixture.safetensors", fixtures.c_str());
  std::set<fs::path> used;
  for (const fs::path& blob : all_blobs) {
    if (many_blobs && many_fixtures) {
      out.pairs.push_back({blob, fixture_of(blob, all_fixtures)});
      used.insert(out.pairs.back().fixture);
    } else {
      for (const fs::path& fixture : all_fixtures) out.pairs.push_back({blob, fixture});
    }
  }
  if (many_blobs && many_fixtures)
    out.fixtures_without_a_blob = static_cast<size_t>(
        std::count_if(all_fixtures.begin(), all_fixtures.end(), [&](const fs::path& f) { return !used.contains(f); }));
  return out;
}

}  // namespace ferry::parity
