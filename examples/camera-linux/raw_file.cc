// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "sources.h"

namespace camera {
namespace {

class RawFile final : public Source {
 public:
  RawFile(std::string path, int fd, const Wanted& wanted, size_t frame_bytes, int64_t frames)
      : path_(std::move(path)), fd_(fd), wanted_(wanted), pace_(wanted.rate), bytes_(frame_bytes), frames_(frames) {}
  ~RawFile() override { close(fd_); }

  std::string name() const override {
    return text_of("%s: %lld frames of %dx%d, %s", path_.c_str(), static_cast<long long>(frames_), wanted_.width,
                   wanted_.height, wanted_.format->name);
  }
  bool live() const override { return pace_.live(); }

  ferry::Result<std::optional<Shot>> next(std::stop_token stop) override {
    if (number_ == frames_ && !wanted_.loop) return std::optional<Shot>();
    // A frame's memory is reused when nobody holds it any more.
    auto memory =
        spare_ && spare_.use_count() == 1 ? std::move(spare_) : std::make_shared<std::vector<uint8_t>>(bytes_);
    if (ferry::Status read = read_frame(number_ % frames_, memory->data()); !read) return read;
    if (!pace_.wait(stop, number_)) return std::optional<Shot>();
    Shot shot;
    shot.number = number_++;
    shot.captured = Clock::now();
    shot.frame = ferry::Frame(wanted_.format->format, wanted_.width, wanted_.height);
    lay_out(*wanted_.format, memory->data(), 0, &shot.frame);
    shot.frame.rotation = wanted_.rotation;
    shot.frame.mirror = wanted_.mirror;
    shot.frame.range = wanted_.range;
    shot.frame.matrix = wanted_.matrix;
    shot.memory = memory;
    spare_ = std::move(memory);
    return std::optional(std::move(shot));
  }

 private:
  ferry::Status read_frame(int64_t index, uint8_t* to) {
    for (size_t done = 0; done < bytes_;) {
      const off_t at = static_cast<off_t>(index) * static_cast<off_t>(bytes_) + static_cast<off_t>(done);
      const ssize_t got = pread(fd_, to + done, bytes_ - done, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure(FERRY_IO_ERROR, "%s: cannot be read: %s", path_.c_str(), std::strerror(errno));
      if (got == 0) return failure(FERRY_IO_ERROR, "%s: became shorter while it was read", path_.c_str());
      done += static_cast<size_t>(got);
    }
    return {};
  }

  std::string path_;
  int fd_;
  Wanted wanted_;
  Pace pace_;
  size_t bytes_;
  int64_t frames_;
  int64_t number_ = 0;
  std::shared_ptr<std::vector<uint8_t>> spare_;
};

}  // namespace

bool Pace::wait(std::stop_token stop, int64_t number) {
  if (!live()) return !stop.stop_requested();
  if (number == 0) begin_ = Clock::now();
  const std::chrono::duration<double> due(static_cast<double>(number) / rate_);
  return wait_until(stop, begin_ + std::chrono::duration_cast<Clock::duration>(due));
}

MaybeSource open_raw_file(const std::string& path, const Wanted& wanted) {
  const char* name = path.c_str();
  if (wanted.width == 0 || wanted.format == nullptr)
    return failure(FERRY_INVALID_ARGUMENT, "%s: a raw file does not say what it is: give --size and --format", name);
  if (wanted.format->jpeg)
    return failure(FERRY_INVALID_ARGUMENT, "%s: --format %s is for cameras; raw files are %s", name,
                   wanted.format->name, format_names(false).c_str());
  ferry::Frame frame(wanted.format->format, wanted.width, wanted.height);
  const size_t bytes = lay_out(*wanted.format, nullptr, 0, &frame);

  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(FERRY_IO_ERROR, "%s: cannot be opened: %s", name, std::strerror(errno));
  struct stat info {};
  const bool known = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = static_cast<size_t>(info.st_size);
  if (known && size > 0 && size % bytes == 0) {
    const auto frames = static_cast<int64_t>(size / bytes);
    return MaybeSource(std::make_unique<RawFile>(path, fd, wanted, bytes, frames));
  }
  close(fd);
  if (!known) return failure(FERRY_IO_ERROR, "%s: is no file", name);
  if (size == 0) return failure(FERRY_IO_ERROR, "%s: is empty", name);
  return failure(FERRY_IO_ERROR, "%s: has %zu bytes, which is no whole number of frames: one of %dx%d in %s has %zu",
                 name, size, wanted.width, wanted.height, wanted.format->name, bytes);
}

}  // namespace camera
