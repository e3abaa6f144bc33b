#include "sdk/cpu/bands.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sdk/cpu/xnn.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/threads/loops.h"

namespace ferry::cpu {
namespace {

constexpr int64_t kMaximumRows = 8, kMinimumRows = 2;  // of the last output, in a band; kernels like them even
constexpr size_t kTasks = 4;                           // bands for each thread, where there are so many rows

struct Member {
  std::unique_ptr<Op> op;
  const fbs::Operator* graph_op;
};

// What is kept of a row window's input while its bands are computed.
int64_t rows_read(const RowWindow& window, int64_t rows) { return (rows - 1) * window.stride + window.size; }

// The members' inputs are x, and then of each its weight and bias.
class Bands : public Op {
 public:
  Bands(std::vector<Member> members, size_t buffer_bytes)
      : members_(std::move(members)), buffer_bytes_(buffer_bytes), stages_(members_.size()) {
    for (size_t i = 0; i < stages_.size(); ++i) {
      stages_[i].op = members_[i].op->by_rows();
      stages_[i].window = stages_[i].op->window();
    }
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    Shape x = inputs[0];
    size_t next = 1;
    uint64_t between = 0;  // bytes
    for (size_t i = 0; i < stages_.size(); ++i) {
      const size_t count = members_[i].graph_op->inputs()->size();
      std::array<Shape, 3> operands;
      operands[0] = x;
      std::copy_n(inputs.begin() + static_cast<ptrdiff_t>(next), count - 1, operands.begin() + 1);
      next += count - 1;
      Stage& stage = stages_[i];
      stage.height = x[1];
      stage.line = static_cast<size_t>(x[2]) * static_cast<size_t>(x[3]);
      FERRY_TRY(infer_shape(*members_[i].graph_op, {operands.data(), count}, &x));
      if (i + 1 < stages_.size()) between += static_cast<uint64_t>(x.elements()) * sizeof(float);
      stage.scratch = *workspace;
      uint64_t bytes = 0;
      FERRY_TRY(members_[i].op->reshape({operands.data(), count}, x, pool, &bytes));
      *workspace += round_up(bytes);
    }
    images_ = static_cast<size_t>(output[0]);
    height_ = output[1];
    y_line_ = static_cast<size_t>(output[2]) * static_cast<size_t>(output[3]);
    const size_t threads = pool->threads();
    // No more memory than whole maps would take, and bands for every thread.
    const size_t room = std::min<uint64_t>(buffer_bytes_, between / threads);
    const auto many = static_cast<int64_t>(kTasks * threads);
    rows_ = std::clamp((height_ / many + 1) / 2 * 2, kMinimumRows, kMaximumRows);
    while (rows_ > kMinimumRows && size_buffers() > room) rows_ -= 2;
    scratch_bytes_ = *workspace;
    buffer_size_ = size_buffers();
    *workspace += threads * buffer_size_;
    threads_.assign(threads, {});
    for (Thread& thread : threads_) thread.held.resize(stages_.size());
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = floats(inputs[0]);
    y_ = floats(output);
    buffers_ = static_cast<std::byte*>(workspace) + scratch_bytes_;
    for (size_t i = 0; i < stages_.size(); ++i)
      FERRY_TRY(members_[i].op->setup(inputs, output, static_cast<std::byte*>(workspace) + stages_[i].scratch));
    return {};
  }

  Status run(Pool* pool) override {
    for (Thread& thread : threads_) thread.next = SIZE_MAX;
    const size_t bands = static_cast<size_t>((height_ + rows_ - 1) / rows_);
    parallel(pool, Grid<2, 0>{{images_, bands}}, [&](Pool::Share& share, size_t image, size_t band) {
      Thread& thread = threads_[share.thread()];
      if (thread.next != image * bands + band || band == 0)
        for (Range& held : thread.held) held = {};
      compute(image, static_cast<int64_t>(band) * rows_, &thread, share.thread());
      thread.next = image * bands + band + 1;
    });
    return {};
  }

 private:
  struct Range {
    int64_t from = 0, to = 0;  // rows
  };

  struct Stage {
    const RowOp* op;
    RowWindow window;
    int64_t height = 0;  // of its input, rows and numbers of a row
    size_t line = 0;
    size_t buffer = 0;  // where a thread has its input (but for the first), in bytes, and its workspace is
    uint64_t scratch = 0;
  };

