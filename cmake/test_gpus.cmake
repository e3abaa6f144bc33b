# The GPUs of the tests: two software drivers, so that no code relies on one of them, with the validation layer and
# synchronization validation. A validation message fails the test that caused it.
# Sets FERRY_TEST_GPUS (a part of each device's name; empty without a driver) and validation_message, which no test's
# output may contain, and extends test_environment.

set(FERRY_TEST_GPUS)
set(manifests)
if(FERRY_GPU AND NOT CMAKE_CROSSCOMPILING) # an emulated target has no driver: there "no Vulkan" is what is tested
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(cache "$ENV{HOME}/.cache")
  endif()
  foreach(entry "llvmpipe:/usr/share/vulkan/icd.d/lvp_icd.*.json" # lavapipe's device
                "SwiftShader:${cache}/ferry/swiftshader/*/vk_swiftshader_icd.json") # scripts/fetch-swiftshader
    if(FERRY_SANITIZE AND manifests)
      break() # sanitizers check only our code, which is the same for every driver
    endif()
    string(REGEX MATCH "^([^:]*):(.*)$" ignored "${entry}")
    file(GLOB found "${CMAKE_MATCH_2}")
    if(found)
      list(GET found 0 manifest)
      list(APPEND manifests "${manifest}")
      list(APPEND FERRY_TEST_GPUS ${CMAKE_MATCH_1})
    else()
      message(STATUS "Tests do without the Vulkan driver ${CMAKE_MATCH_1}: there is no ${CMAKE_MATCH_2}")
    endif()
  endforeach()
endif()
list(JOIN manifests ":" manifests)
list(JOIN FERRY_TEST_GPUS "," gpus)

set(gpu_environment
  "FERRY_TEST_GPUS=${gpus}"
  "VK_DRIVER_FILES=${manifests}" "VK_ICD_FILENAMES=${manifests}" # the newer name and the older one
  "VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation"
  "VK_LAYER_SETTINGS_PATH=${PROJECT_SOURCE_DIR}/tests/gpu/vk_layer_settings.txt"
  "NODEVICE_SELECT=1") # Mesa's layer that reorders devices
if(FERRY_SANITIZE)
  list(APPEND gpu_environment
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/gpu/lsan.supp:print_suppressions=0")
endif()
set(validation_message "Validation (Error|Warning|Performance Warning): ")
if(FERRY_TEST_GPUS)
  list(APPEND test_environment ${gpu_environment})
endif()

# To start test programs by hand: . build/dev/test_environment.sh
list(TRANSFORM gpu_environment REPLACE "^([^=]*)=(.*)$" "export \\1='\\2'")
list(JOIN gpu_environment "\n" gpu_environment)
file(WRITE "${PROJECT_BINARY_DIR}/test_environment.sh" "${gpu_environment}\n")
