// Regular expressions of a quantization_config, which name modules. They are untrusted: matching takes time linear in a
// name, and all matching of one configuration is bounded.
#pragma once

#include <cstdint>
#include <regex>
#include <string>

namespace ferry::quantized {

class NamePattern {
 public:
  // ECMAScript's syntax without back-references, at most 1000 characters. Throws Error, which begins with `what`:
  // "dynamic", "a target".
  NamePattern(const std::string& expression, const char* what);

  // Whether the expression matches the beginning of `name`. Adds to `*work` what this may take at most, and throws
  // Error if that exceeds what a configuration may take.
  bool begins(const std::string& name, uint64_t* work) const;

 private:
  std::string shown_;
  uint64_t states_ = 1;  // of the automaton, at most
  std::regex expression_;
};

}  // namespace ferry::quantized
