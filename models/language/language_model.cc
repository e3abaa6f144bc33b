#include "models/language/language_model.h"

namespace ferry::language {
namespace {

std::string name_of(size_t layer, const char* state) { return "layers." + std::to_string(layer) + "." + state; }

}  // namespace

Cache Text::cache(size_t layer, int width, int window) const {
  const auto state = [&](const char* name) {
    return graph.add_state(name_of(layer, name), {1, max_length, width}, 1, fbs::DType::Float32, window);
  };
  const State keys = state("keys");
  return {.keys = keys, .values = state("values")};
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
