#include "converter/checkpoint/sharded.h"

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/pytorch.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

// A safetensors file may begin with any bytes, its header's length, but valid ones never begin with the magic of zip or
// pickle.
Tensors read_tensors(const MappedFile& file, const std::string& state_dict, const char** format,
                     std::deque<std::vector<std::byte>>& owned) {
  const std::string_view text = text_of(file);
  const bool pytorch = looks_like_pytorch(text) && !(text.size() > 8 && text[8] == '{');
  *format = pytorch ? "pytorch" : "safetensors";
  return pytorch ? read_pytorch(file, state_dict, owned) : read_safetensors(file);
}

}  // namespace

std::shared_ptr<const Checkpoint> open_single(std::shared_ptr<const MappedFile> file, const std::string& state_dict) {
  const char* format = nullptr;
  std::deque<std::vector<std::byte>> owned;
  Tensors tensors = read_tensors(*file, state_dict, &format, owned);
  std::vector files{std::move(file)};
  auto checkpoint = std::make_shared<FileCheckpoint>(format, std::move(files), std::move(tensors));
  checkpoint->owned = std::move(owned);  // moving a deque does not move its elements
  return checkpoint;
}

std::shared_ptr<const Checkpoint> open_sharded(std::shared_ptr<const MappedFile> index, const nlohmann::json& root,
                                               const std::string& state_dict) {
  const std::string path = index->path().string();
  const nlohmann::json& weight_map = root.at("weight_map");
  if (!weight_map.is_object()) fail("%s: has no \"weight_map\" object", path.c_str());

  std::map<std::string, Tensors> shards;
  Tensors tensors;
  std::deque<std::vector<std::byte>> owned;
  std::vector files{index};
  const char* format = "safetensors";
  for (const auto& [name, shard] : weight_map.items()) {
    if (!shard.is_string()) fail("%s: tensor %s: its file is not a string", path.c_str(), in_quotes(name).c_str());
    const auto& shard_name = shard.get_ref<const std::string&>();
    if (!shards.contains(shard_name)) {
      files.push_back(open_sibling(*index, shard_name, "the index"));
      shards[shard_name] = read_tensors(*files.back(), state_dict, &format, owned);
    }
    auto node = shards[shard_name].extract(name);
    if (node.empty())
      fail("%s: tensor %s is not in the file %s that the index names", path.c_str(), in_quotes(name).c_str(),
           in_quotes(shard_name).c_str());
    tensors.insert(std::move(node));
  }
  for (const auto& [shard_name, rest] : shards)
    if (!rest.empty())
      fail("%s: the file %s holds tensor %s, which the index does not list there", path.c_str(),
           in_quotes(shard_name).c_str(), in_quotes(rest.begin()->first).c_str());
  auto checkpoint = std::make_shared<FileCheckpoint>(format, std::move(files), std::move(tensors));
  checkpoint->owned = std::move(owned);
  return checkpoint;
}

}  // namespace ferry
