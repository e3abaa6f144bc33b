# Compile options of our own code. Third-party code is built elsewhere (xnnpack.cmake) or included as system headers.

add_library(ferry_options INTERFACE)
# Designated initializers omit fields with default values on purpose; gcc warns about each.
target_compile_options(ferry_options INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       -ffunction-sections -fdata-sections)
option(FERRY_WARNINGS_ARE_ERRORS "For developers: the preset dev and scripts/check set it" OFF)
if(FERRY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # gcc gives false positives in instrumented code
  set(FERRY_WARNINGS_ARE_ERRORS OFF)
endif()
if(FERRY_WARNINGS_ARE_ERRORS)
  target_compile_options(ferry_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND FERRY_SANITIZE) # -O1 does not vectorise the loops for which kernels
                                                              # request it
  target_compile_options(ferry_options INTERFACE -Wno-pass-failed)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc bug 105329: false alarms on "text" + string
  target_compile_options(ferry_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^arm") # notes about ABI changes of gcc 7
  target_compile_options(ferry_options INTERFACE -Wno-psabi)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # collects garbage from 512 MB on, not from 128: a tenth of its time
  target_compile_options(ferry_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
# For code that never computes for long (command line, tests, readers, descriptions of networks): with optimisation, and
# more so with sanitizers, it takes longer to compile than to run.
if(FERRY_SANITIZE)
  set(FERRY_COLD -O0)
else()
  set(FERRY_COLD $<$<NOT:$<CONFIG:Debug>>:-O1>)
endif()
# What ships is compiled for size, but for hot loops (cmake/sdk.cmake). Presets that only look for what an architecture's
# compiler and linker refuse set -O0.
set(FERRY_SHIP_LEVEL -Os CACHE STRING "Optimisation of the libraries, but for hot loops")
set(FERRY_CLI_LEVEL "${FERRY_COLD}" CACHE STRING "Optimisation of the command")
target_include_directories(ferry_options INTERFACE "${PROJECT_SOURCE_DIR}") # "sdk/operators/shape.h", "converter/error.h"...

# Presets use unity builds (CMAKE_UNITY_BUILD), which parse headers once for 16 files. Only `includes` compiles each file
# alone, which finds files that lack an include. Precompiled headers would gain nothing: gcc is slower with theirs, and no
# cache has what clang compiles with them. Files whose local names clash are compiled apart everywhere.
set(FERRY_APART UNITY_BUILD OFF)

# Blobs and packed files may exceed 2 GB on 32-bit targets.
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  add_compile_definitions(_FILE_OFFSET_BITS=64)
endif()

# Remove unused sections from every program, so that an app pays only for the operators that it links.
add_link_options(-Wl,--gc-sections)

find_program(FERRY_CCACHE ccache)
if(FERRY_CCACHE)
  foreach(lang C CXX)
    if(NOT CMAKE_${lang}_COMPILER_LAUNCHER)
      # Makes objects independent of the clone's path, so that clones share the cache.
      set(CMAKE_${lang}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
          "${FERRY_CCACHE}")
    endif()
  endforeach()
endif()

set(FERRY_SANITIZE "" CACHE STRING "Sanitizers for our own code, as for -fsanitize= (the asan preset sets them)")
if(FERRY_SANITIZE)
  # vptr needs RTTI, which the SDK is built without.
  add_compile_options(-fsanitize=${FERRY_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  # Programs at a fixed address: instrumented ones have half a million relocations, which every start would process.
  add_link_options(-fsanitize=${FERRY_SANITIZE} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  find_program(FERRY_LLD ld.lld)
  if(FERRY_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # large programs, in a fifth of ld's time
    add_link_options(-fuse-ld=lld)
  endif()
  add_library(ferry_keep_mapped OBJECT tests/support/keep_mapped.c)
  target_sources(ferry_options INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:ferry_keep_mapped>>)
endif()

if(FERRY_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(check_handles ON)
endif()
option(FERRY_CHECK_HANDLES "Refuse handles of the C API that were closed: sdk/api/live.h" ${check_handles})
if(FERRY_CHECK_HANDLES)
  add_compile_definitions(FERRY_CHECK_HANDLES)
endif()

# The sources of one folder. CONFIGURE_DEPENDS: the next build picks up new files.
function(ferry_sources result)
  set(patterns)
  foreach(pattern IN LISTS ARGN)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/${pattern}")
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
  set(${result} "${found}" PARENT_SCOPE)
endfunction()
