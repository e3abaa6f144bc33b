# One test program per folder of tests/ with all its *.cc, labelled with the folder's name, and the scripts in
# tests/package and tests/parity. tests/support has shared helpers.

include(GoogleTest)
ferry_provide_gtest()

ferry_sources(support_sources tests/support/*.cc)
add_library(ferry_test_support STATIC ${support_sources})
target_compile_options(ferry_test_support PRIVATE ${FERRY_COLD})
target_link_libraries(ferry_test_support PUBLIC ferry_gtest ferry_tools PRIVATE ferry_options)
if(TARGET ferry_models)
  target_link_libraries(ferry_test_support PUBLIC ferry_models)
endif()
# Fixtures and real weights are outside the project. Tests that need them are skipped if they are absent.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/paths.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
  COMPILE_DEFINITIONS "FERRY_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";FERRY_BINARY_DIR=\"${PROJECT_BINARY_DIR}\";FERRY_COMMAND=\"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ferry\"")
target_compile_definitions(ferry_test_support PUBLIC $<$<BOOL:${CMAKE_CROSSCOMPILING}>:FERRY_EMULATED=1>)

# Replaces operator new in the programs that use it, and in no other.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/work.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Its names clash with those of tests/gpu/canary_networks.h.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/gpu/alternatives_test.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# These include the C++ API, next to which the internal Tensor and Status are ambiguous; and allocations, whose names
# are short.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/run_blob.cc" "${PROJECT_SOURCE_DIR}/tests/memory/failing.cc"
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# Page faults are dear on virtual machines: glibc keeps freed memory of large tensors in the heap, in huge pages.
set(test_environment "FERRY_BUILD=${PROJECT_BINARY_DIR}"
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.hugetlb=1")
if(FERRY_SANITIZE MATCHES fuzzer) # preset fuzz: only the harnesses
  add_subdirectory(tests/fuzz)
  return()
endif()
if(FERRY_SANITIZE)
  target_compile_definitions(ferry_test_support PUBLIC FERRY_SANITIZED)
  # The last two bound memory that is kept after its release: each of its pages is one that the kernel maps.
  list(APPEND test_environment
       "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:quarantine_size_mb=64:max_uar_stack_size_log=16"
       "UBSAN_OPTIONS=print_stacktrace=1")
endif()
include(cmake/test_gpus.cmake)

# Folders whose tests share an expensive set-up run as a single ctest test, and so do all folders on an emulator, where
# starting a process is slow. Others start one process per suite, because creating a GPU's pipelines takes longer than
# most cases. The rest runs each case separately: networks and drivers that fail.
set(whole_programs cli threads)
set(by_suite unit ops converter tflite memory)

# Tests labelled "long" run with scripts/check --all only: whole networks on software GPUs, the second Vulkan driver, large
# networks and those that differ from another in weights alone, thousands of damaged files, devices that fail at every
# call, and what builds or packs the project once more.
string(JOIN "|" long_tests
  "^parity_gpu/" "^second_gpu/" "^soak/" "^scaling"
  "^parity/(timm_vgg11_bn|mobile_sam|birefnet_lite|deeplabv3_resnet50|coatnet_0_rw_224|migan_256|esrgan_x4_6b|timm_resnetv2_50x1_bit|hf_resnet50|.*_in1c|.*_seed1|planted|other_names)$"
  "ImportsWithTheExpectedShapes/(vgg19|zfnet512|bvlc_alexnet)" "^converter/(SplitLargeWeight|LargePublished(Shapes/LargePublishedShapes|Runs/LargePublishedRuns)|DamagedCheckpoint|Convert/FixtureTaps|BiRefNet)$"
  "^gpu/(Canary.DiesOfEveryFault$|Alternatives|WrongAtTimes|GpuStates.ALostDevice)" "^gpu/Faults/" "^gpu/WrongAtAnyRate"
  "^package/(archives|lintian|repository|gpu_off|operators|scaffolds|source_archive|cmake_component|pkgconfig_static|camera_linux)$" "^device/faults$" "^android/apk$" "^java/kotlin$" "^docs/site$")
function(ferry_label test label)
  if(test MATCHES "${long_tests}" AND NOT test STREQUAL "parity_gpu/timm_mobilenetv2_100") # one network on the first GPU
    list(APPEND label long)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${label}")
endfunction()

# Whole networks take minutes. They are separate tests, in parts that run in parallel.
function(ferry_add_parts name count filter)
  foreach(part RANGE 1 ${count})
    set(test ${name})
    set(environment ${test_environment})
    if(name MATCHES "^(parity_gpu/|second_gpu/gpu$)") # of which some compare drivers with each other
      set(environment ${all_gpus_environment})
    elseif(name MATCHES "^second_gpu/")
      set(environment ${second_gpu_environment})
    endif()
    list(APPEND environment "GTEST_FILTER=${filter}")
    if(count GREATER 1)
      set(test ${name}/${part})
      math(EXPR index "${part} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${count} GTEST_SHARD_INDEX=${index})
    endif()
    string(REGEX REPLACE "^second_gpu/" "" folder ${name})
    string(REGEX REPLACE "(_gpu)?/.*$" "" folder ${folder})
    add_test(NAME ${test} COMMAND ${folder}_tests)
    ferry_label(${test} ${folder})
    # COST: starts the long ones first, even on a machine without timings of earlier runs.
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 1200 COST 1000
                         FAIL_REGULAR_EXPRESSION "${validation_message}")
    if(FERRY_SANITIZE AND name MATCHES "^parity_gpu/")
      # tests/gpu checks for leaks. LeakSanitizer may crash here among the threads that drivers leave behind.
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    endif()
  endforeach()
endfunction()

function(ferry_add_suites folder)
  if(FERRY_SANITIZE AND folder STREQUAL "ops") # on the CPU only: tests/gpu runs every kernel by its canaries
    set(test_environment ${base_environment})
  endif()
  set(program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${folder}_tests")
  configure_file(cmake/discover_suites.cmake.in "${PROJECT_BINARY_DIR}/${folder}_suites.cmake" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${PROJECT_BINARY_DIR}/${folder}_suites.cmake")
endfunction()

# Sanitizers check the paths through our code, not drivers or values. So they skip networks that only repeat a path with
# other weights, taps or planted faults.
set(left_out)
set(network_tests "Fixtures/Family*")
set(gpu_networks ".")
set(repeated)
set(repeated_networks "^$")
set(whole_program "*")
if(FERRY_SANITIZE)
  set(left_out "*DiesOfEveryFault:*LossAnywhere.*DeviceLost*:*FindsNoTextInAnEmptyImage:*LightNetwork*net512:*LightNetwork*alexnet:*LightNetwork*vgg19:*TorchvisionNetwork*resnet50:*TorchvisionNetwork*convnext_tiny:*TorchvisionNetwork*vit_b_16:*TorchvisionNetwork*deeplabv3*")
  # Of published tokenizers one, of published shapes some, of pages of text and of face detectors one.
  string(APPEND left_out ":*PublishedTokenizerTest*qwen3:*PublishedTokenizerTest*llama3_2:TextTask.Reads*")
  # Of kernels that tuning chooses from, of faults that come and go, and of pages some: the others differ in values.
  string(APPEND left_out ":*Alternatives.OfConv*:*Alternatives.OfLinear*:*WrongAtAnyRate*:TextTask.FindsAndReadsAPage:BiRefNet.ATensorThatIsMissing*")
  string(APPEND left_out ":LargePublishedShapes*:*FixtureTaps*_in1c:*FixtureTaps*_seed1:*FixtureTaps*_long")
  string(APPEND left_out ":*PublishedShapes*llama*:*PublishedShapes*mistral*:*PublishedShapes*qwen*:*PublishedShapes*phi*")
  set(whole_program "*-UltraFace/*simplified")
  set(network_tests "Fixtures/Family.Release*")
  set(gpu_networks "^timm_mobilenetv2_100$")
  set(repeated ":*CommonMistake*:*IsFoundInAFamily*:Bisect.0*:Bisect.1*:*RoundedImage*:TransformersMobileNetV2*:*deeplabv3_resnet50*")
  # Of planted faults one for each path of code. A million nodes: other tests expand smaller functions.
  string(APPEND left_out ":BadOnnxFiles.ExpansionIsBounded")
  string(APPEND repeated ":Planted.WrongEpsilon*:Planted.FlippedKernel*:Planted.DroppedShift*:*HasNoCause/1:*HasNoCause/2:*HasNoCause/3:*HasNoCause/6:*HasNoCause/7:*HasNoCause/8")
  string(APPEND repeated ":*IsFoundInABlob/RopeBaseOfNobody:*IsFoundInABlob/QueryNorm:*IsFoundInABlob/SharedExpertWithoutGate:*IsFoundInABlob/ScaleOfTheWidth")
  # Large networks; a small one is read by the same names.
  string(APPEND repeated ":*MatchTimm/vit:*MatchTimm/swin:*MatchTimm/convnext:TransformersResNet.IsReadWithoutAClassifier")
  # Only the lightest network of each kind; the converter's tests read BiRefNet.
  set(repeated_networks "_in1c$|_seed1$|vgg11|convnext_tiny|hf_resnet50|fcn_resnet50|deeplabv3_resnet50|coatnet_0_224|hf_dinov3_vits16|migan_256|birefnet_lite|mobile_sam|timm_resnetv2_50x1_bit|esrgan_x4_6b")
endif()
if(FERRY_SANITIZE STREQUAL "thread") # single-threaded code is covered by the other sanitizers
  set(whole_program "-Hostile*:GoldenBlob*:Examples*:Veneer*")
endif()
set(discovered)

foreach(folder unit threads ops converter conformance tflite runtime memory parity cli gpu)
  ferry_sources(sources tests/${folder}/*.cc tests/${folder}/*_test.c)
  if(NOT sources OR (folder MATCHES "^(converter|tflite)$" AND NOT FERRY_BUILD_CONVERTER) OR
     (folder STREQUAL "conformance" AND NOT (FERRY_BUILD_CONVERTER AND FERRY_ONNX)) OR (folder STREQUAL "gpu" AND NOT FERRY_GPU) OR
     (folder STREQUAL "memory" AND (CMAKE_CROSSCOMPILING OR NOT FERRY_EXCEPTIONS)))
    continue()
  endif()
  if(folder STREQUAL "conformance" AND NOT FERRY_ONNX_LINKS)
    add_library(conformance_tests OBJECT ${sources}) # compiled only
    target_link_libraries(conformance_tests PRIVATE ferry_options ferry_test_support ferry_onnx ferry_onnx_schema)
    set_target_properties(conformance_tests PROPERTIES ${FERRY_APART})
    continue()
  endif()
  add_executable(${folder}_tests ${sources})
  target_link_libraries(${folder}_tests PRIVATE ferry_options ferry_test_support)
  # Tests compile in half the time at -O0; those of operators compute the expected values themselves.
  if(folder STREQUAL "ops")
    target_compile_options(${folder}_tests PRIVATE ${FERRY_COLD})
  else()
    target_compile_options(${folder}_tests PRIVATE -O0)
  endif()
  if(folder STREQUAL "gpu") # functions are volk's
    target_compile_definitions(gpu_tests PRIVATE VK_NO_PROTOTYPES=)
  endif()
  if(folder STREQUAL "threads") # so that thread creation can fail: tests/threads/workers.h
    target_link_options(threads_tests PRIVATE -Wl,--wrap=pthread_create)
  endif()
  if(folder STREQUAL "memory") # redirects allocations, including the standard library's, to tests/memory/failing.cc
    foreach(function malloc calloc realloc free posix_memalign mmap munmap _Znwm _Znam _ZnwmRKSt9nothrow_t
                     _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t
                     _ZdlPvmSt11align_val_t)
      target_link_options(memory_tests PRIVATE "-Wl,--wrap=${function}")
    endforeach()
    # hides them from drivers and layers, which would otherwise use this program's standard library
    set(exports "${PROJECT_SOURCE_DIR}/tests/memory/exports.map")
    target_link_options(memory_tests PRIVATE -static-libstdc++ "-Wl,--version-script=${exports}")
    set_target_properties(memory_tests PROPERTIES LINK_DEPENDS "${exports}")
  endif()
  if(folder STREQUAL "conformance")
    target_link_libraries(conformance_tests PRIVATE ferry_onnx ferry_onnx_schema)
  endif()
  if(folder STREQUAL "converter") # runs the command, where there is a converter
    target_compile_definitions(converter_tests PRIVATE FERRY_EMULATOR="")
  endif()
  if(folder STREQUAL "tflite")
    target_link_libraries(tflite_tests PRIVATE ferry_tflite)
  endif()
  if(TARGET ferry_cli AND folder MATCHES "cli|converter|parity")
    add_dependencies(${folder}_tests ferry_cli)
  endif()
  if(folder STREQUAL "parity" AND NOT CMAKE_CROSSCOMPILING)
    # A network's tests share its checkpoint and its blobs.
    file(READ tests/parity/fixtures.json rows)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/parity/fixtures.json)
    string(JSON count LENGTH "${rows}")
    math(EXPR last "${count} - 1")
    foreach(row RANGE ${last})
      string(JSON network GET "${rows}" ${row} name)
      string(JSON gpu ERROR_VARIABLE no_gpu GET "${rows}" ${row} gpu)
      if(NOT network MATCHES "${repeated_networks}")
        ferry_add_parts(parity/${network} 1 "${network_tests}/${network}-*OnGpus*:*OnAGpu*")
      endif()
      if(FERRY_TEST_GPUS AND NOT no_gpu AND network MATCHES "${gpu_networks}")
        ferry_add_parts(parity_gpu/${network} 1 "Fixtures/FamilyOnGpus*/${network}:Fixtures/*OnAGpu*/${network}")
      endif()
    endforeach()
    set(planted "Bisect.*:Planted/*:Unknown/*") # faults that bisect finds
    ferry_add_parts(parity/planted 1 "${planted}-*EveryGpu*${repeated}")
    set(other_names "*MatchTimm/*:TransformersResNet.*:TransformersMobileNetV2.*") # of the same networks
    ferry_add_parts(parity/other_names 1 "${other_names}-${repeated}")
    ferry_add_parts(parity/others 1 "-*EveryGpu*:Fixtures/Family*:${planted}:${other_names}${repeated}")
    if(FERRY_TEST_GPUS AND NOT FERRY_SANITIZE)
      ferry_add_parts(parity_gpu/others 1 "*EveryGpu*-Fixtures/Family*")
    endif()
  elseif(folder STREQUAL "runtime" AND CMAKE_CROSSCOMPILING)
    set(any_cpu "HostileBlob.*:WeightChecks.*") # reading and checking a blob: one CPU suffices (scripts/check)
    ferry_add_parts(runtime 1 "*-${any_cpu}")
    ferry_add_parts(runtime/any_cpu 1 "${any_cpu}")
  elseif(folder STREQUAL "runtime")
    ferry_add_parts(runtime 2 "${whole_program}") # hostile blobs take minutes with sanitizers
  elseif(CMAKE_CROSSCOMPILING OR folder IN_LIST whole_programs)
    set(parts 1)
    if(folder STREQUAL "ops") # half of the emulator's time
      set(parts 2)
    endif()
    ferry_add_parts(${folder} ${parts} "${whole_program}")
  elseif(folder IN_LIST by_suite)
    ferry_add_suites(${folder})
  else()
    gtest_discover_tests(${folder}_tests TEST_PREFIX "${folder}/" TEST_FILTER "-${left_out}:*/SwiftShader" DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${folder})
    list(APPEND discovered ${folder}_tests_TESTS)
  endif()
endforeach()

# The second driver: what it computes, not how our code takes its failures, nor what only the CPU computes.
if(second_gpu_environment)
  ferry_add_parts(second_gpu/ops 2 "*-Algorithms.*:Int8*:Packed*:ShapeRules.*:States.*:TypeRules.*:Winograd.*")
  ferry_add_parts(second_gpu/gpu 1 "*/SwiftShader:Canary.SingsForEveryKernel:GpuFrames.Of*:PackedOnGpu.GivesTheBits*:GpuStates.PiecesOf*")
endif()

# gtest_discover_tests() splits lists, so a script that ctest reads later sets properties that contain lists.
list(JOIN discovered " " discovered_lists)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/discovered_tests.cmake" CONTENT [[
foreach(test IN LISTS @discovered_lists@)
  set(cost 0)
  if(test MATCHES "^gpu/")
    set(cost 10) # like suites: some take half a minute
  endif()
  string(REGEX MATCH "^[a-z]+" labels "${test}")
  if(test MATCHES "@long_tests@")
    list(APPEND labels long)
  endif()
  set_tests_properties("${test}" PROPERTIES LABELS "${labels}" ENVIRONMENT "@test_environment@" TIMEOUT 900 COST ${cost}
                       FAIL_REGULAR_EXPRESSION "@validation_message@")
endforeach()
]] @ONLY)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${PROJECT_BINARY_DIR}/discovered_tests.cmake")

