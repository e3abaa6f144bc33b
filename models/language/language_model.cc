#include "models/language/language_model.h"

namespace ferry::language {
namespace {

std::string name_of(size_t layer, const char* state) { return "layers." + std::to_string(layer) + "." + state; }

}  // namespace

Cache Text::cache(size_t layer, int width) const {
  return {.keys = graph.add_state(name_of(layer, "keys"), {1, max_length, width}, 1),
          .values = graph.add_state(name_of(layer, "values"), {1, max_length, width}, 1)};
}

Cache Text::latent(size_t layer, int width) const {
  const State kept = graph.add_state(name_of(layer, "latent"), {1, max_length, width}, 1);
  return {.keys = kept, .values = kept};
}

Recurrence Text::recurrence(size_t layer, const Shape& inputs, const Shape& memory) const {
  return {.inputs = graph.add_state(name_of(layer, "inputs"), inputs, Graph::kFixed),
          .memory = graph.add_state(name_of(layer, "memory"), memory, Graph::kFixed)};
}

}  // namespace ferry::language
