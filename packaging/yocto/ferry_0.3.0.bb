# Ferry for a Yocto image (kirkstone to scarthgap, with meta-openembedded's meta-oe; later releases unpack sources
# elsewhere). docs/embedded-linux.md says what of it was tested.
SUMMARY = "Runs converted neural networks on devices"
LICENSE = "Apache-2.0 & BSD-3-Clause & BSD-2-Clause & MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=17a0e7c937820c75d5bcd4745be17ae9 \
                    file://NOTICE;md5=ac5c25974d7ca72d1d42abde92536010"

# Your checkout of Ferry, or a mirror of it.
FERRY_GIT ?= "git:///opt/ferry;protocol=file;branch=main"
SRC_URI = "${FERRY_GIT};name=ferry;destsuffix=git \
           git://github.com/google/XNNPACK.git;protocol=https;nobranch=1;name=xnnpack;destsuffix=cache/ferry/sources/xnnpack-4ea82e5 \
           git://github.com/Maratyszcza/pthreadpool.git;protocol=https;nobranch=1;name=pthreadpool;destsuffix=cache/ferry/sources/pthreadpool-560c60d \
           git://github.com/pytorch/cpuinfo.git;protocol=https;nobranch=1;name=cpuinfo;destsuffix=cache/ferry/sources/cpuinfo-877328f \
           git://github.com/Maratyszcza/FXdiv.git;protocol=https;nobranch=1;name=fxdiv;destsuffix=cache/ferry/sources/fxdiv-b408327 \
           git://github.com/Maratyszcza/FP16.git;protocol=https;nobranch=1;name=fp16;destsuffix=cache/ferry/sources/fp16-4dfe081 \
           git://github.com/nothings/stb.git;protocol=https;nobranch=1;name=stb;destsuffix=headers/stb"
SRCREV_FORMAT = "ferry"
SRCREV_ferry ?= "${AUTOREV}"
# The same as in scripts/fetch-sources.
SRCREV_xnnpack = "4ea82e595b36106653175dcb04b2aa532660d0d8"
SRCREV_pthreadpool = "560c60d342a76076f0557a3946924c6478470044"
SRCREV_cpuinfo = "877328f188a3c7d1fa855871a278eb48d530c4c0"
SRCREV_fxdiv = "b408327ac2a15ec3e43352421954f5b1967701d1"
SRCREV_fp16 = "4dfe081cf6bcd15db339cf2680b9281b8451eeb3"
SRCREV_stb = "8b5f1f37b5b75829fc72d38e7b5d4bcbf8a26d55"
S = "${WORKDIR}/git"

inherit cmake python3native

# flatc runs on the host; flatbuffers' headers and the others are the target's.
DEPENDS = "flatbuffers flatbuffers-native nlohmann-json cli11"

# XNNPACK is built during configure, from sources unpacked to the folder of scripts/fetch-sources, so that no task needs
# the network.
export XDG_CACHE_HOME = "${WORKDIR}/cache"
do_configure[network] = "0"
do_configure:prepend() {
    for folder in ${WORKDIR}/cache/ferry/sources/*; do touch $folder/.ferry-complete; done
    for name in flatbuffers nlohmann CLI; do ln -sfn ${STAGING_INCDIR}/$name ${WORKDIR}/headers/$name; done
}

EXTRA_OECMAKE = "-DFERRY_BUILD_CONVERTER=OFF -DFERRY_BUILD_TESTS=OFF -DFERRY_BUILD_EXAMPLES=OFF \
                 -DFERRY_HEADER_ROOT=${WORKDIR}/headers"

# The GPU backend compiles its shaders on the host; the Vulkan library itself is found at run time.
PACKAGECONFIG ??= ""
PACKAGECONFIG[gpu] = "-DFERRY_GPU=ON,-DFERRY_GPU=OFF,vulkan-headers volk shaderc-native spirv-tools-native"

# libferry.so.0.3.0 is the library itself, and libferry.so, which programs link to, is no development symlink here.
FILES:${PN} += "${datadir}/ferry ${datadir}/bash-completion ${datadir}/zsh ${datadir}/fish"
FILES:${PN}-dev += "${libdir}/cmake"
