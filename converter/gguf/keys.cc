// Tensors by transformers' keys.
#include <algorithm>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/gguf/architecture.h"
#include "converter/gguf/network.h"

namespace ferry::gguf {
namespace {

// Decodes blocks; undoes what llama.cpp's conversion did to values and rows.
class Blocks final : public Encoding {
 public:
  // `heads`: rows (or numbers of a bias) of each head are in the order of interleaved rope, pairs side by side; 0: all
  // in order. `subtracted`: from each value.
  Blocks(const BlockType& type, int heads, float subtracted) : type_(type), heads_(heads), subtracted_(subtracted) {}

  std::vector<float> values(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) const override {
    const size_t blocks = bytes.size() / type_.bytes;
    std::vector<float> out(blocks * type_.numbers);
    for (size_t i = 0; i < blocks; ++i) type_.decode(&bytes[i * type_.bytes], &out[i * type_.numbers]);
    if (subtracted_ != 0)
      for (float& value : out) value -= subtracted_;
    return heads_ == 0 ? out : in_order(out, static_cast<size_t>(shape.front()));
  }
  bool by_rows() const override { return heads_ == 0; }
  bool has_integers() const override {
    const std::string_view name = type_.name;
    return name == "Q4_0" || name == "Q5_0" || name == "Q8_0";
  }

 private:
  // Of a head's rows, transformers rotates i with i + half, interleaved rope 2 i with 2 i + 1.
  std::vector<float> in_order(const std::vector<float>& stored, size_t rows) const {
    const size_t width = stored.size() / rows, head = rows / static_cast<size_t>(heads_);
    std::vector<float> out(stored.size());
    for (size_t row = 0; row < rows; ++row) {
      const size_t in = row % head, from = row - in + in % (head / 2) * 2 + in / (head / 2);
      std::copy_n(&stored[from * width], width, &out[row * width]);
    }
    return out;
  }

