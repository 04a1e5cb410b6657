# Compiler settings that every target of this project shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Without these two allowances ccache passes by every file that uses a precompiled header.
find_program(CNUAS_CCACHE ccache)
if(CNUAS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CNUAS_CCACHE}")
endif()

# Floating-point results must not depend on the compiler's liberties: no contraction into fused operations.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
                    -ffp-contract=off)
# GCC 12 sees overlapping copies in std::string's operator+ that are not there (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)
endif()
if(CNUAS_WERROR)
  add_compile_options(-Werror)
endif()
if(CNUAS_SANITIZE)
  # -g1: what a report names, files and lines, and a fifth less to compile than all that a debugger might ask for.
  add_compile_options(-fsanitize=${CNUAS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1 -g1)
  add_link_options(-fsanitize=${CNUAS_SANITIZE})
endif()

# For sources that read command lines or write reports: the compiler spends longer on them than on anything else, and
# nobody waits for what they do.
set(CNUAS_SELDOM_RUN $<$<CONFIG:Release>:-O1>)
if(CNUAS_SANITIZE)
  set(CNUAS_SELDOM_RUN -O0)
endif()

# Includes are written from the project's root ("core/engine/time.h"), so that the direction of a dependency can be
# read off, and checked from, the include line alone.
include_directories("${PROJECT_SOURCE_DIR}")
