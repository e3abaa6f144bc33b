// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "sources.h"

namespace camera {
namespace {

namespace fs = std::filesystem;

class Folder final : public Source {
 public:
  Folder(std::string path, std::vector<std::string> files, const Wanted& wanted)
      : path_(std::move(path)), files_(std::move(files)), pace_(wanted.rate), loop_(wanted.loop) {}

  std::string name() const override {
    return text_of("%s: %zu image%s", path_.c_str(), files_.size(), files_.size() == 1 ? "" : "s");
  }
  bool live() const override { return pace_.live(); }

  ferry::Result<std::optional<Shot>> next(std::stop_token stop) override {
    const auto count = static_cast<int64_t>(files_.size());
    if ((number_ == count && !loop_) || !pace_.wait(stop, number_)) return std::optional<Shot>();
    Shot shot;
    shot.file = files_[static_cast<size_t>(number_ % count)];
    shot.number = number_++;
    shot.captured = Clock::now();
    return std::optional(std::move(shot));
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
  Pace pace_;
  bool loop_;
  int64_t number_ = 0;
};

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".bmp";
}

}  // namespace

MaybeSource open_folder(const std::string& path, const Wanted& wanted) {
  if (wanted.width != 0 || wanted.format != nullptr || wanted.rotation != 0 || wanted.mirror)
    return failure(FERRY_INVALID_ARGUMENT,
                   "%s: images say themselves what they are: --size, --format, --rotate and --mirror are for others",
                   path.c_str());
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (is_image(at->path()) && at->is_regular_file(ignored)) files.push_back(at->path().string());
  }
  if (error) return failure(FERRY_IO_ERROR, "%s: cannot be read: %s", path.c_str(), error.message().c_str());
  if (files.empty()) return failure(FERRY_IO_ERROR, "%s: has no images (.jpg, .jpeg, .png, .bmp)", path.c_str());
  std::sort(files.begin(), files.end());
  return MaybeSource(std::make_unique<Folder>(path, std::move(files), wanted));
}

}  // namespace camera
