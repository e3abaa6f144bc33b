# cmake --install: headers, the libraries, the CMake package, the pkg-config files and the command with its manual page.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Ferry")

if(NOT FERRY_GPU)
  set(absent PATTERN "vulkan.h" EXCLUDE)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/sdk/include/ferry" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" ${absent})
install(TARGETS ferry_shared ferry_text_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "${FERRY_STATIC_ARCHIVE}" $<TARGET_FILE:ferry_text> DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET ferry_cli)
  install(TARGETS ferry_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/toolchains/qemu-aarch64" DESTINATION "${CMAKE_INSTALL_BINDIR}"
          RENAME ferry-qemu-aarch64) # for `ferry pack --for`
  # What the command says of itself, for shells and man. Without an emulator for what was cross-built there is none of it.
  install(CODE "
    function(ferry_says file destination)
      execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:ferry_cli>\" \${ARGN}
                      OUTPUT_FILE \"${PROJECT_BINARY_DIR}/words/\${file}\" ERROR_VARIABLE why RESULT_VARIABLE failed)
      if(NOT failed)
        file(INSTALL \"${PROJECT_BINARY_DIR}/words/\${file}\"
             DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/\${destination}\")
      elseif(\"${CMAKE_CROSSCOMPILING}\")
        message(STATUS \"Not installed: \${file}, which the command says itself, and cannot here: \${why}\")
      else()
        message(FATAL_ERROR \"ferry \${ARGN}: \${failed}: \${why}\")
      endif()
    endfunction()
    file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/words\")
    ferry_says(ferry bash-completion/completions completion bash)
    ferry_says(_ferry zsh/site-functions completion zsh)
    ferry_says(ferry.fish fish/vendor_completions.d completion fish)
    ferry_says(ferry.1 man/man1 help --man)")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/ferry/licenses")
foreach(name xnnpack pthreadpool cpuinfo fxdiv fp16) # their code is inside our libraries, so their licences go along
  install(FILES "${FERRY_XNNPACK_PREFIX}/LICENSE.${name}" DESTINATION "${CMAKE_INSTALL_DATADIR}/ferry/licenses")
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/FerryConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/FerryConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/FerryConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/FerryConfig.cmake" "${PROJECT_BINARY_DIR}/FerryConfigVersion.cmake"
        DESTINATION "${package_dir}")

# Deeper than usual where the folder of libraries has several parts (lib/x86_64-linux-gnu).
file(RELATIVE_PATH FERRY_PREFIX_FROM_PC "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
if(FERRY_LIBATOMIC)
  set(FERRY_LIBATOMIC_FLAG "-l${FERRY_LIBATOMIC}")
endif()
foreach(name ferry ferry_text)
  configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  configure_file(cmake/ferry_shared.pc.in "${PROJECT_BINARY_DIR}/${name}_shared.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" "${PROJECT_BINARY_DIR}/${name}_shared.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
