// What reads untrusted files takes work in proportion to their size, counted in allocations (tests/support/work.h) or
// in the reader's own steps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/pickle.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/checkpoint/zip.h"
#include "converter/error.h"
#include "converter/text/huggingface/tokenizer.h"
#include "converter/text/text_files.h"
#include "sdk/text/template/template.h"
#include "sdk/text/template/work.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/verify_text.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/work.h"

namespace ferry {
namespace {

std::string joined(size_t count, const std::string& between, const std::function<std::string(size_t)>& part) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += (i > 0 ? between : "") + part(i);
  return all;
}

std::string numbered(const std::string& name, size_t i) { return name + std::to_string(i); }

// Objects within one object: after each, a reader with a callback searched all before it.
std::string safetensors_header(size_t tensors) {
  return "{" +
         joined(tensors, ",",
                [](size_t i) {
                  return "\"t" + std::to_string(i) + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
                         std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
                }) +
         "}";
}

std::string safetensors_file(size_t tensors) {
  std::string header = safetensors_header(tensors);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> 8 * i & 0xFF);
  return file + header + std::string(4 * tensors, '\0');
}

class Scaling : public ::testing::Test {
 protected:
  // Work of opening a file of `bytes(n)`.
  void expect_file(const char* name, size_t n, const std::function<std::string(size_t)>& bytes) {
    expect_linear(name, n, [&](size_t size) {
      const auto file = folder_.write(name, bytes(size));
      return allocations_of([&] { open_checkpoint(file)->tensors(); });
    });
  }
  ScratchFolder folder_;
};

TEST_F(Scaling, Json) {
  expect_linear("json", 500, [](size_t n) {
    const std::string text = safetensors_header(n);
    return allocations_of([&] { parse_json(text, "a file"); });
  });
  expect_linear("lists", 500, [](size_t n) {
    const std::string text = "[" + joined(n, ",", [](size_t) { return std::string("[[],{}]"); }) + "]";
    return allocations_of([&] { parse_json(text, "a file"); });
  });
}

TEST_F(Scaling, Safetensors) { expect_file("model.safetensors", 500, safetensors_file); }

TEST_F(Scaling, IndexOfShards) {
  expect_file("model.safetensors.index.json", 500, [&](size_t n) {
    folder_.write("all.safetensors", safetensors_file(n));
    return "{\"weight_map\":{" +
           joined(n, ",", [](size_t i) { return "\"t" + std::to_string(i) + "\":\"all.safetensors\""; }) + "}}";
  });
}

TEST_F(Scaling, Gguf) {
  expect_file("model.gguf", 500, [](size_t n) {
    GgufWriter file;
    file.text("general.architecture", "llama");
    for (const auto& [key, value] : {std::pair("block_count", 1u),
                                     {"embedding_length", 8u},
                                     {"context_length", 64u},
                                     {"feed_forward_length", 16u},
                                     {"attention.head_count", 2u},
                                     {"attention.head_count_kv", 1u}})
      file.number(std::string("llama.") + key, value);
    file.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    file.tensor("token_embd.weight", {10, 8}, GgufWriter::kF32, std::string(320, '\0'));
    for (size_t i = 0; i < n; ++i) file.number(numbered("general.x", i), 1);
    std::vector<std::string> pieces;
    for (size_t i = 0; i < n; ++i) pieces.push_back(numbered("piece", i));
    file.texts("general.pieces", pieces);
    return file.bytes();
  });
}

TEST_F(Scaling, Pickle) {
  expect_linear("pickle", 500, [](size_t n) {
    // A dict of texts to lists: (k1, [], k2, [], ...) SETITEMS.
    std::string bytes = "\x80\x02}(";
    for (size_t i = 0; i < n; ++i) {
      const std::string key = std::to_string(i);
      bytes += 'X' + std::string({static_cast<char>(key.size()), '\0', '\0', '\0'}) + key + "]";
    }
    bytes += "u.";
    return allocations_of([&] { read_pickle(bytes, "a pickle"); });
  });
}

TEST_F(Scaling, Zip) {
  expect_linear("zip", 250, [&](size_t n) {
    const auto number = [](size_t value, size_t bytes) {
      std::string out;
      for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
      return out;
    };
    std::string file, directory;
    for (size_t i = 0; i < n; ++i) {
      const std::string name = numbered("entry", i);
      directory += "PK\1\2" + number(20, 2) + number(20, 2) + std::string(20, '\0') + number(name.size(), 2) +
                   std::string(12, '\0') + number(file.size(), 4) + name;
      file += "PK\3\4" + number(20, 2) + std::string(20, '\0') + number(name.size(), 2) + std::string(2, '\0') + name;
    }
    const size_t at = file.size();
    file += directory + "PK\5\6" + std::string(4, '\0') + number(n, 2) + number(n, 2) + number(directory.size(), 4) +
            number(at, 4) + std::string(2, '\0');
    const auto mapped = MappedFile::open(folder_.write("a.zip", file));
    return allocations_of([&] { EXPECT_EQ(zip_entries(*mapped).size(), n); });
  });
}

