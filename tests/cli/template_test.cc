// ferry template: the text of a conversation, from a folder and from a blob; one message if there is no template.
#include <gtest/gtest.h>

#include "converter/pack/pack.h"
#include "converter/text/chat_template.h"
#include "converter/text/text_files.h"
#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/language_model.h"

namespace ferry::cli_test {
namespace {

constexpr char kConfig[] =
    R"({"bos_token": {"content": "<s>"}, "chat_template": "{{ bos_token }})"
    R"({% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{{ mood }})"
    R"({% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}[assistant]{% endif %})"
    R"({% if not messages %}{{ raise_exception('Say something.') }}{% endif %}"})";

class Template : public ::testing::Test {
 protected:
  Result write_chat(const std::string& model, const std::string& chat) {
    folder_.write("chat.json", chat);
    return ferry(folder_.path(), {"template", model, "chat.json"});
  }
  void SetUp() override {
    std::filesystem::create_directory(folder_.path() / "model");
    folder_.write("model/tokenizer_config.json", kConfig);
  }

  ScratchFolder folder_;
};

constexpr char kChat[] = R"({"messages": [{"role": "user", "content": "Hé"}], "add_generation_prompt": true,
    "tools": [{"name": "f", "a": 1.0}], "kwargs": {"mood": "!"}})";
constexpr char kText[] = "<s>[user] Hé\n![{\"name\": \"f\", \"a\": 1.0}][assistant]";

TEST_F(Template, AFolderAndItsBlobGiveTheSameText) {
  const Result folder = write_chat("model", kChat);
  EXPECT_EQ(folder.exit_code, 0) << folder.err;
  EXPECT_EQ(folder.out, kText);
  const auto graph = testing::small_language_model();
  fbs::TextT text;
  add_chat_template(chat_template_in(folder_.path() / "model"), &text);
  graph->table.text = packed(text);
  const std::vector<std::byte> bytes = pack(*graph);
  folder_.write("model.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const Result blob = write_chat("model.ferry", kChat);
  EXPECT_EQ(blob.exit_code, 0) << blob.err;
  EXPECT_EQ(blob.out, kText);
}

TEST_F(Template, TheToolTemplateIsUsedWithTools) {
  folder_.write("model/tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "plain"},
      {"name": "tool_use", "template": "tools"}]})");
  EXPECT_EQ(write_chat("model", R"({"messages": []})").out, "plain");
  EXPECT_EQ(write_chat("model", R"({"messages": [], "tools": [{}]})").out, "tools");
}

TEST_F(Template, ErrorsAreReported) {
  EXPECT_REFUSED(write_chat("model", R"({"messages": []})"), "Say something.");
  EXPECT_REFUSED(write_chat("model", R"({"messages": [)"), "chat.json: the JSON");
  EXPECT_REFUSED(write_chat("model", "[]"), "a chat is a JSON object");
  EXPECT_REFUSED(ferry(folder_.path(), {"template", "model", "none.json"}), "none.json");
  EXPECT_REFUSED(write_chat("none.ferry", kChat), "none.ferry");
  folder_.write("model/tokenizer_config.json", R"({"chat_template": "a\n{{ x | nope }}"})");
  EXPECT_REFUSED(write_chat("model", kChat), "line 2: no filter is called 'nope'");
  folder_.write("model/tokenizer_config.json", "{}");
  EXPECT_REFUSED(write_chat("model", kChat), "has no chat template");
}

}  // namespace
}  // namespace ferry::cli_test
