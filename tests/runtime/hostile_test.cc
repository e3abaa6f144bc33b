// A file can never crash the host app: a damaged blob gives a status, never a crash, hang or leak. The proof runs under
// AddressSanitizer and UBSan (preset asan). tests/unit/model_open_test.cc plants each kind of inconsistency and checks
// its message.
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>

#include "sdk/model/model.h"
#include "sdk/model/verify_states.h"
#include "sdk/operators/shape_rules.h"
#include "tests/support/blobs.h"
#include "tests/support/random.h"

namespace ferry::testing {
namespace {

using Bytes = std::span<std::byte>;

// Limits of 4- and 8-byte fields.
constexpr int64_t kEdges[] = {0,         1,         2,          3,         7,         64,
                              -1,        -2,        127,        128,       255,       256,
                              32767,     65535,     65536,      1 << 20,   1 << 30,   -(1 << 30),
                              INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, int64_t{1} << 40};

template <typename T>
void write(Bytes bytes, size_t at, T value) {
  if (at + sizeof value <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof value);
}

// One random change in `bytes`.
void mutate(Bytes bytes, Random& random) {
  const size_t at = random.below(bytes.size());
  const size_t word = at / 4 * 4;
  const auto edge = kEdges[random.below(std::size(kEdges))];
  const size_t block = std::min({4 + random.below(29), bytes.size() - at, bytes.size() / 2});
  const size_t other = random.below(bytes.size() - block + 1);
  switch (random.below(9)) {
    case 0: bytes[at] ^= std::byte(1u << random.below(8)); break;
    case 1: bytes[at] = std::byte(random.below(256)); break;
    case 2: bytes[at] = std::byte(kEdges[random.below(std::size(kEdges))] & 0xff); break;
    case 3: write(bytes, word, static_cast<int32_t>(edge)); break;
    case 4: write(bytes, word, edge); break;
    case 5: {  // a field changed slightly: it passes structural checks, so semantic ones must catch it
      int32_t value = 0;
      std::memcpy(&value, bytes.data() + word, std::min<size_t>(4, bytes.size() - word));
      write(bytes, word,
            static_cast<int32_t>(static_cast<uint32_t>(value) + static_cast<uint32_t>(random.below(9)) - 4));
      break;
    }
    case 6: write(bytes, word, static_cast<int32_t>(random.below(32))); break;
    case 7:
      std::swap_ranges(
          bytes.begin() + static_cast<ptrdiff_t>(at),
          bytes.begin() + static_cast<ptrdiff_t>(at + (other + block <= at || other >= at + block ? block : 0)),
          bytes.begin() + static_cast<ptrdiff_t>(other));
      break;
    case 8: std::memmove(bytes.data() + at, bytes.data() + other, block); break;
  }
}

struct Tally {
  int64_t refused = 0, opened = 0, planned = 0, ran = 0, images = 0;
  double slowest = 0;  // seconds, for one blob
};

void touch(const char* s) {
  // Reads up to the terminator under AddressSanitizer.
  ASSERT_NE(s, nullptr);
  ASSERT_LT(std::strlen(s), size_t{1} << 20);
}

// Sets an image through the blob's preprocessing, which may be hostile too.
void use_image(ferry_session* session, Tally* tally) {
  uint8_t pixels[5 * 6 * 3];
  for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  const ferry_image image{.pixels = pixels, .width = 6, .height = 5, .stride = 18, .owned = false};
  if (ferry_session_set_image(session, &image) == FERRY_OK && ferry_session_run(session) == FERRY_OK) {
    ferry_class classes[3];
    size_t count = 3;
    if (ferry_session_top_classes(session, classes, &count) == FERRY_OK) {
      ++tally->images;
      for (size_t i = 0; i < count; ++i) touch(classes[i].label);
    }
  }
  float embedding[64];
  size_t width = 64;
  if (ferry_session_embedding(session, embedding, &width) == FERRY_OK) ++tally->images;
  ferry_image result{};
  if (ferry_session_enhance(session, &image, 4, &result) == FERRY_OK) {
    ++tally->images;
    ferry_image_free(&result);
  }
}

// Extends, shortens and clears a session's states.
void use_states(ferry_session* session) {
  ferry_states* states = nullptr;
  if (ferry_session_states(session, &states) != FERRY_OK) return;
  const auto ran = [&] { return ferry_session_run(session) == FERRY_OK; };
  for (int i = 0; i < 2 && ran(); ++i) {
  }
  for (size_t i = 0; i < ferry_states_count(states); ++i) {
    ferry_tensor tensor;
    ASSERT_EQ(ferry_states_describe(states, i, &tensor), FERRY_OK);
    touch(tensor.name);
    uint8_t sum = 0;
    for (size_t k = 0; k < tensor.bytes; ++k) sum = static_cast<uint8_t>(sum + static_cast<uint8_t*>(tensor.data)[k]);
    volatile uint8_t sink = sum;  // reads all declared bytes
    (void)sink;
  }
  const ferry_status truncated = ferry_states_truncate(states, 1);
  EXPECT_TRUE(truncated == FERRY_OK || truncated == FERRY_UNSUPPORTED) << "states of fixed size go back to 0 alone";
  if (ran()) {
    EXPECT_EQ(ferry_states_reset(states), FERRY_OK);
  }
  ferry_states_close(states);
}

// Every operation that an app performs with a model.
void use(ferry_model* model, bool run, Tally* tally) {
  touch(ferry_model_name(model));
  ferry_tensor tensor;
  for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
    ASSERT_EQ(ferry_model_input(model, i, &tensor), FERRY_OK);
    touch(tensor.name);
  }
  for (size_t i = 0; i < ferry_model_tap_count(model); ++i) {
    ASSERT_EQ(ferry_model_tap(model, i, &tensor), FERRY_OK);
    touch(tensor.name);
  }
  for (size_t i = 0; i < ferry_model_label_count(model); ++i) touch(ferry_model_label(model, i));

  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  options.memory_limit = uint64_t{64} << 20;
  options.all_taps = true;
  options.profile = true;
  ferry_session* session = nullptr;
  if (ferry_session_create(model, &options, &session) != FERRY_OK) {
    touch(ferry_last_error());
    ASSERT_STRNE(ferry_last_error(), "");
    ASSERT_EQ(session, nullptr);
    return;
  }
  ++tally->planned;
  if (run) {
    for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
      ASSERT_EQ(ferry_session_input(session, i, &tensor), FERRY_OK);
      // Writes all declared bytes: 0.01, or an index that is probably valid.
      std::memset(tensor.data, tensor.dtype == FERRY_INT32 ? 0 : 0x3c, tensor.bytes);
    }
    if (ferry_session_run(session) == FERRY_OK) ++tally->ran;
    use_states(session);
    for (size_t i = 0; i < ferry_model_output_count(model); ++i) {
      ASSERT_EQ(ferry_session_output(session, i, &tensor), FERRY_OK);
      uint8_t sum = 0;
      for (size_t k = 0; k < tensor.bytes; ++k) sum = static_cast<uint8_t>(sum + static_cast<uint8_t*>(tensor.data)[k]);
      volatile uint8_t sink = sum;  // reads all declared bytes
      (void)sink;
    }
    for (size_t i = 0; i < ferry_session_profile_count(session); ++i) {
      ferry_profile_entry entry;
      ASSERT_EQ(ferry_session_profile(session, i, &entry), FERRY_OK);
      touch(entry.name);
      touch(entry.op);
    }
    use_image(session, tally);
  }
  ferry_session_close(session);
}

