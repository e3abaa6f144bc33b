# How our own code is compiled. Third-party code is built elsewhere (xnnpack.cmake) or included as system headers.

add_library(ferry_options INTERFACE)
# Designated initializers leave the other fields at their defaults on purpose; gcc warns of each.
target_compile_options(ferry_options INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT FERRY_SANITIZE) # gcc gives false alarms of instrumented code
  target_compile_options(ferry_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND FERRY_SANITIZE) # loops that a kernel asks to be vectorised, and are not at -O1
  target_compile_options(ferry_options INTERFACE -Wno-pass-failed)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ferry_options INTERFACE -Wno-restrict) # gcc bug 105329: false alarms on "text" + string
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^arm") # notes of what gcc 7 has changed
  target_compile_options(ferry_options INTERFACE -Wno-psabi)
endif()
# For what never computes long, the command line, the tests, what reads files and describes networks: they take longer to
# compile than to run, instrumented even longer.
if(FERRY_SANITIZE)
  set(FERRY_COLD -O0)
else()
  set(FERRY_COLD $<$<NOT:$<CONFIG:Debug>>:-O1>)
endif()
target_include_directories(ferry_options INTERFACE "${PROJECT_SOURCE_DIR}") # "sdk/operators/shape.h", "converter/error.h"...

# The presets that scripts/check tests compile eight files at once (CMAKE_UNITY_BUILD), in a third of the time. release and
# clang compile each alone, where one that lives on another's includes is found. Files that use the same names, each for what
# is its own, stay apart everywhere.
set(FERRY_APART UNITY_BUILD OFF)

# Blobs and packed files may be longer than 2 GB on 32 bits, too.
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  add_compile_definitions(_FILE_OFFSET_BITS=64)
endif()

# Dead code goes away in every program: an app pays for the operators that it links, not for the library.
add_link_options(-Wl,--gc-sections)

find_program(FERRY_CCACHE ccache)
if(FERRY_CCACHE)
  foreach(lang C CXX)
    if(NOT CMAKE_${lang}_COMPILER_LAUNCHER)
      # Objects are the same in every clone, wherever it lies: what is compiled in one is known in the next.
      set(CMAKE_${lang}_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${FERRY_CCACHE}")
    endif()
  endforeach()
endif()

set(FERRY_SANITIZE "" CACHE STRING "Sanitizers for our own code, as for -fsanitize= (the asan preset sets them)")
if(FERRY_SANITIZE)
  # vptr needs RTTI, which the SDK is built without.
  add_compile_options(-fsanitize=${FERRY_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FERRY_SANITIZE})
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

# The sources of one room. CONFIGURE_DEPENDS: a new file is picked up by the next build without editing anything here.
function(ferry_sources result)
  set(patterns)
  foreach(pattern IN LISTS ARGN)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/${pattern}")
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
  set(${result} "${found}" PARENT_SCOPE)
endfunction()
