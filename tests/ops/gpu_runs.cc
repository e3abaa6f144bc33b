#include "tests/ops/gpu_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "sdk/operators/shape_rules.h"
#include "tests/ops/harness.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

// Keeps a session on each GPU for the program's lifetime, so that others share its device and pipelines.
class Devices : public ::testing::Environment {
 public:
  void keep(const std::string& gpu, const std::shared_ptr<Model>& model, const SessionOptions& options) {
    if (sessions_.contains(gpu)) return;
    const Status status = Session::create(model, options, &sessions_[gpu]);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void TearDown() override { sessions_.clear(); }

 private:
  std::map<std::string, std::unique_ptr<Session>> sessions_;
};

Devices& devices() {
  static Devices* const added = static_cast<Devices*>(::testing::AddGlobalTestEnvironment(new Devices));
  return *added;
}
const bool added_before_main = (devices(), true);

class Run {
 public:
  Run(const Model& model, Session& session, const std::vector<std::vector<float>>& inputs)
      : graph_(model.graph()), session_(session), inputs_(inputs) {}

  Status run(std::vector<float>* out) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      std::memcpy(session_.data(tensor(i)), inputs_[i].data(), inputs_[i].size() * sizeof(float));
    FERRY_TRY(session_.run());
    const TensorId output = graph_.outputs()->Get(0)->tensor();
    const auto* values = static_cast<const float*>(session_.data(output));
    out->assign(values, values + session_.shape(output).elements());
    return {};
  }

  // Resizes to larger inputs and back, if the operator allows it.
  Status resize() {
    std::vector<Shape> declared;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      declared.push_back(session_.shape(tensor(i)));
      Shape larger = declared.back();
      for (int d = 0; d + 1 < larger.rank; ++d)
        if (larger[d] > 1) larger[d] += 2;
      if (!session_.resize(i, larger).ok())
        break;  // two inputs must agree, or the shape is a parameter of the
                // operator
    }
    if (declared.size() == 1) FERRY_TRY(session_.run());
    for (size_t i = declared.size(); i-- > 0;) FERRY_TRY(session_.resize(i, declared[i]));
    return {};
  }

 private:
  TensorId tensor(size_t input) const { return graph_.inputs()->Get(static_cast<unsigned>(input))->tensor(); }

  const fbs::Graph& graph_;
  Session& session_;
  const std::vector<std::vector<float>>& inputs_;
};

}  // namespace

double normalised_squared_error(const std::vector<double>& got, const std::vector<double>& expected) {
  constexpr double kHalfStep = 0x1p-25;
  double error = 0, square = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = got[i] == expected[i] ? 0 : got[i] - expected[i];
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    const double counted = std::max(std::fabs(difference) - kHalfStep, 0.0);
    error += counted * counted;
    square += expected[i] * expected[i];
  }
  return square > 0 ? error / square : error;
}

Status session_on_gpu(const std::shared_ptr<Model>& model, const std::string& gpu, ferry_precision precision,
                      std::unique_ptr<Session>* out) {
  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.precision = precision;
  options.gpu_required = true;
  options.gpu_device = gpu.c_str();
  devices().keep(gpu, model, options);
  return Session::create(model, options, out);
}

void expect_on_gpus(const std::shared_ptr<Model>& model, const std::vector<std::vector<float>>& inputs,
                    const reference::Array& expected, ferry_precision precision, double bound, bool left_to_cpu) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu + (precision == FERRY_PRECISION_FLOAT16 ? ", float16" : ", float32"));
    std::unique_ptr<Session> session;
    Status status = session_on_gpu(model, gpu, precision, &session);
    ASSERT_TRUE(status.ok()) << status.message();
    const BackendReport& report = session->computing().report();
    EXPECT_EQ(report.cpu_operators, left_to_cpu ? 1u : 0u);
    EXPECT_EQ(report.backend, FERRY_BACKEND_GPU);
    EXPECT_EQ(report.precision, precision);

    Run run(*model, *session, inputs);
    std::vector<float> first, again;
    status = run.run(&first);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(first.size(), expected.values.size());
    const std::vector<double> got = numbers(first, expected.dtype);
    const double error = precision == FERRY_PRECISION_FLOAT16 ? normalised_squared_error(got, expected.values)
                                                              : normalised_error(got, expected.values);
    EXPECT_LE(error, bound);
    for (const char* how : {"second run", "resized"}) {
      if (how[0] == 'r') status = run.resize();
      if (status.ok()) status = run.run(&again);
      ASSERT_TRUE(status.ok()) << how << ": " << status.message();
      EXPECT_EQ(std::memcmp(again.data(), first.data(), first.size() * sizeof(float)), 0)
          << how << ": other bits than at first";
    }
    EXPECT_EQ(report.backend, FERRY_BACKEND_GPU) << session->gpu_status().message();
  }
}

}  // namespace ferry::testing
