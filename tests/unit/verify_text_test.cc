// The text data of a blob is untrusted: what is out of range is refused when it is read.
#include "sdk/text/verify_text.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/support/blobs.h"

namespace ferry {
namespace {

// The message of reading a text after `edit`; empty: it is valid.
std::string refusal(const std::function<void(fbs::TextT&)>& edit) {
  fbs::TextT text;
  edit(text);
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishTextBuffer(builder, fbs::CreateText(builder, &text));
  testing::AlignedBytes bytes(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  const fbs::Text* read = nullptr;
  const Status status = read_text({bytes.data(), bytes.size()}, &read);
  EXPECT_EQ(status.ok(), read != nullptr);
  EXPECT_TRUE(status.ok() || status.code() == FERRY_CORRUPT);
  return status.ok() ? "" : std::string(status.message());
}

TEST(VerifyText, EndsAreIdsAndFew) {
  const auto ends = [](std::vector<int> ids) { return refusal([&](fbs::TextT& text) { text.ends = ids; }); };
  EXPECT_EQ(ends({0, 7, INT32_MAX}), "");
  EXPECT_EQ(ends(std::vector<int>(kMaxEnds, 1)), "");
  EXPECT_EQ(ends(std::vector<int>(kMaxEnds + 1, 1)), "the blob's text: 257 ids end a text, at most 256 may");
  EXPECT_EQ(ends({3, -1}), "the blob's text: -1 ends a text, expected an id of 0 or more");
}

TEST(VerifyText, RecommendedSamplingIsInRange) {
  const auto sampling = [](fbs::SamplingT recommended) {
    return refusal([&](fbs::TextT& text) { text.sampling = std::make_unique<fbs::SamplingT>(recommended); });
  };
  const auto with = [](auto field, auto value) {
    fbs::SamplingT recommended;
    recommended.*field = value;
    return recommended;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sampling({}), "");
  EXPECT_EQ(sampling(with(&fbs::SamplingT::temperature, 0.6f)), "");
  EXPECT_EQ(sampling(with(&fbs::SamplingT::temperature, -1.0f)),
            "the blob's text: recommended sampling: temperature is -1, expected 0 or more");
  EXPECT_NE(sampling(with(&fbs::SamplingT::temperature, nan)), "");
  EXPECT_NE(sampling(with(&fbs::SamplingT::top_p, 0.0f)), "");
  EXPECT_NE(sampling(with(&fbs::SamplingT::min_p, nan)), "");
  EXPECT_NE(sampling(with(&fbs::SamplingT::repetition_penalty, 0.0f)), "");
  EXPECT_NE(sampling(with(&fbs::SamplingT::top_k, -1)), "");
}

}  // namespace
}  // namespace ferry
