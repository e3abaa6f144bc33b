// What a hostile file puts into names, labels and texts reaches a person as one line without control characters.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/pack/pack.h"
#include "sdk/image/codec.h"
#include "sdk/printable.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"

namespace ferry::cli_test {
namespace {

// A title for the terminal's window, a cleared screen, another line, a reversed suffix, CSI in one byte, markup.
constexpr const char* kHostile = "x\x1b]0;t\a\x1b[2J\nfake: line\r\t\u202egpj\u2066\u009b1m<b>&\"";
constexpr const char* kShown = "x\\x1b]0;t\\x07\\x1b[2J\\nfake: line\\r\\t\\u202egpj\\u2066\\x9b1m<b>&\"";

void expect_clean(const std::string& text, const std::string& what) {
  EXPECT_EQ(printable(text, Printed::Text), text) << what;
  for (const std::string& line : lines(text)) EXPECT_FALSE(line.starts_with("fake")) << what << ": " << line;
}

class Printing : public ::testing::Test {
 protected:
  void write(const std::string& name, const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  // Its name in every place of a blob that holds one.
  void write_hostile_blob() {
    const auto graph = testing::small_classifier();
    fbs::GraphT& table = graph->table;
    table.name = kHostile;
    for (std::string& label : table.labels) label = kHostile;
    for (auto* text : {&table.provenance->family, &table.provenance->variant, &table.provenance->converter,
                       &table.provenance->framework, &table.provenance->source, &table.provenance->source_sha256})
      *text = kHostile;
    table.provenance->options = {kHostile};
    for (auto& op : table.operators) op->name = kHostile + op->name;
    for (auto* list : {&table.inputs, &table.outputs, &table.taps})
      for (auto& port : *list) port->name = kHostile + port->name;
    write("hostile.ferry", *graph);
  }
  Result clean(const std::vector<std::string>& arguments, int exit_code = 0, const std::string& input = "") {
    const Result result = ferry(folder_.path(), arguments, input);
    EXPECT_EQ(result.exit_code, exit_code) << arguments[0] << result.err;
    expect_clean(result.out, arguments[0]);
    expect_clean(result.err, arguments[0]);
    return result;
  }

  ScratchFolder folder_;
};

TEST_F(Printing, NamesOfABlobAreOneLineEach) {
  write_hostile_blob();
  write("other.ferry", *testing::small_classifier());
  const Result inspect = clean({"inspect", "hostile.ferry", "--ops"});
  EXPECT_NE(inspect.out.find(std::string("model         ") + kShown + "\n"), std::string::npos) << inspect.out;
  clean({"diff", "hostile.ferry", "other.ferry", "--all"}, 1);
  clean({"bench", "hostile.ferry", "--runs", "1", "--ops"});
  clean({"verify", "hostile.ferry", "--weights"});
  std::vector<uint8_t> pixels(8 * 8 * 3, 100);
  ASSERT_TRUE(image::save_png({pixels.data(), 8, 8, 3, 24}, (folder_.path() / "p.png").c_str()).ok());
  const Result run = clean({"run", "hostile.ferry", "p.png"});
  EXPECT_NE(run.out.find(std::string("  ") + kShown + "\n"), std::string::npos) << run.out;
}

TEST_F(Printing, JsonHasTheWholeNames) {
  write_hostile_blob();
  for (const char* command : {"inspect", "verify"}) {
    std::vector<std::string> words = {command, "hostile.ferry", "--json"};
    if (words[0] == "verify") words.push_back("--weights");
    const Result result = clean(words);
    EXPECT_NE(nlohmann::json::parse(result.out).dump().find(nlohmann::json(kHostile).dump().substr(1, 20)),
              std::string::npos)
        << result.out;
  }
}

TEST_F(Printing, DrawingsAreMarkupWithoutControls) {
  write_hostile_blob();
  for (const char* name : {"g.svg", "g.html"}) {
    clean({"inspect", "hostile.ferry", "--graph", name});
    const std::string text = read_text(folder_.path() / name);
    expect_clean(text, name);
    EXPECT_EQ(text.find("<b>&"), std::string::npos) << name;
    EXPECT_NE(text.find("\\x1b]0;t"), std::string::npos) << name;
  }
  if (std::system("python3 -c 'import xml.dom.minidom' 2>/dev/null") != 0) GTEST_SKIP() << "no Python to read XML";
  const std::string parse = "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' ";
  EXPECT_EQ(std::system((parse + quoted(folder_.path() / "g.svg")).c_str()), 0);
}

TEST_F(Printing, ErrorsWithForeignWordsAreOneLine) {
  folder_.write(
      "model/tokenizer_config.json",
      nlohmann::json{{"chat_template", std::string("{{ raise_exception('") + "a\x1b[2J\nfake: line\u202e" + "') }}"}}
          .dump());
  const Result refused = clean({"template", "model", "-"}, 2, R"({"messages": []})");
  EXPECT_EQ(lines(refused.err).size(), 1u) << refused.err;
  EXPECT_NE(refused.err.find("a\\x1b[2J\\nfake: line\\u202e"), std::string::npos) << refused.err;
  const Result none = clean({"inspect", std::string("no\nfake \x1b[2J.ferry")}, 2);
  EXPECT_EQ(lines(none.err).size(), 1u) << none.err;
}

// A template's rendering is data: verbatim in a pipe.
TEST_F(Printing, ARenderedConversationIsVerbatim) {
  folder_.write("model/tokenizer_config.json", nlohmann::json{{"chat_template", "{{ messages[0].content }}"}}.dump());
  const nlohmann::json chat = {{"messages", {{{"role", "user"}, {"content", kHostile}}}}};
  const Result result = ferry(folder_.path(), {"template", "model", "-"}, chat.dump());
  EXPECT_EQ(result.out, kHostile) << result.err;
}

TEST_F(Printing, AGeneratedTextKeepsItsLinesOnly) {
  write("text.ferry", *testing::small_language_model());
  const Result result = clean({"run", "text.ferry", "--prompt", "a\n\tb \x1b[31m\u202e c", "--max-tokens", "3"});
  EXPECT_TRUE(result.out.starts_with("a\n\tb [31m c")) << result.out;
}

}  // namespace
}  // namespace ferry::cli_test
