// One start of an app, for tests/bench/cold_start: the process opens a blob, creates a session and computes the first
// result.
//   cold_start MODEL THREADS RUNS CACHE_DIR|- [--no-check]
// Prints one JSON line; times are CLOCK_MONOTONIC's, which the parent process can compare with its own.
#include <ferry/ferry.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

// Of all threads so far.
double cpu_ms() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(ferry_status status) {
  if (status == FERRY_OK) return;
  std::fprintf(stderr, "%s\n", ferry_last_error());
  std::exit(2);
}

// A line of /proc/self/smaps_rollup, or of one mapping's in /proc/self/smaps, in MB.
double megabytes(const char* file, const char* mapping, const char* field) {
  std::FILE* in = std::fopen(file, "r");
  double sum = 0;
  char line[4096];
  for (bool inside = *mapping == '\0'; in != nullptr && std::fgets(line, sizeof line, in) != nullptr;) {
    char* colon = std::strchr(line, ':');
    line[std::strcspn(line, "\n")] = '\0';
    const bool header = line[0] < 'A' || line[0] > 'Z';  // "7f00-7f10 r--p ... /path"; then "Rss: ..."
    const char* path = std::strchr(line, '/');
    if (*mapping != '\0' && header) inside = path != nullptr && std::strcmp(path, mapping) == 0;
    if (inside && colon != nullptr && std::strncmp(line, field, std::strlen(field)) == 0)
      sum += std::atof(colon + 1) * 1024 / 1e6;
  }
  if (in != nullptr) std::fclose(in);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const double entered = now();
  const bool unchecked = argc == 6 && std::strcmp(argv[5], "--no-check") == 0;
  if (argc != 5 && !unchecked) return 2;
  ferry_model* model;
  ferry_session* session;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = std::atoi(argv[2]);
  if (std::strcmp(argv[4], "-") != 0) options.cache_dir = argv[4];
  options.skip_weight_check = unchecked;
  check(ferry_model_open(argv[1], &model));
  const double opened = now();
  check(ferry_session_create(model, &options, &session));
  const double created = now();
  ferry_tensor input;
  check(ferry_session_input(session, 0, &input));
  for (size_t i = 0; i < input.bytes / sizeof(float); ++i)
    static_cast<float*>(input.data)[i] = std::sin(static_cast<float>(i) * 0.37f);
  const double filled = now();
  check(ferry_session_run(session));
  const double first = now(), first_cpu = cpu_ms();
  const double dirty = megabytes("/proc/self/smaps_rollup", "", "Private_Dirty:");
  const double raw = megabytes("/proc/self/smaps", argv[1], "Rss:");
  std::vector<double> times, cpu_times;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const double before = now(), cpu_before = cpu_ms();
    check(ferry_session_run(session));
    times.push_back(now() - before);
    cpu_times.push_back(cpu_ms() - cpu_before);
  }
  std::sort(times.begin(), times.end());
  std::sort(cpu_times.begin(), cpu_times.end());
  std::printf(
      "{\"entered\": %.3f, \"open_ms\": %.3f, \"session_ms\": %.3f, \"first_run_ms\": %.3f, \"first\": %.3f, "
      "\"median_ms\": %.3f, \"first_cpu_ms\": %.3f, \"median_cpu_ms\": %.3f, \"arena_mb\": %.3f, \"packed_mb\": %.3f, "
      "\"private_dirty_mb\": %.3f, \"raw_mb\": %.3f, "
      "\"note\": \"%s\"}\n",
      entered, opened - entered, created - opened, first - filled, first, times.empty() ? 0 : times[times.size() / 2],
      first_cpu, times.empty() ? 0 : cpu_times[cpu_times.size() / 2],
      static_cast<double>(ferry_session_arena_bytes(session)) / 1e6,
      static_cast<double>(ferry_session_packed_bytes(session)) / 1e6, dirty, raw,
      ferry_session_report_note(session, 0) != nullptr ? ferry_session_report_note(session, 0) : "");
  std::fflush(stdout);
  if (std::getenv("FERRY_WAIT") != nullptr) (void)std::getchar();  // to inspect the process
}