void open_and_use(AlignedBytes& blob, bool plan, bool run, Tally* tally) {
  const auto start = std::chrono::steady_clock::now();
  ferry_model* model = nullptr;
  const ferry_status status = ferry_model_open_memory(blob.data(), blob.size(), &model);
  if (status == FERRY_OK) {
    ++tally->opened;
    if (plan) use(model, run, tally);
    for (size_t i = 1; plan && i < ferry_model_graph_count(model); ++i) {
      ferry_model* graph = nullptr;
      ASSERT_EQ(ferry_model_open_graph(model, ferry_model_graph_name(model, i), &graph), FERRY_OK);
      Tally other;  // of the first graphs only
      use(graph, run, &other);
      ferry_model_close(graph);
    }
    ferry_model_close(model);
  } else {
    ++tally->refused;
    ASSERT_EQ(model, nullptr);
    ASSERT_TRUE(status >= FERRY_NOT_A_BLOB && status <= FERRY_UNSUPPORTED) << status;
    ASSERT_STRNE(ferry_last_error(), "");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  tally->slowest = std::max(tally->slowest, seconds.count());
}

size_t graph_end(const std::vector<std::byte>& blob) {
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  return static_cast<size_t>(header.graph_offset + header.graph_bytes);
}

// With a sanitizer nearly all: 66,667 damaged blobs, and 15,000 odd ones. The damage is the same in every run;
// scripts/fuzz searches further.
#if defined(FERRY_EMULATED)
constexpr int kShare = 20;
#elif defined(FERRY_SANITIZED)
constexpr int kShare = 4;
#else
constexpr int kShare = 10;
#endif
constexpr double kTimeLimitSeconds = 20.0 * kShare;  // seconds for one blob
constexpr int kAttacks = 50000 / kShare;             // on each blob's graph
constexpr int kAnywhere = 50001 / kShare / 3;        // on each blob
constexpr int kOdd = 15000 / kShare;                 // on each blob

// 0 by default, so that every run is the same; --gtest_random_seed=N tries other damage.
uint64_t round_seed() { return static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)) * 1000; }

