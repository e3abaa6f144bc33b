# Builds for Android with the NDK named by ANDROID_NDK (an environment variable or -DANDROID_NDK=...):
#
#     ANDROID_NDK=~/android-ndk-r27 cmake --preset android-arm64      or android-armv7, android-x86_64
#
# ANDROID_ABI (arm64-v8a) and ANDROID_PLATFORM (android-24, or a later one) are set as for the NDK's own toolchain file.

if(NOT ANDROID_NDK)
  set(ANDROID_NDK "$ENV{ANDROID_NDK}")
endif()
set(ANDROID_NDK "${ANDROID_NDK}" CACHE PATH "The Android NDK")
# CMake's compiler checks read this file again in a project of their own, with only these variables.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_NDK ANDROID_ABI ANDROID_PLATFORM ANDROID_STL)
if(NOT ANDROID_NDK)
  message(FATAL_ERROR "ANDROID_NDK is not set. It must name an unpacked Android NDK (r26 or later), "
                      "for example ANDROID_NDK=$HOME/android-ndk-r27")
endif()
if(NOT EXISTS "${ANDROID_NDK}/build/cmake/android.toolchain.cmake")
  message(FATAL_ERROR "ANDROID_NDK=${ANDROID_NDK} holds no build/cmake/android.toolchain.cmake; is it an NDK?")
endif()

if(NOT DEFINED ANDROID_ABI)
  set(ANDROID_ABI arm64-v8a)
endif()
if(NOT DEFINED ANDROID_PLATFORM)
  set(ANDROID_PLATFORM android-24)
endif()
string(REGEX REPLACE "^android-" "" ferry_android_api "${ANDROID_PLATFORM}")
if(ferry_android_api MATCHES "^[0-9]+$" AND ferry_android_api LESS 24)
  message(FATAL_ERROR "ANDROID_PLATFORM is ${ANDROID_PLATFORM}: Ferry needs android-24 or later")
endif()
if(NOT DEFINED ANDROID_STL)
  set(ANDROID_STL c++_static)
endif()
include("${ANDROID_NDK}/build/cmake/android.toolchain.cmake")

# Devices with 16 KB pages refuse libraries with a smaller alignment, which is the default of older NDKs and of armv7. The
# NDK's file has set these variables, so that CMAKE_*_LINKER_FLAGS_INIT would be ignored.
foreach(kind SHARED MODULE EXE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " -Wl,-z,max-page-size=16384")
endforeach()
