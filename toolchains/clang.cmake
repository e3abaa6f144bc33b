# Builds as Android does, without an NDK: with Debian's newest clang, and libc++ linked statically, for the Linux target
# that FERRY_CLANG_TARGET names: aarch64-linux-gnu, arm-linux-gnueabihf or x86_64-linux-gnu. XNNPACK, which is C, is the
# archive that gcc builds for that target (cmake/xnnpack.cmake).

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FERRY_CLANG_TARGET)
set(ferry_libcxx /usr/lib/llvm-19)
if(NOT FERRY_CLANG_TARGET STREQUAL "x86_64-linux-gnu")
  include("${CMAKE_CURRENT_LIST_DIR}/${FERRY_CLANG_TARGET}.cmake")
  set(ferry_architecture armhf)
  if(FERRY_CLANG_TARGET STREQUAL "aarch64-linux-gnu")
    set(ferry_architecture arm64)
  endif()
  execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/../scripts/fetch-debian" ${ferry_architecture} libcxx
                  OUTPUT_VARIABLE ferry_libcxx OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET "${FERRY_CLANG_TARGET}")
endforeach()
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_CXX_FLAGS_INIT} -stdlib=libc++")
find_program(FERRY_LLD ld.lld-19 REQUIRED)
foreach(kind SHARED MODULE EXE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "--ld-path=${FERRY_LLD} -nostdlib++ -Wl,-z,max-page-size=16384") # as android.cmake
endforeach()
set(CMAKE_CXX_STANDARD_LIBRARIES "")
foreach(archive c++ c++abi unwind)
  string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " ${ferry_libcxx}/lib/lib${archive}.a")
endforeach()
string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " -lpthread -ldl")
if(FERRY_CLANG_TARGET STREQUAL "arm-linux-gnueabihf") # lld crashes when it folds Debian's stripped archives for it
  string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " -Wl,--icf=none")
endif()
