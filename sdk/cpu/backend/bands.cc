#include "sdk/cpu/backend/bands.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/threads/loops.h"

namespace ferry::cpu {
namespace {

constexpr int64_t kMaximumRows = 8, kMinimumRows = 2;  // rows of the last output per band; kernels prefer even counts
constexpr int64_t kTasks = 4;                          // bands per thread, if there are enough rows

// One convolution of a fused chain.
struct Stage {
  size_t step = 0;                        // index of its step
  const RowOp* rows = nullptr;            // the kernel
  std::unique_ptr<Op> op;                 // owns `rows`
  size_t operands = 0;                    // number of the graph operator's inputs
  int64_t size = 0, stride = 0, pad = 0;  // output row y reads `size` rows from y * stride - pad
  size_t number = 0;                      // bytes of an element
  uint64_t weights = 0, map = 0;          // bytes of its weights and of its input at the model's declared sizes
  int64_t height = 0;                     // rows of its input, and bytes of a row
  size_t line = 0;
  size_t buffer = 0;       // byte offset of the thread's buffer for its input; none for the first stage
  uint64_t workspace = 0;  // byte offset of its own workspace

  int64_t rows_read(int64_t count) const { return (count - 1) * stride + size; }
};

uint64_t round_up(uint64_t bytes) { return (bytes + kExtraBytes + kAlignment - 1) / kAlignment * kAlignment; }

// Allocates the input buffers of all stages but the first for bands of `rows` rows of the last output. Returns bytes.
size_t lay_out(std::span<Stage> stages, int64_t rows) {
  size_t end = 0;
  for (size_t i = stages.size(); --i > 0;) {
    rows = std::min(stages[i].rows_read(rows), stages[i].height);
    stages[i].buffer = end;
    end += round_up(static_cast<uint64_t>(rows) * stages[i].line);
  }
  return end;
}

void set_input(Stage* stage, const Shape& x) {
  stage->height = x[1];
  stage->line = static_cast<size_t>(x[2]) * static_cast<size_t>(x[3]) * stage->number;
}

// Inputs are the inputs of all stages; the first input of each is the output of the stage before.
class Bands : public Op {
 public:
  Bands(std::vector<Stage> stages, size_t budget) : stages_(std::move(stages)), budget_(budget) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    uint64_t end = 0, between = 0;  // bytes; between: of all intermediate maps
    for (Stage& stage : stages_) {
      const std::span<const Shape> own = inputs.first(stage.operands);
      inputs = inputs.subspan(stage.operands);
      set_input(&stage, own[0]);
      if (!inputs.empty()) between += static_cast<uint64_t>(inputs[0].elements()) * stage.number;
      stage.workspace = end;
      FERRY_TRY(stage.op->reshape(own, inputs.empty() ? output : inputs[0], pool, workspace));
      end = round_up(end + std::exchange(*workspace, 0));
    }
    images_ = static_cast<size_t>(output[0]);
    height_ = output[1];
    y_line_ = static_cast<size_t>(output[2]) * static_cast<size_t>(output[3]) * stages_.back().number;
    // At most the memory of the whole maps, and bands for every thread.
    const size_t threads = pool->threads(), room = std::min<uint64_t>(budget_, between / threads);
    rows_ = std::clamp((height_ / static_cast<int64_t>(threads) / kTasks + 1) / 2 * 2, kMinimumRows, kMaximumRows);
    while ((buffer_size_ = lay_out(stages_, rows_)) > room && rows_ > kMinimumRows) rows_ -= 2;
    buffers_at_ = end;
    *workspace = end + threads * buffer_size_;
    held_.assign(threads * stages_.size(), {});
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = static_cast<const std::byte*>(inputs[0]);
    y_ = static_cast<std::byte*>(output);
    auto* const bytes = static_cast<std::byte*>(workspace);
    buffers_ = bytes + buffers_at_;
    for (const Stage& stage : stages_) FERRY_TRY(stage.op->setup(inputs, output, bytes + stage.workspace));
    return {};
  }

  Status run(Pool* pool) override {
    std::fill(held_.begin(), held_.end(), Range{-1, -1});
    const auto bands = static_cast<size_t>((height_ + rows_ - 1) / rows_);
    parallel(pool, Grid<2, 0>{{images_, bands}}, [&](Pool::Share& share, size_t image, size_t band) {
      Range* const held = held_.data() + share.thread() * stages_.size();
      const auto index = static_cast<int64_t>(image * bands + band);
      if (held->to != index || band == 0) std::fill_n(held, stages_.size(), Range{});
      held->to = index + 1;
      const int64_t from = static_cast<int64_t>(band) * rows_;
      std::byte* y = y_ + (image * static_cast<size_t>(height_) + static_cast<size_t>(from)) * y_line_;
      compute({image, share.thread(), held}, stages_.size() - 1, {from, std::min(from + rows_, height_)}, y);
    });
    return {};
  }

 private:
  struct Range {
    int64_t from = 0, to = 0;  // rows
  };
  // held: for each stage, the input rows kept from the previous band. The first stage has no buffer; its `to` is the
  // end of the previous band.
  struct Task {
    size_t image, thread;
    Range* held;
  };

