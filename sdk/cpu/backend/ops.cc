#include <xnnpack.h>

#include <cerrno>
#include <mutex>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/int8/int8.h"
#include "sdk/operators/built_in.h"
#include "sdk/threads/cpuinfo.h"

// cpuinfo's initialization without the pthread_once around it.
#if FERRY_OWN_CPUINFO
#define FERRY_INITIALIZE_CPUINFO (void)cpuinfo_initialize
#elif defined(__linux__) && defined(__x86_64__)
extern "C" void cpuinfo_x86_linux_init(void);
#define FERRY_INITIALIZE_CPUINFO cpuinfo_x86_linux_init
#elif defined(__linux__) && defined(__riscv)
extern "C" void cpuinfo_riscv_linux_init(void);
#define FERRY_INITIALIZE_CPUINFO cpuinfo_riscv_linux_init
#elif defined(__linux__)
extern "C" void cpuinfo_arm_linux_init(void);
#define FERRY_INITIALIZE_CPUINFO cpuinfo_arm_linux_init
#else
#define FERRY_INITIALIZE_CPUINFO (void)cpuinfo_initialize
#endif

namespace ferry::cpu {
Status create_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  const fbs::OpParams type = op.params_type();
  if constexpr (built_in(fbs::OpParams::Requantize)) {
    FERRY_TRY(create_int8_op(model, op, out));
    if (*out != nullptr) return {};
  }
  switch (type) {
#define FERRY_LOWERING(Type, name, ...)                                                     \
  case fbs::OpParams::Type:                                                                 \
    if constexpr (built_in(fbs::OpParams::Type)) return create_##name(cpu, model, op, out); \
    break;
    FERRY_OPERATORS(FERRY_LOWERING)
#undef FERRY_LOWERING
    case fbs::OpParams::NONE: break;
  }
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator", op_name(type));
}

Status create_float16_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                         std::unique_ptr<Op>* out) {
  out->reset();
  if constexpr (!built_in(Feature::Float16)) return {};
  if (model.tensor(op.inputs()->Get(0)).dtype() != fbs::DType::Float32 ||
      model.tensor(output_of(op)).dtype() != fbs::DType::Float32)
    return {};
  // Binary operators and attention read constants as float32; so do operators that always have a constant at that
  // input.
  const fbs::OpParams type = op.params_type();
  const bool reads_floats = type == fbs::OpParams::Binary || type == fbs::OpParams::Attention;
  for (unsigned i = 0; i < op.inputs()->size(); ++i)
    if (model.is_constant(op.inputs()->Get(i)) && !reads_floats && !takes_constant(type, i)) return {};
  switch (type) {
#define FERRY_LOWERING(Type, name)                                             \
  case fbs::OpParams::Type:                                                    \
    if constexpr (built_in(fbs::OpParams::Type) && built_in(Feature::Float16)) \
      return create_float16_##name(cpu, model, op, out);                       \
    break;
    FERRY_FLOAT16_LOWERINGS(FERRY_LOWERING)
#undef FERRY_LOWERING
    default: break;
  }
  return {};
}

// XNNPACK describes the CPU through cpuinfo, which initializes once behind a pthread_once and allocates memory. If that
// failed for lack of memory, its own function initializes it again, so that a later session can be created.
Status initialize() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  errno = 0;
  if (!cpuinfo_initialize()) FERRY_INITIALIZE_CPUINFO();
  if (!cpuinfo_initialize() && errno == ENOMEM) return Status::out_of_memory();
  if (const xnn_status status = xnn_initialize(/*allocator=*/nullptr); status != xnn_status_success)
    return error(status == xnn_status_out_of_memory ? FERRY_OUT_OF_MEMORY : FERRY_UNSUPPORTED,
                 "XNNPACK cannot be initialized on this CPU (status %d)", static_cast<int>(status));
  return {};
}

}  // namespace ferry::cpu
