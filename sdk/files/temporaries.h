// Names of files and folders that are not finished yet. A signal handler of the program can remove them; the library
// installs none.
#pragma once

#include <string>

namespace ferry {

// A name that remove_temporaries() removes while this object exists and holds it. At most 16 are known at a time, of at
// most 1023 bytes each; more are not removed by signals.
class TemporaryName {
 public:
  enum class Kind { File, Folder };  // a folder is removed with its contents

  TemporaryName() = default;
  ~TemporaryName() { forget(); }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  void remember(const std::string& path, Kind kind = Kind::File) noexcept;
  void forget() noexcept;

 private:
  int slot_ = -1;
};

// Removes what this process has not finished. Async-signal-safe; to be called once, before the process ends.
void remove_temporaries() noexcept;

// 12 letters and digits that nobody can guess.
std::string random_letters();

}  // namespace ferry
