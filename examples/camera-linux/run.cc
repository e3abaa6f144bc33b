// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "feed.h"
#include "latency.h"
#include "page.h"

namespace camera {
namespace {

using Json = nlohmann::ordered_json;
using Seconds = std::chrono::duration<double>;

constexpr int kDone = 0, kFailed = 2;
constexpr int kMostFailures = 100;  // consecutive frames that could not be processed

std::string dumped(const Json& json) {
  constexpr bool kAscii = true;  // what could steer a terminal is escaped
  return json.dump(-1, ' ', kAscii, nlohmann::ordered_json::error_handler_t::replace);
}

// Seconds since 1970 of a time of the monotonic clock.
double unix_time(Clock::time_point moment) {
  const Seconds now = std::chrono::system_clock::now().time_since_epoch();
  return (now - Seconds(Clock::now() - moment)).count();
}

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

MaybeSource open_source(const Options& o, System& system, Report report) {
  switch (o.from) {
    case Options::From::RawFile: return open_raw_file(o.path, o.wanted);
    case Options::From::Folder: return open_folder(o.path, o.wanted);
    default: return open_camera(system, o.path, o.wanted, std::move(report));
  }
}

class Runner {
 public:
  Runner(const Options& options, std::stop_token stop, std::FILE* out, std::FILE* err)
      : o_(options), stop_(std::move(stop)), out_(out), err_(err) {}

  int run(System& system) {
    ferry::Result<std::unique_ptr<Recogniser>> recogniser = Recogniser::open(o_.model, o_.session, o_.prompts);
    if (!recogniser) return fail(recogniser.error());
    recogniser_ = std::move(*recogniser);
    MaybeSource source = open_source(o_, system, [this](const std::string& sentence) { note(sentence); });
    if (!source) return fail(source.error());
    if (o_.page) {
      ferry::Result<std::unique_ptr<Page>> page = Page::open(o_.address, o_.port);
      if (!page) return fail(page.error());
      page_ = std::move(*page);
    }
    note((*source)->name() + "; " + recogniser_->name());
    if (std::string why = recogniser_->note(); !why.empty()) note(why);
    if (page_ != nullptr) say("the page is at " + page_->url());
    const int code = answer_all(**source);
    sum_up();
    return code;
  }

 private:
  int answer_all(Source& source) {
    const std::stop_callback cancel(stop_, [this] { recogniser_->cancel(); });
    Feed feed(source);
    begin_ = Clock::now();
    while (o_.frames == 0 || answered_ < o_.frames) {
      ferry::Result<std::optional<Shot>> shot = feed.take(stop_);
      if (!shot) return fail(shot.error());
      if (!*shot) break;
      seen_ = (*shot)->number + 1;
      const ferry::Status status = recogniser_->see(**shot);
      if (stop_.stop_requested()) break;
      if (!status) {
        if (!tolerate(**shot, status)) return kFailed;
        continue;
      }
      failures_ = 0;
      if (!give(**shot)) return fail(std::string("the answer cannot be written: ") + std::strerror(errno));
    }
    if (answered_ == 0 && failures_ > 0) return fail("of no frame anything could be made");
    return kDone;
  }

  // An unreadable frame is dropped, and reported once; many consecutive ones are an error.
  bool tolerate(const Shot& shot, const ferry::Status& status) {
    if (status.error() != last_failure_) {
      last_failure_ = status.error();
      note(text_of("frame %lld: %s", static_cast<long long>(shot.number), last_failure_.c_str()));
    }
    if (++failures_ < kMostFailures) return true;
    fail(text_of("nothing could be made of %d frames in a row", kMostFailures));
    return false;
  }
  // Prints the answer's line and updates the page. False if the output is closed.
  bool give(const Shot& shot) {
    const Clock::time_point now = Clock::now();
    const double milliseconds = 1000 * Seconds(now - shot.captured).count();
    latency_.add(milliseconds);
    ++answered_;
    Json line = {{"frame", shot.number}};
    if (!shot.file.empty()) line["image"] = shot.file;
    line["captured"] = rounded(unix_time(shot.captured), 1e6);
    line["answered"] = rounded(unix_time(now), 1e6);
    line["latency_ms"] = rounded(milliseconds, 1e3);
    line["dropped"] = seen_ - answered_;
    line["size"] = {recogniser_->width(), recogniser_->height()};
    describe(recogniser_->answer(), &line);
    const std::string text = dumped(line);
    if (std::fprintf(out_, "%s\n", text.c_str()) < 0 || std::fflush(out_) != 0) return false;
    if (page_ == nullptr) return true;
    if (page_->wants_image()) {
      if (ferry::Result<Pixels> image = recogniser_->image(); image) page_->show(std::move(*image));
    }
    page_->tell_answer(dumped(Json{{"answer", std::move(line)}, {"figures", figures()}}));
    return true;
  }

  Json figures() const {
    return {{"answered", answered_},
            {"dropped", seen_ - answered_},
            {"p50_ms", rounded(latency_.percentile(0.5), 10)},
            {"p99_ms", rounded(latency_.percentile(0.99), 10)}};
  }
  double rate() const { return static_cast<double>(answered_) / Seconds(Clock::now() - begin_).count(); }

  void sum_up() {
    if (answered_ == 0) return;
    say(text_of(
        "answered %lld of %lld frames, %.1f a second, dropped %lld; from frame to answer %.1f ms (50th percentile), "
        "%.1f ms (99th)",
        static_cast<long long>(answered_), static_cast<long long>(seen_), rate(),
        static_cast<long long>(seen_ - answered_), latency_.percentile(0.5), latency_.percentile(0.99)));
  }

  // Messages for people; notes are also shown on the page. Also called by the source's thread.
  void say(const std::string& sentence) { std::fprintf(err_, "camera-linux: %s\n", sentence.c_str()); }
  void note(const std::string& sentence) {
    say(sentence);
    if (page_ != nullptr) page_->tell_note(dumped(Json{{"note", sentence}}));
  }
  int fail(const std::string& sentence) {
    say(sentence);
    return kFailed;
  }

  const Options& o_;
  std::stop_token stop_;
  std::FILE *out_, *err_;
  std::unique_ptr<Recogniser> recogniser_;
  std::unique_ptr<Page> page_;
  int64_t seen_ = 0, answered_ = 0;
  int failures_ = 0;  // consecutive
  std::string last_failure_;
  Latency latency_;
  Clock::time_point begin_{};
};

}  // namespace

int run(const Options& options, std::stop_token stop, std::FILE* out, std::FILE* err, System& system) {
  return Runner(options, std::move(stop), out, err).run(system);
}

}  // namespace camera
