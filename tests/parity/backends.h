// Runs whole networks on every GPU of the tests, in both precisions, and compares with the reference and the CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/judge.h"
#include "cli/parity/network.h"
#include "cli/parity/report.h"
#include "tests/support/fixtures.h"
#include "tests/support/gpus.h"

namespace ferry::parity {

inline std::string text(const Comparison& comparison) {
  Report report;
  report.comparison = comparison;
  return text_report(report, {.verbose = true});
}

// Makes a reference of the network's own result.
inline Entry as_reference(const std::string& name, const Computed& computed, EntryKind kind = EntryKind::Tap) {
  Entry entry;
  entry.name = entry.module = name;
  entry.kind = kind;
  entry.shape = computed.shape;
  entry.values = computed.read();
  for (float v : entry.values) entry.absmax = std::max(entry.absmax, std::fabs(static_cast<double>(v)));
  return entry;
}

// float32: the reference's bounds, and within 1e-4 of the CPU's maximum. float16: judged like `ferry parity` (judge.h).
// No operator may run on the CPU, except those of a network with states that read token ids.
inline void expect_gpu_computes_the_same(const std::string& gpu, const std::filesystem::path& blob, const Network& cpu,
                                         const Fixture& fixture, Precision precision) {
  const bool half = precision == Precision::Float16;
  SCOPED_TRACE(blob.filename().string() + " on " + gpu + (half ? ", float16" : ", float32"));
  ferry_session_options options = cli::session_options(1);  // with two processors, the next test uses the other
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_device = gpu.c_str();
  options.gpu_required = true;
  options.precision = half ? FERRY_PRECISION_FLOAT16 : FERRY_PRECISION_FLOAT32;
  const Network network(blob, fixture, options);
  const std::shared_ptr<Model> model = open_blob(blob);
  if (model->root().states() == nullptr) {
    EXPECT_EQ(network.report().cpu_operators, 0u);
  }
  // Routers run on the CPU in float16.
  const auto& operators = *model->graph().operators();
  const bool routes = half && std::any_of(operators.begin(), operators.end(), [](const fbs::Operator* op) {
                        return op->params_type() == fbs::OpParams::Experts;
                      });
  for (const std::string& kind : network.kinds_on_cpu()) EXPECT_TRUE(routes) << kind;
  const ComputedTensors on_gpu = network.tensors();
  const Comparison comparison = judge(blob, fixture, on_gpu, options);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  if (half) return;
  for (const auto& [name, computed] : cpu.tensors()) {
    const Row row = compare_entry(as_reference(name, computed), computed.shape, on_gpu.at(name).read());
    EXPECT_TRUE(row.in_bounds) << name << ": " << row.relative_error << " from the CPU's result";
  }
}

// Networks with new kernels run on one GPU twice, with all taps in float32 and as shipped in float16, block by block;
// on the other GPU as shipped in float32. Networks with familiar kernels run on one GPU only. Variants run as shipped
// in float32. Operators are tested on every GPU in both precisions.
template <typename Convert, typename OnCpu>
void expect_every_gpu_computes_the_same(Convert convert_to_blob, OnCpu on_cpu, const Fixture& fixture,
                                        ParityFixture::Gpu novel) {
  using enum Precision;
  using Gpu = ParityFixture::Gpu;
  const std::vector<std::string> gpus = ferry::testing::test_gpus();
  if (gpus.empty()) GTEST_SKIP() << "no Vulkan driver";
  const auto expect_same = [&](const std::string& gpu, bool keep_taps, Precision precision) {
    expect_gpu_computes_the_same(gpu, convert_to_blob(keep_taps), on_cpu(keep_taps), fixture, precision);
  };
  if (novel != Gpu::Values) expect_same(gpus.front(), /*keep_taps=*/true, Float32);
  if (novel != Gpu::Modules)
    expect_same(novel == Gpu::Kernels ? gpus.back() : gpus.front(), /*keep_taps=*/false, Float32);
  if (novel != Gpu::Values) expect_same(gpus.front(), /*keep_taps=*/false, Float16);
}

}  // namespace ferry::parity
