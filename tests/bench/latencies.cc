// Every run of a session, one after the other, for tests/bench/contention.
//   latencies MODEL THREADS RUNS FRAME_MS
// Prints one JSON line: milliseconds of the session's creation, of the first run and of the others, and the processor
// time of a run and of the pause after it (a run begins every FRAME_MS; 0: at once).
#include <ferry/ferry.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

void check(ferry_status status) {
  if (status == FERRY_OK) return;
  std::fprintf(stderr, "%s\n", ferry_last_error());
  std::exit(2);
}

double ms_since(Clock::time_point begin) { return Milliseconds(Clock::now() - begin).count(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  ferry_model* model;
  ferry_session* session;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = std::atoi(argv[2]);
  const int runs = std::atoi(argv[3]);
  const Milliseconds frame(std::atof(argv[4]));
  check(ferry_model_open(argv[1], &model));
  Clock::time_point begin = Clock::now();
  check(ferry_session_create(model, &options, &session));
  const double created = ms_since(begin);
  ferry_tensor input;
  check(ferry_session_input(session, 0, &input));
  for (size_t i = 0; i < input.bytes / sizeof(float); ++i)
    static_cast<float*>(input.data)[i] = std::sin(static_cast<float>(i) * 0.37f);
  begin = Clock::now();
  check(ferry_session_run(session));
  const double first = ms_since(begin);
  std::vector<double> times;
  const std::clock_t cpu = std::clock();
  for (int i = 0; i < runs; ++i) {
    begin = Clock::now();
    check(ferry_session_run(session));
    times.push_back(ms_since(begin));
    if (frame.count() > 0) std::this_thread::sleep_until(begin + std::chrono::duration_cast<Clock::duration>(frame));
  }
  const double cpu_ms = static_cast<double>(std::clock() - cpu) * 1e3 / CLOCKS_PER_SEC / runs;
  std::printf("{\"create_ms\": %.4f, \"first_ms\": %.4f, \"cpu_ms\": %.4f, \"runs_ms\": [", created, first, cpu_ms);
  for (size_t i = 0; i < times.size(); ++i) std::printf("%s%.4f", i > 0 ? ", " : "", times[i]);
  std::printf("]}\n");
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
