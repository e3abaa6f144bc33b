#include "tests/support/paths.h"

namespace ferry {

std::filesystem::path source_folder() { return FERRY_SOURCE_DIR; }
std::filesystem::path build_folder() { return FERRY_BINARY_DIR; }
const char* ferry_command() { return FERRY_COMMAND; }

}  // namespace ferry
