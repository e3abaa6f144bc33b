// Model::check_weights() detects modified weights.
#include <gtest/gtest.h>

#include <cstring>

#include "converter/checkpoint/sha256.h"
#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

std::string hex(const Sha256State& state) {
  std::string text;
  char digits[9];
  for (const uint32_t word : state) {
    std::snprintf(digits, sizeof digits, "%08x", word);
    text += digits;
  }
  return text;
}

TEST(Sha256OfAMessage, IsThatOfItsPieces) {
  std::vector<std::byte> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 1);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<const std::byte> message = std::span(bytes).first(size);
    EXPECT_EQ(hex(sha256_of(message)), sha256_hex(message)) << size;
  }
}

Status checked(const std::vector<std::byte>& blob) {
  const testing::AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(const_cast<testing::AlignedBytes&>(bytes).data(), bytes.size(), &model);
  return status.ok() ? model->check_weights() : status;
}

TEST(CheckWeights, DetectsASingleBit) {
  const std::vector<std::byte> blob = pack(*testing::small_classifier());
  const Status intact = checked(blob);
  EXPECT_TRUE(intact.ok()) << intact.message();
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  for (const uint64_t at : {header.data_offset, header.data_offset + header.data_bytes / 2, blob.size() - 1}) {
    std::vector<std::byte> damaged = blob;
    damaged[at] ^= std::byte{4};
    const Status status = checked(damaged);
    EXPECT_EQ(status.code(), FERRY_CORRUPT) << at;
    EXPECT_TRUE(status.message().starts_with("the weights are damaged: their SHA-256 is ")) << status.message();
  }
}

TEST(CheckWeights, ReportsABlobWithoutAChecksum) {
  testing::Parts parts(pack(*testing::small_classifier()));
  const Status status = checked(parts.assemble());
  EXPECT_TRUE(status.ok()) << status.message();
  parts.model.content = "0123";
  EXPECT_EQ(checked(parts.assemble()).code(), FERRY_CORRUPT);
  parts.model.content.clear();
  EXPECT_EQ(checked(parts.assemble()).code(), FERRY_NOT_FOUND);
}

}  // namespace
}  // namespace ferry
