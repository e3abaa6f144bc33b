#include "converter/tflite/variables.h"

#include "converter/graph/elementary.h"

namespace ferry::tflite {

Tensor Variables::read(const std::string& name, const Shape& shape) {
  Variable& variable = variables_[name];
  if (variable.value.graph == nullptr)
    variable.value = variable.input = graph_.add_input(name, shape, fbs::Layout::Same);
  if (variable.value.shape() != shape)
    fail("variable '%s' is read as %s, but is %s", name.c_str(), to_string(shape).c_str(),
         to_string(variable.value.shape()).c_str());
  return variable.value;
}

void Variables::add_outputs(std::vector<std::string>* notes) {
  size_t kept = 0;
  std::string others;
  for (auto& [name, variable] : variables_) {
    const Tensor value = variable.value;
    if (value.graph == nullptr || value.id == variable.input.id || graph_.is_constant(value.id)) continue;
    graph_.add_output(name, computed(value), fbs::Layout::Same);
    ++kept;
    if (!variable.begins_with_zeros) others += (others.empty() ? "'" : ", '") + name + "'";
  }
  if (kept == 0) return;
  notes->push_back("the network keeps " + std::to_string(kept) + (kept == 1 ? " variable" : " variables") +
                   " between runs: give each output of a run to the input of that name in the next; the first run gets "
                   "zeros" +
                   (others.empty() ? "" : ", but " + others + " what the file's initial subgraph has"));
}

}  // namespace ferry::tflite
