// All reasons why a file cannot be converted, for commands that print all of them.
#pragma once

#include <string>
#include <vector>

#include "converter/error.h"

namespace ferry {

struct Reason {
  std::string op;    // "GridSample"; empty if the reason is an input or output of the network
  std::string node;  // the name of the node or input
  int opset = 0;
  std::string what;  // "attribute 'mode' is 'cubic': expected nearest or linear"
  // In formats whose operators have no names, `node` is an index and `opset` the operator's own version.
  bool by_index = false;
};

// "node 'up' (Resize, opset 18): ...", or "operator 3 (CONV_2D, version 2): ..."
std::string to_string(const Reason& reason);

// The message has the first reason and the number of others.
class Refused : public Error {
 public:
  Refused(std::string file, std::vector<Reason> reasons);
  const std::string& file() const { return file_; }
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::string file_;
  std::vector<Reason> reasons_;
};

}  // namespace ferry
