#include "converter/write_file.h"

#include "converter/error.h"

namespace ferry {

void or_fail(const Status& status) {
  if (!status.ok()) throw Error(std::string(status.message()));
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  or_fail(replace_file(path.string(), bytes));
}

}  // namespace ferry
