# What of its parts the library has: all, or what the blobs need that FERRY_OPERATORS_FILE was made for (`ferry build --for`).
# A line a part: `operator conv2d`, `feature winograd`, `task Classification`; after # comes a remark. The rest of the SDK learns
# it by constants in a header (sdk/operators/built_in.h): what no code refers to then, XNNPACK's kernels too, the linker leaves
# out.

set(FERRY_OPERATORS_FILE "" CACHE FILEPATH "What the library has, as `ferry build --for` lists it; empty: everything")

# kind: operator, feature, task; `known`: NAME=C++ of the bit. Gives the bits of the names that are listed.
function(ferry_bits result kind known)
  set(bits "0")
  foreach(name IN LISTS ARGN)
    if(NOT "${known}" MATCHES "(^|;)${name}=([A-Za-z0-9:]+)")
      string(REGEX REPLACE "=[^;]*" "" names "${known}")
      list(JOIN names " " names)
      message(FATAL_ERROR "${FERRY_OPERATORS_FILE}: there is no ${kind} '${name}'; there are ${names}")
    endif()
    string(APPEND bits " | bit(${CMAKE_MATCH_2})")
  endforeach()
  set(${result} "${bits}" PARENT_SCOPE)
endfunction()

function(ferry_choose_operators)
  set(operators "~uint64_t{0}")
  set(features "~uint64_t{0}")
  set(tasks "~uint64_t{0}")
  if(FERRY_OPERATORS_FILE)
    if(NOT EXISTS "${FERRY_OPERATORS_FILE}")
      message(FATAL_ERROR "FERRY_OPERATORS_FILE=${FERRY_OPERATORS_FILE}: there is no such file")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${FERRY_OPERATORS_FILE}")
    file(STRINGS "${FERRY_OPERATORS_FILE}" lines)
    foreach(kind operator feature task)
      set(listed_${kind} "")
    endforeach()
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "#.*" "" line "${line}")
      string(STRIP "${line}" line)
      if(line MATCHES "^(operator|feature|task) ([A-Za-z0-9_]+)$")
        list(APPEND listed_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
      elseif(NOT line STREQUAL "")
        message(FATAL_ERROR "${FERRY_OPERATORS_FILE}: '${line}' is not understood; expected 'operator NAME', 'feature NAME' or "
                            "'task NAME'")
      endif()
    endforeach()
    file(READ sdk/operators/operators.h text)
    string(REGEX MATCHALL "X\\([A-Z][A-Za-z0-9]+, +[a-z0-9_]+," rows "${text}")
    list(TRANSFORM rows REPLACE "X\\(([A-Za-z0-9]+), +([a-z0-9_]+)," "\\2=fbs::OpParams::\\1" OUTPUT_VARIABLE known)
    ferry_bits(operators operator "${known}" ${listed_operator})
    set(known "winograd=Feature::Winograd" "other_depthwise=Feature::OtherDepthwise" "integers=Feature::Integers"
        "files=Feature::Files" "float16=Feature::Float16")
    ferry_bits(features feature "${known}" ${listed_feature})
    file(READ sdk/schema/ferry.fbs text)
    string(REGEX MATCH "enum Task : ubyte {[^}]*}" text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "^[^{]*{" "" text "${text}")
    string(REGEX MATCHALL "[A-Z][A-Za-z]+" known "${text}")
    list(TRANSFORM known REPLACE "(.+)" "\\1=fbs::Task::\\1")
    ferry_bits(tasks task "${known}" ${listed_task})
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/built_in_parts.h" CONTENT [[
// Made by cmake/operators.cmake, for sdk/operators/built_in.h.
inline constexpr uint64_t kBuiltInOperators = @operators@;
inline constexpr uint64_t kBuiltInFeatures = @features@;
inline constexpr uint64_t kBuiltInTasks = @tasks@;
]] @ONLY)
endfunction()
ferry_choose_operators()
