#include "converter/checkpoint/inside.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "converter/error.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The blobs of the repository whose snapshot this folder is, or is in; empty if it is no snapshot.
fs::path blobs_of(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path())
    if (const fs::path above = folder.parent_path(); above.filename() == "snapshots")
      return above.parent_path() / "blobs";
  return {};
}

}  // namespace

void check_inside(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  const fs::path base = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  const fs::path target = error ? fs::path() : fs::canonical(path, error);
  if (error) fail("%s: cannot be read: %s", path.c_str(), error.message().c_str());
  if (is_below(target, base)) return;
  const fs::path blobs = blobs_of(base);
  // The blobs are a folder of the cache, no link out of it.
  if (!blobs.empty() && fs::canonical(blobs, error) == blobs && !error && is_below(target, blobs)) return;
  fail("%s: is, or is behind, a link to %s, outside the folder %s: such links are not followed; copy the file",
       path.c_str(), target.c_str(), base.c_str());
}

}  // namespace ferry
