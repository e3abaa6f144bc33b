// Pairs blobs with fixtures if folders are given.
#pragma once

#include <filesystem>
#include <vector>

namespace ferry::parity {

struct Pair {
  std::filesystem::path blob;
  std::filesystem::path fixture;  // empty if no fixture matches this blob
};

struct Pairs {
  std::vector<Pair> pairs;             // in the order of the blobs' names
  bool single = false;                 // one blob and one fixture were named
  size_t fixtures_without_a_blob = 0;  // in a folder of fixtures
};

// `blobs` is a blob or a folder of *.ferry; `fixtures` is a fixture or a folder of them. One blob is paired with every
// fixture, one fixture with every blob. With two folders, NAME.ferry and NAME.ANYTHING.ferry are paired with the
// fixture folder NAME. Throws Error if there is nothing to compare.
Pairs find_pairs(const std::filesystem::path& blobs, const std::filesystem::path& fixtures);

}  // namespace ferry::parity
