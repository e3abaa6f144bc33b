// ferry/text.h: tokens and text, and generation with one run per token.
#include <ferry/text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include "converter/text/text_files.h"
#include "sdk/model/model.h"
#include "tests/runtime/networks.h"
#include "tests/support/language_model.h"

namespace ferry::testing {
namespace {

using Ids = std::vector<int32_t>;

#define EXPECT_REFUSED(call, code, words)                                                            \
  do {                                                                                               \
    EXPECT_EQ(call, code);                                                                           \
    EXPECT_NE(std::string(ferry_last_error()).find(words), std::string::npos) << ferry_last_error(); \
  } while (false)

struct CloseGenerator {
  void operator()(ferry_generator* generator) const { ferry_generator_close(generator); }
};
using GeneratorPtr = std::unique_ptr<ferry_generator, CloseGenerator>;

struct CloseText {
  void operator()(ferry_text* text) const { ferry_text_close(text); }
};
using TextPtr = std::unique_ptr<ferry_text, CloseText>;

TextPtr open_text(const ferry_model* model) {
  ferry_text* text = nullptr;
  EXPECT_OK(ferry_text_open(model, &text));
  return TextPtr(text);
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorPtr make(int threads = 1) { return make_of(opened_.model, threads); }
  static GeneratorPtr make_of(ferry_model* model, int threads = 1) {
    ferry_session_options options;
    ferry_session_options_init(&options);
    options.num_threads = threads;
    ferry_generator* generator = nullptr;
    EXPECT_OK(ferry_generator_create(model, &options, &generator));
    return GeneratorPtr(generator);
  }

  // The logits of the tokens, fed in pieces of that many, in a new session.
  std::vector<float> logits(const Ids& tokens, size_t piece) {
    const SessionPtr session = make_session(opened_.model, 1);
    std::vector<float> all;
    for (size_t at = 0; at < tokens.size(); at += piece) {
      const size_t count = std::min(piece, tokens.size() - at);
      const int32_t shape[] = {1, static_cast<int32_t>(count)};
      EXPECT_OK(ferry_session_resize(session.get(), 0, shape, 2));
      ferry_tensor input, output;
      EXPECT_OK(ferry_session_input(session.get(), 0, &input));
      std::copy_n(tokens.begin() + static_cast<ptrdiff_t>(at), count, static_cast<int32_t*>(input.data));
      EXPECT_OK(ferry_session_run(session.get()));
      EXPECT_OK(ferry_session_output(session.get(), 0, &output));
      const float* values = static_cast<const float*>(output.data);
      EXPECT_EQ(output.bytes, count * kSmallVocabulary * sizeof(float));
      all.insert(all.end(), values, values + count * kSmallVocabulary);
    }
    return all;
  }

  static size_t length(const ferry_generator* generator) {
    size_t count = 0;
    static_cast<void>(ferry_generator_tokens(generator, &count));
    return count;
  }

  Ids go_on(ferry_generator* generator, int count) {
    Ids ids(static_cast<size_t>(count));
    for (int32_t& id : ids) EXPECT_OK(ferry_generator_next(generator, &id));
    return ids;
  }

  Opened opened_{*small_language_model()};
  TextPtr text_ = open_text(opened_.model);
};

TEST_F(GeneratorTest, PiecesGiveTheLogitsOfTheWhole) {
  Ids tokens;
  for (int i = 0; i < kSmallMaxRun; ++i) tokens.push_back(i * 53 % kSmallVocabulary);
  const std::vector<float> whole = logits(tokens, tokens.size());
  const float largest = std::abs(
      *std::max_element(whole.begin(), whole.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  for (const size_t piece : {1, 7}) {
    const std::vector<float> pieces = logits(tokens, piece);
    ASSERT_EQ(pieces.size(), whole.size());
    float error = 0;
    for (size_t i = 0; i < whole.size(); ++i) error = std::max(error, std::abs(pieces[i] - whole[i]));
    EXPECT_LE(error, 1e-5f * largest) << "pieces of " << piece;
    EXPECT_EQ(logits(tokens, piece), pieces) << "the same pieces, the same bits";
  }
}

TEST_F(GeneratorTest, PicksTheMostProbableToken) {
  const GeneratorPtr generator = make();
  const Ids prompt = {1, 80, 200, 7};
  ASSERT_OK(ferry_generator_append(generator.get(), prompt.data(), prompt.size()));
  const Ids tokens = go_on(generator.get(), 8);
  Ids all = prompt;
  for (const int32_t token : tokens) {
    const std::vector<float> of_all = logits(all, 1);
    const auto last = of_all.end() - kSmallVocabulary;
    EXPECT_EQ(token, std::max_element(last, of_all.end()) - last) << "after " << all.size();
    all.push_back(token);
  }
  EXPECT_EQ(length(generator.get()), all.size());
}

TEST_F(GeneratorTest, TheSameTextContinuesTheSameWay) {
  const Ids prompt(20, 65);  // more than one run
  const auto once = [&](ferry_generator* generator, size_t piece) {
    for (size_t at = 0; at < prompt.size(); at += piece)
      EXPECT_OK(ferry_generator_append(generator, &prompt[at], std::min(piece, prompt.size() - at)));
    return go_on(generator, 6);
  };
  const GeneratorPtr generator = make();
  const Ids tokens = once(generator.get(), 20);
  ASSERT_OK(ferry_generator_reset(generator.get()));
  EXPECT_EQ(length(generator.get()), 0u);
  EXPECT_EQ(once(generator.get(), 20), tokens) << "after a reset";
  EXPECT_EQ(once(make(2).get(), 3), tokens) << "two threads, in pieces";
}

TEST_F(GeneratorTest, TextGoesInAndWholeCharactersComeOut) {
  const GeneratorPtr generator = make();
  const std::string prompt = "the na\xC3\xAFve";
  ASSERT_OK(ferry_generator_append_text(generator.get(), prompt.data(), prompt.size()));
  size_t count = 0;
  ASSERT_OK(ferry_text_encode(text_.get(), prompt.data(), prompt.size(), true, nullptr, &count));
  EXPECT_EQ(length(generator.get()), count);
  Ids tokens;
  std::string text;
  while (tokens.size() < 20 && !ferry_generator_ended(generator.get())) {
    tokens.push_back(0);
    ASSERT_OK(ferry_generator_next(generator.get(), &tokens.back()));
    size_t bytes = 0;
    const char* piece = ferry_generator_text(generator.get(), &bytes);
    EXPECT_EQ(piece[bytes], '\0');
    text.append(piece, bytes);
  }
  size_t bytes = 0;
  ASSERT_OK(ferry_text_decode(text_.get(), tokens.data(), tokens.size(), nullptr, &bytes));
  std::string expected(bytes, '\0');
  ASSERT_OK(ferry_text_decode(text_.get(), tokens.data(), tokens.size(), expected.data(), &bytes));
  EXPECT_EQ(expected.substr(0, text.size()), text) << "all but what is left of a character";
}

TEST_F(GeneratorTest, ACommonPrefixIsNotRunAgain) {
  const auto runs = [](ferry_generator* generator) {
    ferry_states* states = nullptr;
    EXPECT_OK(ferry_session_states(ferry_generator_session(generator), &states));
    const int32_t length = ferry_states_length(states);
    ferry_states_close(states);
    return length;
  };
  const GeneratorPtr generator = make();
  const Ids first = {1, 80, 200, 7, 9}, second = {1, 80, 200, 11};
  ASSERT_OK(ferry_generator_set(generator.get(), first.data(), first.size()));
  go_on(generator.get(), 2);
  ASSERT_OK(ferry_generator_set(generator.get(), second.data(), second.size()));
  EXPECT_EQ(runs(generator.get()), 3) << "kept";
  const GeneratorPtr fresh = make();
  ASSERT_OK(ferry_generator_append(fresh.get(), second.data(), second.size()));
  EXPECT_EQ(go_on(generator.get(), 4), go_on(fresh.get(), 4));
  // The same text again: only its last token is run, for the logits.
  ASSERT_OK(ferry_generator_set(generator.get(), second.data(), second.size()));
  EXPECT_EQ(runs(generator.get()), 3);
  ASSERT_OK(ferry_generator_set(fresh.get(), second.data(), second.size()));
  EXPECT_EQ(go_on(generator.get(), 4), go_on(fresh.get(), 4));
}

TEST_F(GeneratorTest, ChanceFollowsTheSeed) {
  const auto draw = [&](uint64_t seed, int threads) {
    const GeneratorPtr generator = make(threads);
    ferry_sampling sampling;
    ferry_sampling_init(&sampling);
    sampling.temperature = 5;
    sampling.top_k = 100;
    sampling.seed = seed;
    EXPECT_OK(ferry_generator_set_sampling(generator.get(), &sampling));
    const int32_t begin = 1;
    EXPECT_OK(ferry_generator_append(generator.get(), &begin, 1));
    return go_on(generator.get(), 20);
  };
  EXPECT_EQ(draw(3, 1), draw(3, 2));
  EXPECT_NE(draw(3, 1), draw(4, 1));
}

TEST_F(GeneratorTest, ATextEndsBeforeAStopString) {
  const Ids prompt = {1, 80, 200, 7};
  std::string whole;
  const GeneratorPtr generator = make();
  const auto tell = [&](const char* stop) {
    ferry_sampling sampling;
    ferry_sampling_init(&sampling);
    sampling.stop = &stop;
    sampling.stop_count = stop != nullptr ? 1 : 0;
    EXPECT_OK(ferry_generator_set_sampling(generator.get(), &sampling));
    EXPECT_OK(ferry_generator_set(generator.get(), prompt.data(), prompt.size()));
    std::string text;
    for (int i = 0; i < 12 && !ferry_generator_ended(generator.get()); ++i) {
      int32_t token = 0;
      EXPECT_OK(ferry_generator_next(generator.get(), &token));
      text += ferry_generator_text(generator.get(), nullptr);
      EXPECT_LT(ferry_generator_log_probability(generator.get()), 0);
    }
    return text;
  };
  whole = tell(nullptr);
  ASSERT_GE(whole.size(), 6u);
  const std::string stop = whole.substr(3, 3);
  EXPECT_EQ(tell(stop.c_str()), whole.substr(0, whole.find(stop)));
  EXPECT_TRUE(ferry_generator_ended(generator.get()));
}

TEST_F(GeneratorTest, SamplingOutOfRangeIsReported) {
  const GeneratorPtr generator = make();
  ferry_sampling sampling;
  ferry_sampling_init(&sampling);
  EXPECT_OK(ferry_generator_set_sampling(generator.get(), &sampling));
  sampling.top_p = 0;
  EXPECT_REFUSED(ferry_generator_set_sampling(generator.get(), &sampling), FERRY_INVALID_ARGUMENT, "top_p is 0");
  ferry_sampling_init(&sampling);
  sampling.bias_count = 1;
  EXPECT_REFUSED(ferry_generator_set_sampling(generator.get(), &sampling), FERRY_INVALID_ARGUMENT, "bias_count is 1");
  sampling.struct_size = 4;
  EXPECT_REFUSED(ferry_generator_set_sampling(generator.get(), &sampling), FERRY_INVALID_ARGUMENT, "struct_size is 4");
}

TEST_F(GeneratorTest, RecommendedSamplingIsThatOfTheBlob) {
  const std::unique_ptr<Graph> graph = small_language_model();
  ferry_sampling sampling;
  ferry_sampling_init(&sampling);
  {
    const Opened opened(*graph);
    const GeneratorPtr generator = make_of(opened.model);
    EXPECT_REFUSED(ferry_generator_recommended_sampling(generator.get(), &sampling), FERRY_NOT_FOUND,
                   "the authors of 'small_language_model' recommend no sampling");
    EXPECT_EQ(sampling.top_p, 1);
  }
  fbs::TextT text;
  flatbuffers::GetRoot<fbs::Text>(graph->table.text.data())->UnPackTo(&text);
  text.sampling = std::make_unique<fbs::SamplingT>();
  text.sampling->temperature = 0.5f;
  text.sampling->top_k = 20;
  graph->table.text = packed(text);
  const Opened opened(*graph);
  const GeneratorPtr generator = make_of(opened.model);
  sampling.seed = 7;
  ASSERT_OK(ferry_generator_recommended_sampling(generator.get(), &sampling));
  EXPECT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_EQ(sampling.repetition_penalty, 1);
  EXPECT_EQ(sampling.seed, 7u) << "what authors cannot recommend stays";
  sampling.struct_size = 4;
  EXPECT_REFUSED(ferry_generator_recommended_sampling(generator.get(), &sampling), FERRY_INVALID_ARGUMENT,
                 "struct_size is 4");
}

TEST_F(GeneratorTest, AConversationIsWrittenByTheTemplate) {
  const ferry_message messages[] = {{"system", "say \"\n\""}, {"user", "hi"}};
  char words[64];
  size_t bytes = sizeof words;
  ASSERT_OK(ferry_text_chat(text_.get(), messages, 2, words, &bytes));
  EXPECT_EQ(std::string(words, bytes), "system: say \"\n\"\nuser: hi\nthe ");
  const std::string chat = R"({"messages": [{"role": "user", "content": "hi"}]})";
  ASSERT_OK(ferry_text_render(text_.get(), chat.data(), chat.size(), nullptr, &bytes));
  EXPECT_EQ(bytes, std::strlen("user: hi\n"));
  bytes = 3;
  EXPECT_REFUSED(ferry_text_render(text_.get(), chat.data(), chat.size(), words, &bytes), FERRY_INVALID_ARGUMENT,
                 "9 are needed");
  EXPECT_REFUSED(ferry_text_render(text_.get(), "[]", 2, nullptr, &bytes), FERRY_INVALID_ARGUMENT,
                 "small_language_model");
  const GeneratorPtr generator = make();
  ASSERT_OK(ferry_generator_set_text(generator.get(), "the", 3));
  EXPECT_EQ(length(generator.get()), 2u) << "without the beginning of a text";
}

TEST_F(GeneratorTest, AFullTextIsAStatus) {
  const GeneratorPtr generator = make();
  EXPECT_EQ(ferry_generator_max_length(generator.get()), static_cast<size_t>(kSmallMaxLength));
  const Ids prompt(kSmallMaxLength - 2, 70);
  ASSERT_OK(ferry_generator_append(generator.get(), prompt.data(), prompt.size()));
  EXPECT_REFUSED(ferry_generator_append(generator.get(), prompt.data(), 3), FERRY_STATE_FULL,
                 "3 more exceed the model's maximum of 48");
  go_on(generator.get(), 2);
  int32_t token = 5;
  EXPECT_REFUSED(ferry_generator_next(generator.get(), &token), FERRY_STATE_FULL, "48 tokens");
  EXPECT_EQ(token, 0);
  ASSERT_OK(ferry_generator_reset(generator.get()));
  ASSERT_OK(ferry_generator_append(generator.get(), prompt.data(), prompt.size()));
  go_on(generator.get(), 2);
}

TEST_F(GeneratorTest, ErrorsAreReported) {
  const GeneratorPtr generator = make();
  int32_t token = 0;
  EXPECT_REFUSED(ferry_generator_next(generator.get(), &token), FERRY_INVALID_ARGUMENT, "the text is empty");
  for (const int32_t id : {-1, kSmallVocabulary, INT32_MIN})
    EXPECT_REFUSED(ferry_generator_append(generator.get(), &id, 1), FERRY_INVALID_ARGUMENT, "vocabulary of 262");
  EXPECT_EQ(length(generator.get()), 0u);

  size_t count = 2;
  int32_t ids[2];
  EXPECT_REFUSED(ferry_text_encode(text_.get(), "abc", 3, true, ids, &count), FERRY_INVALID_ARGUMENT, "4 are needed");
  EXPECT_EQ(count, 4u);
  const int32_t outside = 262;
  EXPECT_REFUSED(ferry_text_decode(text_.get(), &outside, 1, nullptr, &count), FERRY_INVALID_ARGUMENT, "token 262");
  EXPECT_EQ(ferry_generator_create(nullptr, nullptr, nullptr), FERRY_INVALID_ARGUMENT);
  EXPECT_FALSE(ferry_generator_ended(nullptr));
  EXPECT_STREQ(ferry_generator_text(nullptr, nullptr), "");

  const Opened classifier(*small_classifier());
  ferry_generator* none = nullptr;
  EXPECT_REFUSED(ferry_generator_create(classifier.model, nullptr, &none), FERRY_UNSUPPORTED, "not a language model");
  EXPECT_EQ(none, nullptr);
  ferry_text* no_text = nullptr;
  EXPECT_REFUSED(ferry_text_open(classifier.model, &no_text), FERRY_NOT_FOUND, "no tokenizer");
  EXPECT_EQ(no_text, nullptr);
}

TEST(GeneratorWithoutTokenizer, TakesTokens) {
  const auto graph = small_language_model();
  graph->table.text.clear();
  const Opened opened(*graph);
  ferry_generator* made = nullptr;
  ASSERT_OK(ferry_generator_create(opened.model, nullptr, &made));
  const GeneratorPtr generator(made);
  EXPECT_REFUSED(ferry_generator_append_text(made, "a", 1), FERRY_NOT_FOUND, "accepts token ids only");
  int32_t token = 1;
  ASSERT_OK(ferry_generator_append(made, &token, 1));
  ASSERT_OK(ferry_generator_next(made, &token));
  EXPECT_STREQ(ferry_generator_text(made, nullptr), "");
}

// Damaged tokenizers, and texts of such a blob: a status, never a crash.
TEST(HostileLanguageModel, DamageGivesAStatus) {
  const std::vector<std::byte> blob = pack(*small_language_model());
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  uint64_t state = 1;
  const auto below = [&state](size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % n;
  };
  AlignedBytes bytes(blob);
  int opened = 0, gone_on = 0;
#ifdef FERRY_EMULATED
  constexpr int kAttacks = 500;
#else
  constexpr int kAttacks = 10000;
#endif
  for (int i = 0; i < kAttacks; ++i) {
    std::memcpy(bytes.data(), blob.data(), blob.size());
    for (size_t changes = 1 + below(3); changes > 0; --changes)
      bytes.data()[header.graph_offset + below(header.graph_bytes)] ^= std::byte(1u << below(8));
    ferry_model* model = nullptr;
    if (ferry_model_open_memory(bytes.data(), bytes.size(), &model) != FERRY_OK) continue;
    ++opened;
    size_t count = 0;
    const std::string text = "the \xE2\x82\xAC end";
    ferry_text* said = nullptr;
    if (ferry_text_open(model, &said) == FERRY_OK &&
        ferry_text_encode(said, text.data(), text.size(), true, nullptr, &count) == FERRY_OK) {
      Ids ids(count);
      EXPECT_OK(ferry_text_encode(said, text.data(), text.size(), true, ids.data(), &count));
      EXPECT_OK(ferry_text_decode(said, ids.data(), ids.size(), nullptr, &count));
    }
    ferry_text_close(said);
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.memory_limit = uint64_t{64} << 20;
    options.skip_weight_check = true;  // so that damaged texts run
    ferry_generator* generator = nullptr;
    if (ferry_generator_create(model, &options, &generator) == FERRY_OK) {
      const int32_t prompt[] = {1, 70};
      int32_t token = 0;
      if (ferry_generator_append(generator, prompt, 2) == FERRY_OK &&
          ferry_generator_next(generator, &token) == FERRY_OK && ferry_generator_next(generator, &token) == FERRY_OK)
        ++gone_on;
    }
    ferry_generator_close(generator);
    ferry_model_close(model);
  }
  std::cout << opened << " of " << kAttacks << " opened, " << gone_on << " went on\n";
  EXPECT_GT(opened, kAttacks / 20);
  EXPECT_GT(gone_on, kAttacks / 50);
}

}  // namespace
}  // namespace ferry::testing
