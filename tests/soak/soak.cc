// soak MINUTES [THREADS [SEED]]: several threads open, run, resize, cancel and close sessions and generators of small
// networks at random, with damaged files, vanishing caches and lost GPUs. Every answer must be bit-identical to that of
// the same network alone on the same backend. Memory, open files and threads must not grow. Prints a line per minute;
// the exit status is the result. scripts/soak builds and starts it.
#include <fcntl.h>
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/text.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "converter/pack/pack.h"
#include "tests/gpu/faults.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"
#include "tests/support/language_model.h"
#include "tests/support/random.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Clock = std::chrono::steady_clock;

// ---- what is counted, and what ends the soak -----------------------------------------------------------------------

struct Counts {
  std::atomic<uint64_t> sessions, runs, resizes, cancelled, images, texts, refused, lost;
};

Counts counts;
std::atomic<bool> failed = false;

void complain(const std::string& what) {
  failed = true;
  std::fprintf(stderr, "soak: %s\n", what.c_str());
}

void expect_ok(ferry_status status, const char* what) {
  if (status != FERRY_OK) complain(std::string(what) + ": " + ferry_status_name(status) + ": " + ferry_last_error());
}

// ---- networks, and their answers when they are alone ---------------------------------------------------------------

struct Network {
  std::string name;
  std::shared_ptr<AlignedBytes> blob;
  std::filesystem::path file;
  bool resizable = false;  // its first input is an image of any size
  bool speaks = false;     // a language model
  bool sees = false;       // one with images
};

std::vector<Network> networks(const std::filesystem::path& folder) {
  std::vector<Network> all;
  for (const Named& named : small_blobs()) {
    const std::string name = named.name;
    all.push_back({name, std::make_shared<AlignedBytes>(named.blob), folder / (name + ".ferry"),
                   name == "small_upscaler" || name == "small_decoder"});
  }
  for (const bool sees : {false, true}) {
    const auto graph = sees ? small_vision_language_model() : small_language_model();
    const std::string& name = graph->table.name;
    all.push_back({.name = name,
                   .blob = std::make_shared<AlignedBytes>(pack(*graph)),
                   .file = folder / (name + ".ferry"),
                   .speaks = true,
                   .sees = sees});
  }
  for (const Network& network : all)
    std::ofstream(network.file, std::ios::binary)
        .write(reinterpret_cast<const char*>(network.blob->data()), static_cast<std::streamsize>(network.blob->size()));
  return all;
}

constexpr int kSizes = 3;   // of a resizable network
constexpr int kInputs = 4;  // number of different inputs

void fill(ferry_session* session, size_t inputs, int seed) {
  for (size_t i = 0; i < inputs; ++i) {
    ferry_tensor tensor;
    expect_ok(ferry_session_input(session, i, &tensor), "input");
    for (size_t k = 0; tensor.data != nullptr && k < tensor.bytes / 4; ++k)
      if (tensor.dtype == FERRY_INT32)
        static_cast<int32_t*>(tensor.data)[k] = static_cast<int32_t>((k + static_cast<size_t>(seed)) % 7);
      else
        static_cast<float*>(tensor.data)[k] = noise(static_cast<uint32_t>(seed), static_cast<uint32_t>(k));
  }
}

std::string answer_of(ferry_session* session, size_t outputs) {
  std::string answer;
  for (size_t i = 0; i < outputs; ++i) {
    ferry_tensor tensor;
    expect_ok(ferry_session_output(session, i, &tensor), "output");
    if (tensor.data != nullptr) answer.append(static_cast<const char*>(tensor.data), tensor.bytes);
  }
  return answer;
}

// The expected answers by network, size and input: the CPU's and each GPU's.
class Answers {
 public:
  void check(const std::string& key, bool on_gpu, const std::string& answer) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[key];
    if (known.contains(answer)) return;
    // The first answer of each backend counts; a run that loses its GPU may return the CPU's.
    const size_t backends = known_gpu_.contains(key) ? 2 : known.size();
    if (on_gpu && !known_gpu_.contains(key)) {
      known_gpu_.insert(key);
      known.insert(answer);
    } else if (!on_gpu && backends == 0) {
      known.insert(answer);
    } else {
      complain(key + (on_gpu ? " on the GPU" : "") + ": another answer than the first one");
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> known_;
  std::set<std::string> known_gpu_;
};

// ---- one life of a model -------------------------------------------------------------------------------------------

class Worker {
 public:
  Worker(const std::vector<Network>& all, Answers& answers, const std::filesystem::path& cache, Faults* faults,
         uint64_t seed)
      : all_(all), answers_(answers), cache_(cache), faults_(faults), random_(seed) {}

