# src/<module>/<name>_fuzz.cc becomes the libFuzzer program <module>_<name>_fuzz. ctest runs each
# for CORDON_FUZZ_SECONDS from its stored corpus, tests/fuzz/<name>/; what it finds goes to the
# build folder.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CORDON_FUZZ needs clang (cmake --preset fuzz)")
endif()
foreach(module IN LISTS CORDON_MODULES)
  # Coverage feedback in the library itself, not only in the target.
  target_compile_options(cordon_${module} PRIVATE -fsanitize=fuzzer-no-link)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*_fuzz.cc)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name ${name})
    set(target ${module}_${name}_fuzz)
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/${name})
    if(NOT IS_DIRECTORY ${corpus})
      message(FATAL_ERROR "${source} has no stored corpus: tests/fuzz/${name}/ is missing")
    endif()
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE cordon_${module} nlohmann_json::nlohmann_json)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    set(found ${PROJECT_BINARY_DIR}/fuzz/${name}.found)
    file(MAKE_DIRECTORY ${found})
    math(EXPR limit "${CORDON_FUZZ_SECONDS} + 120")
    add_test(NAME fuzz.${module}.${name}
             COMMAND ${target} -max_total_time=${CORDON_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=1500
                     -print_final_stats=1 -artifact_prefix=${found}/ ${found} ${corpus})
    set_tests_properties(fuzz.${module}.${name} PROPERTIES LABELS fuzz TIMEOUT ${limit})
  endforeach()
endforeach()
