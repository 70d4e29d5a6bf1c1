# SPDX-License-Identifier: Apache-2.0
# plumb_library(name [KIND kind] SOURCES ... [DEPENDS ...] [PRIVATE ...]): one library plumb_<name>; its kind is
# `library` or one of PlumbPrecompile.cmake. It is a part of libplumb.so, and plumb::<name> another word for that
# (PLUMB_SHARED); else a static library (shared with sanitizers), installed, exported and linked into the umbrella
# plumb::plumb (PlumbPackage.cmake).
# plumb_tool(name SOURCES ... [DEPENDS ...]): one installed command line tool. plumb_settings(target): warnings (errors
# with PLUMB_WERROR), the sanitizers and fmt, which writes our sentences, per target and never globally.
find_package(fmt REQUIRED)
set_property(GLOBAL APPEND PROPERTY PLUMB_PACKAGES fmt)
function(plumb_settings target)
  target_link_libraries(${target} PRIVATE ${plumb_fmt})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -fno-math-errno -ffp-contract=off)
  if(PLUMB_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(PLUMB_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PLUMB_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PLUMB_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PLUMB_SANITIZE})
  endif()
endfunction()

function(plumb_library name)
  cmake_parse_arguments(ARG "" "KIND" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  list(TRANSFORM ARG_DEPENDS REPLACE "^plumb::" plumb_)  # the part, not the whole
  list(TRANSFORM ARG_PRIVATE REPLACE "^plumb::" plumb_)
  # Sanitized code is ten times as large: 60 programs with a copy of it each would take 6 GB.
  set(whole plumb_${name})
  if(PLUMB_SHARED)
    set(linkage OBJECT)
    set(whole plumb)
  elseif(PLUMB_SANITIZE AND NOT PLUMB_FUZZ)
    set(linkage SHARED)
  else()
    set(linkage STATIC)
  endif()
  add_library(plumb_${name} ${linkage} ${ARG_SOURCES})
  add_library(plumb::${name} ALIAS ${whole})
  set_target_properties(plumb_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(plumb_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(plumb_${name} PRIVATE ${PROJECT_SOURCE_DIR}/source ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(plumb_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  target_compile_features(plumb_${name} PUBLIC cxx_std_17)
  if(NOT ARG_KIND)
    set(ARG_KIND library)
  endif()
  plumb_of_kind(plumb_${name} ${ARG_KIND})
  plumb_settings(plumb_${name})
  plumb_export(plumb_${name} ${ARG_DEPENDS} ${ARG_PRIVATE})
endfunction()

function(plumb_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  plumb_of_kind(${name} tool)
  plumb_settings(${name})
  add_dependencies(tools ${name})
  file(RELATIVE_PATH library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${name} PROPERTIES INSTALL_RPATH $ORIGIN/${library})
  if(NOT CMAKE_CROSSCOMPILING AND NOT PLUMB_SANITIZE)  # manual page, completions: common/command_line_generate.cc
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${name} --generate ${PROJECT_BINARY_DIR}/share VERBATIM)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
