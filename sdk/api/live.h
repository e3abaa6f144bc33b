// Handles that are open, where they are looked after (FERRY_CHECK_HANDLES, on in debug builds and with sanitizers): one
// that was closed is then refused, where another build would use memory that was given back. Memory that a new handle
// was given meanwhile is that handle's.
#pragma once

#if defined(FERRY_CHECK_HANDLES)
#include <mutex>
#include <set>
#endif

namespace ferry {

// What handles begin with.
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
    static auto* const kOpen = new Open;  // until the process ends: handles may be closed after statics
    return *kOpen;
  }
#endif
};

// May it be used? Any other pointer: yes.
constexpr bool usable(const void* /*pointer*/) { return true; }
#if defined(FERRY_CHECK_HANDLES)
inline bool usable(const Handle* handle) { return Handle::is_open(handle); }
#endif

}  // namespace ferry
