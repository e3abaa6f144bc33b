// Asynchronous runs, on the CPU and on every GPU.
#include <semaphore.h>

#include <atomic>

#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

struct Call {
  Call() { sem_init(&done, 0, 0); }
  ~Call() { sem_destroy(&done); }
  void wait() { sem_wait(&done); }

  static void ended(ferry_session* session, ferry_status status, void* user) {
    Call& call = *static_cast<Call*>(user);
    call.status = status;
    call.sentence = ferry_last_error();
    ferry_tensor out;
    EXPECT_OK(ferry_session_output(session, 0, &out));
    call.output = elements(out);
    if (--call.rounds == 0) {
      sem_post(&call.done);
    } else {
      EXPECT_OK(ferry_session_run_async(session, ended, user));
    }
  }

  sem_t done;
  std::atomic<ferry_status> status = FERRY_BACKEND_ERROR;
  std::string sentence;
  std::vector<float> output;
  int rounds = 1;
};

class Async : public ::testing::Test {
 protected:
  // "" is the CPU.
  SessionPtr make(const std::string& gpu) {
    ferry_session_options options = default_options();
    options.num_threads = 2;
    if (!gpu.empty()) options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = gpu.c_str();
    SessionPtr session = make_session(opened_.model, options);
    fill_inputs(opened_.model, session.get());
    return session;
  }
  static std::vector<std::string> backends() {
    std::vector<std::string> all = test_gpus();
    all.emplace_back();
    return all;
  }
  static std::vector<float> output(const SessionPtr& session) {
    ferry_tensor out;
    EXPECT_OK(ferry_session_output(session.get(), 0, &out));
    return elements(out);
  }

  std::unique_ptr<Graph> graph_ = small_decoder();
  Opened opened_{*graph_};
};

TEST_F(Async, GivesTheSameBitsAsARun) {
  for (const std::string& backend : backends()) {
    SCOPED_TRACE(backend);
    const SessionPtr session = make(backend);
    ASSERT_OK(ferry_session_run(session.get()));
    const std::vector<float> expected = output(session);

    fill_inputs(opened_.model, session.get(), 2);
    ASSERT_OK(ferry_session_run(session.get()));
    EXPECT_NE(output(session), expected);

    fill_inputs(opened_.model, session.get());
    Call call;
    ASSERT_OK(ferry_session_run_async(session.get(), Call::ended, &call));
    call.wait();
    EXPECT_EQ(call.status, FERRY_OK);
    EXPECT_EQ(call.output, expected);
    EXPECT_OK(ferry_session_wait(session.get()));

    fill_inputs(opened_.model, session.get(), 2);
    ASSERT_OK(ferry_session_run(session.get()));
    fill_inputs(opened_.model, session.get());
    ASSERT_OK(ferry_session_run_async(session.get(), nullptr, nullptr));
    EXPECT_EQ(output(session), expected) << "the call waited for the run";
    EXPECT_OK(ferry_session_wait(session.get()));
  }
}

TEST_F(Async, CallbacksMayBeginTheNextRun) {
  for (const std::string& backend : backends()) {
    SCOPED_TRACE(backend);
    const SessionPtr session = make(backend);
    ASSERT_OK(ferry_session_run(session.get()));
    const std::vector<float> expected = output(session);
    Call call;
    call.rounds = 5;
    ASSERT_OK(ferry_session_run_async(session.get(), Call::ended, &call));
    EXPECT_OK(ferry_session_wait(session.get()));
    EXPECT_EQ(call.rounds, 0) << "the wait is over after the last of them";
    EXPECT_EQ(call.output, expected);
  }
}

TEST_F(Async, ReportsCancellation) {
  const std::unique_ptr<Graph> graph = residual_network(40, 64, 32);
  const Opened opened(*graph);
  const SessionPtr session = make_session(opened.model, 1);
  Call call;
  ASSERT_OK(ferry_session_run_async(session.get(), Call::ended, &call));
  while (sem_trywait(&call.done) != 0) ferry_session_cancel(session.get());
  EXPECT_EQ(call.status, FERRY_CANCELLED);
  EXPECT_EQ(call.sentence, "run cancelled");
  EXPECT_EQ(ferry_session_wait(session.get()), FERRY_CANCELLED);
  EXPECT_OK(ferry_session_run(session.get()));
}

// The session's thread is still busy, but the run has begun.
TEST_F(Async, ARunIsCancelledBeforeItsThreadGetsToIt) {
  for (const std::string& backend : backends()) {
    SCOPED_TRACE(backend);
    const SessionPtr session = make(backend);
    struct Busy {
      Busy() { sem_init(&go, 0, 0); }
      ~Busy() { sem_destroy(&go); }
      static void wait(ferry_session*, ferry_status, void* user) { sem_wait(&static_cast<Busy*>(user)->go); }
      sem_t go;
    } busy;
    ASSERT_OK(ferry_session_run_async(session.get(), Busy::wait, &busy));
    Call call;
    ASSERT_OK(ferry_session_run_async(session.get(), Call::ended, &call));
    ferry_session_cancel(session.get());
    sem_post(&busy.go);
    EXPECT_EQ(ferry_session_wait(session.get()), FERRY_CANCELLED);
    EXPECT_EQ(call.status, FERRY_CANCELLED);
    EXPECT_OK(ferry_session_run(session.get()));
  }
}

TEST_F(Async, WaitingWithoutARunIsFine) {
  const SessionPtr session = make("");
  EXPECT_OK(ferry_session_wait(session.get()));
  EXPECT_EQ(ferry_session_wait(nullptr), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(ferry_session_run_async(nullptr, nullptr, nullptr), FERRY_INVALID_ARGUMENT);
}

TEST_F(Async, WaitingInACallbackIsRefused) {
  const SessionPtr session = make("");
  ferry_status inside = FERRY_OK;
  const auto wait = [](ferry_session* s, ferry_status, void* user) {
    *static_cast<ferry_status*>(user) = ferry_session_wait(s);
  };
  ASSERT_OK(ferry_session_run_async(session.get(), wait, &inside));
  EXPECT_OK(ferry_session_wait(session.get()));
  EXPECT_EQ(inside, FERRY_INVALID_ARGUMENT);
}

TEST_F(Async, ClosingWaitsForTheRunAndItsCallback) {
  for (const std::string& backend : backends()) {
    SCOPED_TRACE(backend);
    Call call;
    SessionPtr session = make(backend);
    ASSERT_OK(ferry_session_run_async(session.get(), Call::ended, &call));
    session.reset();
    EXPECT_EQ(call.status, FERRY_OK);
  }
}

}  // namespace
}  // namespace ferry::testing
