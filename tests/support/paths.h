// Where the project and this build of it lie. One file alone knows: all others compile to the same bytes in every
// clone, so that ccache knows them there.
#pragma once

#include <filesystem>

namespace ferry {

std::filesystem::path source_folder();
std::filesystem::path build_folder();
// The command line's program.
const char* ferry_command();

}  // namespace ferry
