// Times a .tflite file in TensorFlow Lite:
//   tflite_bench MODEL THREADS RUNS
// Inputs are zeros. Prints one JSON line with fields of `ferry bench --json`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/lite/c/c_api.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: tflite_bench MODEL THREADS RUNS\n"), 2;
  TfLiteModel* model = TfLiteModelCreateFromFile(argv[1]);
  TfLiteInterpreterOptions* options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsSetNumThreads(options, atoi(argv[2]));
  TfLiteInterpreter* interpreter = model ? TfLiteInterpreterCreate(model, options) : NULL;
  if (!interpreter || TfLiteInterpreterAllocateTensors(interpreter) != kTfLiteOk)
    return fprintf(stderr, "tflite_bench: %s cannot be run\n", argv[1]), 1;
  for (int i = 0; i < TfLiteInterpreterGetInputTensorCount(interpreter); ++i) {
    TfLiteTensor* input = TfLiteInterpreterGetInputTensor(interpreter, i);
    memset(TfLiteTensorData(input), 0, TfLiteTensorByteSize(input));
  }
  const int runs = atoi(argv[3]);
  double* times = calloc((size_t)runs + 1, sizeof *times);
  for (int i = -1; i < runs; ++i) {
    const double start = now_ms();
    if (TfLiteInterpreterInvoke(interpreter) != kTfLiteOk) return fprintf(stderr, "tflite_bench: a run failed\n"), 1;
    if (i >= 0) times[i] = now_ms() - start;
  }
  qsort(times, (size_t)runs, sizeof *times, by_value);
  printf("{\"median_ms\": %.4f, \"min_ms\": %.4f}\n", times[runs / 2], times[0]);
  return 0;
}