if(TARGET runtime_tests)
  include(cmake/header_examples.cmake)
endif()

if(FERRY_GPU)
  add_subdirectory(tests/gpu)
  if(NOT CMAKE_CROSSCOMPILING)
    add_subdirectory(tests/soak)
  endif()
endif()
if(TARGET ferry_models AND FERRY_HUB AND FERRY_ONNX AND FERRY_ONNX_LINKS)
  add_subdirectory(tests/fuzz) # they read all corpora
  add_subdirectory(tests/scaling)
endif()
foreach(folder package parity cli device camera)
  if(EXISTS "${PROJECT_SOURCE_DIR}/tests/${folder}/CMakeLists.txt")
    add_subdirectory(tests/${folder})
  endif()
endforeach()

# The LD_PRELOAD value with which a program that is not instrumented can load an instrumented library.
function(ferry_sanitizer_runtimes result)
  set(runtimes libasan.so libubsan.so)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(runtimes libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so) # UBSan's is in it
  endif()
  set(paths)
  foreach(runtime IN LISTS runtimes)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${runtime} OUTPUT_VARIABLE path
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND paths "${path}")
  endforeach()
  list(JOIN paths ":" paths)
  set(${result} "${paths}" PARENT_SCOPE)
endfunction()

if(FERRY_BUILD_CONVERTER AND TARGET ferry_cli)
  add_subdirectory(bindings/python/tests)
  add_subdirectory(bindings/android/tests)
