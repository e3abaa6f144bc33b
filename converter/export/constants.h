// Finds a checkpoint's elements among a blob's constants, by content, so that passes need not record what they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint_generated.h"
#include "converter/export/element_reader.h"
#include "converter/graph/graph.h"
#include "converter/pack/pack.h"

namespace ferry {

// The floating-point constants of a blob.
class Constants {
 public:
  struct FloatBuffer {
    uint32_t buffer;
    bool half;
    size_t row;  // stride of its rows in bytes
    std::span<const std::byte> bytes;
    std::string name;  // of the first tensor in the buffer
  };

  // `data` is that of a blob with this table, and must outlive this.
  Constants(const fbs::GraphT& table, const WrittenData& data);

  const std::vector<FloatBuffer>& buffers() const { return buffers_; }
  // A run of as many bytes as `wanted` that begins like it.
  std::optional<fbs::Run> first_like(const ElementReader& wanted, bool half) const;
  // Consecutive runs with exactly these bytes, of Float16 or Float32 elements; empty if some bytes are not found, or
  // the runs would be too short. `row`: see row_bytes().
  std::vector<fbs::Run> find(const ElementReader& wanted, bool half, size_t row) const;

 private:
  struct Begin {  // the beginning of a row
    uint64_t hash;
    uint32_t segment;
    size_t offset;
  };
  // Those whose first bytes are `begin`'s, at most kMaxCandidates.
  std::vector<Begin> like(std::span<const std::byte> begin, bool half) const;
  size_t longest(const ElementReader& wanted, size_t at, bool half, fbs::Run* run) const;

  WrittenData data_;
  std::vector<FloatBuffer> buffers_;
  std::vector<Begin> begins_;  // sorted
};

// Size of the trailing dimensions of an array that cover the bytes of a hash, or of all.
size_t row_bytes(std::span<const int32_t> dims, size_t element);

}  // namespace ferry
