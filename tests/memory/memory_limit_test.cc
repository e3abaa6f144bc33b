// ferry_session_options.memory_limit bounds a session's activations, states and packed weights. Allocations that would
// exceed it are refused beforehand.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include "tests/memory/failing.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

ferry_session_options options_for(const std::string& gpu) {
  ferry_session_options options = default_options();
  options.num_threads = 1;  // each thread has its own scratch memory
  if (gpu.empty()) return options;
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  options.gpu_device = gpu.c_str();
  return options;
}

// The CPU and every GPU.
std::vector<std::string> backends() {
  std::vector<std::string> all = test_gpus();
  all.insert(all.begin(), "");
  return all;
}

bool names(const std::string& sentence, uint64_t number) {
  return sentence.find(" " + std::to_string(number)) != std::string::npos;
}

// Small activations, many weights.
std::unique_ptr<Graph> wide_network() { return residual_network(3, 4, 96); }

TEST(MemoryLimit, BoundsPackedWeights) {
  for (const std::string& gpu : backends()) {
    SCOPED_TRACE(gpu.empty() ? "the CPU" : gpu);
    const auto graph = wide_network();
    ferry_session_options options = options_for(gpu);
    uint64_t weights = 0, activations = 0;
    {
      const Opened opened(*graph);
      const SessionPtr session = make_session(opened.model, options);
      ASSERT_NE(session, nullptr);
      weights = ferry_session_packed_bytes(session.get());
      activations = ferry_session_arena_bytes(session.get());
    }
    ASSERT_GT(weights, 4 * activations);
    const Opened opened(*graph);
    ferry_session* session = nullptr;
    for (const uint64_t limit : {weights / 8, weights / 8, weights - 1, weights + activations / 2}) {
      options.memory_limit = limit;
      EXPECT_EQ(ferry_session_create(opened.model, &options, &session), FERRY_MEMORY_LIMIT) << limit;
      EXPECT_EQ(session, nullptr);
      EXPECT_PRED2(names, ferry_last_error(), limit);
      if (limit < weights) {
        EXPECT_NE(std::string(ferry_last_error()).find("packed weights need "), std::string::npos)
            << ferry_last_error();
      }
    }
  }
}

TEST(MemoryLimit, CountsNoWeightsThatOtherSessionsHold) {
  for (const std::string& gpu : backends()) {
    SCOPED_TRACE(gpu.empty() ? "the CPU" : gpu);
    const Opened opened(*wide_network());
    ferry_session_options options = options_for(gpu);
    const SessionPtr first = make_session(opened.model, options);
    options.memory_limit = ferry_session_packed_bytes(first.get()) / 2;
    EXPECT_NE(make_session(opened.model, options), nullptr);
  }
}

// A blob of a few kilobytes can require any amount of memory.
TEST(MemoryLimit, RefusesBeforeItAllocates) {
  const Opened opened(*wide_network());
  ferry_session_options options = options_for("");
  options.memory_limit = 100000;
  ferry_session* session = nullptr;
  (void)largest_allocation();
  EXPECT_EQ(ferry_session_create(opened.model, &options, &session), FERRY_MEMORY_LIMIT);
  EXPECT_LT(largest_allocation(), 100000u);
  options.memory_limit = 0;
  EXPECT_NE(make_session(opened.model, options), nullptr);
  EXPECT_GT(largest_allocation(), 100000u) << "nothing is counted";
}

TEST(MemoryLimit, BoundsAResizeBesideTheWeights) {
  const Opened opened(*wide_network());
  ferry_session_options options = options_for("");
  uint64_t needed = 0;
  {
    const Opened other(*wide_network());
    const SessionPtr session = make_session(other.model, options);
    needed = ferry_session_packed_bytes(session.get()) + ferry_session_arena_bytes(session.get());
  }
  options.memory_limit = needed;
  const SessionPtr session = make_session(opened.model, options);
  ASSERT_NE(session, nullptr);
  const int32_t larger[] = {1, 16, 16, 96}, smaller[] = {1, 3, 4, 96};
  EXPECT_EQ(ferry_session_resize(session.get(), 0, larger, 4), FERRY_MEMORY_LIMIT);
  EXPECT_PRED2(names, ferry_last_error(), needed);
  EXPECT_OK(ferry_session_run(session.get()));
  EXPECT_OK(ferry_session_resize(session.get(), 0, smaller, 4));
}

}  // namespace
}  // namespace ferry::testing
