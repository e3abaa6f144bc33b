// Preloaded into a program on x86-64 Linux, it simulates a CPU with AVX2, FMA and F16C but without AVX-512, AVX-VNNI
// and AMX, so that one machine can time backends as they run on another:
//     cc -O1 -shared -fPIC tests/bench/avx2_cpu.c -o avx2_cpu.so && LD_PRELOAD=$PWD/avx2_cpu.so COMMAND
// The instruction CPUID faults (arch_prctl(2), ARCH_SET_CPUID) and is emulated here. Other sources, such as
// /proc/cpuinfo, still show the real CPU. If kernel or CPU do not support CPUID faulting, the program exits at once.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kSetCpuid = 0x1012, kRestorer = 0x04000000 };

struct kernel_sigaction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

extern int __sigaction(int signal, const struct sigaction* action, struct sigaction* former);

static struct sigaction theirs;  // the program's own handler, for faults that are not CPUID

static long call(long number, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return number;
}

static void hide(uint32_t leaf, uint32_t subleaf, uint32_t* eax, uint32_t* ebx, uint32_t* ecx, uint32_t* edx) {
  if (leaf == 7 && subleaf == 0) {
    *ebx &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);  // AVX-512
    *ecx &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
    *edx &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);  // and AMX
  } else if (leaf == 7 && subleaf == 1) {
    *eax &= ~(1u << 4 | 1u << 5 | 1u << 21 | 1u << 23);            // AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
    *edx &= ~(1u << 4 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 19);  // further kinds of AVX-VNNI and AMX, AVX10
  } else if (leaf == 0x0d && subleaf == 0) {
    *eax &= ~(7u << 5 | 3u << 17);  // states of AVX-512 and AMX
  }
}

static void answer(int signal, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uint8_t* at = (const uint8_t*)registers[REG_RIP];
  if (info->si_code == SI_KERNEL && at[0] == 0x0f && at[1] == 0xa2) {
    const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
    uint32_t eax, ebx, ecx, edx;
    call(SYS_arch_prctl, kSetCpuid, 1, 0, 0);
    __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
    call(SYS_arch_prctl, kSetCpuid, 0, 0, 0);
    hide(leaf, subleaf, &eax, &ebx, &ecx, &edx);
    registers[REG_RAX] = eax, registers[REG_RBX] = ebx, registers[REG_RCX] = ecx, registers[REG_RDX] = edx;
    registers[REG_RIP] += 2;
  } else if (theirs.sa_flags & SA_SIGINFO) {
    theirs.sa_sigaction(signal, info, context);
  } else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
    theirs.sa_handler(signal);
  } else {  // the fault repeats and ends the process
    __sigaction(signal, &theirs, NULL);
  }
}

// Replaces the C library's: the program's handler of faults comes after ours.
int sigaction(int signal, const struct sigaction* action, struct sigaction* former) {
  if (signal != SIGSEGV) return __sigaction(signal, action, former);
  if (former != NULL) *former = theirs;
  if (action != NULL) theirs = *action;
  return 0;
}

__asm__(".type return_from_signal, @function\nreturn_from_signal: mov $15, %eax\n syscall\n");
extern void return_from_signal(void) __attribute__((visibility("hidden")));

static void nothing(void) {}

// The dynamic linker resolves this ifunc while it relocates this library, before the program: so before the program's
// own resolvers, which choose kernels by CPUID, and before constructors. Other libraries are not ready then, so it uses
// only system calls.
static void (*cap(void))(void) {
  struct kernel_sigaction action = {answer, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | kRestorer, return_from_signal, 0};
  if (call(SYS_rt_sigaction, SIGSEGV, (long)&action, 0, 8) != 0 || call(SYS_arch_prctl, kSetCpuid, 0, 0, 0) != 0) {
    static const char kWhy[] = "avx2_cpu: this machine cannot let CPUID fault\n";
    call(SYS_write, STDERR_FILENO, (long)kWhy, sizeof kWhy - 1, 0);
    call(SYS_exit_group, 2, 0, 0, 0);
  }
  return nothing;
}
void capped(void) __attribute__((ifunc("cap")));
void (*use_of_capped)(void) = capped;  // unused ifuncs are not resolved
