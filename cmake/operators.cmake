# Selects the parts of the library: all, or those that the blobs of FERRY_OPERATORS_FILE need (`ferry build --for`).
# Each line of the file is a part: `operator conv2d`, `feature winograd`, `task Classification`; # starts a comment. The
# selection becomes constants in a header (sdk/operators/built_in.h). The linker then removes code, XNNPACK's kernels
# included, that nothing refers to.

set(FERRY_OPERATORS_FILE "" CACHE FILEPATH "What the library has, as `ferry build --for` lists it; empty: everything")

# kind: operator, feature or task. `known`: NAME=C++ constant of the bit. Sets `result` to the bits of the names listed.
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
