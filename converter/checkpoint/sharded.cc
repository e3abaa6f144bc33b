#include "converter/checkpoint/sharded.h"

#include <algorithm>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/checkpoint/pytorch.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

// A file's tensors, and what belongs to them.
struct Contents {
  Tensors tensors;
  const char* format = "safetensors";
  std::deque<std::vector<std::byte>> owned;
  std::vector<std::string> notes;
};

// A safetensors file may begin with any bytes, its header's length, but valid ones never begin with the magic of zip or
// pickle.
Contents read_contents(const MappedFile& file, const std::string& state_dict) {
  const std::string_view text = text_of(file);
  Contents out;
  if (!looks_like_pytorch(text) || (text.size() > 8 && text[8] == '{')) {
    out.tensors = read_safetensors(file);
    return out;
  }
  out.format = "pytorch";
  out.tensors = read_pytorch(file, state_dict, out.owned, out.notes);
  return out;
}

std::shared_ptr<const Checkpoint> checkpoint_of(Contents contents, std::vector<std::shared_ptr<const MappedFile>> files,
                                                const std::string& state_dict) {
  if (!state_dict.empty() && std::string_view(contents.format) == "safetensors")
    contents.tensors = tensors_under(std::move(contents.tensors), state_dict, files.front()->path().string());
  auto checkpoint = std::make_shared<FileCheckpoint>(contents.format, std::move(files), std::move(contents.tensors));
  checkpoint->owned = std::move(contents.owned);  // moving a deque does not move its elements
  checkpoint->remarks = std::move(contents.notes);
  return checkpoint;
}

// Whether two tensors are the same, element by element.
bool equal(const CheckpointTensor& a, const CheckpointTensor& b) {
  return a.type == b.type && a.shape == b.shape &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

// Adds the tensors of a shard that the index does not list there: writers of indices leave some out. The index decides
// where a tensor that two shards hold is read, but the two must be equal.
void add_unlisted(const std::string& index, const std::string& shard, Tensors rest, Contents* all) {
  std::string first;
  size_t count = 0;
  for (auto& [name, tensor] : rest) {
    const auto [known, added] = all->tensors.emplace(name, tensor);
    if (!added && !equal(known->second, tensor))
      fail("%s: the file %s holds another tensor %s than the file that the index names for it", index.c_str(),
           in_quotes(shard).c_str(), in_quotes(name).c_str());
    if (added && ++count == 1) first = name;
  }
  if (count > 0)
    all->notes.push_back("the index does not list " + std::to_string(count) + (count == 1 ? " tensor" : " tensors") +
                         " of " + in_quotes(shard) + ", for example " + in_quotes(first) + ": they are read, too");
}

}  // namespace

std::shared_ptr<const Checkpoint> open_single(std::shared_ptr<const MappedFile> file, const std::string& state_dict) {
  Contents contents = read_contents(*file, state_dict);
  return checkpoint_of(std::move(contents), {std::move(file)}, state_dict);
}

std::shared_ptr<const Checkpoint> open_sharded(std::shared_ptr<const MappedFile> index, const nlohmann::json& root,
                                               const std::string& state_dict) {
  const std::string path = index->path().string();
  const nlohmann::json& weight_map = root.at("weight_map");
  if (!weight_map.is_object()) fail("%s: has no \"weight_map\" object", path.c_str());

  std::map<std::string, Tensors> shards;
  Contents all;
  std::vector files{index};
  for (const auto& [name, shard] : weight_map.items()) {
    if (!shard.is_string()) fail("%s: tensor %s: its file is not a string", path.c_str(), in_quotes(name).c_str());
    const auto& shard_name = shard.get_ref<const std::string&>();
    if (!shards.contains(shard_name)) {
      files.push_back(open_sibling(*index, shard_name, "the index"));
      Contents contents = read_contents(*files.back(), state_dict);
      all.format = contents.format;
      for (auto& bytes : contents.owned) all.owned.push_back(std::move(bytes));
      shards[shard_name] = std::move(contents.tensors);
    }
    auto node = shards[shard_name].extract(name);
    if (node.empty())
      fail("%s: tensor %s is not in the file %s that the index names", path.c_str(), in_quotes(name).c_str(),
           in_quotes(shard_name).c_str());
    all.tensors.insert(std::move(node));
  }
  for (auto& [shard_name, rest] : shards) add_unlisted(path, shard_name, std::move(rest), &all);
  return checkpoint_of(std::move(all), std::move(files), state_dict);
}

}  // namespace ferry
