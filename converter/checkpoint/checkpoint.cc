#include "converter/checkpoint/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/inside.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/checkpoint/pytorch.h"
#include "converter/checkpoint/sharded.h"
#include "converter/checkpoint/tensorflowjs.h"
#include "converter/error.h"
#include "converter/foreign.h"
#include "converter/gguf/gguf.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

uint64_t header_length(std::string_view text) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return length;
}

constexpr uint64_t kLongestHeader = 100'000'000;  // of safetensors; what is longer is another format's magic number

// The reference layout: header length, then '{'. Judged first, since a length may look like any magic number. A
// truncated file looks so, too: its reader describes what is missing.
bool looks_like_safetensors(std::string_view text) {
  return text.size() > 8 && text[8] == '{' &&
         (header_length(text) <= text.size() - 8 || header_length(text) <= kLongestHeader);
}

// A header may begin with white space, or be damaged. Zeros are no header.
bool may_be_safetensors(std::string_view text) {
  return text.size() >= 8 && header_length(text) > 0 && header_length(text) <= kLongestHeader;
}

bool looks_like_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

// In the order in which they are chosen: transformers' order, then TensorFlow.js.
constexpr const char* kUsualNames[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                       "pytorch_model.bin.index.json", "model.json"};
constexpr size_t kMaxListed = 8;

// Files of training state that transformers' Trainer and accelerate write beside the weights.
bool is_training_state(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return stem == "optimizer" || stem == "scheduler" || stem == "scaler" || stem == "training_args" ||
         stem.starts_with("rng_state") || stem.starts_with("random_states");
}

// "model-00001-of-00004.safetensors"
bool is_shard(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  const size_t of = stem.rfind("-of-");
  return of != stem.npos && of + 4 < stem.size() && stem.find_first_not_of("0123456789", of + 4) == stem.npos;
}

std::string list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kMaxListed ? "..." : "");
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path().filename().string());
  if (error) fail("%s: cannot be read: %s", folder.c_str(), error.message().c_str());
  return files;
}

std::shared_ptr<const Checkpoint> open_folder(const fs::path& folder, const std::string& state_dict) {
  std::vector<std::string> notes;
  const std::string file = choose_checkpoint(files_in(folder), folder.string(), &notes);
  check_inside(folder, folder / file);
  auto checkpoint = open_checkpoint(folder / file, state_dict);
  return notes.empty() ? checkpoint : with_tensors(checkpoint, checkpoint->tensors(), std::move(notes));
}

}  // namespace

std::string choose_checkpoint(const std::vector<std::string>& files, const std::string& where,
                              std::vector<std::string>* notes) {
  // In order of preference; a list each, as only a usual name is preferred to its like.
  std::vector<std::vector<std::string>> kinds;
  for (const char* name : kUsualNames)
    if (std::find(files.begin(), files.end(), name) != files.end()) kinds.push_back({name});
  std::vector<std::string> safetensors, pytorch, gguf, hdf5, shards;
  for (const std::string& file : files) {
    if (file.find('/') != file.npos || is_training_state(file)) continue;
    const std::string extension = fs::path(file).extension().string();
    const bool usual = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind[0] == file; });
    if (usual) continue;
    if (extension == ".safetensors") (is_shard(file) ? shards : safetensors).push_back(file);
    if (extension == ".pth" || extension == ".pt") pytorch.push_back(file);
    if (extension == ".gguf" && (!is_shard(file) || file.find("-00001-of-") != file.npos)) gguf.push_back(file);
    if (extension == ".h5") hdf5.push_back(file);  // opening it reports the right error
  }
  for (auto* more : {&safetensors, &pytorch, &gguf, &hdf5})
    if (!more->empty()) kinds.push_back(std::move(*more));
  if (kinds.empty() && !shards.empty())
    fail("%s: holds the shards %s, but not their index, model.safetensors.index.json", where.c_str(),
         list(shards).c_str());
  if (kinds.empty())
    fail("%s: holds no checkpoint (model.safetensors, pytorch_model.bin, the index of either, or model.json)",
         where.c_str());
  if (kinds.front().size() > 1)
    fail("%s: holds %zu checkpoints; name one of them: %s", where.c_str(), kinds.front().size(),
         list(kinds.front()).c_str());
  std::vector<std::string> others;
  for (auto kind = kinds.begin() + 1; kind != kinds.end(); ++kind)
    others.insert(others.end(), kind->begin(), kind->end());
  if (notes != nullptr && !others.empty())
    notes->push_back(kinds.front().front() + " is read, not " + list(others) +
                     ": in a folder, safetensors come before PyTorch, and whole files before sharded ones");
  return kinds.front().front();
}

bool looks_like_checkpoint(const MappedFile& file) {
  const std::string_view text = text_of(file);
  if (looks_like_safetensors(text) || gguf::looks_like_gguf(text)) return true;
  return describe_foreign(file).empty() &&
         (looks_like_pytorch(text) || may_be_safetensors(text) || looks_like_json(text));
}

std::shared_ptr<const Checkpoint> open_checkpoint(const fs::path& path, const std::string& state_dict) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path, state_dict);
  auto file = MappedFile::open(path);
  const std::string_view text = text_of(*file);
  if (looks_like_safetensors(text)) return open_single(std::move(file), state_dict);
  if (gguf::looks_like_gguf(text)) {
    if (!state_dict.empty()) fail("%s: --state-dict: a GGUF file holds one network", path.c_str());
    return gguf::open_gguf(std::move(file));
  }
  if (const std::string foreign = describe_foreign(*file); !foreign.empty())
    fail("%s: %s", path.c_str(), foreign.c_str());
  if (looks_like_pytorch(text) || may_be_safetensors(text)) return open_single(std::move(file), state_dict);
  if (!looks_like_json(text))
    fail("%s: is no checkpoint that Ferry reads (safetensors, PyTorch, GGUF, TensorFlow.js), or a damaged one",
         path.c_str());
  const nlohmann::json root = parse_json(text, path.string());
  if (root.contains("weight_map")) return open_sharded(std::move(file), root, state_dict);
  if (root.contains("weightsManifest")) {
    auto checkpoint = open_tensorflowjs(std::move(file));
    if (state_dict.empty()) return checkpoint;
    return with_tensors(checkpoint, tensors_under(checkpoint->tensors(), state_dict, path.string()), {});
  }
  fail("%s: is JSON, but has neither \"weight_map\" nor \"weightsManifest\" at its top", path.c_str());
}

}  // namespace ferry
