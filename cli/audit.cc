#include "cli/audit.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/sdk.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

struct CloseAudit {
  void operator()(ferry_audit* audit) const { ferry_audit_close(audit); }
};
using AuditHandle = std::unique_ptr<ferry_audit, CloseAudit>;

// What was found, in the order of the network.
struct Found {
  ferry_audit_summary summary = FERRY_INIT(ferry_audit_summary);
  std::vector<ferry_audited_operator> operators;
  std::vector<ferry_audited_sensor> sensors;
};

Found found_by(const ferry_audit* audit) {
  Found found;
  check(ferry_audit_result(audit, &found.summary));
  found.operators.resize(ferry_audit_operator_count(audit));
  for (size_t i = 0; i < found.operators.size(); ++i) check(ferry_audit_operator(audit, i, &found.operators[i]));
  found.sensors.resize(ferry_audit_sensor_count(audit));
  for (size_t i = 0; i < found.sensors.size(); ++i) check(ferry_audit_sensor(audit, i, &found.sensors[i]));
  return found;
}

double share_of(const ferry_audited_operator& op) {
  return op.runs == 0 ? 0 : static_cast<double>(op.differed) / static_cast<double>(op.runs);
}

void print_table(const Found& found) {
  const ferry_audit_summary& s = found.summary;
  print("%s, %s\n", s.device, s.driver);
  print("%zu kernels, %s runs in %.1f minutes\n\n", found.operators.size(), grouped(s.runs).c_str(), s.seconds / 60);
  print("%10s  %10s  %8s  %11s  %s\n", "runs", "differed", "share", "against CPU", "operator");
  for (const ferry_audited_operator& op : found.operators) {
    char cpu[32] = "not compared";
    if (op.compared) std::snprintf(cpu, sizeof cpu, op.error > 1 ? "wrong" : "right");
    print("%10s  %10s  %7.3f%%  %11s  %s %s %s\n", grouped(op.runs).c_str(), grouped(op.differed).c_str(),
          100 * share_of(op), op.compared ? cpu : "-", op.op, op.shape, op.name);
    if (*op.problem != '\0') print("%36s%s: %s\n", "", op.kernel, op.problem);
  }
  if (!found.sensors.empty()) print("\n%12s  %9s  %9s  %9s  %s\n", "first", "lowest", "highest", "last", "");
  for (const ferry_audited_sensor& sensor : found.sensors)
    print("%12.1f  %9.1f  %9.1f  %9.1f  %s, %s\n", sensor.first, sensor.lowest, sensor.highest, sensor.last,
          sensor.name, sensor.unit);
  if (found.sensors.empty()) print("\nno temperature or clock can be read from sysfs\n");
  if (*s.lost != '\0') print("\nthe device was lost: %s\n", s.lost);
  print("\n%s\n", s.passed ? "passed: every run gave the same bits" : "FAILED: do not rely on this GPU");
}

void print_found(const Found& found) {
  const ferry_audit_summary& s = found.summary;
  nlohmann::json j = {{"passed", s.passed},
                      {"device", s.device},
                      {"driver", s.driver},
                      {"runs", s.runs},
                      {"seconds", s.seconds},
                      {"lost", s.lost},
                      {"operators", nlohmann::json::array()},
                      {"sensors", nlohmann::json::array()}};
  for (const ferry_audited_operator& op : found.operators)
    j["operators"].push_back({{"name", op.name},
                              {"op", op.op},
                              {"shape", op.shape},
                              {"kernel", op.kernel},
                              {"runs", op.runs},
                              {"differed", op.differed},
                              {"share", share_of(op)},
                              {"compared", op.compared},
                              {"error", op.error},
                              {"problem", op.problem}});
  for (const ferry_audited_sensor& sensor : found.sensors)
    j["sensors"].push_back({{"name", sensor.name},
                            {"unit", sensor.unit},
                            {"first", sensor.first},
                            {"lowest", sensor.lowest},
                            {"highest", sensor.highest},
                            {"last", sensor.last}});
  print_document(j);
}

}  // namespace

int audit(const AuditCommand& command) {
  if (!(command.minutes >= 0)) fail("--minutes %g: must be 0 or more", static_cast<double>(command.minutes));
  const ModelHandle model = open_model(command.model);
  BackendOptions backend;
  backend.backend = "gpu";
  backend.precision = command.precision;
  backend.device = command.device;
  ferry_session_options options = session_options(1);
  set_backend(backend, &options);
  ferry_audit_options how = FERRY_INIT(ferry_audit_options);
  how.seconds = 60 * static_cast<double>(command.minutes);
  how.root = command.root.c_str();
  ProgressLine line("auditing");
  how.user = &line;
  how.progress = [](void* user, double share) {
    static_cast<ProgressLine*>(user)->update(static_cast<int>(1000 * share), 1000);
  };
  ferry_audit* made = nullptr;
  check(ferry_gpu_audit(model.get(), &options, &how, &made));
  const AuditHandle handle(made);
  const Found found = found_by(made);
  command.json ? print_found(found) : print_table(found);
  return found.summary.passed ? kDone : kCheckFailed;
}

}  // namespace ferry::cli
