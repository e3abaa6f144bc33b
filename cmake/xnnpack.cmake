# XNNPACK with pthreadpool and cpuinfo, as one static archive.
#
# scripts/fetch-sources pins and checks the sources. The library is built once per (version, compiler, target, flags)
# into the cache folder, and every build folder uses that archive. It is never instrumented: the asan preset uses the
# same archive.
#
# Defines: target XNNPACK::XNNPACK (include folder and archive), variable FERRY_XNNPACK_ARCHIVE.

set(FERRY_XNNPACK_VERSION 4ea82e5) # 2024-11-08
option(FERRY_XNNPACK_KLEIDIAI "Use KleidiAI's arm64 kernels in XNNPACK (XNNPACK downloads them itself)" OFF)

if(DEFINED ENV{XDG_CACHE_HOME})
  set(FERRY_CACHE_DIR "$ENV{XDG_CACHE_HOME}/ferry")
elseif(DEFINED ENV{HOME})
  set(FERRY_CACHE_DIR "$ENV{HOME}/.cache/ferry")
else() # Windows
  set(FERRY_CACHE_DIR "$ENV{LOCALAPPDATA}/ferry")
endif()

set(FERRY_XNNPACK_THREADS "${PROJECT_SOURCE_DIR}/cmake/xnnpack_threads.syms")
set(FERRY_XNNPACK_CPUINFO "${PROJECT_SOURCE_DIR}/cmake/xnnpack_cpuinfo.syms")
set(FERRY_OWN_CPUINFO OFF) # sdk/threads/cpuinfo_arm64.cc
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_SYSTEM_NAME MATCHES "^(Linux|Android)$")
  set(FERRY_OWN_CPUINFO ON)
endif()

function(ferry_build_xnnpack source_lines prefix options)
  set(build "${prefix}.build")
  file(REMOVE_RECURSE "${build}" "${prefix}")
  file(MAKE_DIRECTORY "${build}")
  foreach(line IN LISTS source_lines)
    string(REGEX MATCH "^([a-z0-9]+)=(.*)$" _ "${line}")
    set(source_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endforeach()
  message(STATUS "XNNPACK: building it once for ${CMAKE_SYSTEM_PROCESSOR}; one to five minutes on 2 cores, then cached in")
  message(STATUS "XNNPACK:   ${prefix}")
  string(TIMESTAMP start "%s")

  set(forward)
  foreach(name CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_MAKE_PROGRAM CMAKE_AR CMAKE_RANLIB
               ANDROID_NDK ANDROID_ABI ANDROID_PLATFORM ANDROID_STL)
    if(DEFINED ${name})
      list(APPEND forward "-D${name}=${${name}}")
    endif()
  endforeach()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${source_xnnpack}" -B "${build}" -G "${CMAKE_GENERATOR}" ${forward} ${options}
            "-DCMAKE_PROJECT_XNNPACK_INCLUDE=${PROJECT_SOURCE_DIR}/cmake/xnnpack_kernels.cmake"
            "-DPTHREADPOOL_SOURCE_DIR=${source_pthreadpool}" "-DCPUINFO_SOURCE_DIR=${source_cpuinfo}"
            "-DFXDIV_SOURCE_DIR=${source_fxdiv}" "-DFP16_SOURCE_DIR=${source_fp16}"
    OUTPUT_FILE "${build}/configure.log" ERROR_FILE "${build}/configure.log" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "XNNPACK could not be configured; see ${build}/configure.log")
  endif()
  # Ninja's progress line goes to the terminal, because minutes of silence look like a hang.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${build}" --target XNNPACK microkernels-prod pthreadpool cpuinfo
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "XNNPACK could not be built; the compiler's words are above, the folder is ${build}")
  endif()

  # XNNPACK's loops run on our threads: calls of pthreadpool are renamed to the functions in sdk/threads/xnnpack.cc.
  # Calls of cpuinfo are renamed where we implement it ourselves.
  set(renamed "--redefine-syms=${FERRY_XNNPACK_THREADS}")
  if(FERRY_OWN_CPUINFO)
    list(APPEND renamed "--redefine-syms=${FERRY_XNNPACK_CPUINFO}")
  endif()
  file(GLOB_RECURSE archives "${build}/*XNNPACK.a" "${build}/*microkernels-prod.a")
  foreach(archive IN LISTS archives)
    execute_process(COMMAND "${CMAKE_OBJCOPY}" ${renamed} "${archive}" RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "XNNPACK's calls of pthreadpool and cpuinfo could not be renamed with '${CMAKE_OBJCOPY}'")
    endif()
  endforeach()

  # One archive: XNNPACK and its kernels refer to each other, and apps should not have to order them.
  file(GLOB_RECURSE archives "${build}/*XNNPACK.a" "${build}/*microkernels-prod.a" "${build}/*pthreadpool.a")
  if(NOT FERRY_OWN_CPUINFO)
    file(GLOB_RECURSE cpuinfo "${build}/*libcpuinfo.a")
    list(APPEND archives ${cpuinfo})
  endif()
  set(script "CREATE ${build}/merged.a\n")
  foreach(archive IN LISTS archives)
    string(APPEND script "ADDLIB ${archive}\n")
  endforeach()
  string(APPEND script "SAVE\nEND\n")
  file(WRITE "${build}/merge.mri" "${script}")
  execute_process(COMMAND "${CMAKE_AR}" -M INPUT_FILE "${build}/merge.mri" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "XNNPACK's archives could not be merged with ${CMAKE_AR}")
  endif()
  execute_process(COMMAND "${CMAKE_RANLIB}" "${build}/merged.a")

  file(INSTALL "${source_xnnpack}/include/" "${source_pthreadpool}/include/" "${source_cpuinfo}/include/"
       DESTINATION "${prefix}/include" FILES_MATCHING PATTERN "*.h")
  foreach(name xnnpack pthreadpool cpuinfo fxdiv fp16)
    file(COPY_FILE "${source_${name}}/LICENSE" "${prefix}/LICENSE.${name}")
  endforeach()
  file(RENAME "${build}/merged.a" "${prefix}/libxnnpack.a") # last: its presence means 'complete'
  file(REMOVE_RECURSE "${build}")
  string(TIMESTAMP end "%s")
  math(EXPR seconds "${end} - ${start}")
  message(STATUS "XNNPACK: built in ${seconds} s")
