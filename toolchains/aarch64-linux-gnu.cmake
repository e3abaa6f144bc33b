# Cross-builds for arm64 Linux with Debian's compiler (crossbuild-essential-arm64), and runs the programs with
# qemu-user-static. qemu's environment variable QEMU_CPU selects the emulated CPU at run time; programs see its name and
# caches too (qemu-aarch64 beside this file):
#
#     QEMU_CPU=cortex-a53 ctest --preset arm64      plain NEON
#     QEMU_CPU=cortex-a76 ctest --preset arm64      dot product, float16
#     QEMU_CPU=max        ctest --preset arm64      8-bit matrix multiply and everything else

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Debian keeps the target's libc here. The host's /usr/include is never searched: header-only libraries are linked
# into the build folder by cmake/third_party.cmake.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/qemu-aarch64")
