/* run_onnxruntime LIBRARY NETWORK.onnx: a run to warm up and one that is counted, on one thread. Prints the first
 * numbers of its output.
 *
 * The library comes from npm without a header: of its table of functions, whose places never change, these are here. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "region.h"

typedef void Status;
typedef struct {
  const void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)(void);
} ApiBase;
enum { kApiVersion = 17 };

static const char* (*GetErrorMessage)(const Status*);
static Status* (*CreateEnv)(int severity, const char* id, void** env);
static Status* (*CreateSession)(void* env, const char* path, const void* options, void** session);
static Status* (*Run)(void* session, const void* options, const char* const* inputs, const void* const* values,
                      size_t input_count, const char* const* outputs, size_t output_count, void** results);
static Status* (*CreateSessionOptions)(void** options);
static Status* (*SetGraphOptimizationLevel)(void* options, int level);
static Status* (*SetThreads)(void* options, int threads);
static Status* (*GetName)(void* session, size_t index, void* allocator, char** name);
static Status* (*GetOutputName)(void* session, size_t index, void* allocator, char** name);
static Status* (*CreateTensor)(const void* memory, void* data, size_t bytes, const int64_t* shape, size_t rank,
                               int type, void** value);
static Status* (*GetData)(void* value, void** data);
static Status* (*CreateMemoryInfo)(int allocator, int kind, void** memory);
static Status* (*GetAllocator)(void** allocator);
static void (*ReleaseValue)(void* value);

static void bind(const ApiBase* base) {
  const void* const* api = base->GetApi(kApiVersion);
  if (api == NULL) {
    fprintf(stderr, "run_onnxruntime: version %s has no API %d\n", base->GetVersionString(), kApiVersion);
    exit(2);
  }
  *(const void**)&GetErrorMessage = api[2];
  *(const void**)&CreateEnv = api[3];
  *(const void**)&CreateSession = api[7];
  *(const void**)&Run = api[9];
  *(const void**)&CreateSessionOptions = api[10];
  *(const void**)&SetGraphOptimizationLevel = api[23];
  *(const void**)&SetThreads = api[24];
  *(const void**)&GetName = api[36];
  *(const void**)&GetOutputName = api[37];
  *(const void**)&CreateTensor = api[49];
  *(const void**)&GetData = api[51];
  *(const void**)&CreateMemoryInfo = api[69];
  *(const void**)&GetAllocator = api[78];
  *(const void**)&ReleaseValue = api[96];
}

static void check(Status* status) {
  if (status == NULL) return;
  fprintf(stderr, "run_onnxruntime: %s\n", GetErrorMessage(status));
  exit(2);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: run_onnxruntime LIBRARY NETWORK.onnx\n");
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_NOW);
  const ApiBase* (*get_api_base)(void) = NULL;
  if (library != NULL) *(void**)&get_api_base = dlsym(library, "OrtGetApiBase");
  if (get_api_base == NULL) {
    fprintf(stderr, "run_onnxruntime: %s\n", dlerror());
    return 2;
  }
  bind(get_api_base());
  void *env, *options, *session, *memory, *input, *allocator;
  check(CreateEnv(2, "run_onnxruntime", &env));
  check(CreateSessionOptions(&options));
  check(SetThreads(options, 1));
  check(SetGraphOptimizationLevel(options, 99));
  check(CreateSession(env, argv[2], options, &session));
  char *input_name, *output_name;
  check(GetAllocator(&allocator));
  check(GetName(session, 0, allocator, &input_name));
  check(GetOutputName(session, 0, allocator, &output_name));

  float* pixels = malloc(kInputs * sizeof *pixels);
  unsigned state = 1;
  for (int i = 0; i < kInputs; ++i) pixels[i] = next_input(&state);
  const int64_t shape[] = {1, 3, kSide, kSide};
  check(CreateMemoryInfo(1, 0, &memory));
  check(CreateTensor(memory, pixels, kInputs * sizeof *pixels, shape, 4, 1, &input));
  const char *inputs[] = {input_name}, *outputs[] = {output_name};
  const void* values[] = {input};
  for (int counted = 0; counted < 2; ++counted) {
    void *result = NULL, *data;
    if (counted) begin_region();
    Status* status = Run(session, NULL, inputs, values, 1, outputs, 1, &result);
    if (counted) end_region();
    check(status);
    check(GetData(result, &data));
    const float* out = data;
    if (counted) fprintf(stderr, "%g %g %g\n", out[0], out[1], out[2]);
    ReleaseValue(result);
  }
  return 0;
}
