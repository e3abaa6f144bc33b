# A source archive (scripts/package android) brings what a clone takes from Debian and from the network, in prepared/:
#
#     include/     flatbuffers, stb, Vulkan, volk, nlohmann/json, CLI11
#     generated/   what flatc, glslc and spirv-opt make of the schemas and the shaders
#     sources/     XNNPACK and what it needs
#     faces.ferry  the model of examples/android-camera
#
# FERRY_PREPARED: that folder; empty in a clone. With it CMake, Ninja, a compiler and Python 3 build the libraries.
set(FERRY_PREPARED "${PROJECT_SOURCE_DIR}/prepared")
if(NOT EXISTS "${FERRY_PREPARED}")
  set(FERRY_PREPARED "")
endif()
