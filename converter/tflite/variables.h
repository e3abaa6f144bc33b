// What a streaming network keeps between runs: VAR_HANDLE names a variable, READ_VARIABLE and ASSIGN_VARIABLE pass its
// value. In the blob a variable is an input and an output of its name: an app gives the output of one run to the next.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::tflite {

class Variables {
 public:
  explicit Variables(Graph& graph) : graph_(graph) {}

  // What the file sets it to before the first run: other numbers than zeros.
  void set_initial(const std::string& name) { variables_[name].begins_with_zeros = false; }
  // The variable's value here, which is an input of the graph until it is assigned. Throws Error for another shape than
  // before.
  Tensor read(const std::string& name, const Shape& shape);
  void assign(const std::string& name, Tensor value) {
    variables_[name].value = value;
    ++assignments_;
  }
  // How often a variable was assigned.
  size_t assignments() const { return assignments_; }
  // Adds the values at the end of a run as outputs. `notes`: how they begin.
  void add_outputs(std::vector<std::string>* notes);

 private:
  struct Variable {
    Tensor input, value;
    bool begins_with_zeros = true;
  };

  Graph& graph_;
  std::map<std::string, Variable> variables_;
  size_t assignments_ = 0;
};

}  // namespace ferry::tflite
