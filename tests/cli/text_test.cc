// ferry run with a language model: text and token ids as input and output.
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "converter/pack/pack.h"
#include "converter/text/text_files.h"
#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"

namespace ferry::cli_test {
namespace {

using nlohmann::json;

class RunText : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"run"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }
  void write(const std::string& name, const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void SetUp() override { write("model.ferry", *testing::small_language_model()); }

  ScratchFolder folder_;
};

TEST_F(RunText, TokensGoInAndOutAsJson) {
  const Result all = run({"model.ferry", "--tokens", "1,80,200", "--max-tokens", "5", "--json"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.err, "");
  const json result = json::parse(all.out);
  EXPECT_EQ(result["prompt"], json({1, 80, 200}));
  EXPECT_EQ(result["tokens"].size(), 5u);
  EXPECT_EQ(result.size(), 2u);
  // Its answer becomes part of the prompt.
  json longer = result["prompt"];
  std::string words = "1,80,200";
  for (size_t i = 0; i < 2; ++i) words += "," + std::to_string(result["tokens"][i].get<int>());
  const Result rest = run({"--tokens", words, "model.ferry", "--max-tokens", "3", "--json", "--threads", "2"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(json::parse(rest.out)["tokens"],
            json(std::vector<json>(result["tokens"].begin() + 2, result["tokens"].end())));
}

TEST_F(RunText, APromptIsPrintedAndContinued) {
  const Result text = run({"model.ferry", "--prompt", "the end", "--max-tokens", "8"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("the end")) << text.out;
  EXPECT_TRUE(text.out.ends_with("\n"));
  const Result all = run({"model.ferry", "--prompt", "the end", "--max-tokens", "8", "--json"});
  const json result = json::parse(all.out);
  EXPECT_EQ(result["prompt"][0], 1);
  EXPECT_EQ("the end" + result["text"].get<std::string>() + "\n", text.out);
}

TEST_F(RunText, ChanceFollowsTheSeed) {
  const auto say = [&](const char* seed) {
    const Result result = run({"model.ferry", "--tokens", "1,80", "--max-tokens", "12", "--temperature", "4", "--top-k",
                               "50", "--seed", seed, "--json", "--log-probabilities"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  };
  EXPECT_EQ(say("5"), say("5"));
  EXPECT_NE(say("5")["tokens"], say("6")["tokens"]);
  EXPECT_EQ(say("5")["log_probabilities"].size(), 12u);
  const Result biased = run({"model.ferry", "--tokens", "1", "--max-tokens", "3", "--bias", "80:1e9", "--json"});
  EXPECT_EQ(json::parse(biased.out)["tokens"], json({80, 80, 80})) << biased.err;
}

TEST_F(RunText, WhatTheAuthorsRecommendIsTheDefault) {
  const std::unique_ptr<Graph> graph = testing::small_language_model();
  fbs::TextT text;
  flatbuffers::GetRoot<fbs::Text>(graph->table.text.data())->UnPackTo(&text);
  text.sampling = std::make_unique<fbs::SamplingT>();
  text.sampling->temperature = 100;
  text.sampling->top_k = 3;
  graph->table.text = packed(text);
  write("advised.ferry", *graph);
  const auto say = [&](const char* model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {model, "--tokens", "1,80", "--max-tokens", "12", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).out;
  };
  EXPECT_EQ(say("advised.ferry", {}), say("model.ferry", {})) << "run is greedy";
  EXPECT_EQ(say("advised.ferry", {"--temperature", "50"}), say("model.ferry", {"--temperature", "50", "--top-k", "3"}));
  EXPECT_NE(say("advised.ferry", {"--temperature", "50", "--top-k", "0"}),
            say("model.ferry", {"--temperature", "50", "--top-k", "3"}));
  const auto chat = [&](const char* model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chat", model, "--max-tokens", "12"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ferry(folder_.path(), arguments, "hi\n").out;
  };
  EXPECT_EQ(chat("advised.ferry", {}), chat("model.ferry", {"--temperature", "100", "--top-k", "3", "--top-p", "1"}));
  EXPECT_EQ(chat("model.ferry", {}), chat("model.ferry", {"--temperature", "0.7", "--top-p", "0.95"}));
}

TEST_F(RunText, WithoutATokenizerTokensAreNumbers) {
  const auto graph = testing::small_language_model();
  graph->table.text.clear();
  write("ids.ferry", *graph);
  const Result ids = run({"ids.ferry", "--tokens", "1,2", "--max-tokens", "2"});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_EQ(std::count(ids.out.begin(), ids.out.end(), ' '), 2) << ids.out;
  EXPECT_REFUSED(run({"ids.ferry", "--prompt", "a"}), "ids.ferry has no tokenizer: give the prompt's token ids");
}

TEST_F(RunText, BenchCountsTokensASecond) {
  const Result result = ferry(folder_.path(), {"bench", "model.ferry", "--prompt-tokens", "20", "--new-tokens", "4",
                                               "--threads", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json figures = json::parse(result.out);
  EXPECT_EQ(figures["prompt_tokens"], 20);
  EXPECT_GT(figures["tokens_per_second"].get<double>(), 0);
  EXPECT_REFUSED(ferry(folder_.path(), {"bench", "model.ferry", "--prompt-tokens", "48"}),
                 "the model holds 48 together");
  EXPECT_REFUSED(ferry(folder_.path(), {"bench", "model.ferry", "--ops"}), "--ops: not of a language model");
}

TEST_F(RunText, ChatKeepsTheConversation) {
  const auto chat = [&](const std::string& lines) {
    return ferry(folder_.path(), {"chat", "model.ferry", "--temperature", "0", "--max-tokens", "3", "--threads", "1"},
                 lines);
  };
  const Result one = chat("hi\n"), two = chat("hi\n/reset\nhi\n");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_NE(one.err.find("tokens a second"), std::string::npos);
  EXPECT_EQ(two.out, one.out + one.out) << "begun anew";
  // The prompt is the output of `ferry template` for the same messages.
  const std::string said = R"({"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true})";
  const Result written = ferry(folder_.path(), {"template", "model.ferry", "-"}, said);
  EXPECT_EQ(written.out, "user: hi\nthe ") << written.err;
  const Result full = chat("a line that is longer than what this model holds at once, by far\n");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("/reset starts again"), std::string::npos) << full.err;
  EXPECT_REFUSED(ferry(folder_.path(), {"chat", "model.ferry", "--top-p", "7"}), "top_p is 7");
}

TEST_F(RunText, ChatShiftsWhenTheModelIsFull) {
  const auto chat = [&](const std::string& lines, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chat", "model.ferry", "--temperature", "0", "--max-tokens", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ferry(folder_.path(), arguments, lines);
  };
  const std::string lines = "the first line\nthe second line\nthe third line\n";
  const Result stopped = chat(lines, {});
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_NE(stopped.err.find("--overflow shift drops the oldest messages"), std::string::npos) << stopped.err;
  const Result shifted = chat(lines, {"--overflow", "shift"});
  EXPECT_EQ(shifted.exit_code, 0) << shifted.err;
  EXPECT_NE(shifted.err.find("the model holds 48 tokens: the 2 oldest messages were dropped"), std::string::npos)
      << shifted.err;
  EXPECT_REFUSED(chat("", {"--overflow", "grow"}), "--overflow grow: expected stop or shift");
}

TEST_F(RunText, ChatSetsSamplingAndVariables) {
  const std::unique_ptr<Graph> graph = testing::small_language_model();
  fbs::TextT text;
  flatbuffers::GetRoot<fbs::Text>(graph->table.text.data())->UnPackTo(&text);
  text.chat_template =
      "{% if loud is defined and loud %}{{ raise_exception('loud') }}{% endif %}{{ messages[-1].content }}";
  graph->table.text = packed(text);
  write("loud.ferry", *graph);
  const auto chat = [&](const std::string& lines, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"chat", "loud.ferry", "--max-tokens", "3", "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ferry(folder_.path(), arguments, lines);
  };
  EXPECT_EQ(chat("/set temperature 0\nhi\n").out, chat("hi\n", {"--temperature", "0"}).out);
  EXPECT_EQ(chat("/set top-k 1\nhi\n").out, chat("hi\n", {"--top-k", "1"}).out);
  EXPECT_EQ(chat("//set\n", {"--temperature", "0"}).out,
            chat("/set max_tokens 3\n//set\n", {"--temperature", "0"}).out);
  EXPECT_EQ(chat("/set loud false\nhi\n").exit_code, 0);
  const Result loud = chat("/set loud true\nhi\n");
  EXPECT_EQ(loud.exit_code, 2);
  EXPECT_NE(loud.err.find("loud"), std::string::npos);
  const std::pair<const char*, const char*> kWrong[] = {
      {"/set temperature warm", "/set temperature warm: expected a number"},
      {"/set top_p 7", "top_p is 7"},
      {"/set top_k -1", "expected an integer of at least 0"},
      {"/set lod true", "(did you mean loud?)"},
      {"/set messages []", "it is the conversation's own"},
      {"/set loud", "which value?"}};
  for (const auto& [line, words] : kWrong) EXPECT_REFUSED(chat(std::string(line) + "\n"), words);
  const Result listed = chat("/set top_p 0.5\n/set loud 1\n/set\n/help\n/hlp\n");
  for (const char* words : {"top_p 0.5\n", "loud 1\n", "Names in the chat template: loud", "/set NAME VALUE",
                            "no command is called '/hlp': /help lists them"})
    EXPECT_NE(listed.err.find(words), std::string::npos) << listed.err;
}

TEST_F(RunText, PackedWeightsAreKeptInTheCache) {
  const std::filesystem::path cache = folder_.path() / "cache/ferry/packed";
  const auto files = [&] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(cache)) ++count;
    return count;
  };
  const std::vector<std::string> arguments = {"model.ferry", "--tokens", "1,80", "--max-tokens", "3", "--no-check"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Result without = with({"--no-cache"});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  EXPECT_FALSE(std::filesystem::exists(cache));
  EXPECT_EQ(with({}).out, without.out);
  ASSERT_EQ(files(), 1u);
  EXPECT_EQ(with({}).out, without.out) << "from the cache";
  // Of several files, those that were used longest ago go.
  const auto own = std::filesystem::directory_iterator(cache)->path();
  folder_.write("cache/ferry/packed/old.packed", std::string(900'000, 'x'));
  std::filesystem::last_write_time(cache / "old.packed",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  std::filesystem::last_write_time(own, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(with({"--cache-limit", "1"}).exit_code, 0);
  EXPECT_EQ(files(), 2u) << "both are within the limit";
  folder_.write("cache/ferry/packed/newer.packed", std::string(200'000, 'x'));
  EXPECT_EQ(with({"--cache-limit", "1"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(cache / "old.packed"));
  EXPECT_TRUE(std::filesystem::exists(own)) << "it was used last";
  EXPECT_EQ(with({"--cache-limit", "0"}).out, without.out) << "no cache for what is larger";
}

TEST_F(RunText, ChatWithoutATemplateNamesRun) {
  const std::unique_ptr<Graph> graph = testing::small_language_model();
  fbs::TextT text;
  flatbuffers::GetRoot<fbs::Text>(graph->table.text.data())->UnPackTo(&text);
  text.chat_template.clear();
  graph->table.text = packed(text);
  write("plain.ferry", *graph);
  EXPECT_REFUSED(ferry(folder_.path(), {"chat", "plain.ferry"}, "hi\n"),
                 "plain.ferry has no chat template: use `ferry run --prompt TEXT`");
}

TEST_F(RunText, ChatSavesAndLoadsAConversation) {
  const auto chat = [&](const std::string& lines, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"chat", "model.ferry", "--max-tokens", "3", "--threads", "1", "--seed", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ferry(folder_.path(), arguments, lines);
  };
  const Result whole = chat("hi\nmore\n"), first = chat("hi\n/save kept\n");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_TRUE(whole.out.starts_with(first.out));
  const std::string rest = whole.out.substr(first.out.size());
  EXPECT_EQ(chat("more\n", {"--load", "kept"}).out, rest) << "the seed's numbers go on, too";
  const Result begun = chat("something\n/load kept\nmore\n");
  EXPECT_TRUE(begun.out.ends_with("\n" + rest)) << begun.out;
  EXPECT_REFUSED(chat("", {"--load", "nothing"}), "'nothing': cannot be opened");
  EXPECT_REFUSED(chat("/load model.ferry\n"), "these are no saved states");
  std::string damaged = read_text(folder_.path() / "kept");
  damaged[damaged.size() - 20] = static_cast<char>(damaged[damaged.size() - 20] ^ 4);
  folder_.write("damaged", damaged);
  EXPECT_REFUSED(chat("", {"--load", "damaged"}), "'damaged': is damaged");
  const Result usage = chat("/save\n/load \n");
  EXPECT_EQ(usage.exit_code, 0);
  EXPECT_NE(usage.err.find("/save FILE, /load FILE"), std::string::npos) << usage.err;
  EXPECT_EQ(chat("hi\n/save no/such/folder\n").exit_code, 2);
}

TEST_F(RunText, WrongUsageGetsAMessage) {
  EXPECT_REFUSED(run({"model.ferry"}),
                 "model.ferry is a language model: give it a text with --prompt TEXT, or token ids");
  EXPECT_REFUSED(run({"model.ferry", "--prompt", "a", "--tokens", "1"}), "two inputs");
  EXPECT_REFUSED(run({"model.ferry", "photo.png", "--prompt", "a"}), "not with image files or tensors");
  EXPECT_REFUSED(run({"model.ferry", "photo.png"}),
                 "is a language model and accepts text only, no images: give it a text with --prompt TEXT");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1,x"}), "--tokens");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1,262"}), "token 262 is not in the model's vocabulary of 262");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "-1"}), "token -1");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1", "--top-p", "0"}), "top_p is 0");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1", "--bias", "7"}), "--bias 7: expected ID:VALUE");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1", "--log-probabilities"}), "goes with --json");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1", "--max-tokens", "0"}), "--max-tokens");
  EXPECT_REFUSED(run({"model.ferry", "--tokens", "1", "--max-tokens", "48"}), "the model holds 48");
  EXPECT_REFUSED(run({"model.ferry", "--prompt", std::string(48, 'x')}), "the prompt has 49 tokens");
  write("classifier.ferry", *testing::small_classifier());
  EXPECT_REFUSED(run({"classifier.ferry", "photo.png", "--seed", "3"}), "sampling options go with --prompt");
  EXPECT_REFUSED(run({"classifier.ferry", "photo.png", "--max-tokens", "3"}), "goes with --prompt or --tokens");
  EXPECT_REFUSED(run({"classifier.ferry", "--prompt", "a"}), "not a language model");
}

#if defined(FERRY_HAS_CONVERTER)
TEST_F(RunText, Stories260kGeneratesItsStory) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with real weights (set FERRY_SHARED)";
  const std::filesystem::path weights = shared_dir() / "weights/stories260k";
  for (const auto& checkpoint : {weights, weights / "model.safetensors"}) {
    const Result done = ferry(folder_.path(), {"convert", checkpoint, "-o", "stories.ferry"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_NE(done.out.find("Llama"), std::string::npos) << done.out;
  }
  const json golden = json::parse(read_text(weights / "golden_greedy.json"));
  const size_t count = golden["greedy_ids"].size() - 1;
  const Result ids = run({"stories.ferry", "--tokens", "1", "--max-tokens", std::to_string(count), "--json"});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  const json answer = json::parse(ids.out);
  json all = answer["prompt"];
  for (const json& token : answer["tokens"]) all.push_back(token);
  EXPECT_EQ(all, golden["greedy_ids"]);

  const Result story = run({"stories.ferry", "--prompt", "Once upon a time", "--max-tokens", "21"});
  ASSERT_EQ(story.exit_code, 0) << story.err;
  EXPECT_EQ(story.out, "Once upon a time, there was a little girl named Lily. She loved to play outside\n");
}

TEST_F(RunText, Stories260kIsRoundedByItsStories) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with real weights (set FERRY_SHARED)";
  const std::filesystem::path weights = shared_dir() / "weights/stories260k";
  ASSERT_EQ(ferry(folder_.path(), {"convert", weights, "-o", "stories.ferry"}).exit_code, 0);
  std::string stories;
  for (int seed = 1; seed <= 12; ++seed)
    stories += run({"stories.ferry", "--prompt", "Once upon a time", "--max-tokens", "480", "--temperature", "0.9",
                    "--seed", std::to_string(seed)})
                   .out;
  folder_.write("stories.txt", stories);
  const auto convert = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"convert", weights, "-o", "rounded.ferry", "--calibrate"};
    words.insert(words.end(), more.begin(), more.end());
    return ferry(folder_.path(), words);
  };
  const Result planned = convert({"stories.txt", "--weights", "i4", "--dry-run"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const Result done = convert({"stories.txt", "--weights", "i4"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("20 weights of 4 bits are calibrated on"), std::string::npos) << done.out;
  double in_float = 0, nearest = 0, calibrated = 0, nearest_error = 0, calibrated_error = 0;
  const size_t at = done.out.find("perplexity ");
  ASSERT_NE(at, std::string::npos) << done.out;
  ASSERT_EQ(std::sscanf(done.out.c_str() + at,
                        "perplexity %lf in float, %lf rounded to nearest, %lf calibrated; error of the logits %lf %% "
                        "rounded to nearest, %lf %% calibrated",
                        &in_float, &nearest, &calibrated, &nearest_error, &calibrated_error),
            5)
      << done.out;
  EXPECT_GT(in_float, 1);
  EXPECT_LT(calibrated, nearest);
  EXPECT_LT(calibrated_error, nearest_error);

  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator());
  };
  std::filesystem::remove(folder_.path() / "rounded.ferry");
  folder_.write("empty.txt", "");
  folder_.write("image.txt", "\x89PNG");
  folder_.write("short.txt", "Once upon a time");
  const auto before = files();
  EXPECT_REFUSED(convert({"empty.txt", "--weights", "i4"}), "--calibrate empty.txt is empty");
  EXPECT_REFUSED(convert({"image.txt", "--weights", "i4", "--dry-run"}), "byte 0 is not UTF-8");
  EXPECT_REFUSED(convert({"short.txt", "--weights", "i4"}), "expected at least 4088, which are 8 sequences of 511");
  EXPECT_REFUSED(convert({"missing.txt", "--weights", "i4"}), "missing.txt: expected a text file");
  EXPECT_REFUSED(convert({"stories.txt", "--weights", "i8"}), "expected --weights i4 and a text");
  EXPECT_REFUSED(convert({"stories.txt", "--calibrate", "short.txt", "--weights", "i4"}), "expected one text");
  EXPECT_EQ(files(), before);
}
#endif

}  // namespace
}  // namespace ferry::cli_test