endfunction()

function(ferry_provide_xnnpack)
  # Sanitizers and toolchains/clang.cmake use the archive of another preset, whichever compiler our own code has.
  set(names)
  if(FERRY_CLANG_TARGET AND CMAKE_CROSSCOMPILING)
    set(names "${FERRY_CLANG_TARGET}-gcc" "${FERRY_CLANG_TARGET}-g++")
    set(CMAKE_TOOLCHAIN_FILE "${PROJECT_SOURCE_DIR}/toolchains/${FERRY_CLANG_TARGET}.cmake")
  elseif(FERRY_CLANG_TARGET OR (FERRY_SANITIZE AND NOT CMAKE_CROSSCOMPILING))
    set(names cc c++)
    set(CMAKE_TOOLCHAIN_FILE "")
  endif()
  if(names)
    list(GET names 0 name)
    find_program(FERRY_XNNPACK_C "${name}" REQUIRED)
    list(GET names 1 name)
    find_program(FERRY_XNNPACK_CXX "${name}" REQUIRED)
    set(CMAKE_C_COMPILER "${FERRY_XNNPACK_C}")
    set(CMAKE_CXX_COMPILER "${FERRY_XNNPACK_CXX}")
    set(CMAKE_C_COMPILER_ID GNU)
    execute_process(COMMAND "${CMAKE_C_COMPILER}" -dumpfullversion OUTPUT_VARIABLE CMAKE_C_COMPILER_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  set(flags "-fPIC -ffunction-sections -fdata-sections -fvisibility=hidden") # no exceptions pass through it
  string(APPEND flags " -fno-asynchronous-unwind-tables -fno-unwind-tables")
  set(options
      -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG"
      "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
      "-DCMAKE_C_FLAGS=${flags}"
      "-DCMAKE_CXX_FLAGS=${flags} -fvisibility-inlines-hidden"
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON
      -DXNNPACK_LIBRARY_TYPE=static
      -DCPUINFO_LIBRARY_TYPE=static
      -DPTHREADPOOL_LIBRARY_TYPE=static
      -DXNNPACK_BUILD_TESTS=OFF
      -DXNNPACK_BUILD_BENCHMARKS=OFF
      -DXNNPACK_BUILD_ALL_MICROKERNELS=OFF # ON would add some 2500 objects that nothing uses
      -DXNNPACK_ENABLE_DWCONV_MULTIPASS=ON # OFF makes 7x7 depthwise convolutions much slower
      -DXNNPACK_ENABLE_KLEIDIAI=${FERRY_XNNPACK_KLEIDIAI})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND options -DXNNPACK_ENABLE_AVX512AMX=OFF -DXNNPACK_ENABLE_AVX512FP16=OFF
         -DXNNPACK_ENABLE_AVXVNNIINT8=OFF)
  endif()
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    list(APPEND options -DXNNPACK_ENABLE_ARM_SME=OFF -DXNNPACK_ENABLE_ARM_SME2=OFF)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "riscv") # older gcc does not know their vector intrinsics
      list(APPEND options -DXNNPACK_ENABLE_RISCV_VECTOR=OFF -DXNNPACK_ENABLE_RISCV_FP16_VECTOR=OFF)
    endif()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm|riscv") # on phones and boards size matters
    list(APPEND options -DFERRY_SMALL_OPERATORS=ON)
    foreach(name cpuinfo pthreadpool)
      list(APPEND options "-DCMAKE_PROJECT_${name}_INCLUDE=${PROJECT_SOURCE_DIR}/cmake/xnnpack_small.cmake")
    endforeach()
  endif()
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND options "-DFERRY_FMA3_GEMM_FLAGS=-fschedule-insns -fsched-pressure") # xnnpack_kernels.cmake says why
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND options "-DFERRY_NO_PREFETCH=-D__builtin_prefetch(address,...)=(void)(address)") # likewise
  endif()

  if(FERRY_PREPARED)
    file(GLOB sources "${FERRY_PREPARED}/sources/*") # name-commit
    list(TRANSFORM sources REPLACE "^(.*/([a-z0-9]+)-[0-9a-f]+)$" "\\2=\\1")
  else()
    execute_process(
      COMMAND "${PROJECT_SOURCE_DIR}/scripts/fetch-sources" OUTPUT_VARIABLE sources RESULT_VARIABLE result
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "The third-party sources could not be fetched (see above)")
    endif()
    string(REPLACE "\n" ";" sources "${sources}")
  endif()

  # The inputs that determine the archive's bytes.
  string(REPLACE "${PROJECT_SOURCE_DIR}" "" kind "${options}")
  file(SHA256 "${FERRY_XNNPACK_THREADS}" threads)
  file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/xnnpack_kernels.cmake" kernels REGEX "^ *[^ #]") # without comments
  string(APPEND threads "|${kernels}")
  if(FERRY_OWN_CPUINFO)
    file(SHA256 "${FERRY_XNNPACK_CPUINFO}" cpuinfo)
    string(APPEND threads "|${cpuinfo}")
  endif()
  set(pinned ${sources}) # name-commit, in any folder
  list(TRANSFORM pinned REPLACE "^.*/" "")
  list(SORT pinned)
  string(SHA256 hash "${kind}|${threads}|${pinned}|${CMAKE_C_COMPILER}|${CMAKE_CXX_COMPILER}|${ANDROID_ABI}|${ANDROID_PLATFORM}")
  string(SUBSTRING "${hash}" 0 8 hash)
  string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}-${CMAKE_C_COMPILER_ID}${CMAKE_C_COMPILER_VERSION}" host)
  set(prefix "${FERRY_CACHE_DIR}/xnnpack/${FERRY_XNNPACK_VERSION}-${host}-${hash}")

  if(NOT EXISTS "${prefix}/libxnnpack.a")
    file(MAKE_DIRECTORY "${FERRY_CACHE_DIR}/xnnpack")
    file(LOCK "${prefix}.lock" GUARD FUNCTION TIMEOUT 0 RESULT_VARIABLE locked)
    if(NOT locked EQUAL 0)
      message(STATUS "XNNPACK: another configure is building it; waiting")
      file(LOCK "${prefix}.lock" GUARD FUNCTION TIMEOUT 3600 RESULT_VARIABLE locked)
    endif()
    if(NOT EXISTS "${prefix}/libxnnpack.a") # another configure may have built it meanwhile
      ferry_build_xnnpack("${sources}" "${prefix}" "${options}")
    endif()
  endif()

  find_package(Threads REQUIRED)
  set(libraries Threads::Threads m)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "riscv") # gcc 12 calls libatomic for atomic bytes
    list(APPEND libraries atomic)
    set(FERRY_LIBATOMIC atomic PARENT_SCOPE) # for users of libferry.a
  endif()
  add_library(XNNPACK::XNNPACK STATIC IMPORTED GLOBAL)
  set_target_properties(XNNPACK::XNNPACK PROPERTIES
    IMPORTED_LOCATION "${prefix}/libxnnpack.a"
    INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include"
    INTERFACE_LINK_LIBRARIES "${libraries}")
  set(FERRY_XNNPACK_ARCHIVE "${prefix}/libxnnpack.a" PARENT_SCOPE)
  set(FERRY_XNNPACK_PREFIX "${prefix}" PARENT_SCOPE)
endfunction()
