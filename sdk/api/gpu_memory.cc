// The C API of image.h for memory that a GPU reads.
#include <ferry/image.h>

#include <cstddef>

#include "sdk/api/handles.h"

namespace {

using ferry::Status;

#if FERRY_GPU

using ferry::error;
using ferry::MemorySource;

Status read_source(const ferry_memory_source& given, MemorySource* out) {
  ferry_memory_source s;
  FERRY_TRY(ferry::read_versioned(given, offsetof(ferry_memory_source, bytes) + sizeof(given.bytes),
                                  "ferry_memory_source", &s));
  int number = 0;  // may hold any value
  static_assert(sizeof(s.type) == sizeof(number));
  std::memcpy(&number, &s.type, sizeof(number));
  if (number < FERRY_MEMORY_HOST || number > FERRY_MEMORY_HARDWARE_BUFFER)
    return error(FERRY_INVALID_ARGUMENT, "source.type is %d: must be %d to %d, a ferry_memory_type", number,
                 FERRY_MEMORY_HOST, FERRY_MEMORY_HARDWARE_BUFFER);
  *out = {static_cast<MemorySource::Kind>(number - FERRY_MEMORY_HOST), s.bytes, s.address, s.fd};
  if (s.bytes == 0) return error(FERRY_INVALID_ARGUMENT, "source.bytes is 0");
  if (out->kind == MemorySource::Kind::DmaBuf && s.fd < 0)
    return error(FERRY_INVALID_ARGUMENT, "source.fd is %d: no file", s.fd);
  if (out->kind != MemorySource::Kind::DmaBuf && s.address == nullptr)
    return error(FERRY_INVALID_ARGUMENT, "source.address is NULL");
  return {};
}

Status import(ferry_session* session, const ferry_memory_source& source, ferry_gpu_memory** memory) {
  MemorySource read;
  FERRY_TRY(read_source(source, &read));
  std::shared_ptr<const ferry::DeviceMemory> imported;
  FERRY_TRY(session->idle().computing().import(read, &imported));
  *memory = new ferry_gpu_memory(std::move(imported));
  return {};
}

#else

Status import(ferry_session*, const ferry_memory_source&, ferry_gpu_memory**) { return Status(ferry::kNoDevice); }

#endif

}  // namespace

ferry_status ferry_gpu_memory_import(ferry_session* session, const ferry_memory_source* source,
                                     ferry_gpu_memory** memory) {
  FERRY_REQUIRE(memory);
  *memory = nullptr;
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(source);
  return ferry::guarded([&] { return import(session, *source, memory); });
}

void ferry_gpu_memory_close(ferry_gpu_memory* memory) { ferry::close(memory, __func__); }
