// run_ncnn NETWORK.param: with NETWORK.bin beside it, a warm-up run and one that is counted, on one thread. Prints the
// first values of its output. The settings are those of ncnn's own benchmark in float32.
#include <cstdio>
#include <string>

#include "allocator.h"
#include "cpu.h"
#include "net.h"
#include "region.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_ncnn NETWORK.param\n");
    return 2;
  }
  const std::string param = argv[1], weights = param.substr(0, param.rfind('.')) + ".bin";
  ncnn::UnlockedPoolAllocator blobs;
  ncnn::PoolAllocator workspace;
  blobs.set_size_compare_ratio(0.0f);
  workspace.set_size_compare_ratio(0.0f);
  ncnn::set_omp_num_threads(1);
  ncnn::Net net;
  net.opt.lightmode = true;
  net.opt.num_threads = 1;
  net.opt.blob_allocator = &blobs;
  net.opt.workspace_allocator = &workspace;
  net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = false;
  net.opt.use_bf16_storage = net.opt.use_int8_inference = false;
  if (net.load_param(param.c_str()) != 0 || net.load_model(weights.c_str()) != 0) return 2;
  ncnn::Mat input(kSide, kSide, 3), output;
  unsigned state = 1;
  for (int channel = 0; channel < 3; ++channel) {
    float* plane = input.channel(channel);
    for (int i = 0; i < kPixels; ++i) plane[i] = next_input(&state);
  }
  for (int counted = 0; counted < 2; ++counted) {
    if (counted) begin_region();
    {
      ncnn::Extractor extractor = net.create_extractor();
      extractor.input(net.input_names()[0], input);
      if (extractor.extract(net.output_names()[0], output) != 0) return 2;
    }
    if (counted) end_region();
  }
  const float* out = output;
  std::fprintf(stderr, "%g %g %g\n", out[0], out[1], out[2]);
  return 0;
}
