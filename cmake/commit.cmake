# Writes the commit that the command was built from (cli/machine.h, built_from()). It depends on the checkout's log of HEAD,
# so that a new commit or checkout rewrites it without a new configure. In an archive the commit is "unknown".
#
#     cmake -DOUT=FILE -P cmake/commit.cmake      writes the file

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "unknown")
  get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  if(EXISTS "${source}/.git")
    execute_process(COMMAND git -C "${source}" rev-parse --short=12 HEAD OUTPUT_VARIABLE head RESULT_VARIABLE failed
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
      set(commit "${head}")
    endif()
  endif()
  file(WRITE "${OUT}" "#include \"cli/machine.h\"\n\nconst char* ferry::cli::built_from() { return \"${commit}\"; }\n")
  return()
endif()

function(ferry_write_commit target)
  set(out "${PROJECT_BINARY_DIR}/generated/commit.cc")
  set(log "")
  if(EXISTS "${PROJECT_SOURCE_DIR}/.git")
    execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse --path-format=absolute --git-path logs/HEAD
      OUTPUT_VARIABLE log RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(failed OR NOT EXISTS "${log}")
      set(log "")
    endif()
  endif()
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
    DEPENDS "${PROJECT_SOURCE_DIR}/cmake/commit.cmake" ${log} VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
