#include "sdk/gpu/canary/verdicts.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "sdk/gpu/canary/replay.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/model/packed_cache.h"

namespace ferry::gpu {
namespace {

constexpr uint64_t kRunsAtOnce = 16;

std::string hexadecimal(uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%016" PRIx64, number);
  return text;
}

}  // namespace

void Verdicts::open(const std::string& path, const PackedTarget& target, Pipelines& pipelines) {
  path_ = path;
  target_ = target;
  std::string text;
  if (path_.empty()) return;
  const Status status = read_beside(path_, kSuffix, target_, &text);
  if (status.ok()) read(text, &pipelines);
  if (!status.ok() && status.code() != FERRY_NOT_FOUND) add_note("verdicts: " + std::string(status.message()));
}

void Verdicts::read(const std::string& text, Pipelines* pipelines) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("right ")) right_.insert(std::strtoull(line.c_str() + 6, nullptr, 16));
    if (line.starts_with("note ")) add_note(line.substr(5));
    if (!line.starts_with("wrong ")) continue;
    char *rest = nullptr, *variant = nullptr;
    const uint64_t work = std::strtoull(line.c_str() + 6, &rest, 16);
    const uint64_t groups = std::strtoull(rest, &variant, 10);
    if (*variant != ' ') continue;
    wrong_.insert(work);
    lines_.insert(line.substr(6));
    if (pipelines != nullptr) pipelines->set_wrong_from(variant + 1, groups);
  }
}

void Verdicts::add_note(const std::string& note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

void Verdicts::set_right(uint64_t work) { changed_ |= right_.insert(work).second; }

void Verdicts::set_wrong(uint64_t work, const Step& step, const std::string& note, Pipelines& pipelines) {
  wrong_.insert(work);
  right_.erase(work);
  for (const Dispatch& dispatch : step.dispatches) {
    const std::string variant = to_string(dispatch.variant);
    lines_.insert(hexadecimal(work) + " " + std::to_string(dispatch.group_count()) + " " + variant);
    pipelines.set_wrong_from(variant, dispatch.group_count());
  }
  add_note(note);
  changed_ = true;
}

void Verdicts::save() {
  if (!changed_ || path_.empty()) return;
  changed_ = false;
  std::string there;
  if (read_beside(path_, kSuffix, target_, &there).ok()) read(there, nullptr);
  std::string text;
  for (const uint64_t work : right_)
    if (!wrong_.contains(work)) text += "right " + hexadecimal(work) + "\n";
  for (const std::string& line : lines_) text += "wrong " + line + "\n";
  for (const std::string& note : notes_)
    if (!note.starts_with("verdicts: ")) text += "note " + note + "\n";
  if (const Status status = write_beside(path_, kSuffix, target_, text); !status.ok())
    add_note("verdicts: " + std::string(status.message()));
}

Status check_kernels(const Model& model, const Program& program, std::span<const BufferRange> weights, Device& device,
                     const KernelCheck& request, Verdicts* verdicts, KernelReport* out) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::set<uint64_t> seen;
  *out = {};
  for (const Step& step : program.steps) {
    if (!replayable(program, step)) continue;
    const uint64_t work = work_id(step, program.shapes);
    if (!seen.insert(work).second) continue;
    ++out->kernels;
    if (!verdicts->knows(work) && (request.seconds <= 0 || passed() < request.seconds)) {
      Replay replay(model, program, step, weights, device);
      Status status = replay.begin();
      const Replayed& result = replay.result();
      while (status.ok() && result.right() && result.runs < request.replays)  // the first difference suffices
        status = replay.run(std::min<uint64_t>(request.replays - result.runs, kRunsAtOnce));
      if (status.code() == FERRY_GPU_LOST) return status;
      out->replays += result.runs;
      if (status.code() == FERRY_OUT_OF_MEMORY) continue;  // no verdict
      if (status.ok() && result.right()) {
        verdicts->set_right(work);
      } else {
        char text[320];
        const std::string name = step_in_words(model, step, program.shapes);
        if (!status.ok())
          std::snprintf(text, sizeof text, "%.120s: %s", name.c_str(), status.message().data());
        else
          std::snprintf(text, sizeof text,
                        "this driver's %.120s differed in %" PRIu64 " of %" PRIu64 " runs of the same inputs%s%s",
                        name.c_str(), result.differed, result.runs, result.wrong.empty() ? "" : " and ",
                        result.wrong.c_str());
        verdicts->set_wrong(work, step, text, device.pipelines());
        ++out->failures;
      }
    }
    out->checked += verdicts->knows(work) ? 1 : 0;
  }
  verdicts->save();
  device.pipelines().save();
  return {};
}

}  // namespace ferry::gpu
