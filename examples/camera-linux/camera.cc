// SPDX-License-Identifier: Apache-2.0
// A camera that may stall, disappear and come back.
#include <algorithm>

#include "capture.h"

namespace camera {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr int kDefaultWidth = 640, kDefaultHeight = 480, kDefaultRate = 30;
constexpr int kSlice = 100;               // interval in ms at which `stop` is checked
constexpr int kStalled = 2000;            // ms without a frame; webcams in the dark expose for less than 0.5 s
constexpr int kMostDamaged = 100;         // consecutive
constexpr Milliseconds kFirstPause{250};  // before the second attempt to open, doubled for each further one
constexpr Milliseconds kLongestPause{4000};

class Camera final : public Source {
 public:
  Camera(System& system, std::string path, const Wanted& wanted, Report report, std::shared_ptr<Capture> capture)
      : system_(system),
        path_(std::move(path)),
        wanted_(wanted),
        report_(std::move(report)),
        capture_(std::move(capture)),
        name_(text_of("%s: %s", path_.c_str(), capture_->description().c_str())) {}

  std::string name() const override { return name_; }
  bool live() const override { return true; }

  ferry::Result<std::optional<Shot>> next(std::stop_token stop) override {
    Shot shot;
    for (int waited = 0, damaged = 0; !stop.stop_requested();) {
      if (capture_ == nullptr) {
        if (!open_again(stop)) break;
        waited = damaged = 0;
      }
      std::string why;
      switch (capture_->take(kSlice, &number_, &shot, &why)) {
        case Capture::Outcome::Frame: return std::optional(std::move(shot));
        case Capture::Outcome::Nothing:
          waited += kSlice;
          if (waited >= kStalled) give_up(text_of("gave no frame for %d s", kStalled / 1000));
          break;
        case Capture::Outcome::Damaged:
          waited = 0;
          if (++damaged == kMostDamaged) give_up(text_of("gave %d damaged frames in a row", kMostDamaged));
          break;
        case Capture::Outcome::Broken: give_up(why); break;
      }
    }
    return std::optional<Shot>();
  }

 private:
  // Borrowed frames keep their buffers; everything else is closed now.
  void give_up(const std::string& why) {
    report_(text_of("%s %s; it is opened again as soon as it can be", path_.c_str(), why.c_str()));
    capture_ = nullptr;
    lost_ = Clock::now();
  }

  bool open_again(std::stop_token stop) {
    for (Milliseconds pause = kFirstPause; wait_until(stop, Clock::now() + pause);
         pause = std::min(2 * pause, kLongestPause)) {
      ferry::Result<std::shared_ptr<Capture>> opened = Capture::open(system_, path_, wanted_);
      if (!opened) continue;
      capture_ = *opened;
      const std::chrono::duration<double> gone = Clock::now() - lost_;
      report_(text_of("%s is back after %.1f s: %s", path_.c_str(), gone.count(), capture_->description().c_str()));
      return true;
    }
    return false;
  }

  System& system_;
  std::string path_;
  Wanted wanted_;
  Report report_;
  std::shared_ptr<Capture> capture_;  // NULL while disconnected
  std::string name_;
  int64_t number_ = -1;
  Clock::time_point lost_{};
};

}  // namespace

MaybeSource open_camera(System& system, const std::string& path, const Wanted& asked, Report report) {
  Wanted wanted = asked;
  if (wanted.width == 0) wanted.width = kDefaultWidth, wanted.height = kDefaultHeight;
  if (wanted.rate == 0) wanted.rate = kDefaultRate;
  ferry::Result<std::shared_ptr<Capture>> capture = Capture::open(system, path, wanted);
  if (!capture) return capture.status();
  return MaybeSource(std::make_unique<Camera>(system, path, wanted, std::move(report), std::move(*capture)));
}

}  // namespace camera
