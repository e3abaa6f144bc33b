#include "cli/kernels.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <cinttypes>
#include <cstdio>

#include "cli/sdk.h"
#include "sdk/cpu/backend/fingerprint.h"

namespace ferry::cli {
namespace {

// The features that Linux reports for an arm64 CPU and that XNNPACK selects by.
std::string arm_features() {
  std::string text;
#if defined(__aarch64__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) text += " dotprod";
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) text += " fp16";
  if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) text += " i8mm";
#endif
  return text;
}

}  // namespace

Kernels cpu_kernels() {
  cpu::Fingerprint here;
  check(cpu::fingerprint(cpu::cpu_features(), &here));
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, here.value);
  return {here.description + arm_features(), text};
}

std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return "x86-64 avx512vnni";
  if (__builtin_cpu_supports("avx512f")) return "x86-64 avx512";
  return __builtin_cpu_supports("avx2") ? "x86-64 avx2" : "other";
#elif defined(__aarch64__)
  return arm_features().find("dotprod") != std::string::npos ? "arm64 dotprod" : "arm64";
#else
  return "other";
#endif
}

}  // namespace ferry::cli
