// make_checkpoint MANIFEST OUT.safetensors [--cast F16|BF16]: generates the checkpoint of a parity fixture.
#include <cstdio>
#include <cstring>
#include <exception>

#include "tests/parity/checkpoint/fixture_checkpoint.h"

int main(int argc, char** argv) {
  using ferry::ElementType;
  std::optional<ElementType> cast;
  const bool f16 = argc == 5 && std::strcmp(argv[4], "F16") == 0, bf16 = argc == 5 && std::strcmp(argv[4], "BF16") == 0;
  if ((argc != 3 && argc != 5) || (argc == 5 && (std::strcmp(argv[3], "--cast") != 0 || (!f16 && !bf16)))) {
    std::fprintf(stderr, "usage: make_checkpoint MANIFEST OUT.safetensors [--cast F16|BF16]\n");
    return 2;
  }
  if (argc == 5) cast = f16 ? ElementType::F16 : ElementType::BF16;
  try {
    ferry::parity::make_checkpoint(argv[1], argv[2], cast);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "make_checkpoint: %s\n", e.what());
    return 2;
  }
  return 0;
}
