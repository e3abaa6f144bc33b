#include "models/language/language_model.h"

namespace ferry::language {

std::vector<Cache> Text::caches(int layers, int width) const {
  std::vector<Cache> out;
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layers." + std::to_string(i);
    out.push_back({.keys = graph.add_state(name + ".keys", {1, max_length, width}, 1),
                   .values = graph.add_state(name + ".values", {1, max_length, width}, 1)});
  }
  return out;
}

}  // namespace ferry::language
