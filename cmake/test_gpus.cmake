# The GPUs of the tests: software drivers with the validation layer and synchronization validation. A validation message
# fails the test that caused it. Tests use the first driver; whole networks use every driver, and the tests of operators
# and of the backend run again with the second one (label "long"), so that no code relies on one of them.
# Sets FERRY_TEST_GPUS (a part of each device's name; empty without a driver), validation_message, which no test's output
# may contain, and test_environment, all_gpus_environment and second_gpu_environment (empty without a second driver).

set(FERRY_TEST_GPUS)
set(manifests)
if(FERRY_GPU AND NOT CMAKE_CROSSCOMPILING) # an emulated target has no driver: there "no Vulkan" is what is tested
  foreach(entry "llvmpipe:/usr/share/vulkan/icd.d/lvp_icd.*.json" # lavapipe's device
                "SwiftShader:${FERRY_CACHE_DIR}/swiftshader/*/vk_swiftshader_icd.json") # scripts/fetch-swiftshader
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

function(ferry_gpu_environment result gpus manifests)  # lists
  list(JOIN gpus "," gpus)
  list(JOIN manifests ":" manifests)
  set(environment ${base_environment}
    "FERRY_TEST_GPUS=${gpus}"
    "VK_DRIVER_FILES=${manifests}" "VK_ICD_FILENAMES=${manifests}" # the newer name and the older one
    "NODEVICE_SELECT=1") # Mesa's layer that reorders devices
  if(FERRY_SANITIZE) # validation would double the time, and sees the same calls without sanitizers
    list(APPEND environment
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/gpu/lsan.supp:print_suppressions=0")
  else()
    list(APPEND environment
      "VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation"
      "VK_LAYER_SETTINGS_PATH=${PROJECT_SOURCE_DIR}/tests/gpu/vk_layer_settings.txt")
  endif()
  set(${result} ${environment} PARENT_SCOPE)
endfunction()
set(validation_message "Validation (Error|Warning|Performance Warning): ")
set(base_environment ${test_environment})
set(all_gpus_environment ${test_environment})
set(second_gpu_environment)
set(by_hand)
if(FERRY_TEST_GPUS)
  list(GET FERRY_TEST_GPUS 0 gpu)
  list(GET manifests 0 manifest)
  ferry_gpu_environment(test_environment "${gpu}" "${manifest}")
  ferry_gpu_environment(all_gpus_environment "${FERRY_TEST_GPUS}" "${manifests}")
  list(LENGTH FERRY_TEST_GPUS count)
  if(count GREATER 1)
    list(GET FERRY_TEST_GPUS 1 gpu)
    list(GET manifests 1 manifest)
    ferry_gpu_environment(second_gpu_environment "${gpu}" "${manifest}")
  endif()
  set(by_hand ${all_gpus_environment})
endif()

# To start test programs by hand: . build/dev/test_environment.sh
list(TRANSFORM by_hand REPLACE "^([^=]*)=(.*)$" "export \\1='\\2'")
list(JOIN by_hand "\n" by_hand)
file(WRITE "${PROJECT_BINARY_DIR}/test_environment.sh" "${by_hand}\n")