  // Runs the network alone, on the CPU with one thread, to learn the expected answers.
  void learn(const Network& network) {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    if (!network.sees) live(network, options, true);
    for (size_t prompt = 0; network.speaks && prompt < kPrompts; ++prompt) converse(network, options, prompt);
  }

  void live_once() {
    const Network& network = all_[random_.below(all_.size())];
    if (random_.once_in(8)) return open_damaged(network);
    if (random_.once_in(200)) {
      std::error_code ignored;
      std::filesystem::remove_all(cache_, ignored);
    }
    ferry_session_options options = default_options();
    options.num_threads = static_cast<int32_t>(1 + random_.below(3));
    options.profile = random_.once_in(4);
    options.all_taps = random_.once_in(4);
    if (random_.once_in(3)) options.cache_dir = cache_.c_str();
    const std::vector<std::string> gpus = test_gpus();
    const std::string gpu = gpus.empty() ? "" : gpus[0];
    if (faults_ != nullptr && random_.once_in(100)) {
      options.backend = FERRY_BACKEND_GPU;
      options.gpu_device = gpu.c_str();
      options.gpu_retry = true;
      constexpr VkResult kResults[] = {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                       VK_ERROR_OUT_OF_HOST_MEMORY};
      if (random_.once_in(2)) faults_->arm(static_cast<uint32_t>(random_.below(600)), kResults[random_.below(3)]);
    }
    // The inputs of a network with images must fit each other: only the generator writes them.
    if (network.sees || (network.speaks && random_.once_in(2)))
      return converse(network, options, random_.below(kPrompts));
    live(network, options, false);
  }

 private:
  static constexpr size_t kPrompts = 3;
  static ferry_session_options default_options() {
    ferry_session_options options;
    ferry_session_options_init(&options);
    return options;
  }

  ferry_model* open(const Network& network) {
    ferry_model* model = nullptr;
    switch (random_.below(3)) {
      case 0: expect_ok(ferry_model_open(network.file.c_str(), &model), "open"); break;
      case 1: {
        const int fd = ::open(network.file.c_str(), O_RDONLY | O_CLOEXEC);
        expect_ok(ferry_model_open_fd(fd, 0, network.blob->size(), &model), "open_fd");
        ::close(fd);
        break;
      }
      default: expect_ok(ferry_model_open_memory(network.blob->data(), network.blob->size(), &model), "open_memory");
    }
    return model;
  }

  void live(const Network& network, const ferry_session_options& options, bool learning) {
    ferry_model* model = open(network);
    if (model == nullptr) return;
    ferry_session* session = nullptr;
    expect_ok(ferry_session_create(model, &options, &session), "create");
    const size_t inputs = ferry_model_input_count(model), outputs = ferry_model_output_count(model);
    const bool early = random_.once_in(2);  // the session keeps the model alive
    if (early) ferry_model_close(model);
    if (session != nullptr) {
      ++counts.sessions;
      if (learning) {
        for (int size = 0; size < (network.resizable ? kSizes : 1); ++size)
          for (int input = 0; input < kInputs; ++input) run(network, session, inputs, outputs, size, input);
      } else {
        for (size_t n = 1 + random_.below(6); n > 0 && !failed; --n) act(network, session, inputs, outputs);
      }
      ferry_session_close(session);
    }
    if (!early) ferry_model_close(model);
  }

  void act(const Network& network, ferry_session* session, size_t inputs, size_t outputs) {
    if (random_.once_in(6)) return image(session);
    const int size = network.resizable ? static_cast<int>(random_.below(kSizes)) : 0;
    run(network, session, inputs, outputs, size, static_cast<int>(random_.below(kInputs)));
  }

  void run(const Network& network, ferry_session* session, size_t inputs, size_t outputs, int size, int input) {
    if (network.resizable) {
      const int32_t shape[] = {1, 6 + size, 7 + 2 * size, network.name == "small_decoder" ? 6 : 3};
      expect_ok(ferry_session_resize(session, 0, shape, 4), "resize");
      ++counts.resizes;
    }
    forget_states(session);
    fill(session, inputs, input);
    ferry_status status;
    if (random_.once_in(3)) {
      expect_ok(ferry_session_run_async(session, nullptr, nullptr), "run_async");
      if (random_.once_in(2)) ferry_session_cancel(session);
      status = ferry_session_wait(session);
    } else {
      status = ferry_session_run(session);
    }
    ++counts.runs;
    if (status == FERRY_CANCELLED) {
      ++counts.cancelled;
      return;
    }
    expect_ok(status, "run");
    ferry_report report{};
    report.struct_size = sizeof report;
    expect_ok(ferry_session_report(session, &report), "report");
    if (report.gpu_status != FERRY_OK) ++counts.lost;
    answers_.check(network.name + " " + std::to_string(size) + " " + std::to_string(input),
                   report.backend == FERRY_BACKEND_GPU, answer_of(session, outputs));
  }