  const BlockType& type_;
  int heads_;
  float subtracted_;
};

struct Rule {
  const char *name, *key;
};

constexpr Rule kOutside[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

constexpr Rule kLayer[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},      {"attn_qkv", "self_attn.qkv_proj"},  {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},           {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"}};
constexpr Rule kGemmaLayer[] = {{"post_attention_norm", "post_attention_layernorm"},
                                {"ffn_norm", "pre_feedforward_layernorm"},
                                {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr Rule kSinksLayer[] = {{"post_attention_norm", "post_attention_layernorm"}, {"ffn_gate_inp", "mlp.router"}};
constexpr Rule kMixtralLayer[] = {{"ffn_gate_inp", "block_sparse_moe.gate"}};
constexpr Rule kExperts[] = {{"ffn_gate_exps", "mlp.experts.*.gate_proj"},
                             {"ffn_up_exps", "mlp.experts.*.up_proj"},
                             {"ffn_down_exps", "mlp.experts.*.down_proj"}};
constexpr Rule kMixtralExperts[] = {{"ffn_gate_exps", "block_sparse_moe.experts.*.w1"},
                                    {"ffn_up_exps", "block_sparse_moe.experts.*.w3"},
                                    {"ffn_down_exps", "block_sparse_moe.experts.*.w2"}};

// Those that config.json has instead.
constexpr const char* kInConfig[] = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};

const char* find(std::span<const Rule> rules, std::string_view name) {
  for (const Rule& rule : rules)
    if (name == rule.name) return rule.key;
  return nullptr;
}

// "blk.3.attn_q.weight" in parts.
struct Name {
  std::string_view block, module, leaf;  // "3", "attn_q", "weight"; no block outside of layers
};

Name split(std::string_view name) {
  Name out;
  constexpr std::string_view kBlock = "blk.";
  if (name.starts_with(kBlock)) {
    name.remove_prefix(kBlock.size());
    const size_t end = std::min(name.find('.'), name.size());
    out.block = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  const size_t dot = name.rfind('.');
  out.module = name.substr(0, dot);
  out.leaf = dot == name.npos ? std::string_view() : name.substr(dot + 1);
  return out;
}

class Keys {
 public:
  Keys(const Architecture& architecture, const Metadata& metadata) : architecture_(architecture) {
    const std::string prefix = std::string(architecture.name) + ".attention.head_count";
    heads_ = metadata.integer(prefix).value_or(0);
    kv_heads_ = metadata.integer(prefix + "_kv").value_or(heads_);
  }

  // False if no key is known for the tensor.
  bool add(const std::string& name, const Tensor& tensor) {
    if (std::find(std::begin(kInConfig), std::end(kInConfig), name) != std::end(kInConfig)) return true;
    const Name parts = split(name);
    if (parts.leaf != "weight" && parts.leaf != "bias") return false;
    if (parts.block.empty()) {
      const char* key = find(kOutside, parts.module);
      if (key) put(std::string(key) + "." + std::string(parts.leaf), parts, tensor);
      return key != nullptr;
    }
    const std::string layer = "model.layers." + std::string(parts.block) + ".";
    const std::span<const Rule> experts =
        architecture_.mixture_type ? std::span<const Rule>(kMixtralExperts) : kExperts;
    if (const char* key = find(experts, parts.module)) {
      add_experts(layer + key, parts, tensor);
      return true;
    }
    // Until April 2024 files had a tensor per expert, "blk.3.ffn_gate.7.weight".
    if (const size_t dot = parts.module.find('.'); dot != parts.module.npos) {
      const std::string_view number = parts.module.substr(dot + 1);
      const char* key = find(experts, std::string(parts.module.substr(0, dot)) + "_exps");
      if (!key || number.empty() || number.find_first_not_of("0123456789") != number.npos) return false;
      put_expert(layer + key, number, parts, tensor);
      return true;
    }
    if (architecture_.sinks && parts.module == "attn_sinks" && parts.leaf == "weight") {
      put(layer + "self_attn.sinks", parts, tensor);
      return true;
    }
    const char* key = architecture_.gemma          ? find(kGemmaLayer, parts.module)
                      : architecture_.sinks        ? find(kSinksLayer, parts.module)
                      : architecture_.mixture_type ? find(kMixtralLayer, parts.module)
                                                   : nullptr;
    if (!key) key = find(kLayer, parts.module);
    if (key && architecture_.fused && parts.module == "ffn_up") key = "mlp.gate_up_proj";
    if (key) put(layer + key + "." + std::string(parts.leaf), parts, tensor);
    return key != nullptr;
  }

  std::map<std::string, CheckpointTensor> take() { return std::move(tensors_); }

 private:
  // A tensor of all experts of a layer, [experts, rows, columns] or a bias [experts, rows], as one each.
  void add_experts(const std::string& key, const Name& parts, const Tensor& tensor) {
    if (tensor.shape.size() != (parts.leaf == "bias" ? 2 : 3))
      fail("%s: has the shape %s, expected %s dimensions", tensor.where.c_str(), shape_text(tensor.shape).c_str(),
           parts.leaf == "bias" ? "two" : "three");
    const auto count = static_cast<size_t>(tensor.shape.front());
    const size_t bytes = tensor.bytes.size() / count;
    Tensor one = tensor;
    one.shape.erase(one.shape.begin());
    for (size_t i = 0; i < count; ++i) {
      one.bytes = tensor.bytes.subspan(i * bytes, bytes);
      put_expert(key, std::to_string(i), parts, one);
    }
  }

  // `key` has a star for the number.
  void put_expert(std::string key, std::string_view number, const Name& parts, const Tensor& tensor) {
    put(key.replace(key.find('*'), 1, number) + "." + std::string(parts.leaf), parts, tensor);
  }

  void put(const std::string& key, const Name& parts, const Tensor& tensor) {
    int heads = 0;
    if (architecture_.permuted && parts.module == "attn_q") heads = heads_;
    if (architecture_.permuted && parts.module == "attn_k") heads = kv_heads_;
    if (tensor.shape.empty()) fail("%s: has no dimensions", tensor.where.c_str());
    if (heads > 0 && tensor.shape.front() % (2 * int64_t{heads}) != 0)
      fail("%s: has %lld rows, no multiple of twice its %d heads", tensor.where.c_str(),
           static_cast<long long>(tensor.shape.front()), heads);
    const float subtracted = architecture_.gemma && parts.module.ends_with("norm") ? 1 : 0;
    CheckpointTensor out{.type = ElementType::F32, .shape = tensor.shape, .bytes = tensor.bytes};
    const std::string_view type = tensor.type->name;
    if (heads == 0 && subtracted == 0 && (type == "F32" || type == "F16" || type == "BF16"))
      out.type = type == "F32" ? ElementType::F32 : type == "F16" ? ElementType::F16 : ElementType::BF16;
    else
      out.encoding = std::make_shared<Blocks>(*tensor.type, heads, subtracted);
    tensors_.emplace(key, std::move(out));
  }

  const Architecture& architecture_;
  int heads_ = 0, kv_heads_ = 0;
  std::map<std::string, CheckpointTensor> tensors_;
};

}  // namespace

std::map<std::string, CheckpointTensor> tensors_of(const File& file, const Metadata& metadata) {
  constexpr size_t kListed = 8;
  const Architecture& architecture = architecture_of(metadata);
  Keys keys(architecture, metadata);
  std::string unknown;
  size_t count = 0;
  for (const auto& [name, tensor] : file.tensors)
    if (!keys.add(name, tensor) && ++count <= kListed) unknown += (count > 1 ? ", " : "") + in_quotes(name);
  if (count > kListed) unknown += " and " + std::to_string(count - kListed) + " more";
  if (count > 0)
    fail("%s: a network of architecture %s has no %s", metadata.path().c_str(), architecture.name, unknown.c_str());
  return keys.take();
}

}  // namespace ferry::gguf
