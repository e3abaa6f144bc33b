// The parts of ferry chat that need no terminal: keys, and what a model thinks.
#include <gtest/gtest.h>

#include "cli/chat/key_reader.h"
#include "cli/chat/thinking.h"

namespace ferry::cli {
namespace {

std::vector<Key> keys_of(const std::vector<std::string>& pieces) {
  KeyReader reader;
  std::vector<Key> keys;
  for (const std::string& piece : pieces) {
    reader.append(piece);
    while (auto key = reader.next()) keys.push_back(*key);
  }
  return keys;
}

TEST(KeyReader, ReadsTextKeysAndPastes) {
  EXPECT_EQ(keys_of({"ab\tc\r"}), (std::vector<Key>{{Key::Text, "ab\tc"}, {Key::Enter}}));
  EXPECT_EQ(keys_of({"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[H\x7f\x04\x17"}), (std::vector<Key>{{Key::Up},
                                                                                           {Key::Down},
                                                                                           {Key::WordRight},
                                                                                           {Key::Delete},
                                                                                           {Key::Home},
                                                                                           {Key::Backspace},
                                                                                           {Key::EndOfInput},
                                                                                           {Key::DeleteWord}}));
  EXPECT_EQ(keys_of({"\x1b\r\x1b"
                     "b"}),
            (std::vector<Key>{{Key::NewLine}, {Key::WordLeft}}));
  EXPECT_EQ(keys_of({"\x1b[200~a\r\nb\rc\x1b[Ad\x1b[201~x"}),
            (std::vector<Key>{{Key::Text, "a\nb\nc\x1b[Ad"}, {Key::Text, "x"}}));
  EXPECT_EQ(keys_of({"\x1b[99;7zx"}), (std::vector<Key>{{Key::Text, "x"}})) << "unknown sequences are skipped";
}

TEST(KeyReader, BytesMayBeCutAnywhere) {
  const std::string typed = "a\xe2\x82\xac\x1b[A\x1b[200~one\rtwo\xf0\x9f\x9a\xa2\x1b[201~\r";
  for (size_t size = 1; size < typed.size(); ++size) {
    std::vector<std::string> pieces;
    for (size_t at = 0; at < typed.size(); at += size) pieces.push_back(typed.substr(at, size));
    std::vector<Key> joined;
    for (const Key& key : keys_of(pieces)) {
      if (key.kind == Key::Text && !joined.empty() && joined.back().kind == Key::Text)
        joined.back().text += key.text;
      else
        joined.push_back(key);
    }
    EXPECT_EQ(joined,
              (std::vector<Key>{
                  {Key::Text, "a\xe2\x82\xac"}, {Key::Up}, {Key::Text, "one\ntwo\xf0\x9f\x9a\xa2"}, {Key::Enter}}))
        << size;
  }
}

struct Split {
  std::string thoughts, answer;
  bool operator==(const Split&) const = default;
};

// In pieces of so many characters.
Split split(const std::string& text, size_t size, const char* prompt = "") {
  Thinking thinking(prompt);
  Split shown;
  const auto show = [&](const std::vector<Thinking::Part>& parts) {
    for (const Thinking::Part& part : parts) (part.thought ? shown.thoughts : shown.answer) += part.text;
  };
  for (size_t at = 0; at < text.size(); at += size) show(thinking.append(text.substr(at, size), false));
  show(thinking.finish());
  EXPECT_EQ(shown, (Split{thinking.thoughts(), thinking.answer()}));
  return shown;
}

TEST(Thinking, IsSeparatedFromTheAnswer) {
  for (size_t size = 1; size < 40; size += 3) {
    EXPECT_EQ(split("<think>\nhm </b\n</think>\n\nYes <b>", size), (Split{"<think>\nhm </b\n</think>", "\n\nYes <b>"}));
    EXPECT_EQ(split("hm</think>Yes", size, "<|assistant|><think>\n"), (Split{"hm</think>", "Yes"}));
    EXPECT_EQ(split("The mark <think> begins it", size), (Split{"", "The mark <think> begins it"}));
    EXPECT_EQ(split("<thin", size), (Split{"", "<thin"}));
    EXPECT_EQ(split("[THINK]a[/THINK]b", size), (Split{"[THINK]a[/THINK]", "b"}));
    EXPECT_EQ(split("<think>never ends </thi", size), (Split{"<think>never ends </thi", ""}));
  }
}

TEST(Thinking, ChannelsOfControlTokensAreNotText) {
  Thinking thinking("<|start|>assistant");
  std::string thoughts, answer;
  const auto show = [&](const std::vector<Thinking::Part>& parts) {
    for (const Thinking::Part& part : parts) (part.thought ? thoughts : answer) += part.text;
  };
  const std::pair<const char*, bool> kPieces[] = {{"<|channel|>", true}, {"analysis", false},   {"<|message|>", true},
                                                  {"We need", false},    {"<|end|>", true},     {"<|start|>", true},
                                                  {"assistant", false},  {"<|channel|>", true}, {"final", false},
                                                  {"<|message|>", true}, {"Hello <|", false},   {"<|other|>", true}};
  for (const auto& [piece, control] : kPieces) show(thinking.append(piece, control));
  show(thinking.finish());
  EXPECT_EQ(thoughts, "We need");
  EXPECT_EQ(answer, "Hello <|");
  EXPECT_TRUE(thinking.apart());
}

}  // namespace
}  // namespace ferry::cli
