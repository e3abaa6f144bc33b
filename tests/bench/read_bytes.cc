// Measures memory read bandwidth, for tests/bench/compare_llama_cpp: each thread sums its part of BYTES ten times.
//   read_bytes BYTES THREADS
// Prints one JSON line: bytes per second of the fastest pass.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// Independent sums.
uint64_t sum(const uint64_t* from, size_t count) {
  uint64_t sums[32] = {};
  for (size_t i = 0; i + 32 <= count; i += 32)
    for (size_t k = 0; k < 32; ++k) sums[k] += from[i + k];
  for (size_t k = 1; k < 32; ++k) sums[0] += sums[k];
  return sums[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t count = static_cast<size_t>(std::atoll(argv[1])) / sizeof(uint64_t);
  const size_t threads = static_cast<size_t>(std::max(std::atoi(argv[2]), 1)), part = count / threads;
  const std::vector<uint64_t> memory(count, 1);
  std::vector<uint64_t> sums(threads);
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    const auto add = [&](size_t i) { sums[i] = sum(memory.data() + i * part, part); };
    for (size_t i = 1; i < threads; ++i) others.emplace_back(add, i);
    add(0);
    for (std::thread& other : others) other.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(part * threads * sizeof(uint64_t)) / took.count());
  }
  for (const uint64_t found : sums)
    if (found != part / 32 * 32) return 1;
  std::printf("{\"bytes_per_second\": %.0f}\n", best);
}
