// Which blob is compared with which fixture, where folders of them are given.
#pragma once

#include <filesystem>
#include <vector>

namespace ferry::parity {

struct Pair {
  std::filesystem::path blob;
  std::filesystem::path fixture;  // empty: none goes with this blob
};

struct Pairs {
  std::vector<Pair> pairs;             // in the order of the blobs' names
  bool single = false;                 // one blob and one fixture were named
  size_t fixtures_without_a_blob = 0;  // of a folder of fixtures
};

// `blobs` is a blob or a folder of *.ferry; `fixtures` is a fixture or a folder of them. One blob goes with every
// fixture, one fixture with every blob; of two folders, NAME.ferry and NAME.ANYTHING.ferry go with the fixture folder
// NAME. Throws Error where there is nothing to compare.
Pairs find_pairs(const std::filesystem::path& blobs, const std::filesystem::path& fixtures);

}  // namespace ferry::parity
