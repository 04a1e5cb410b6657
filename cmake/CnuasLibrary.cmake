# Shared libraries with a C interface, as others build against them.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# cnuas_c_library(NAME DESCRIPTION text COMPONENT name HEADERS file... [SOURCES file...] [INSIDE target]
#                 [NEEDS library...]): libNAME.so in build/*/lib, of SOURCES and the objects of the static library INSIDE,
# which tests may link as well. Only what NAME.map lists is seen from outside. NEEDS are other such libraries, whose
# headers its own include. Installed with its headers, a pkg-config file and the CMake package NAME, which has the target
# cnuas::NAME; an installation may be moved.
function(cnuas_c_library name)
  cmake_parse_arguments(arg "" "DESCRIPTION;COMPONENT;INSIDE" "HEADERS;SOURCES;NEEDS" ${ARGN})
  add_library(${name} SHARED ${arg_SOURCES})
  if(arg_INSIDE)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${arg_INSIDE}>)
    target_link_libraries(${name} PRIVATE ${arg_INSIDE})
  endif()
  target_link_libraries(${name} PUBLIC ${arg_NEEDS})
  set(map "${CMAKE_CURRENT_SOURCE_DIR}/${name}.map")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${map}")
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${map}" INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

  install(TARGETS ${name} EXPORT ${name}Targets
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${arg_COMPONENT} NAMELINK_COMPONENT ${arg_COMPONENT})
  install(FILES ${arg_HEADERS} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${arg_COMPONENT})
  cnuas_package(${name})
  cnuas_pkg_config(${name})
endfunction()

# --- What the two ways of finding a library read; called by the function above, in whose scope they are ---

function(cnuas_package name)
  set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/${name}")
  set(dependencies "")
  foreach(library ${arg_NEEDS})
    string(APPEND dependencies "find_dependency(${library})\n")
  endforeach()
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/libraryConfig.cmake.in" ${name}Config.cmake
                                INSTALL_DESTINATION "${folder}")
  write_basic_package_version_file(${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT ${name}Targets NAMESPACE cnuas:: DESTINATION "${folder}" COMPONENT ${arg_COMPONENT})
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}Config.cmake"
                "${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake"
          DESTINATION "${folder}" COMPONENT ${arg_COMPONENT})
endfunction()

function(cnuas_pkg_config name)
  string(REPLACE ";" " " requires "${arg_NEEDS}")
  file(RELATIVE_PATH prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/library.pc.in" ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT ${arg_COMPONENT})
endfunction()
