// Flushes denormals while loops run. Values below 2^-126 would be a hundred times slower, and every thread must treat
// them alike for reproducible results. Denormals of float16 are kept: they begin below 2^-14, where weights occur.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ferry {

class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) {
    if (during() != before_) set_control(during());
  }
  ~FlushDenormals() {
    if (during() != before_) set_control(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE__)
  using Control = uint32_t;
  static constexpr Control kFlush = 0x8040, kKeep = 0;  // flushes results and operands
  static Control control() { return _mm_getcsr(); }
  static void set_control(Control control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
  using Control = uint64_t;
  static constexpr Control kFlush = 0x1000000, kKeep = 0x80000;  // FZ: float32 and float64; FZ16: float16
  static Control control() {
    Control control;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void set_control(Control control) { __asm__ __volatile__("msr fpcr, %0" : : "r"(control)); }
#elif defined(__arm__) && defined(__ARM_FP) && __ARM_FP != 0
  using Control = uint32_t;
  static constexpr Control kFlush = 0x1000000, kKeep = 0;
  static Control control() {
    Control control;
    __asm__ __volatile__("vmrs %0, fpscr" : "=r"(control));
    return control;
  }
  static void set_control(Control control) { __asm__ __volatile__("vmsr fpscr, %0" : : "r"(control)); }
#else
  using Control = uint32_t;
  static constexpr Control kFlush = 0, kKeep = 0;
  static Control control() { return 0; }
  static void set_control(Control) {}
#endif

  Control during() const { return (before_ | kFlush) & ~kKeep; }

  const Control before_;
};

}  // namespace ferry
