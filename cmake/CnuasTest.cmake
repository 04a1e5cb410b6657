# Test programs.

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
include(GoogleTest)

# All test programs share one precompiled header, which takes longer to compile than most tests. It belongs to a program
# and not to a library, because only then its compiler flags are those of the programs.
function(cnuas_test_header)
  add_executable(cnuas_test_header "${PROJECT_SOURCE_DIR}/cmake/test_header.cpp")
  cnuas_test_settings(cnuas_test_header)
  target_precompile_headers(cnuas_test_header PRIVATE <gtest/gtest.h> <gmock/gmock.h> <nlohmann/json.hpp> <string>
                                                      <vector>)
endfunction()

# What is under test is optimised as the build type says; the tests themselves are not worth the compiler's time.
function(cnuas_test_settings name)
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE CNUAS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             CNUAS_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(CNUAS_SANITIZE)
    # Checks for undefined behaviour belong into what is under test; here they take a third of the compiler's time.
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=undefined)
  endif()
  if(CNUAS_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -fpch-preprocess)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endfunction()

# cnuas_test(NAME [THREADS] SOURCES file... LIBRARIES target...): one test program; every TEST in it is a CTest test of its
# own. With THREADS it is one that ThreadSanitizer is worth its time for: it belongs to the target `threaded`, and its
# tests have the label `threads`.
function(cnuas_test name)
  cmake_parse_arguments(arg "THREADS" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT TARGET cnuas_test_header)
    cnuas_test_header()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  cnuas_test_settings(${name})
  target_precompile_headers(${name} REUSE_FROM cnuas_test_header)
  set(labels)
  if(arg_THREADS)
    if(NOT TARGET threaded)
      add_custom_target(threaded)
    endif()
    add_dependencies(threaded ${name})
    set(labels LABELS threads)
  endif()
  # rapidcheck draws its cases from this seed; a program started by hand, without the variable, draws new ones.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600 ENVIRONMENT "RC_PARAMS=seed=1" ${labels})
endfunction()

# cnuas_fuzz_target(NAME SOURCES file... LIBRARIES target... [CORPUS folder...] [OPTIONS libFuzzer option...]): a program
# from a source with LLVMFuzzerTestOneInput. With CNUAS_FUZZ it is a fuzzer, and its CTest test lets it search for
# CNUAS_FUZZ_SECONDS from the corpus on. In every other build it is a test that feeds it the files of the corpus, each
# whole and cut short. Corpus folders are relative to the calling CMakeLists.txt; default: corpus/NAME. The target
# `fuzzers` is all of them.
function(cnuas_fuzz_target name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;CORPUS;OPTIONS" ${ARGN})
  if(NOT arg_CORPUS)
    set(arg_CORPUS corpus/${name})
  endif()
  set(corpus)
  foreach(folder ${arg_CORPUS})
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND corpus "${folder}")
  endforeach()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
  if(CNUAS_FUZZ)
    # What it finds stays in the build folder; inputs worth keeping are copied to the corpus by hand.
    set(found "${PROJECT_BINARY_DIR}/fuzz/${name}")
    file(MAKE_DIRECTORY "${found}")
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    math(EXPR limit "${CNUAS_FUZZ_SECONDS} + 300")
    add_test(NAME ${name}.fuzz
             COMMAND ${name} -max_total_time=${CNUAS_FUZZ_SECONDS} -artifact_prefix=${found}/ -print_final_stats=1
                     ${arg_OPTIONS} "${found}" ${corpus})
    set_tests_properties(${name}.fuzz PROPERTIES TIMEOUT ${limit})
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.cpp")
    add_test(NAME ${name}.replay COMMAND ${name} ${corpus})
    set_tests_properties(${name}.replay PROPERTIES TIMEOUT 600)
  endif()
endfunction()

option(CNUAS_FUZZ "Build the fuzz targets as fuzzers (clang only)" OFF)
set(CNUAS_FUZZ_SECONDS 60 CACHE STRING "How long ctest lets each fuzzer search")
if(CNUAS_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CNUAS_FUZZ needs clang, which brings libFuzzer: use the preset 'fuzz'")
endif()
