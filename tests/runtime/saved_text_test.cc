// A generator saved to a file generates the same tokens after loading.
#include <ferry/text.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/runtime/networks.h"
#include "tests/support/language_model.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/states_file.h"

namespace ferry::testing {
namespace {

using Tokens = std::vector<int32_t>;

// A generator that reports failures.
class Going {
 public:
  explicit Going(ferry_model* model) {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    EXPECT_OK(ferry_generator_create(model, &options, &generator_));
  }
  ~Going() { ferry_generator_close(generator_); }
  Going(const Going&) = delete;
  Going& operator=(const Going&) = delete;

  // With a stop string, and a token that is always chosen if it is not -1.
  void choose(float temperature, uint64_t seed, const char* stop, int32_t always = -1) {
    ferry_sampling sampling;
    ferry_sampling_init(&sampling);
    const float bias = 1e9f;
    sampling.temperature = temperature;
    sampling.seed = seed;
    sampling.stop = &stop;
    sampling.stop_count = 1;
    sampling.bias_tokens = &always;
    sampling.bias_values = &bias;
    sampling.bias_count = always < 0 ? 0 : 1;
    EXPECT_OK(ferry_generator_set_sampling(generator_, &sampling));
  }
  void append(const std::string& text) { EXPECT_OK(ferry_generator_append_text(generator_, text.data(), text.size())); }
  Tokens next(int count, std::string* text = nullptr) {
    Tokens tokens(static_cast<size_t>(count));
    for (int32_t& token : tokens) {
      EXPECT_OK(ferry_generator_next(generator_, &token));
      if (text) *text += ferry_generator_text(generator_, nullptr);
    }
    return tokens;
  }
  Tokens tokens() const {
    size_t count = 0;
    const int32_t* tokens = ferry_generator_tokens(generator_, &count);
    return {tokens, tokens + count};
  }
  ferry_status save(const std::string& path, const std::string& note = "") const {
    return ferry_generator_save(generator_, path.c_str(), note.data(), note.size());
  }
  ferry_status load(const std::string& path) { return ferry_generator_load(generator_, path.c_str()); }
  std::string note() const {
    size_t bytes = 0;
    const void* note = ferry_generator_note(generator_, &bytes);
    return {static_cast<const char*>(note), bytes};
  }
  ferry_generator* get() { return generator_; }

