// Every published shape is recognised, built and planned: checkpoints of zeros in holes, from 135 million parameters to
// 671 billion.
#include "tests/support/published_shapes.h"

#include <gtest/gtest.h>

#include "models/families.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

struct PublishedModel {
  const char* name;
  uint64_t parameters;  // as published; checks tests/data/published
  const char* family;
  const char* max_length = nullptr;
};

std::ostream& operator<<(std::ostream& out, const PublishedModel& published) { return out << published.name; }

constexpr PublishedModel kPublished[] = {
    {"llama-3.2-1b", 1235814400, "Llama"},
    {"llama-3.2-3b", 3212749824, "Llama"},
    {"llama-3-8b", 8030261248, "Llama"},
    {"llama-3.1-8b", 8030261248, "Llama"},
    {"llama-3.3-70b", 70553706496, "Llama"},
    {"tinyllama-1.1b", 1100048384, "Llama"},
    {"smollm2-135m", 134515008, "Llama"},
    {"smollm2-360m", 361821120, "Llama"},
    {"smollm2-1.7b", 1711376384, "Llama"},
    {"smollm3-3b", 3075098624, "SmolLM3"},
    {"mistral-7b-v0.1", 7241732096, "Mistral"},
    {"mistral-7b-v0.3", 7248023552, "Mistral"},
    {"mistral-nemo-12b", 12247782400, "Mistral"},
    {"mistral-small-24b", 23572403200, "Mistral"},
    {"mixtral-8x7b", 46702792704, "Mixtral"},
    {"qwen2.5-0.5b", 494032768, "Qwen2"},
    {"qwen2.5-1.5b", 1543714304, "Qwen2"},
    {"qwen2.5-3b", 3085938688, "Qwen2"},
    {"qwen2.5-7b", 7615616512, "Qwen2"},
    {"qwen2.5-14b", 14770033664, "Qwen2"},
    {"qwen2.5-32b", 32763876352, "Qwen2"},
    {"qwen3-0.6b", 596049920, "Qwen3"},
    {"qwen3-1.7b", 1720574976, "Qwen3"},
    {"qwen3-4b", 4022468096, "Qwen3"},
    {"qwen3-8b", 8190735360, "Qwen3"},
    {"qwen3-14b", 14768307200, "Qwen3"},
    {"qwen3-32b", 32762123264, "Qwen3"},
    {"qwen3-30b-a3b", 30532122624, "Qwen3 MoE"},
    {"qwen3.5-27b", 26895998464, "Qwen3.5"},
    {"qwen3-vl-2b", 2127532032, "Qwen3-VL"},
    {"gemma-2-2b", 2614341888, "Gemma 2"},
    {"gemma-2-9b", 9241705984, "Gemma 2"},
    {"gemma-2-27b", 27227128320, "Gemma 2"},
    {"gemma-3-270m", 268098176, "Gemma 3"},
    {"gemma-3-1b", 999885952, "Gemma 3"},
    {"gemma-3-4b", 3880263168, "Gemma 3"},
    {"gemma-3-12b", 11766034176, "Gemma 3"},
    {"gemma-3-27b", 27009346304, "Gemma 3"},
    {"phi-3-mini-4k", 3821079552, "Phi-3"},
    {"phi-3-mini-128k", 3821079552, "Phi-3"},
    {"phi-3-medium-4k", 13960238080, "Phi-3"},
    {"phi-4-mini", 3836021760, "Phi-3"},
    {"phi-4", 14659507200, "Phi-3"},
    {"gpt-oss-20b", 20914757184, "GPT-OSS"},
    {"gpt-oss-120b", 116829156672, "GPT-OSS"},
    {"vit-huge-patch14", 632045800, "ViT"},
    {"dinov2-giant", 1136480768, "ViT"},
    {"dinov3-vit7b16", 6716035072, "DINOv3"},
    {"sam-vit-huge", 641091120, "Segment Anything"},
    {"convnext-xlarge", 350196968, "ConvNeXt"},
    {"convnext-xxlarge", 846471016, "ConvNeXt"},
    {"efficientnet-b7", 66658680, "EfficientNet"},
};

// Tens of thousands of tensors, and texts of as many tokens as the model was trained for.
[[maybe_unused]] constexpr PublishedModel kLargePublished[] = {
    {"qwen3-235b-a22b", 235093634560, "Qwen3 MoE"},  {"qwen3-next-80b-a3b", 79674391296, "Qwen3-Next"},
    {"deepseek-v3", 671026419200, "DeepSeek-V3"},    {"llama-3.1-8b", 8030261248, "Llama", "131072"},
    {"gemma-3-4b", 3880263168, "Gemma 3", "131072"}, {"mixtral-8x22b", 140620634112, "Mixtral"},
};

class PublishedShapes : public ::testing::TestWithParam<PublishedModel> {};

void expect_planned(const PublishedModel& published) {
  const ScratchFolder folder;
  EXPECT_EQ(testing::make_published_checkpoint(published.name, folder.path()), published.parameters);
  ConvertOptions options;
  options.checkpoint = folder.path();
  options.output = folder.path() / "unused.ferry";
  options.dry_run = true;
  if (published.max_length) options.settings.set("max-length", published.max_length);
  const Conversion planned = convert(families(), options);
  EXPECT_EQ(planned.family, published.family);
  EXPECT_GT(planned.bytes, 3.9 * static_cast<double>(published.parameters)) << "float32, except embeddings";
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_P(PublishedShapes, ArePlanned) { expect_planned(GetParam()); }

std::string name_of(const ::testing::TestParamInfo<PublishedModel>& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(PublishedShapes, PublishedShapes, ::testing::ValuesIn(kPublished), name_of);

#if !defined(FERRY_SANITIZED)  // minutes, on paths that the others take
class LargePublishedShapes : public PublishedShapes {};
TEST_P(LargePublishedShapes, ArePlanned) { expect_planned(GetParam()); }
INSTANTIATE_TEST_SUITE_P(LargePublishedShapes, LargePublishedShapes, ::testing::ValuesIn(kLargePublished), name_of);
#endif

}  // namespace
}  // namespace ferry
