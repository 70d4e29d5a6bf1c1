# SPDX-License-Identifier: Apache-2.0
# What find_package(plumb) needs. With PLUMB_SHARED plumb::plumb is libplumb.so, made of the objects of all libraries;
# else an umbrella over them. plumb_export(target links ...) puts a library into it, and where it is installed itself
# notes the packages that its links come from (a static library's private ones too: its user links them).
# plumb_package() is called once, last, and writes the package files.
if(PLUMB_SHARED)
  add_library(plumb SHARED)
  set(symbols ${CMAKE_CURRENT_LIST_DIR}/libplumb.map)
  set_target_properties(plumb PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${symbols}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  # Its own calls need no table, as in a static library: nothing in it is meant to be replaced from outside.
  target_link_options(plumb PRIVATE -Wl,-Bsymbolic-functions -Wl,--version-script=${symbols})
  target_include_directories(plumb INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(plumb INTERFACE cxx_std_17)
else()
  add_library(plumb INTERFACE)
endif()
add_library(plumb::plumb ALIAS plumb)

function(plumb_export target)
  if(PLUMB_SHARED)
    target_link_libraries(plumb PRIVATE ${target})
    return()
  endif()
  install(TARGETS ${target} EXPORT plumb ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  target_link_libraries(plumb INTERFACE ${target})
  foreach(link IN LISTS ARGN)
    if(link MATCHES "^([A-Za-z0-9_]+)::" AND NOT CMAKE_MATCH_1 STREQUAL plumb)
      set(package ${CMAKE_MATCH_1})
      if(package STREQUAL DNNL)
        set(package dnnl)  # the only package here whose targets have another name than itself
      endif()
      set_property(GLOBAL APPEND PROPERTY PLUMB_PACKAGES ${package})
    endif()
  endforeach()
endfunction()

function(plumb_package)
  include(CMakePackageConfigHelpers)
  get_property(packages GLOBAL PROPERTY PLUMB_PACKAGES)
  if(PLUMB_SHARED)
    set(packages)  # it brings what it needs
  endif()
  list(REMOVE_DUPLICATES packages)
  set(text "include(CMakeFindDependencyMacro)\n")
  foreach(package IN LISTS packages)
    string(APPEND text "find_dependency(${package})\n")
  endforeach()
  string(APPEND text "include(\${CMAKE_CURRENT_LIST_DIR}/plumb-targets.cmake)\n")
  file(WRITE ${PROJECT_BINARY_DIR}/plumb-config.cmake "${text}")
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/plumb-config-version.cmake COMPATIBILITY SameMinorVersion)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/plumb)
  install(TARGETS plumb EXPORT plumb LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT plumb NAMESPACE plumb:: FILE plumb-targets.cmake DESTINATION ${folder})
  install(FILES ${PROJECT_BINARY_DIR}/plumb-config.cmake ${PROJECT_BINARY_DIR}/plumb-config-version.cmake
    DESTINATION ${folder})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/plumb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/include/plumb_c.h ${PROJECT_SOURCE_DIR}/include/plumb_dump.h
    ${PROJECT_SOURCE_DIR}/include/plumb_stage.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  if(PLUMB_SHARED)  # for users of other build systems
    file(RELATIVE_PATH prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/plumb.pc.in ${PROJECT_BINARY_DIR}/plumb.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/plumb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/doc/check.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/plumb)
  if(PLUMB_BUILD_TOOLS AND NOT CMAKE_CROSSCOMPILING AND NOT PLUMB_SANITIZE)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/bash-completion ${PROJECT_BINARY_DIR}/share/fish
      ${PROJECT_BINARY_DIR}/share/zsh DESTINATION ${CMAKE_INSTALL_DATADIR})
  endif()
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P
    ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
endfunction()
