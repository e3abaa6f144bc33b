# shaders/*.comp -> SPIR-V, in two variants (float32 and float16 storage): cmake/compile_shaders.py; then one compressed
# array. Defines the target ferry_shaders: "sdk/gpu/kernels.h" and "generated_shaders.inc".

if(FERRY_PREPARED)
  add_custom_target(ferry_shaders)
  return()
endif()
find_program(FERRY_GLSLC glslc)
find_program(FERRY_SPIRV_OPT spirv-opt)
find_program(FERRY_SPIRV_VAL spirv-val)
if(NOT FERRY_GLSLC OR NOT FERRY_SPIRV_OPT OR NOT FERRY_SPIRV_VAL)
  message(FATAL_ERROR "glslc, spirv-opt or spirv-val is missing: install glslc and spirv-tools (or run scripts/setup), "
                      "or build without the GPU backend: -DFERRY_GPU=OFF")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(shader_folder "${PROJECT_BINARY_DIR}/generated/shaders")
file(MAKE_DIRECTORY "${shader_folder}" "${PROJECT_BINARY_DIR}/generated/sdk/gpu")
set(tools "${FERRY_GLSLC}" "${FERRY_SPIRV_OPT}" "${FERRY_SPIRV_VAL}")
set(tool_versions)
foreach(tool IN LISTS tools)
  execute_process(COMMAND "${tool}" --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[ \n;]+" " " version "${version}")
  string(APPEND tool_versions "${version}")
endforeach()
# kinds.glsl: the numbers of the schema that shaders need.
set(kinds "${shader_folder}/kinds.glsl")
set(kind_sources sdk/schema/ferry.fbs sdk/gpu/lowering/epilogue.h sdk/gpu/lowering/ops.cc)
list(TRANSFORM kind_sources PREPEND "${PROJECT_SOURCE_DIR}/")
ferry_sources(shader_sources shaders/*.comp shaders/*.glsl)
add_custom_command(
  OUTPUT "${kinds}"
  COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/shader_kinds.py" "${kinds}" ${kind_sources}
          "${PROJECT_SOURCE_DIR}/shaders"
  DEPENDS ${kind_sources} ${shader_sources} "${PROJECT_SOURCE_DIR}/cmake/shader_kinds.py" VERBATIM)
ferry_sources(kernels shaders/*.comp)
# Not -O: it would inline functions, which makes the code larger. Drivers inline them when they know the specialization
# constants.
string(JOIN " " passes
  --eliminate-dead-functions --eliminate-dead-code-aggressive --eliminate-local-single-block
  --eliminate-local-single-store --ssa-rewrite --eliminate-dead-code-aggressive --simplify-instructions
  --redundancy-elimination --eliminate-dead-code-aggressive --cfg-cleanup --strip-debug --compact-ids)
# These get an additional kernel, <name>_float16, that multiplies in float16. It needs float16 storage and a device with
# float16 arithmetic.
set(float16_products conv2d matmul matmul_shared)
foreach(name IN LISTS float16_products) # next to its float32 variant, which compresses best
  set(file "${PROJECT_SOURCE_DIR}/shaders/${name}.comp")
  list(FIND kernels "${file}" at)
  math(EXPR at "${at} + 1")
  list(INSERT kernels ${at} "${file}@_float16")
endforeach()
set(modules)
set(compiled)
foreach(entry IN LISTS kernels)
  string(REGEX MATCH "^(.*/([^/]*)[.]comp)(@(_float16))?$" ignored "${entry}")
  set(kernel "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}${CMAKE_MATCH_4}")
  set(float16_product "${CMAKE_MATCH_4}")
  set(module "${shader_folder}/${name}.spv")
  list(APPEND modules "${module}" "${shader_folder}/${name}.float16.spv")
  if(NOT float16_product)
    list(APPEND compiled "${module}=${kernel}" "${shader_folder}/${name}.float16.spv=${kernel},FLOAT16")
  else()
    if(NOT EXISTS "${module}")
      file(WRITE "${module}" "")
    endif()
    list(APPEND compiled "${shader_folder}/${name}.float16.spv=${kernel},FLOAT16,FLOAT16_ARITHMETIC")
  endif()
endforeach()

set(kernels_header "${PROJECT_BINARY_DIR}/generated/sdk/gpu/kernels.h")
set(shaders_include "${PROJECT_BINARY_DIR}/generated/generated_shaders.inc")
add_custom_command(
  OUTPUT "${kernels_header}" "${shaders_include}"
  COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/compile_shaders.py" --cache "${FERRY_CACHE_DIR}/shaders"
          --tools ${tools} --versions "${tool_versions}" --include "${shader_folder}" "--passes=${passes}" ${compiled}
  COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/embed_shaders.py" "${kernels_header}" "${shaders_include}"
          ${modules}
  DEPENDS ${shader_sources} "${kinds}" "${PROJECT_SOURCE_DIR}/cmake/compile_shaders.py"
          "${PROJECT_SOURCE_DIR}/cmake/embed_shaders.py"
  COMMENT "Compiling and packing the shaders" VERBATIM)
add_custom_target(ferry_shaders DEPENDS "${kernels_header}" "${shaders_include}")