  // Generates after a prompt, as often as it is cancelled, and perhaps continues what was saved.
  void converse(const Network& network, const ferry_session_options& options, size_t prompt) {
    ferry_model* model = open(network);
    ferry_generator* generator = nullptr;
    if (model != nullptr) expect_ok(ferry_generator_create(model, &options, &generator), "generator");
    ferry_model_close(model);
    if (generator == nullptr) return;
    const std::string answer = generated(network, generator, prompt);
    ++counts.texts;
    ferry_report report = FERRY_INIT(ferry_report);
    expect_ok(ferry_session_report(ferry_generator_session(generator), &report), "report");
    // Tokens of which some were computed on the GPU, and others on the CPU, may differ from both.
    if (report.gpu_status != FERRY_OK)
      ++counts.lost;
    else
      answers_.check(network.name + " text " + std::to_string(prompt), report.backend == FERRY_BACKEND_GPU, answer);
    ferry_generator_close(generator);
  }

  // The tokens, and their text.
  std::string generated(const Network& network, ferry_generator* generator, size_t prompt) {
    constexpr int kTokens = 6;
    constexpr const char* kTexts[kPrompts] = {"the", "a ferry", "he then \xC3\xA9"};
    if (network.sees && prompt > 0) {
      uint8_t pixels[12 * 8 * 3];
      for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = static_cast<uint8_t>(i * 5 * prompt);
      const ferry_image image{.pixels = pixels, .width = 12, .height = 8, .stride = 36, .owned = false};
      expect_ok(ferry_generator_append_image(generator, &image), "append_image");
    }
    expect_ok(ferry_generator_append_text(generator, kTexts[prompt], std::strlen(kTexts[prompt])), "append_text");
    std::string text;
    for (int i = 0; i < kTokens && !ferry_generator_ended(generator) && !failed; ++i) {
      int32_t token = 0;
      ferry_status status = FERRY_CANCELLED;
      std::thread canceller;
      if (random_.once_in(8)) canceller = std::thread([=] { ferry_generator_cancel(generator); });
      while (status == FERRY_CANCELLED) {
        status = ferry_generator_next(generator, &token);
        if (status == FERRY_CANCELLED) ++counts.cancelled;
      }
      if (canceller.joinable()) canceller.join();
      expect_ok(status, "next");
      text += ferry_generator_text(generator, nullptr);
      if (i == 2 && !(network.sees && prompt > 0) && random_.once_in(3)) reload(generator);
    }
    size_t count = 0;
    const int32_t* tokens = ferry_generator_tokens(generator, &count);
    return std::string(reinterpret_cast<const char*>(tokens), count * sizeof *tokens) + text;
  }

  // Saves the text and loads it again.
  void reload(ferry_generator* generator) {
    const std::string file = cache_.string() + "." + std::to_string(reinterpret_cast<uintptr_t>(this)) + ".text";
    expect_ok(ferry_generator_save(generator, file.c_str(), "note", 4), "save");
    expect_ok(ferry_generator_reset(generator), "reset");
    expect_ok(ferry_generator_load(generator, file.c_str()), "load");
  }

  static void forget_states(ferry_session* session) {
    ferry_states* states = nullptr;
    if (ferry_session_states(session, &states) != FERRY_OK) return;
    expect_ok(ferry_states_reset(states), "reset");
    ferry_states_close(states);
  }

  // Sets an image through the preprocessing, if there is one; any result is allowed, but no leak.
  void image(ferry_session* session) {
    uint8_t pixels[9 * 10 * 3];
    for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = static_cast<uint8_t>(i * 7);
    const ferry_image image{.pixels = pixels, .width = 10, .height = 9, .stride = 30, .owned = false};
    if (ferry_session_set_image(session, &image) != FERRY_OK) return;
    forget_states(session);
    static_cast<void>(ferry_session_run(session) == FERRY_OK);
    ferry_image enhanced{};
    if (ferry_session_enhance(session, &image, 4, &enhanced) == FERRY_OK) ferry_image_free(&enhanced);
    ++counts.images;
  }

