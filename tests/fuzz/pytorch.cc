// Files of torch.save: archives of a pickle and storages, and the pickles of PyTorch before 1.6.
#include "converter/checkpoint/pytorch.h"

#include "tests/fuzz/harness.h"

FERRY_FUZZ(pytorch) {
  const auto file = MappedFile::open(Folder::get().write("model.pth", text));
  expect_error_only([&] {
    std::deque<std::vector<std::byte>> owned;
    std::vector<std::string> notes;
    for (const auto& [name, tensor] : read_pytorch(*file, "", owned, notes)) {
      require(tensor.bytes.size() == static_cast<size_t>(tensor.elements()) * element_size(tensor.type),
              "a tensor whose bytes are not its elements");
      touch(tensor.bytes);
    }
  });
}
