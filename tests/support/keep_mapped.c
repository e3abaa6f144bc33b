// Keeps libraries of sanitized programs loaded. LeakSanitizer runs at the end of the process and attributes leaks to
// libraries; tests/gpu/lsan.supp suppresses those of Vulkan drivers, which must therefore still be loaded.
#include <dlfcn.h>

int dlclose(void* library) {
  (void)library;
  return 0;
}
