// ferry_gpu_audit() and what it found.
#include "sdk/graph/audit.h"

#include <cstddef>

#include "sdk/api/handles.h"

struct ferry_audit : ferry::Handle {
  ferry::AuditReport report;
  std::string device, driver;
};

ferry_status ferry_gpu_audit(ferry_model* model, const ferry_session_options* options, const ferry_audit_options* how,
                             ferry_audit** audit) {
  FERRY_REQUIRE(audit);
  *audit = nullptr;
  FERRY_REQUIRE(model);
  return ferry::guarded([&]() -> ferry::Status {
    if (!ferry::kHasGpuChecks) return ferry::error(FERRY_UNSUPPORTED, "%s", ferry::kNoGpuChecks);
    constexpr size_t kFirstVersion = offsetof(ferry_audit_options, user) + sizeof(how->user);
    ferry_audit_options checked{};
    if (how != nullptr) FERRY_TRY(ferry::read_versioned(*how, kFirstVersion, "ferry_audit_options", &checked));
    if (!(checked.seconds >= 0))
      return ferry::error(FERRY_INVALID_ARGUMENT, "seconds is %g: it must be 0 or more", checked.seconds);
    ferry_session_options wanted;
    FERRY_TRY(ferry::read_options(options, &wanted));
    wanted.backend = FERRY_BACKEND_GPU;
    wanted.gpu_required = true;
    std::unique_ptr<ferry_session> session;
    FERRY_TRY(ferry::create_session(*model, &wanted, &session));
    auto made = std::make_unique<ferry_audit>();
    const ferry::AuditRequest request{.seconds = checked.seconds,
                                      .root = checked.root != nullptr ? checked.root : "",
                                      .progress = checked.progress,
                                      .user = checked.user};
    FERRY_TRY(session->idle().audit(request, &made->report));
    made->device = session->idle().computing().report().device;
    made->driver = session->idle().computing().report().driver;
    *audit = made.release();
    return {};
  });
}

void ferry_audit_close(ferry_audit* audit) { ferry::close(audit, __func__); }

ferry_status ferry_audit_result(const ferry_audit* audit, ferry_audit_summary* out) {
  FERRY_REQUIRE(audit);
  FERRY_REQUIRE(out);
  constexpr size_t kFirstVersion = offsetof(ferry_audit_summary, lost) + sizeof(out->lost);
  const ferry::AuditReport& report = audit->report;
  ferry_audit_summary summary{};
  summary.passed = report.lost.empty();
  for (const ferry::AuditOperator& op : report.operators) {
    summary.passed &= op.right();
    summary.runs += op.runs;
  }
  summary.seconds = report.seconds;
  summary.device = audit->device.c_str();
  summary.driver = audit->driver.c_str();
  summary.lost = report.lost.c_str();
  return ferry::report(ferry::fill_versioned(summary, kFirstVersion, "ferry_audit_summary", out));
}

size_t ferry_audit_operator_count(const ferry_audit* audit) {
  return audit != nullptr && ferry::usable(audit) ? audit->report.operators.size() : 0;
}

ferry_status ferry_audit_operator(const ferry_audit* audit, size_t index, ferry_audited_operator* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(audit);
  const auto& all = audit->report.operators;
  if (index >= all.size())
    return ferry::report(
        ferry::error(FERRY_INVALID_ARGUMENT, "operator %zu does not exist: there are %zu", index, all.size()));
  const ferry::AuditOperator& op = all[index];
  *out = {op.name.c_str(), op.op.c_str(), op.shape.c_str(), op.kernel.c_str(), op.runs,
          op.differed,     op.compared,   op.error,         op.problem.c_str()};
  return FERRY_OK;
}

size_t ferry_audit_sensor_count(const ferry_audit* audit) {
  return audit != nullptr && ferry::usable(audit) ? audit->report.sensors.size() : 0;
}

ferry_status ferry_audit_sensor(const ferry_audit* audit, size_t index, ferry_audited_sensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(audit);
  const auto& all = audit->report.sensors;
  if (index >= all.size())
    return ferry::report(
        ferry::error(FERRY_INVALID_ARGUMENT, "sensor %zu does not exist: there are %zu", index, all.size()));
  const ferry::AuditSensor& sensor = all[index];
  *out = {sensor.name.c_str(), sensor.unit.c_str(), sensor.first, sensor.lowest, sensor.highest, sensor.last};
  return FERRY_OK;
}
