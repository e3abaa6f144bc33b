// SPDX-License-Identifier: Apache-2.0
#include <ferry/ferry.h>

#include <memory>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

jint check_kernels(JNIEnv* env, jclass, jlong session, jdouble seconds, jobject out) {
  return attempt([&] {
    ferry_kernel_check check = FERRY_INIT(ferry_kernel_check);
    ferry_status status = ferry_session_check_kernels(pointer<ferry_session>(session), seconds, &check);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.number(static_cast<double>(check.kernels)).number(static_cast<double>(check.checked));
    parcel.number(static_cast<double>(check.failures)).number(static_cast<double>(check.replays));
    return parcel.send();
  });
}

ferry_status add_operators(const ferry_audit* audit, Parcel* parcel) {
  const size_t count = ferry_audit_operator_count(audit);
  parcel->number(static_cast<double>(count));
  for (size_t i = 0; i < count; ++i) {
    ferry_audited_operator o;
    if (ferry_status status = ferry_audit_operator(audit, i, &o); status != FERRY_OK) return status;
    parcel->text(o.name).text(o.op).text(o.shape).text(o.kernel).text(o.problem);
    parcel->number(static_cast<double>(o.runs)).number(static_cast<double>(o.differed));
    parcel->number(o.compared).number(o.error);
  }
  return FERRY_OK;
}

ferry_status add_sensors(const ferry_audit* audit, Parcel* parcel) {
  const size_t count = ferry_audit_sensor_count(audit);
  parcel->number(static_cast<double>(count));
  for (size_t i = 0; i < count; ++i) {
    ferry_audited_sensor s;
    if (ferry_status status = ferry_audit_sensor(audit, i, &s); status != FERRY_OK) return status;
    parcel->text(s.name).text(s.unit).number(s.first).number(s.lowest).number(s.highest).number(s.last);
  }
  return FERRY_OK;
}

jint audit(JNIEnv* env, jclass, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts, jdouble seconds,
           jobject out) {
  return attempt([&] {
    Options options;
    if (ferry_status status = options.read(env, numbers, longs, texts); status != FERRY_OK) return status;
    ferry_audit_options how = FERRY_INIT(ferry_audit_options);
    how.seconds = seconds;
    ferry_audit* made = nullptr;
    ferry_status status = ferry_gpu_audit(pointer<ferry_model>(model), &options.value, &how, &made);
    const std::unique_ptr<ferry_audit, void (*)(ferry_audit*)> owned(made, ferry_audit_close);
    ferry_audit_summary summary = FERRY_INIT(ferry_audit_summary);
    if (status == FERRY_OK) status = ferry_audit_result(made, &summary);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.number(summary.passed).number(summary.seconds).number(static_cast<double>(summary.runs));
    parcel.text(summary.device).text(summary.driver).text(summary.lost);
    status = add_operators(made, &parcel);
    if (status == FERRY_OK) status = add_sensors(made, &parcel);
    return status == FERRY_OK ? parcel.send() : status;
  });
}

}  // namespace

std::span<const JNINativeMethod> gpu_methods() {
  static const JNINativeMethod methods[] = {
      method("checkKernels", "(JDLio/ferry/Parcel;)I", check_kernels),
      method("audit", "(J[I[J[BDLio/ferry/Parcel;)I", audit),
  };
  return methods;
}

}  // namespace ferry::jni
