/* run_ferry MODEL [f16]: a run to warm up and one that is counted, on one thread. Prints the operators of that run, a
 * step each, and the first numbers of its output.
 *
 * Steps are distinguished without a change to the library: with `profile` it reads the clock before and after each
 * operator, and the clock is this program's. */
#include <ferry/ferry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "region.h"

static long g_ticks;

int clock_gettime(clockid_t clock, struct timespec* time) {
  (void)clock;
  end_step();
  ++g_ticks;
  time->tv_sec = g_ticks / 1000000;
  time->tv_nsec = g_ticks % 1000000 * 1000;
  return 0;
}

static void check(ferry_status status) {
  if (status == FERRY_OK) return;
  fprintf(stderr, "run_ferry: %s\n", ferry_last_error());
  exit(2);
}

int main(int argc, char** argv) {
  const int half = argc == 3 && strcmp(argv[2], "f16") == 0;
  if (argc != 2 + half) {
    fprintf(stderr, "usage: run_ferry MODEL [f16]\n");
    return 2;
  }
  ferry_model* model;
  ferry_session* session;
  ferry_tensor tensor;
  ferry_session_options options;
  check(ferry_model_open(argv[1], &model));
  ferry_session_options_init(&options);
  options.num_threads = 1;
  options.profile = true;
  if (half) options.precision = FERRY_PRECISION_FLOAT16;
  check(ferry_session_create(model, &options, &session));
  ferry_report report = {sizeof(report)};
  check(ferry_session_report(session, &report));
  if (report.precision != options.precision) {
    fprintf(stderr, "run_ferry: %s\n", ferry_session_report_note(session, 0));
    return 2;
  }
  check(ferry_session_input(session, 0, &tensor));
  if (tensor.bytes != kInputs * sizeof(float)) {
    fprintf(stderr, "run_ferry: an input of %zu bytes, expected 1x3x224x224 floats\n", (size_t)tensor.bytes);
    return 2;
  }
  float* pixels = tensor.data;
  unsigned state = 1;
  for (int i = 0; i < kInputs; ++i) pixels[i % kPixels * 3 + i / kPixels] = next_input(&state);
  check(ferry_session_run(session));
  begin_region();
  check(ferry_session_run(session));
  end_region();
  for (size_t i = 0; i < ferry_session_profile_count(session); ++i) {
    ferry_profile_entry entry;
    check(ferry_session_profile(session, i, &entry));
    if (entry.microseconds == 0) continue; /* not run */
    printf("%s %s", entry.op, entry.name[0] != '\0' ? entry.name : "-");
    for (int d = 0; d < entry.rank; ++d) printf(" %d", entry.shape[d]);
    putchar('\n');
  }
  check(ferry_session_output(session, 0, &tensor));
  const float* out = tensor.data;
  fprintf(stderr, "%g %g %g\n", out[0], out[1], out[2]);
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
