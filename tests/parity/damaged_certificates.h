// Randomly damaged blobs with certificates.
#pragma once

#include <ferry/ferry.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "sdk/model/model.h"
#include "tests/support/blobs.h"

namespace ferry::parity {

// Damages a few bytes of the flatbuffer, `tries` times, always starting from the right blob. Returns how often the
// certificate could still be verified, with any result.
inline size_t verified_when_damaged(const std::vector<std::byte>& right, int times) {
  uint64_t state = 7;
  const auto below = [&](size_t n) {
    return static_cast<size_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
  };
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  options.memory_limit = 16 << 20;
  BlobHeader header;
  std::memcpy(&header, right.data(), sizeof header);
  size_t verified = 0;
  for (int i = 0; i < times; ++i) {
    std::vector<std::byte> blob = right;
    for (size_t n = 1 + below(3); n > 0; --n)
      blob[header.graph_offset + below(header.graph_bytes)] = static_cast<std::byte>(below(256));
    ferry::testing::AlignedBytes bytes(blob);
    ferry_model* model = nullptr;
    if (ferry_model_open_memory(bytes.data(), bytes.size(), &model) != FERRY_OK) continue;
    ferry_verification v{};
    v.struct_size = sizeof(v);
    if (ferry_model_verify(model, &options, &v) == FERRY_OK) ++verified;
    ferry_model_close(model);
  }
  return verified;
}

}  // namespace ferry::parity
