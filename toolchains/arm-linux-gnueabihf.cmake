# Cross-builds for 32-bit ARM Linux (ARMv7-A with NEON) with Debian's compiler (crossbuild-essential-armhf), and runs
# the programs with qemu-user-static. The emulated CPU is qemu's most capable one; QEMU_CPU selects another
# (cortex-a15).

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7-a) # the name that XNNPACK and cpuinfo expect

set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
# Debian's compiler defaults to ARMv7-A without NEON.
set(CMAKE_C_FLAGS_INIT "-mfpu=neon")
set(CMAKE_CXX_FLAGS_INIT "-mfpu=neon")

set(CMAKE_FIND_ROOT_PATH /usr/arm-linux-gnueabihf) # see aarch64-linux-gnu.cmake
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm-static -L /usr/arm-linux-gnueabihf)
