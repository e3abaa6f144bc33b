// Where a checkpoint's numbers lie among a blob's constants: found by what they are, so that no pass need say what it
// did to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint_generated.h"
#include "converter/graph/graph.h"

namespace ferry {

// A blob's constants of floating-point numbers.
class Constants {
 public:
  struct Place {
    uint32_t buffer;
    bool half;
    size_t row;  // bytes from one of its rows to the next
    std::span<const std::byte> bytes;
    std::string name;  // of the first tensor in it
  };

  // `data` is the data section of a blob with this table, and outlives it.
  Constants(const fbs::GraphT& table, std::span<const std::byte> data);

  const std::vector<Place>& places() const { return places_; }
  // Runs that hold these bytes, of elements of Float16 or Float32, one behind the other; none, where not all of them
  // lie anywhere, or in too many pieces. `row` is as row_bytes() says.
  std::vector<fbs::Run> find(std::span<const std::byte> wanted, bool half, size_t row) const;

 private:
  struct Begin {  // of a row
    uint64_t hash;
    uint32_t place;
    size_t offset;
  };
  size_t longest(std::span<const std::byte> wanted, bool half, fbs::Run* run) const;

  std::vector<Place> places_;
  std::vector<Begin> begins_;  // in order
};

// Of an array of these dimensions: its last ones, as many as one hash is of, or all.
size_t row_bytes(std::span<const int32_t> dims, size_t element);

}  // namespace ferry
