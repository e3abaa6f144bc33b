#include "cli/bench_text.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/generation.h"
#include "cli/gpu_plan.h"
#include "cli/peak_memory.h"
#include "cli/print.h"
#include "cli/text.h"
#include "sdk/api/handles.h"

namespace ferry::cli {
namespace {

constexpr int kPromptTokens = 512, kNewTokens = 128;

// Pseudorandom ids of the vocabulary, the same every time.
Ids some_ids(size_t count, int32_t vocabulary) {
  Ids ids(count);
  uint32_t state = 1;
  for (int32_t& id : ids) {
    state = state * 1664525u + 1013904223u;
    id = static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(vocabulary));
  }
  return ids;
}

struct TextFigures {
  double session_ms = 0, first_token_ms = 0;            // of the first round, where weights are packed and read
  double prompt_per_second = 0, tokens_per_second = 0;  // of the fastest rounds
  GpuPlan plan;                                         // of the last token, on a GPU
  uint64_t peak_bytes = 0, private_bytes = 0, arena_bytes = 0, packed_bytes = 0;
  uint64_t state_bytes = 0;  // allocated; 0 if the network has no states
};

}  // namespace

bool is_text(const ModelHandle& model) {
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  check(ferry_model_task(model.get(), &info));
  return info.kind == FERRY_TASK_TEXT;
}

int bench_text(const TextBench& o, const ModelHandle& model, double load_ms, const ferry_session_options& options) {
  TextFigures f;
  Clock::time_point start = Clock::now();
  const GeneratorHandle generator = create_generator(model, options);
  f.session_ms = 1e3 * seconds_since(start);
  ferry_tensor logits;
  check(ferry_model_output(model.get(), 0, &logits));
  const int holds = static_cast<int>(ferry_generator_max_length(generator.get()));
  const int prompt_tokens = o.prompt_tokens > 0 ? o.prompt_tokens : std::min(kPromptTokens, holds / 2);
  const int new_tokens = o.new_tokens > 0 ? o.new_tokens : std::clamp(holds - prompt_tokens, 1, kNewTokens);
  if (prompt_tokens > holds - new_tokens)
    fail(
        "--prompt-tokens %d and --new-tokens %d: the model holds %d together: `ferry convert --max-length` sets the "
        "length",
        prompt_tokens, new_tokens, holds);
  const Ids prompt = some_ids(static_cast<size_t>(prompt_tokens), logits.shape[2]);
  for (int round = 0; round < o.rounds; ++round) {
    check(ferry_generator_reset(generator.get()));
    check(ferry_generator_append(generator.get(), prompt.data(), prompt.size()));
    int32_t token = 0;
    start = Clock::now();
    check(ferry_generator_next(generator.get(), &token));
    const double first = seconds_since(start);
    if (round == 0) f.first_token_ms = 1e3 * first;
    f.prompt_per_second = std::max(f.prompt_per_second, prompt_tokens / first);
    start = Clock::now();
    for (int i = 1; i < new_tokens; ++i) check(ferry_generator_next(generator.get(), &token));
    if (new_tokens > 1) f.tokens_per_second = std::max(f.tokens_per_second, (new_tokens - 1) / seconds_since(start));
  }
  const ferry_session* session = ferry_generator_session(generator.get());
  f.peak_bytes = peak_resident_bytes();
  f.private_bytes = private_bytes();
  f.arena_bytes = ferry_session_arena_bytes(session);
  f.packed_bytes = ferry_session_packed_bytes(session);
  if (session->session->states() != nullptr) f.state_bytes = session->session->states()->bytes();
  const bool gpu = options.backend == FERRY_BACKEND_GPU;
  if (gpu) {
    const Session& last = *session->session;
    Shapes shapes;
    for (const TensorId t : last.model().tensors()) shapes.push_back(last.shape(t));
    f.plan = gpu_plan(last.model(), options, std::move(shapes));
  }
  const ferry_report report = report_of(session);
  if (o.json) {
    nlohmann::ordered_json j = {{"model", o.model},
                                {"prompt_tokens", prompt_tokens},
                                {"new_tokens", new_tokens},
                                {"rounds", o.rounds},
                                {"threads", report.threads},
                                {"cpus", report.cpus},
                                {"load_ms", load_ms},
                                {"session_ms", f.session_ms},
                                {"first_token_ms", f.first_token_ms},
                                {"prompt_tokens_per_second", f.prompt_per_second},
                                {"tokens_per_second", f.tokens_per_second},
                                {"peak_rss_bytes", f.peak_bytes},
                                {"private_bytes", f.private_bytes},
                                {"arena_bytes", f.arena_bytes},
                                {"packed_bytes", f.packed_bytes},
                                {"state_bytes", f.state_bytes}};
    if (gpu) j["bytes_moved"] = f.plan.bytes;
    if (gpu) j["minimum_bytes"] = f.plan.minimum_bytes;
    if (gpu) j["operations"] = f.plan.operations;
    print_document(j);
    return kDone;
  }
  print("%-18s %9zu%s%s\n", "threads", report.threads, *report.cpus == '\0' ? "" : " on CPU ", report.cpus);
  print("%-18s %9.2f ms\n", "open and verify", load_ms);
  print("%-18s %9.2f ms\n", "make a session", f.session_ms);
  print("%-18s %9.2f ms (a prompt of %d tokens)\n", "first token", f.first_token_ms, prompt_tokens);
  print("%-18s %9.1f tokens a second\n", "prompt", f.prompt_per_second);
  print("%-18s %9.1f tokens a second (%d, the fastest of %d rounds)\n", "then", f.tokens_per_second, new_tokens,
        o.rounds);
  print("%-18s %9s\n", "peak resident", bytes_text(f.peak_bytes).c_str());
  print("%-18s %9s (no file backs it)\n", "private", bytes_text(f.private_bytes).c_str());
  print("%-18s %9s\n", "arena", bytes_text(f.arena_bytes).c_str());
  print("%-18s %9s\n", "packed weights", bytes_text(f.packed_bytes).c_str());
  print("%-18s %9s\n", "states", bytes_text(f.state_bytes).c_str());
  if (gpu) print_traffic(f.plan);
  return kDone;
}

}  // namespace ferry::cli
