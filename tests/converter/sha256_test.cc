#include "converter/checkpoint/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

// With and without the CPU's SHA instructions.
std::string hash(const std::string& text) {
  const std::string hex = sha256_hex(std::as_bytes(std::span(text)));
  Sha256 plain(true);
  plain.update(std::as_bytes(std::span(text)));
  EXPECT_EQ(plain.hex(), hex);
  return hex;
}

// NIST's example values for SHA-256 (Cryptographic Standards and Guidelines, SHA256.pdf) and its long-message samples.
TEST(Sha256, MatchesNistVectors) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
           "nopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hash(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t first = 0; first < 140; ++first)
    for (size_t second : {0, 1, 63, 64, 65}) {
      Sha256 pieces;
      const auto bytes = std::as_bytes(std::span(text));
      pieces.update(bytes.first(first));
      pieces.update(bytes.subspan(first, second));
      pieces.update(bytes.subspan(first + second));
      ASSERT_EQ(pieces.hex(), hash(text)) << first << " " << second;
    }
}

}  // namespace
}  // namespace ferry
