// Paths of the source tree and the build. Only one file contains them; all others compile to the same bytes in every
// clone, so that ccache reuses them.
#pragma once

#include <filesystem>

namespace ferry {

std::filesystem::path source_folder();
std::filesystem::path build_folder();
// The ferry program.
const char* ferry_command();

}  // namespace ferry