 private:
  ferry_generator* generator_ = nullptr;
};

class SavedTextTest : public ::testing::Test {
 protected:
  const Opened opened_{*small_language_model()};
  const ScratchFolder scratch_;
  const std::string path_ = scratch_.path() / "text", damaged_ = scratch_.path() / "damaged";
  Going one_{opened_.model}, other_{opened_.model};
};

TEST_F(SavedTextTest, ContinuesAfterALoad) {
  one_.choose(2, 7, "a stop string that never comes");
  other_.choose(2, 99, "a stop string that never comes");
  one_.append("the hat");
  one_.next(9);
  const Tokens tokens = one_.tokens();
  const std::string note("mine\0, too", 10);
  ASSERT_OK(one_.save(path_, note));
  other_.append("another text");
  other_.next(2);
  ASSERT_OK(other_.load(path_));
  EXPECT_EQ(other_.tokens(), tokens);
  EXPECT_EQ(other_.note(), note);
  EXPECT_STREQ(ferry_generator_text(other_.get(), nullptr), "");
  std::string here, there;
  EXPECT_EQ(one_.next(12, &here), other_.next(12, &there));
  EXPECT_EQ(here, there);
  EXPECT_EQ(ferry_generator_log_probability(one_.get()), ferry_generator_log_probability(other_.get()));
  EXPECT_EQ(one_.tokens(), other_.tokens());
}

// A held-back prefix of a stop string is output when it cannot match any more, also after loading.
TEST_F(SavedTextTest, HeldBackTextIsRestored) {
  one_.choose(0, 0, "ab!", 3 + 'a');  // the piece of that byte
  one_.append("x");
  std::string text;
  one_.next(1, &text);
  EXPECT_EQ(text, "");
  ASSERT_OK(one_.save(path_));
  other_.choose(0, 0, "ab!", 3 + 'z');
  ASSERT_OK(other_.load(path_));
  other_.next(1, &text);
  EXPECT_EQ(text, "az");
}

TEST_F(SavedTextTest, AnEndIsKept) {
  one_.choose(0, 0, "a", 3 + 'a');
  one_.append("x");
  one_.next(1);
  EXPECT_TRUE(ferry_generator_ended(one_.get()));
  ASSERT_OK(one_.save(path_));
  ASSERT_OK(other_.load(path_));
  EXPECT_TRUE(ferry_generator_ended(other_.get()));
}

TEST_F(SavedTextTest, ATextThatHasNotRunIsSaved) {
  one_.append("the hat");
  ASSERT_OK(one_.save(path_));
  ASSERT_OK(other_.load(path_));
  EXPECT_EQ(one_.next(5), other_.next(5));
  Going empty(opened_.model);
  ASSERT_OK(empty.save(path_));
  ASSERT_OK(other_.load(path_));
  EXPECT_TRUE(other_.tokens().empty());
  int32_t token = 0;
  EXPECT_EQ(ferry_generator_next(other_.get(), &token), FERRY_INVALID_ARGUMENT);
}

TEST_F(SavedTextTest, AHostileFileChangesNothing) {
  one_.append("the hat");
  one_.next(3);
  ASSERT_OK(one_.save(path_, "note"));
  const Tokens tokens = one_.tokens();
  std::ifstream file(path_, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](const std::string& bytes) {
    std::ofstream(damaged_, std::ios::binary) << bytes;
    const ferry_status status = one_.load(damaged_);
    EXPECT_EQ(one_.tokens(), tokens);
    return status;
  };
  for (size_t size = 0; size < good.size(); size += size < 600 ? 1 : 61)
    EXPECT_EQ(load(good.substr(0, size)), FERRY_CORRUPT) << "cut at byte " << size;
  const size_t at = good.find("FERRYTX\x1a");
  ASSERT_NE(at, std::string::npos);
  const struct {
    size_t offset;
    int32_t value;
    ferry_status status;
    const char* part;
  } kCases[] = {
      {0, 0, FERRY_CORRUPT, "these are states without a text"},
      {8, 0, FERRY_CORRUPT, "a text of version 0"},
      {8, 2, FERRY_UNSUPPORTED_VERSION, "a text of version 2, this library reads versions up to 1"},
      {12, 2, FERRY_CORRUPT, "its head is damaged"},
      {24, 1 << 30, FERRY_CORRUPT, "a text of 1073741824 tokens"},
      {28, 1000, FERRY_CORRUPT, "of which 1000 were run"},
      {28, 2, FERRY_CORRUPT, "a text of which 2 tokens were run, with states of "},
      {32, 1, FERRY_CORRUPT, "1 bytes held back"},
      {36, 1, FERRY_CORRUPT, "its head is damaged"},
      {44, 1 << 30, FERRY_CORRUPT, "does not take"},
      {48, -1, FERRY_INVALID_ARGUMENT, "token -1 is not in the model's vocabulary"},
      {48, kSmallVocabulary, FERRY_INVALID_ARGUMENT, "is not in the model's vocabulary"},
  };
  for (const auto& c : kCases) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at + c.offset, &c.value, sizeof c.value);
    EXPECT_EQ(load(with_checksum(bytes)), c.status) << c.part;
    EXPECT_NE(std::string(ferry_last_error()).find(c.part), std::string::npos) << ferry_last_error();
  }
  std::string held = good;  // of the note's four bytes one is held back, an incomplete character
  const uint64_t note = 3;
  const uint32_t one_byte = 1;
  std::memcpy(held.data() + at + 32, &one_byte, sizeof one_byte);
  std::memcpy(held.data() + at + 40, &note, sizeof note);
  held[held.find("note", at)] = '\xFF';
  EXPECT_EQ(load(with_checksum(held)), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("are not UTF-8"), std::string::npos) << ferry_last_error();
  EXPECT_EQ(load(good), FERRY_OK);
  EXPECT_EQ(one_.save("/nowhere/text"), FERRY_IO_ERROR);
  EXPECT_EQ(one_.load("/nowhere/text"), FERRY_IO_ERROR);
}

TEST_F(SavedTextTest, StatesOfNoTextAreRefused) {
  one_.append("the hat");
  one_.next(3);
  ferry_states* states = nullptr;
  ASSERT_OK(ferry_session_states(ferry_generator_session(one_.get()), &states));
  EXPECT_OK(ferry_states_save(states, path_.c_str()));
  EXPECT_EQ(one_.load(path_), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("these are states without a text"), std::string::npos);
  // The opposite is no error.
  ASSERT_OK(one_.save(path_, "note"));
  EXPECT_OK(ferry_states_load(states, path_.c_str()));
  ferry_states_close(states);
}

}  // namespace
}  // namespace ferry::testing