  // Computes rows of a stage's output, after the input rows that are missing.
  void compute(const Task& task, size_t i, const Range& rows, std::byte* y) const {
    const Stage& stage = stages_[i];
    if (i == 0) {
      const std::byte* image = x_ + task.image * static_cast<size_t>(stage.height) * stage.line;
      return stage.rows->compute_rows({image, 0, y, rows.from, rows.to, task.thread});
    }
    const int64_t top = rows.from * stage.stride - stage.pad;
    const int64_t from = std::clamp<int64_t>(top, 0, stage.height);
    const int64_t to = std::clamp(top + stage.rows_read(rows.to - rows.from), from, stage.height);
    std::byte* const x = buffers_ + task.thread * buffer_size_ + stage.buffer;
    Range& held = task.held[i];
    const int64_t there = std::clamp(held.to, from, to);
    std::memmove(x, x + static_cast<size_t>(there > from ? from - held.from : 0) * stage.line,
                 static_cast<size_t>(there - from) * stage.line);
    if (there < to) compute(task, i - 1, {there, to}, x + static_cast<size_t>(there - from) * stage.line);
    held = {from, to};
    stage.rows->compute_rows({x, from, y, rows.from, rows.to, task.thread});
  }

  std::vector<Stage> stages_;
  size_t budget_;            // bytes that a thread's buffers may take
  std::vector<Range> held_;  // of each stage of each thread
  size_t images_ = 0, y_line_ = 0, buffer_size_ = 0;
  int64_t height_ = 0, rows_ = kMinimumRows;
  uint64_t buffers_at_ = 0;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  std::byte* buffers_ = nullptr;
};

// Finds chains and fuses them.
class Former {
 public:
  Former(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags, const PerTensor<int>& readers,
         Steps* steps)
      : model_(model),
        flags_(flags),
        budget_(cpu.l2_bytes / 4 * 3),
        minimum_(cpu.l2_bytes / 2),
        steps_(*steps),
        readers_(readers) {}

  void form() {
    for (size_t i = 0; i < steps_.list.size(); ++i) {
      const Step& step = steps_.list[i];
      const bool continues = !chain_.empty() && !step.inputs.empty() && step.inputs[0] == value_ &&
                             readers_[steps_.tensor[value_]] == 1 &&
                             flags_[step.op] == flags_[steps_.list[chain_[0].step].op];
      // A fused activation belongs to the convolution that computes it.
      if (!continues || step.view != 1 || op(step).params_type() != fbs::OpParams::Unary) add(i, continues);
      value_ = step.outputs[0];
    }
    finish(chain_.size());
    std::erase_if(steps_.list, [](const Step& step) { return step.kernel == nullptr; });
  }

 private:
  const fbs::Operator& op(const Step& step) const { return *model_.graph().operators()->Get(step.op); }

  void add(size_t i, bool continues) {
    const Step& step = steps_.list[i];
    const fbs::Conv2d* params = op(step).params_as_Conv2d();
    const RowOp* rows = params != nullptr && !step.converts ? step.kernel->by_rows() : nullptr;
    if (!continues || rows == nullptr) finish(chain_.size());
    if (rows == nullptr) return;
    const Shape x = model_.shape(op(step).inputs()->Get(0)), w = model_.shape(op(step).inputs()->Get(1));
    const size_t number = element_bytes(step.float16);
    Stage stage{.step = i,
                .rows = rows,
                .operands = step.inputs.size(),
                .size = (w[1] - 1) * params->dilation_h() + 1,
                .stride = params->stride_h(),
                .pad = params->pad_top(),
                .number = number,
                .weights = static_cast<uint64_t>(w.elements()) * number,
                .map = static_cast<uint64_t>(x.elements()) * number};
    set_input(&stage, x);
    if (stage.map < minimum_) finish(chain_.size());
    chain_.push_back(std::move(stage));
    while (!fits()) {  // until it fits, the smallest map is written to memory
      const auto smaller = [](const Stage& a, const Stage& b) { return a.map < b.map; };
      finish(static_cast<size_t>(std::min_element(chain_.begin() + 1, chain_.end(), smaller) - chain_.begin()));
    }
  }

  // A chain of one always fits.
  bool fits() {
    uint64_t bytes = lay_out(chain_, kMinimumRows);
    for (const Stage& stage : chain_) bytes += stage.weights;
    return chain_.size() == 1 || bytes <= budget_;
  }

  // Ends the chain after its first `count` stages: the step of the last computes all of them.
  void finish(size_t count) {
    const auto end = chain_.begin() + static_cast<ptrdiff_t>(count);
    if (count > 1) {
      Step& last = steps_.list[chain_[count - 1].step];
      std::vector<TensorId> inputs;
      for (size_t i = chain_[0].step, stage = 0; stage < count; ++i) {
        Step& step = steps_.list[i];
        if (i == chain_[stage].step) {
          inputs.insert(inputs.end(), step.inputs.begin(), step.inputs.end());
          chain_[stage++].op = std::move(step.kernel);
        }
        step.kernel = nullptr;
        if (&step != &last) steps_.inner[step.outputs[0]] = 1;
      }
      last.inputs = std::move(inputs);
      last.kernel = std::make_unique<Bands>(
          std::vector<Stage>(std::move_iterator(chain_.begin()), std::move_iterator(end)), budget_);
    }
    chain_.erase(chain_.begin(), end);
  }

  const Model& model_;
  std::span<const uint8_t> flags_;
  // bytes of buffers and weights together; minimum bytes of a map that is worth fusing
  const uint64_t budget_, minimum_;
  Steps& steps_;
  const PerTensor<int>& readers_;
  std::vector<Stage> chain_;
  TensorId value_{};  // the output of the chain, or of the activation after it
};

}  // namespace

void form_bands(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags,
                const PerTensor<int>& readers, Steps* steps) {
  Former(cpu, model, flags, readers, steps).form();
}

}  // namespace ferry::cpu