std::string tokenizer_file(size_t n, const std::string& parts) {
  return R"({"added_tokens": [)" +
         joined(n, ",",
                [n](size_t i) {
                  return R"({"id": )" + std::to_string(n + i) + R"(, "content": "<)" + std::to_string(i) + R"(>"})";
                }) +
         "], " + parts + R"("decoder": {"type": "Fuse"}, "model": {"type": "BPE", "merges": [], "vocab": {)" +
         joined(n, ",", [](size_t i) { return "\"v" + std::to_string(i) + "\": " + std::to_string(i); }) + "}}}";
}

TEST_F(Scaling, Tokenizer) {
  expect_linear("tokenizer.json", 250, [&](size_t n) {
    folder_.write("tokenizer.json", tokenizer_file(n, ""));
    std::vector<std::string> notes;
    return allocations_of([&] { read_huggingface_tokenizer(folder_.path(), "tokenizer.json", &notes); });
  });
  expect_linear("steps", 20, [&](size_t n) {
    const std::string parts = R"("normalizer": {"type": "Sequence", "normalizers": [)" +
                              joined(n, ",",
                                     [](size_t) {
                                       return std::string(R"({"type": "Replace", "pattern": {"Regex": "\\bx"}, )"
                                                          R"("content": "y"})");
                                     }) +
                              "]}, ";
    folder_.write("tokenizer.json", tokenizer_file(1, parts));
    std::vector<std::string> notes;
    return allocations_of([&] { read_huggingface_tokenizer(folder_.path(), "tokenizer.json", &notes); });
  });
}

uint64_t template_steps(const std::string& source, const std::string& variables) {
  std::unique_ptr<jinja::Template> made;
  const Status parsed = jinja::Template::parse(source, &made);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  jinja::Arena values(jinja::kMaxValueBytes);
  jinja::Value context;
  EXPECT_TRUE(jinja::parse_json(variables, values, &context).ok());
  std::string_view text;
  uint64_t steps = 0;
  const Status status = made->render(context, nullptr, values, &text, &steps);
  EXPECT_TRUE(status.ok()) << source << ": " << status.message();
  return steps;
}

// Every function that reads a text charges for it: steps grow with the text, and no faster.
TEST_F(Scaling, Templates) {
  for (const char* use : {"x == y",
                          "x < y",
                          "x in y",
                          "x in d",
                          "d[x] is defined",
                          "d.get(x)",
                          "[x] == [y]",
                          "x is eq(y)",
                          "x.partition('b')",
                          "x.rpartition('b')",
                          "x.removeprefix(y)",
                          "x.removesuffix(y)",
                          "x.startswith(y)",
                          "x.endswith(y)",
                          "x.find('b')",
                          "x.rfind('b')",
                          "x.count('b')",
                          "x.split('b')",
                          "x.rsplit('b')",
                          "x.split()",
                          "x.rsplit()",
                          "x.splitlines()",
                          "x.replace('b', 'c')",
                          "s.strip()",
                          "s.lstrip()",
                          "s.rstrip()",
                          "x.strip('a')",
                          "x.upper()",
                          "x.title()",
                          "x.isalpha()",
                          "x.islower()",
                          "x.ljust(3)",
                          "x.join(['', ''])",
                          "x.format()",
                          "x % ()",
                          "x[1:]",
                          "x[::2]",
                          "x[-1]",
                          "x ~ y",
                          "x + y",
                          "x * 2",
                          "x|length",
                          "x|int",
                          "z|int",
                          "z|int(base=2)",
                          "s|int",
                          "x|float",
                          "s|float",
                          "z|float",
                          "s|trim",
                          "x|title",
                          "x|capitalize",
                          "x|list",
                          "x|reverse",
                          "x|tojson",
                          "x|escape",
                          "x|indent",
                          "x|wordcount",
                          "x|replace('b', 'c')",
                          "x|string|length",
                          "[x, y]|unique|list",
                          "[x, y]|sort",
                          "[x, y]|join",
                          "[x, y]|max",
                          "d|attr(x)",
                          "{x: 1}|dictsort",
                          "[x]|string",
                          "x|safe|length",
                          "'%s'|format(x)",
                          "'{}'.format(x)",
                          "[d]|map(attribute=x)|list",
                          "[x]|select('in', y)|list"}) {
    const std::string source = "{% set r = " + std::string(use) + " %}";
    const auto steps = [&](size_t n) {
      const std::string x(n, 'a'), y = x.substr(1) + "b", z(n, '0'), s(n, ' ');
      nlohmann::json d;  // of more keys than are compared one by one
      for (size_t i = 0; i < 12; ++i) d[numbered("k", i)] = 1;
      return template_steps(source, nlohmann::json{{"x", x}, {"y", y}, {"z", z}, {"s", s}, {"d", d}}.dump());
    };
    expect_linear(use, 4'000, steps);
  }
}

}  // namespace
}  // namespace ferry