  // A blob with some damaged bytes: refused with a message, or opened and run with any result.
  void open_damaged(const Network& network) {
    AlignedBytes blob(std::span<const std::byte>(network.blob->data(), network.blob->size()));
    for (size_t n = 1 + random_.below(3); n > 0; --n)
      blob.data()[random_.below(blob.size())] ^= static_cast<std::byte>(1 << random_.below(8));
    ferry_model* model = nullptr;
    if (ferry_model_open_memory(blob.data(), blob.size(), &model) != FERRY_OK) {
      if (*ferry_last_error() == 0) complain("a blob is refused without a sentence");
      ++counts.refused;
      return;
    }
    ferry_session_options options = default_options();
    options.num_threads = 2;
    options.memory_limit = uint64_t{16} << 20;
    options.skip_weight_check = random_.once_in(2);
    ferry_session* session = nullptr;
    if (ferry_session_create(model, &options, &session) == FERRY_OK) {
      fill(session, ferry_model_input_count(model), 0);
      static_cast<void>(ferry_session_run(session) == FERRY_OK);
    }
    ferry_session_close(session);
    ferry_model_close(model);
  }

  const std::vector<Network>& all_;
  Answers& answers_;
  std::filesystem::path cache_;
  Faults* faults_;
  Random random_;
};

// ---- what must not grow --------------------------------------------------------------------------------------------

struct Footprint {
  long kilobytes = 0;  // resident memory
  long files = 0, threads = 0;
};

Footprint footprint() {
#if defined(__GLIBC__)
  malloc_trim(0);  // the C library may keep freed memory
#endif
  Footprint now;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "VmRSS:") words >> now.kilobytes;
    if (name == "Threads:") words >> now.threads;
  }
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++now.files;
  return now;
}

// Stops the workers between two sessions while the footprint is measured.
class Gate {
 public:
  explicit Gate(int workers) : working_(workers) {}
  void pass() {
    std::unique_lock lock(mutex_);
    if (!closed_) return;
    --working_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !closed_; });
    ++working_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }
  template <typename Function>
  auto while_idle(Function function) {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.wait(lock, [&] { return working_ == 0; });
    const auto result = function();
    closed_ = false;
    changed_.notify_all();
    return result;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int working_;
  bool closed_ = false;
};

int soak(double minutes, int threads, uint64_t seed) {
  const ScratchFolder folder;
  const std::vector<Network> all = networks(folder.path());
  Answers answers;
  std::unique_ptr<Faults> faults;
  if (!test_gpus().empty()) faults = std::make_unique<Faults>();
  for (const Network& network : all) Worker(all, answers, folder.path() / "cache", nullptr, seed).learn(network);

  Gate gate(threads);
  std::atomic<bool> done = false;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      Worker worker(all, answers, folder.path() / "cache", faults.get(), seed + 100 + static_cast<uint64_t>(t));
      while (!done && !failed) {
        gate.pass();
        worker.live_once();
      }
      gate.leave();
    });

  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(minutes * 60));
  Footprint warm;
  for (int minute = 1; !failed && Clock::now() < end; ++minute) {
    const auto next = std::min(end, begin + std::chrono::minutes(minute));
    while (!failed && Clock::now() < next) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Footprint now = gate.while_idle(footprint);
    if (minute == 1) warm = now;
    std::printf(
        "%3d min  %llu sessions  %llu runs  %llu resizes  %llu cancelled  %llu images  %llu texts  %llu refused"
        "  %llu off the GPU"
        "  |  %ld KB  %ld files  %ld threads\n",
        minute, static_cast<unsigned long long>(counts.sessions), static_cast<unsigned long long>(counts.runs),
        static_cast<unsigned long long>(counts.resizes), static_cast<unsigned long long>(counts.cancelled),
        static_cast<unsigned long long>(counts.images), static_cast<unsigned long long>(counts.texts),
        static_cast<unsigned long long>(counts.refused), static_cast<unsigned long long>(counts.lost), now.kilobytes,
        now.files, now.threads);
    std::fflush(stdout);
    if (now.files > warm.files) complain("files stay open");
    if (now.threads > warm.threads) complain("threads stay");
    if (now.kilobytes > warm.kilobytes + warm.kilobytes / 10 + 8192) complain("memory grows");
  }
  done = true;
  for (std::thread& worker : workers) worker.join();
  if (counts.cancelled == 0) complain("no run was cancelled, although some were requested");
  std::printf("soak: %s\n", failed ? "FAILED" : "memory, files and threads flat, every answer right");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace ferry::testing

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: soak MINUTES [THREADS [SEED]]\n");
    return 2;
  }
  return ferry::testing::soak(std::atof(argv[1]), argc > 2 ? std::atoi(argv[2]) : 4,
                              argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
}
