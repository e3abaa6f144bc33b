// Every reason why a file cannot be converted, for commands that print them all.
#pragma once

#include <string>
#include <vector>

#include "converter/error.h"

namespace ferry {

struct Reason {
  std::string op;    // "GridSample"; empty: about the network's inputs or outputs
  std::string node;  // the node's name, or the input's
  int opset = 0;
  std::string what;  // "attribute 'mode' is 'cubic': expected nearest or linear"
};

// "node 'up' (Resize, opset 18): ..."
std::string to_string(const Reason& reason);

// Its sentence names the first reason and counts the rest.
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