// `count` damaged versions of `blob`, each with one to four changes in the bytes from `first` to `last`.
void attack(const std::vector<std::byte>& blob, size_t first, size_t last, int count, uint64_t seed, Tally* tally) {
  Random random(seed + round_seed());
  AlignedBytes bytes(blob);
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    std::memcpy(bytes.data(), blob.data(), blob.size());
    const size_t changes = 1 + (random.below(4) == 0 ? random.below(4) : 0);
    for (size_t c = 0; c < changes; ++c) mutate(Bytes(bytes.data() + first, last - first), random);
    // Changed weights leave a blob valid; only some of these are planned.
    const bool graph_changed = std::memcmp(bytes.data(), blob.data(), graph_end(blob)) != 0;
    open_and_use(bytes, graph_changed || i % 16 == 0, i % 4 == 0, tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void report(const char* what, const Tally& t) {
  std::cout << what << ": " << t.refused << " refused, " << t.opened << " opened, " << t.planned << " planned, "
            << t.ran << " run, " << t.images << " images; slowest " << t.slowest << " s\n";
}

TEST(HostileBlob, TheUndamagedOnesRun) {
  for (const Named& named : small_blobs()) {
    SCOPED_TRACE(named.name);
    AlignedBytes bytes(named.blob);
    Tally tally;
    open_and_use(bytes, true, true, &tally);
    EXPECT_EQ(tally.ran, 1) << ferry_last_error();
  }
}

TEST(HostileBlob, CutAtEveryByteIsRefused) {
  Tally tally;
  int64_t cuts = 0;
  for (const Named& named : small_blobs()) {
    for (size_t size = 0; size < named.blob.size(); ++size, ++cuts) {
      AlignedBytes bytes(std::span(named.blob).first(size));
      open_and_use(bytes, true, true, &tally);
    }
  }
  report("cuts", tally);
  EXPECT_EQ(tally.refused, cuts);
}

// Three quarters of the damage is in the graph, the rest anywhere (below).
TEST(HostileBlob, DamagedGraphsGiveAStatus) {
  uint64_t seed = 1;
  for (const Named& named : small_blobs()) {
    SCOPED_TRACE(named.name);
    Tally tally;
    attack(named.blob, sizeof(BlobHeader), graph_end(named.blob), kAttacks, seed++, &tally);
    report(named.name, tally);
    // Both outcomes must occur: most damage is detected, but enough blobs pass to test later stages.
    EXPECT_GT(tally.refused, kAttacks / 4);
    EXPECT_GT(tally.opened, kAttacks / 20);
    EXPECT_GT(tally.ran, kAttacks / 200);
    EXPECT_LT(tally.planned, tally.opened);
    EXPECT_LT(tally.slowest, kTimeLimitSeconds);
  }
}

// Adapts the shapes of a damaged graph to the damage; false if that is impossible.
bool make_consistent(std::vector<std::byte>* blob) {
  const std::span graph = std::span(*blob).first(graph_end(*blob)).subspan(sizeof(BlobHeader));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(graph.data()), graph.size());
  if (!fbs::VerifyGraphBuffer(verifier)) return false;
  StateShapes states;
  if (!verify_states(*fbs::GetGraph(graph.data()), &states).ok()) return false;
  Parts parts(*blob);
  for (auto& op : parts.model.operators) {
    if (!op->params.value) return false;
    std::vector<Shape> inputs;
    for (TensorId index : op->inputs) {
      if (index_of(index) >= parts.model.tensors.size()) return false;
      const auto& dims = parts.model.tensors[index_of(index)]->shape;
      Shape shape;
      int64_t elements = 1;
      for (int32_t d : dims) {
        if (shape.rank == FERRY_MAX_RANK || d < 1 || (elements *= d) > 1 << 26) return false;
        shape[shape.rank++] = d;
      }
      inputs.push_back(shape);
    }
    Shape output;
    const SerializedOp serialized(*op);
    if (op->outputs.size() != 1 || !infer_shape(*serialized, inputs, &output, states).ok()) return false;
    const TensorId index = op->outputs[0];
    if (index_of(index) >= parts.model.tensors.size()) return false;
    parts.model.tensors[index_of(index)]->shape.assign(output.dims.begin(), output.dims.begin() + output.rank);
  }
  *blob = parts.assemble();
  return true;
}

// Odd strides, kernels, paddings, permutations, sizes, kinds: they pass verification and reach the plan and the
// kernels.
TEST(HostileBlob, OddButConsistentGraphsGiveAStatus) {
  uint64_t seed = 21;
  for (const Named& named : small_blobs()) {
    SCOPED_TRACE(named.name);
    Random random(seed++ + round_seed());
    Tally tally;
    int consistent = 0;
    for (int i = 0; i < kOdd; ++i) {
      SCOPED_TRACE(i);
      std::vector<std::byte> blob = named.blob;
      mutate(Bytes(blob).first(graph_end(blob)).subspan(sizeof(BlobHeader)), random);
      if (blob == named.blob || !make_consistent(&blob)) continue;
      ++consistent;
      AlignedBytes bytes(blob);
      open_and_use(bytes, true, true, &tally);
      if (HasFatalFailure()) return;
    }
    report(named.name, tally);
    EXPECT_GT(consistent, kOdd / 20);
    EXPECT_GT(tally.ran, kOdd / 20);
    EXPECT_LT(tally.slowest, kTimeLimitSeconds);
  }
}

TEST(HostileBlob, DamageAnywhereGivesAStatus) {
  uint64_t seed = 11;
  Tally tally;
  const auto blobs = small_blobs();
  for (size_t i = 0; i < blobs.size(); ++i) {
    SCOPED_TRACE(blobs[i].name);
    attack(blobs[i].blob, 0, blobs[i].blob.size(), kAnywhere, seed++, &tally);
  }
  report("anywhere", tally);
  const int all = static_cast<int>(blobs.size()) * kAnywhere;
  EXPECT_EQ(tally.refused + tally.opened, all);
  EXPECT_GT(tally.refused, all / 20);
  EXPECT_GT(tally.opened, all / 20);
  EXPECT_LT(tally.slowest, kTimeLimitSeconds);
}

}  // namespace
}  // namespace ferry::testing
