// Measures a prompt on an image that was already encoded, for tests/bench/compare_tasks.
//   second_prompt MODEL THREADS RUNS
// Prints one JSON line: milliseconds of a run with the image, and the median of runs without, each with a point of
// its own, up to the mask in the image's pixels.
#include <ferry/task.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kWidth = 1024, kHeight = 768;

void check(ferry_status status) {
  if (status == FERRY_OK) return;
  std::fprintf(stderr, "second_prompt: %s\n", ferry_last_error());
  std::exit(2);
}

double ask(ferry_task* task, const ferry_image* image, int i) {
  const ferry_point point = {static_cast<float>(97 * (i + 1) % kWidth), static_cast<float>(61 * (i + 1) % kHeight),
                             false};
  ferry_request request = {};
  request.struct_size = sizeof request;
  request.image = image;
  request.points = &point;
  request.point_count = 1;
  ferry_answer answer = {};
  answer.struct_size = sizeof answer;
  const auto start = std::chrono::steady_clock::now();
  check(ferry_task_run(task, &request, &answer));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  ferry_model* model;
  ferry_task* task;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = std::atoi(argv[2]);
  check(ferry_model_open(argv[1], &model));
  check(ferry_task_open(model, &options, &task));
  std::vector<uint8_t> pixels(size_t{3} * kWidth * kHeight);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i / 40 * 29 + i % 7 * 3);
  ferry_image image = {};
  image.pixels = pixels.data();
  image.width = kWidth;
  image.height = kHeight;
  image.stride = 3 * kWidth;
  ask(task, &image, 0);
  const double whole = ask(task, &image, 1);
  ask(task, nullptr, 2);
  std::vector<double> times;
  for (int i = 0; i < std::atoi(argv[3]); ++i) times.push_back(ask(task, nullptr, 3 + i));
  std::sort(times.begin(), times.end());
  std::printf("{\"with_image_ms\": %.3f, \"prompt_ms\": %.3f}\n", whole, times[times.size() / 2]);
  ferry_task_close(task);
  ferry_model_close(model);
}
