// Canaries at a model's own shapes: every kernel of a program is replayed with the sizes and weights that the model
// uses, and the verdicts are kept beside its packed weights.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/graph/backend.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_file.h"

namespace ferry::gpu {

// What is known about a model's kernels on a device and its driver. The file is a text, a verdict a line: "right WORK"
// or "wrong WORK GROUPS VARIANT", and "note SENTENCE" for what a report says.
class Verdicts {
 public:
  static constexpr const char* kSuffix = ".verdicts";

  // Reads the verdicts beside packed file `path` ("": nothing is kept) and reports wrong kernels to the pipelines.
  void open(const std::string& path, const PackedTarget& target, Pipelines& pipelines);

  bool knows(uint64_t work) const { return right_.contains(work) || wrong_.contains(work); }
  bool wrong(uint64_t work) const { return wrong_.contains(work); }
  void set_right(uint64_t work);
  // Condemns the step's variants from its numbers of workgroups on.
  void set_wrong(uint64_t work, const Step& step, const std::string& note, Pipelines& pipelines);
  // Writes the file if something is new; adds what others wrote meanwhile. A failure becomes a note.
  void save();
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void read(const std::string& text, Pipelines* pipelines);
  void add_note(const std::string& note);

  std::string path_;
  PackedTarget target_;
  std::set<uint64_t> right_, wrong_;
  std::set<std::string> lines_;  // "WORK GROUPS VARIANT"
  std::vector<std::string> notes_;
  bool changed_ = false;
};

// Replays every kernel of the program that has no verdict yet: request.replays times each, compared with itself and
// with the CPU. Stops after request.seconds, and can go on later. Failures: the program must be made again.
// A kernel for whose replay memory is short gets no verdict. FERRY_GPU_LOST.
Status check_kernels(const Model& model, const Program& program, std::span<const BufferRange> weights, Device& device,
                     const KernelCheck& request, Verdicts* verdicts, KernelReport* out);

}  // namespace ferry::gpu
