// A registry of open handles (FERRY_CHECK_HANDLES, on in debug builds and with sanitizers). A closed handle is refused,
// where other builds would use freed memory. If a new handle got the same memory, the pointer is that new handle.
#pragma once

#if defined(FERRY_CHECK_HANDLES)
#include <mutex>
#include <set>
#endif

namespace ferry {

// Base class of handles.
class Handle {
#if defined(FERRY_CHECK_HANDLES)
 public:
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  static bool is_open(const Handle* handle) {
    const std::lock_guard<std::mutex> lock(open().mutex);
    return open().handles.contains(handle);
  }

 protected:
  Handle() {
    const std::lock_guard<std::mutex> lock(open().mutex);
    open().handles.insert(this);
  }
  ~Handle() {
    const std::lock_guard<std::mutex> lock(open().mutex);
    open().handles.erase(this);
  }

 private:
  struct Open {
    std::mutex mutex;
    std::set<const Handle*> handles;
  };
  static Open& open() {
    static auto* const kOpen = new Open;  // never destroyed: handles may be closed after static destructors
    return *kOpen;
  }
#endif
};

// Whether it may be used; true for other pointers.
constexpr bool usable(const void* /*pointer*/) { return true; }
#if defined(FERRY_CHECK_HANDLES)
inline bool usable(const Handle* handle) { return Handle::is_open(handle); }
#endif

}  // namespace ferry
