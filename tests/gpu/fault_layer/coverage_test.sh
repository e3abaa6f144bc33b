#!/bin/bash
# Checks that the fault layer knows every function with a result that the SDK calls.
#
# coverage_test.sh SOURCE_FOLDER VULKAN_HEADERS
set -euo pipefail
cd "$1"
# Functions without an instance do not pass through layers.
outside='^vk(EnumerateInstance|GetInstanceProcAddr)'
calls=$(grep -rhoE '\bvk[A-Z][A-Za-z0-9]+' sdk/gpu --include='*.cc' | sort -u | grep -vE "$outside")
[ "$(wc -l <<<"$calls")" -gt 30 ] || { echo "no calls found in sdk/gpu"; exit 1; }
status=0
for call in $calls; do
  grep -q "VKAPI_ATTR VkResult VKAPI_CALL $call(" "$2/vulkan/vulkan_core.h" || continue
  grep -q "\b$call\b" tests/gpu/fault_layer/functions.h tests/gpu/fault_layer/fault_layer.cc && continue
  echo "tests/gpu/fault_layer/functions.h lacks $call"
  status=1
done
exit $status
