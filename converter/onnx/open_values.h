// Constants of a file that follow from its open sizes: which ones a run computes instead.
//
// An import at one size folds them. Where imports at several sizes give constants of one kind, each a leading part of
// the next, the blob holds the longest (generalise.h). Others, such as coordinates divided by a size, are computed by
// operators from tables: positions 0, 1... and the sizes themselves, which are last elements of such tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/onnx/array.h"

namespace ferry::onnx {

class OpenValues {
 public:
  // Whether operators get tables as activations, too, where they may not read constants that differ.
  bool opens_tables = false;

  using Known = std::map<std::string, Array>;  // by the value's name
  using Shapes = std::map<std::string, Dims>;  // by the input

  // What an import at these sizes knew.
  void add(const Shapes& inputs, const Known& known);

  bool empty() const;

  enum class Kind : uint8_t {
    Same,      // at all sizes, or not known at one of them
    Size,      // a single number that is a part of an input's dimension at every size
    Table,     // at one size a leading part of that at another one; at most one dimension grows other than by repeating
    Computed,  // any other
  };
  Kind kind_of(const std::string& name) const;
  // The elements that differ between the sizes; empty if their number does.
  std::vector<bool> varying(const std::string& name) const;

 private:
  struct Seen {
    Dims dims;
    size_t hash;                 // of type and bytes
    std::optional<Array> small;  // large arrays are only compared: they are no tables
  };

  // Of every import; null where the value was not known.
  std::vector<const Seen*> seen_of(const std::string& name) const;
  bool varies(const std::vector<const Seen*>& values) const;
  bool is_table(const std::vector<const Seen*>& values) const;
  bool is_size(const std::vector<const Seen*>& values) const;

  std::vector<Shapes> inputs_;
  std::vector<std::map<std::string, Seen>> known_;
  mutable std::map<std::string, Kind> kinds_;  // that were asked for
};

}  // namespace ferry::onnx