endif()

# One whole network on the emulated CPU, compared with its framework.
if(CMAKE_CROSSCOMPILING AND TARGET ferry_cli)
  add_test(NAME parity/fixture
    COMMAND bash "${PROJECT_SOURCE_DIR}/tests/parity/emulated_parity.sh" "${PROJECT_SOURCE_DIR}/build/parity"
            $<TARGET_FILE:ferry_cli> ${CMAKE_CROSSCOMPILING_EMULATOR})
  set_tests_properties(parity/fixture PROPERTIES LABELS parity SKIP_RETURN_CODE 77 TIMEOUT 1800)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # the host's ferry has the emulator run this one
    add_test(NAME cli/pack_for
      COMMAND bash "${PROJECT_SOURCE_DIR}/tests/cli/pack_for.sh" "${PROJECT_SOURCE_DIR}/build/dev/bin/ferry"
              "${PROJECT_SOURCE_DIR}/build/parity" $<TARGET_FILE:ferry_cli> ${CMAKE_CROSSCOMPILING_EMULATOR})
    set_tests_properties(cli/pack_for PROPERTIES LABELS cli SKIP_RETURN_CODE 77)
  endif()
endif()

# Programs that print the tables of docs/performance.md. They are built by name only.
if(FERRY_BUILD_CONVERTER)
  add_executable(kernel_limits EXCLUDE_FROM_ALL tests/bench/kernel_limits.cc)
  target_link_libraries(kernel_limits PRIVATE ferry_options ferry_test_support)
  add_executable(int8_depthwise EXCLUDE_FROM_ALL tests/bench/int8_depthwise.cc)
  target_link_libraries(int8_depthwise PRIVATE ferry_options ferry_core ferry_schema)
  add_executable(cold_start EXCLUDE_FROM_ALL tests/bench/cold_start.cc)
  target_link_libraries(cold_start PRIVATE ferry_options ferry_core)
  add_executable(second_prompt EXCLUDE_FROM_ALL tests/bench/second_prompt.cc)
  target_link_libraries(second_prompt PRIVATE ferry_options ferry_core)
  add_executable(read_bytes EXCLUDE_FROM_ALL tests/bench/read_bytes.cc)
  target_link_libraries(read_bytes PRIVATE ferry_options)
  target_compile_options(read_bytes PRIVATE -O3 -march=native)
  if(FERRY_GPU)
    add_executable(shader_statistics EXCLUDE_FROM_ALL tests/bench/shader_statistics.cc)
    target_link_libraries(shader_statistics PRIVATE ferry_options ferry_headers ${CMAKE_DL_LIBS})
  endif()
  find_library(FERRY_LIBYUV yuv) # only compare_frames needs it
  if(FERRY_LIBYUV)
    add_executable(compare_frames EXCLUDE_FROM_ALL tests/bench/compare_frames.cc)
    target_link_libraries(compare_frames PRIVATE ferry_options ferry_test_support ${FERRY_LIBYUV})
    target_compile_options(compare_frames PRIVATE -O3)
  endif()
endif()