  // What a thread has of each stage's input, from the band before, and which band may go on with it.
  struct Thread {
    std::vector<Range> held;
    size_t next = SIZE_MAX;
  };

  static uint64_t round_up(uint64_t bytes) { return (bytes + kExtraBytes + kAlignment - 1) / kAlignment * kAlignment; }

  // Where buffers lie in a thread's memory, and how large that is, if bands have rows_ rows.
  size_t size_buffers() {
    size_t end = 0;
    int64_t rows = rows_;
    for (size_t i = stages_.size(); --i > 0;) {
      Stage& stage = stages_[i];
      rows = std::min(rows_read(stage.window, rows), stage.height);
      stage.buffer = end;
      end += round_up(static_cast<uint64_t>(rows) * stage.line * sizeof(float));
    }
    return end;
  }

  float* buffer(size_t stage, size_t thread) const {
    return reinterpret_cast<float*>(buffers_ + thread * buffer_size_ + stages_[stage].buffer);
  }

  // Output rows from `from` on.
  void compute(size_t image, int64_t from, Thread* thread, size_t index) {
    Range wanted{from, std::min(from + rows_, height_)};
    float* y = y_ + (image * static_cast<size_t>(height_) + static_cast<size_t>(from)) * y_line_;
    compute_stage(stages_.size() - 1, image, wanted, y, thread, index);
  }

  // Rows of the stage's output, after those of its input that are not held.
  void compute_stage(size_t i, size_t image, const Range& rows, float* y, Thread* thread, size_t index) {
    const Stage& stage = stages_[i];
    const int64_t top = rows.from * stage.window.stride - stage.window.pad;
    const int64_t from = std::clamp<int64_t>(top, 0, stage.height);
    const int64_t to = std::clamp(top + rows_read(stage.window, rows.to - rows.from), from, stage.height);
    if (i == 0) {
      const float* picture = x_ + image * static_cast<size_t>(stage.height) * stage.line;
      stage.op->compute_rows({picture, 0, y, rows.from, rows.to, index});
      return;
    }
    float* const x = buffer(i, index);
    Range& held = thread->held[i];
    const int64_t first = std::clamp(held.to, from, to);  // from here on
    if (first > from && held.from != from)
      std::memmove(x, x + static_cast<size_t>(from - held.from) * stage.line,
                   static_cast<size_t>(first - from) * stage.line * sizeof(float));
    if (first < to)
      compute_stage(i - 1, image, {first, to}, x + static_cast<size_t>(first - from) * stage.line, thread, index);
    held = {from, to};
    stage.op->compute_rows({x, from, y, rows.from, rows.to, index});
  }

  std::vector<Member> members_;
  size_t buffer_bytes_;  // that a thread may take
  std::vector<Stage> stages_;
  std::vector<Thread> threads_;
  size_t images_ = 0, y_line_ = 0, buffer_size_ = 0;
  int64_t height_ = 0, rows_ = kMinimumRows;
  uint64_t scratch_bytes_ = 0;
  const float* x_ = nullptr;
  float* y_ = nullptr;
  std::byte* buffers_ = nullptr;
};

// Finds chains, and puts them together.
class Former {
 public:
  Former(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags, std::span<const TensorId> kept,
         Steps* steps, std::vector<std::unique_ptr<Op>>* ops, std::vector<uint8_t>* views)
      : model_(model),
        flags_(flags),
        budget_(cpu.l2_bytes / 4 * 3),
        minimum_(cpu.l2_bytes / 2),
        steps_(*steps),
        ops_(*ops),
        views_(*views),
        readers_(steps->tensor.size()) {
    for (const Step& step : steps_.list)
      for (const TensorId value : step.inputs) ++readers_[value];
    for (const TensorId value : kept) ++readers_[value];
  }

  void form() {
    steps_.inner.resize(steps_.tensor.size());
    const size_t count = steps_.list.size();
    for (size_t i = 0; i < count; ++i) {
      if (!chain_.empty() && goes_on(i)) continue;
      finish();
      if (is_member(i)) chain_ = {link(i)};
      value_ = steps_.list[i].outputs[0];
    }
    finish();
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      if (ops_[i] == nullptr) continue;
      if (left != i) {
        steps_.list[left] = std::move(steps_.list[i]);
        ops_[left] = std::move(ops_[i]);
        views_[left] = views_[i];
      }
      ++left;
    }
    steps_.list.resize(left);
    ops_.resize(left);
    views_.resize(left);
  }

