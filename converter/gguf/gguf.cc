#include "converter/gguf/gguf.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/gguf/network.h"
#include "converter/gguf/reader.h"
#include "converter/gguf/text.h"

namespace ferry::gguf {
namespace {

class GgufCheckpoint final : public FileCheckpoint {
 public:
  GgufCheckpoint(std::vector<std::shared_ptr<const MappedFile>> files, std::map<std::string, CheckpointTensor> tensors,
                 Companions::Texts companions)
      : FileCheckpoint("gguf", std::move(files), std::move(tensors)),
        companions_(std::make_shared<Companions::Texts>(std::move(companions))) {}

  Companions companions() const override { return {path(), companions_}; }

 private:
  std::shared_ptr<const Companions::Texts> companions_;
};

constexpr size_t kMaxParts = 10000;

// "model-00002-of-00003.gguf" as the name of part `index`, from 0. Throws Error if the name has another form.
std::string part_name(const std::string& name, size_t index, size_t count, const std::string& path) {
  constexpr size_t kSuffix = 20;  // "-00001-of-00003.gguf"
  char of[32], suffix[48];
  std::snprintf(of, sizeof of, "-of-%05zu.gguf", count);
  std::snprintf(suffix, sizeof suffix, "-%05zu%s", index + 1, of);
  if (name.size() <= kSuffix || !name.ends_with(of))
    fail("%s: is a part of a file split in %zu, whose name must end in -00001%s", path.c_str(), count, of);
  return name.substr(0, name.size() - kSuffix) + suffix;
}

struct Parts {
  File all;                                              // metadata of the first part, tensors of all
  std::vector<std::shared_ptr<const MappedFile>> files;  // the first is the one that was opened
  std::string path;                                      // of the first part
};

size_t split_number(const Metadata& metadata, const char* key) {
  return static_cast<size_t>(metadata.integer(key).value_or(0));
}

Parts read_parts(std::shared_ptr<const MappedFile> opened) {
  Parts out{.all = read_file(*opened), .files = {opened}, .path = opened->path().string()};
  const size_t count = split_number(Metadata(out.all, out.path), "split.count");
  if (count <= 1) return out;
  if (count > kMaxParts) fail("%s: split.count is %zu, at most %zu are allowed", out.path.c_str(), count, kMaxParts);
  const std::string name = opened->path().filename().string(), own = out.path;
  const size_t self = split_number(Metadata(out.all, own), "split.no");
  if (part_name(name, self, count, own) != name)
    fail("%s: is part %zu of %zu by its metadata, but has the name of another one", own.c_str(), self + 1, count);
  const size_t expected = split_number(Metadata(out.all, own), "split.tensors.count");
  File first = std::move(out.all);
  out.all = {};
  for (size_t i = 0; i < count; ++i) {
    File part;
    if (i == self) {
      part = std::move(first);
    } else {
      out.files.push_back(open_sibling(*opened, part_name(name, i, count, own), "a split GGUF file"));
      part = read_file(*out.files.back());
    }
    const std::string path = i == self ? own : out.files.back()->path().string();
    const Metadata said(part, path);
    if (split_number(said, "split.count") != count || split_number(said, "split.no") != i)
      fail("%s: is not part %zu of %zu by its metadata", path.c_str(), i + 1, count);
    if (i == 0) {
      out.all.metadata = std::move(part.metadata);
      out.path = path;
    }
    for (auto& [key, tensor] : part.tensors)
      if (!out.all.tensors.emplace(key, std::move(tensor)).second)
        fail("%s: another part has a tensor %s, too", path.c_str(), in_quotes(key).c_str());
  }
  if (expected > 0 && out.all.tensors.size() != expected)
    fail("%s: its %zu parts have %zu tensors, but split.tensors.count is %zu", out.path.c_str(), count,
         out.all.tensors.size(), expected);
  return out;
}

// "291 tensors: 226 Q4_K, 65 F32".
std::string summary_of(const File& file) {
  std::map<std::string, size_t> counts;
  for (const auto& [name, tensor] : file.tensors) ++counts[tensor.type->name];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [type, count] : counts) sorted.emplace_back(count, type);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string types;
  for (const auto& [count, type] : sorted) types += (types.empty() ? "" : ", ") + std::to_string(count) + " " + type;
  return std::to_string(file.tensors.size()) + " tensors: " + types;
}

}  // namespace

bool looks_like_gguf(std::string_view text) { return text.starts_with("GGUF"); }

std::shared_ptr<const Checkpoint> open_gguf(std::shared_ptr<const MappedFile> file) {
  Parts parts = read_parts(std::move(file));
  const Metadata metadata(parts.all, parts.path);
  nlohmann::json config = config_of(parts.all, metadata);
  auto tensors = tensors_of(parts.all, metadata);
  std::vector<std::string> notes = {"GGUF, " + config["model_type"].get<std::string>() + ", " + summary_of(parts.all)};
  Companions::Texts companions = text_files_of(metadata, &notes);
  companions["config.json"] = config.dump();
  auto out = std::make_shared<GgufCheckpoint>(std::move(parts.files), std::move(tensors), std::move(companions));
  out->remarks = std::move(notes);
  return out;
}

}  // namespace ferry::gguf
