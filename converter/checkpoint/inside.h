// Where files that belong together may lie.
#pragma once

#include <filesystem>

namespace ferry {

// Checks that `path`, a file that exists in `folder` or below it, is there in truth: a link may lead to another file of
// the folder, and in a snapshot of the hub's cache (models--ORG--NAME/snapshots/COMMIT) to that repository's blobs,
// which is how the cache stores files. Throws Error if it leads elsewhere. Files that the user names are not checked.
void check_inside(const std::filesystem::path& folder, const std::filesystem::path& path);

}  // namespace ferry