 private:
  const fbs::Operator& op(size_t i) const { return *model_.graph().operators()->Get(steps_.list[i].op); }

  bool is_member(size_t i) const {
    return !steps_.list[i].converts && op(i).params_type() == fbs::OpParams::Conv2d && ops_[i]->by_rows() != nullptr;
  }
  // A function that the operator before it has taken over.
  bool is_taken_over(size_t i) const { return views_[i] == 1 && op(i).params_type() == fbs::OpParams::Unary; }

  // Of a member: its step, and what it reads of the one before.
  struct Link {
    size_t step;
    RowWindow window;
    uint64_t weights, row, map;  // bytes; of a row, of all
  };

  Link link(size_t i) const {
    const Shape x = model_.shape(op(i).inputs()->Get(0)), weight = model_.shape(op(i).inputs()->Get(1));
    const uint64_t row = static_cast<uint64_t>(x[2]) * static_cast<uint64_t>(x[3]) * sizeof(float);
    return {.step = i,
            .window = ops_[i]->by_rows()->window(),
            .weights = static_cast<uint64_t>(weight.elements()) * sizeof(float),
            .row = row,
            .map = static_cast<uint64_t>(x.elements()) * sizeof(float)};
  }

  bool goes_on(size_t i) {
    const Step& step = steps_.list[i];
    if (step.inputs.empty() || step.inputs[0] != value_ || readers_[value_] != 1 ||
        flags_[step.op] != flags_[steps_.list[chain_[0].step].op])
      return false;
    if (!is_taken_over(i)) {
      if (!is_member(i)) return false;
      const Link next = link(i);
      if (next.map < minimum_) return false;
      chain_.push_back(next);
      while (!fits()) {
        // Rather than this map the smallest of them is written to memory.
        const auto smaller = [](const Link& a, const Link& b) { return a.map < b.map; };
        const auto cut = std::min_element(chain_.begin() + 1, chain_.end(), smaller);
        std::vector<Link> rest(cut, chain_.end());
        chain_.erase(cut, chain_.end());
        finish();
        chain_ = std::move(rest);
      }
    }
    value_ = step.outputs[0];
    return true;
  }

  // A single one always does.
  bool fits() const {
    uint64_t bytes = chain_[0].weights;
    int64_t rows = kMinimumRows;
    for (size_t i = chain_.size(); --i > 0;) {
      rows = rows_read(chain_[i].window, rows);
      bytes += static_cast<uint64_t>(rows) * chain_[i].row + chain_[i].weights;
    }
    return chain_.size() == 1 || bytes <= budget_;
  }

  // The last member's step does what all do.
  void finish() {
    if (chain_.size() > 1) {
      const size_t first = chain_.front().step, last = chain_.back().step;
      std::vector<Member> members;
      std::vector<TensorId> inputs = {steps_.list[first].inputs[0]};
      for (const Link& member : chain_) {
        const std::vector<TensorId>& own = steps_.list[member.step].inputs;
        inputs.insert(inputs.end(), own.begin() + 1, own.end());
        members.push_back({std::move(ops_[member.step]), &op(member.step)});
      }
      for (size_t i = first; i < last; ++i) {
        steps_.inner[steps_.list[i].outputs[0]] = 1;
        ops_[i] = nullptr;
      }
      steps_.list[last].inputs = std::move(inputs);
      ops_[last] = std::make_unique<Bands>(std::move(members), budget_);
    }
    chain_.clear();
  }

  const Model& model_;
  std::span<const uint8_t> flags_;
  const uint64_t budget_, minimum_;  // of buffers and weights together; of a map that is worth it
  Steps& steps_;
  std::vector<std::unique_ptr<Op>>& ops_;
  std::vector<uint8_t>& views_;
  PerTensor<int> readers_;  // of each value
  std::vector<Link> chain_;
  TensorId value_{};  // what it, or the function after it, gives
};

}  // namespace

void form_bands(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags,
                std::span<const TensorId> kept, Steps* steps, std::vector<std::unique_ptr<Op>>* ops,
                std::vector<uint8_t>* views) {
  Former(cpu, model, flags, kept, steps, ops, views).form();
}

}  // namespace ferry::cpu
