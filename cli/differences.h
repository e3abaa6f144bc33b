// What differs between two blobs: graph by graph, operator by operator, weight by weight.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/model.h"

namespace ferry::cli {

// Something that both have, or one of them: `a` or `b` is then "".
struct Difference {
  std::string what;  // "output logits", "conv2d layer1.0.conv1"
  std::string a, b;  // what either has there
};

// A constant that both have, whose numbers differ.
struct WeightDifference {
  std::string name, a, b;  // a and b: type and shape
  double largest = 0;      // difference of two elements
  double maximum = 0;      // magnitude in a
  bool measured = false;   // the shapes agree
};

struct GraphDifferences {
  std::string name;
  size_t operators = 0, weights = 0;  // that both have
  std::vector<Difference> ports;      // inputs, outputs, taps, recipe, task, labels
  std::vector<Difference> operators_differing;
  std::vector<WeightDifference> weights_differing;
};

struct Differences {
  std::vector<Difference> blob;          // graphs that one has alone, states, where they come from
  std::vector<GraphDifferences> graphs;  // that both have
  bool bits = false;                     // of weights that read alike, too

  size_t count() const;
};

// Operators are matched by kind and module, in order; weights by the operators that read them. Where a blob comes from,
// its certificate and packed weights do not make it another. Throws Error with the library's sentence.
Differences differences_of(const std::string& a, const std::string& b);

}  // namespace ferry::cli
