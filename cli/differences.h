// The differences between two blobs, by graph, operator and weight.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/model.h"

namespace ferry::cli {

// What two blobs have, or only one of them: then `a` or `b` is "".
struct Difference {
  std::string what;  // "output logits", "conv2d layer1.0.conv1"
  std::string a, b;  // the value in each
};

// A constant of both blobs whose values differ.
struct WeightDifference {
  std::string name, a, b;  // a and b: type and shape
  double largest = 0;      // maximum absolute difference
  double maximum = 0;      // absolute maximum in a
  bool measured = false;   // the shapes agree
};

struct GraphDifferences {
  std::string name;
  size_t operators = 0, weights = 0;  // compared
  std::vector<Difference> ports;      // inputs, outputs, taps, preprocessing, task, labels
  std::vector<Difference> operators_differing;
  std::vector<WeightDifference> weights_differing;
};

struct Differences {
  std::vector<Difference> blob;          // graphs of only one blob, states
  std::vector<GraphDifferences> graphs;  // of both
  bool bits = false;                     // some weights have other bits and equal values

  size_t count() const;
};

// Operators are matched by kind and module, in order; weights by the operators that read them. Provenance, certificate
// and packed weights are not compared. Throws Error with the library's message.
Differences differences_of(const std::string& a, const std::string& b);

}  // namespace ferry::cli
