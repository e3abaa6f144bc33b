// run() allocates nothing: this program counts calls of every allocating C function.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "tests/runtime/networks.h"

#if defined(__GLIBC__) && !defined(FERRY_SANITIZED)
#define FERRY_COUNTS_ALLOCATIONS 1
#endif

#if FERRY_COUNTS_ALLOCATIONS

namespace {
std::atomic<long> allocations{0};
}

// The C library's own functions, by their other names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}  // extern "C"; operator new calls these

#endif

namespace ferry::testing {
namespace {

TEST(Allocation, NoneDuringARun) {
#if FERRY_COUNTS_ALLOCATIONS
  std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(small_classifier());
  graphs.push_back(small_upscaler());
  graphs.push_back(small_mixture());
  graphs.push_back(small_decoder());
  graphs.push_back(small_products());
  graphs.push_back(residual_network(3, 24, 32));
  for (const auto& graph : graphs) {
    Opened opened(*graph);
    for (int threads : {1, 3}) {
      ferry_session_options options = default_options();
      options.num_threads = threads;
      options.profile = true;
      options.all_taps = true;
      const long before_creation = allocations;
      SessionPtr session = make_session(opened.model, options);
      EXPECT_GT(allocations, before_creation) << "the counter counts nothing";
      fill_inputs(opened.model, session.get());
      // The first run too: nothing is deferred to it.
      for (int run = 0; run < 3; ++run) {
        const long before = allocations;
        const ferry_status status = ferry_session_run(session.get());
        const long during = allocations - before;
        EXPECT_EQ(status, FERRY_OK);
        EXPECT_EQ(during, 0) << graph->table.name << ", " << threads << " threads, run " << run;
      }
    }
  }
#else
  GTEST_SKIP() << "allocations are counted with the GNU C library and without sanitizers";
#endif
}

// Lengths that change within the bound, and states with free space, cost only arithmetic.
TEST(Allocation, NoneWhileLengthsChange) {
#if FERRY_COUNTS_ALLOCATIONS
  Opened opened(*small_transformer());
  for (int threads : {1, 3}) {
    const SessionPtr session = make_session(opened.model, threads);
    ferry_states* states = nullptr;
    ASSERT_OK(ferry_session_states(session.get(), &states));
    ASSERT_OK(ferry_states_reserve(states, 24));
    for (int round = 0; round < 2; ++round) {
      for (int32_t length : {1, 5, 16, 1, 1}) {
        const int32_t shape[] = {1, length};
        ferry_tensor ids;
        const long before = allocations;
        const ferry_status resized = ferry_session_resize(session.get(), 0, shape, 2);
        const ferry_status found = ferry_session_input(session.get(), 0, &ids);
        if (found == FERRY_OK) std::memset(ids.data, 0, ids.bytes);
        const ferry_status ran = ferry_session_run(session.get());
        const long during = allocations - before;
        EXPECT_EQ(resized, FERRY_OK) << ferry_last_error();
        EXPECT_EQ(ran, FERRY_OK) << ferry_last_error();
        EXPECT_EQ(during, 0) << length << " tokens, " << threads << " threads, round " << round;
      }
      EXPECT_EQ(ferry_states_length(states), 24);
      ASSERT_OK(ferry_states_reset(states));
    }
    ferry_states_close(states);
  }
#else
  GTEST_SKIP() << "allocations are counted with the GNU C library and without sanitizers";
#endif
}

// Consecutive frames of one size and format, as from a camera.
TEST(Allocation, NoneForAFrameLikeTheLast) {
#if FERRY_COUNTS_ALLOCATIONS
  Opened opened(*small_classifier());
  const SessionPtr session = make_session(opened.model, 1);
  std::vector<uint8_t> luma(160 * 120, 90), chroma(160 * 60, 140);
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_NV21;
  frame.width = 160;
  frame.height = 120;
  frame.planes[0] = {luma.data(), luma.size(), 0, 0};
  frame.planes[1] = {chroma.data(), chroma.size(), 0, 0};
  for (const int rotation : {0, 90}) {
    frame.rotation = rotation;
    const long first = allocations;
    ASSERT_OK(ferry_session_set_frame(session.get(), &frame));
    EXPECT_TRUE(rotation != 0 || allocations > first) << "the counter counts nothing";
    for (int i = 0; i < 3; ++i) {
      luma[static_cast<size_t>(i)] = 255;  // clips: another code path
      chroma[static_cast<size_t>(i)] = 255;
      const long before = allocations;
      const ferry_status set = ferry_session_set_frame(session.get(), &frame);
      const long during = allocations - before;
      EXPECT_EQ(set, FERRY_OK);
      EXPECT_EQ(during, 0) << "rotation " << rotation;
    }
  }
#else
  GTEST_SKIP() << "allocations are counted with the GNU C library and without sanitizers";
#endif
}

// The same for a network without bounds, once memory is reserved; beyond that it plans anew.
TEST(Allocation, NoneWithinReservedMemory) {
#if FERRY_COUNTS_ALLOCATIONS
  Graph graph;
  const Tensor x = graph.add_input("x", {2, 8}, fbs::Layout::Same);
  const Tensor w = graph.add_constant("w", {5, 8}, std::vector<float>(40, 0.5f));
  fbs::UnaryT negative;
  negative.kind = fbs::UnaryKind::Neg;
  graph.add_output("y", graph.add_op("y", fbs::LinearT(), {graph.add_op("negative", negative, {x}), w}),
                   fbs::Layout::Same);
  Opened opened(graph);
  const SessionPtr session = make_session(opened.model, 1);
  ferry_tensor tensor;
  ASSERT_OK(ferry_session_input(session.get(), 0, &tensor));
  tensor.shape[0] = 64;
  ASSERT_OK(ferry_session_reserve(session.get(), &tensor, 1));
  ASSERT_OK(ferry_session_input(session.get(), 0, &tensor));
  EXPECT_EQ(tensor.shape[0], 2);
  const void* const address = tensor.data;
  for (int32_t rows : {64, 3, 1, 65}) {
    const int32_t shape[] = {rows, 8};
    const long before = allocations;
    const ferry_status resized = ferry_session_resize(session.get(), 0, shape, 2);
    const long during = allocations - before;
    ASSERT_EQ(resized, FERRY_OK) << ferry_last_error();
    EXPECT_EQ(during == 0, rows <= 64) << rows;
    ASSERT_OK(ferry_session_input(session.get(), 0, &tensor));
    if (rows <= 64) {
      EXPECT_EQ(tensor.data, address);
    }
    for (int32_t i = 0; i < rows * 8; ++i) static_cast<float*>(tensor.data)[i] = static_cast<float>(i / 8);
    ASSERT_OK(ferry_session_run(session.get()));
    ASSERT_OK(ferry_session_output(session.get(), 0, &tensor));
    ASSERT_EQ(tensor.shape[0], rows);
    EXPECT_EQ(elements(tensor).back(), -4 * static_cast<float>(rows - 1));
  }
  tensor.rank = 3;
  EXPECT_EQ(ferry_session_reserve(session.get(), &tensor, 1), FERRY_SHAPE_MISMATCH);
#else
  GTEST_SKIP() << "allocations are counted with the GNU C library and without sanitizers";
#endif
}

}  // namespace
}  // namespace ferry::testing
