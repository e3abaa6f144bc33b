// Sanitized programs never unload a library. LeakSanitizer looks at the end of the process: what a Vulkan driver left
// behind is then told from ours by the library that it lies in (tests/gpu/lsan.supp), which must still be there.
#include <dlfcn.h>

int dlclose(void* library) {
  (void)library;
  return 0;
}
