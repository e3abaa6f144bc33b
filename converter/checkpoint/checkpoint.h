// Checkpoints: named tensors in files of any supported format, mapped and never copied whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"

namespace ferry {

// Element types found in checkpoints. The 8-bit floats are those of the OCP specifications OFP8 (E4M3 without
// infinities, E5M2) and MX (E8M0, a power of two).
enum class ElementType { F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I64, I32, I16, I8, U64, U32, U16, U8, Bool };

size_t element_size(ElementType type);
// "F32", as in safetensors.
const char* element_name(ElementType type);
bool is_float(ElementType type);

struct BlockScales;

// How a tensor's bytes hold its values, if they are not elements in the order of its shape: blocks of a GGUF file.
class Encoding {
 public:
  virtual ~Encoding() = default;
  // All values, row-major.
  virtual std::vector<float> values(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) const = 0;
  // Whether each index of the first dimension of a matrix has its own bytes, in order, so that rows decode alone.
  virtual bool by_rows() const { return false; }
  // Whether the values are exactly a scale of 16 bits times an integer of up to 8, with one scale for each 32 elements
  // of a row or more: a blob can hold them so.
  virtual bool has_integers() const { return false; }
};

// A tensor in the framework's own layout, row-major. `bytes` lives as long as the checkpoint; it may be unaligned.
struct CheckpointTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  // Of a quantised tensor: each element is multiplied by the scale of its block (converter/checkpoint/quantized.h).
  // Null: the elements are the values.
  std::shared_ptr<const BlockScales> scales = {};
  // Null: `bytes` are elements of `type`. Otherwise `type` is F32, that of the values.
  std::shared_ptr<const Encoding> encoding = {};

  int64_t elements() const;
  // All values as float32. F64 and products with scales are rounded; the others are exact except for large integers.
  std::vector<float> to_floats() const;
  // The same as double: exact except for integers above 2^53.
  std::vector<double> to_doubles() const;
};

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  // Sorted by name.
  virtual const std::map<std::string, CheckpointTensor>& tensors() const = 0;
  // "safetensors", "pytorch", "tensorflow.js", "gguf"
  virtual const char* format() const = 0;
  // Of the bytes of all files, in the order of their names; lower-case hexadecimal.
  virtual std::string sha256() const = 0;
  // The file that was opened.
  virtual const std::filesystem::path& path() const = 0;
  // All files of the checkpoint, mapped whole, in no particular order; they contain the tensors' bytes. Empty for
  // checkpoints without files.
  struct File {
    std::filesystem::path path;
    std::span<const std::byte> bytes;
  };
  virtual std::vector<File> files() const { return {}; }
  // The files that belong to it: those in its folder, unless it holds its own.
  virtual Companions companions() const { return path().parent_path(); }
  // Hints that `bytes` of a tensor will not be read again soon, so that mapped pages may be released. The content is
  // unchanged.
  virtual void forget(std::span<const std::byte>) const {}
  // The same bytes of a tensor, in `buffer` if they are in a file: copying is several times faster than mapping pages
  // that are read once.
  virtual std::span<const std::byte> fetch(std::span<const std::byte> bytes, std::vector<std::byte>*) const {
    return bytes;
  }
  // Sentences for the user: which file, copy and names are read.
  virtual std::vector<std::string> notes() const { return {}; }
};

// Chooses the checkpoint among a folder's files: the first of model.safetensors, its index, pytorch_model.bin, its
// index and model.json; else the only .safetensors file, else the only .pth or .pt, else the only
// .gguf (of a split file, its first part). Subfolders and training state
// (optimizer.pt) are ignored. If there are others, appends a sentence to `notes` (may be null) that says which one is
// read, and why. Throws Error that begins with `where`.
std::string choose_checkpoint(const std::vector<std::string>& files, const std::string& where,
                              std::vector<std::string>* notes = nullptr);

class MappedFile;
// By content: a file that open_checkpoint() reads, or a damaged one.
bool looks_like_checkpoint(const MappedFile& file);

// Opens a GGUF file, a safetensors file, a file of torch.save, either of them sharded with a `*.index.json`, a
// TensorFlow.js layers model by its `model.json`, or a folder with one of these (choose_checkpoint). The format is
// detected by content. `state_dict`: the dictionary to read from a PyTorch file ("model_ema"), or a prefix of the keys
// to read from any file ("ema" for "ema.conv.weight"); empty: all, of the dictionary chosen by state_dict.h. Throws
// Error that names the file and the tensor.
std::shared_ptr<const Checkpoint> open_checkpoint(const std::filesystem::path& path,
                                                  const std::string& state_dict = "");

}  // namespace ferry
