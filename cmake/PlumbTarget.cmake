# plumb_library(name [KIND kind] SOURCES ... [DEPENDS ...] [PRIVATE ...]): one static library plumb_<name>, alias
# plumb::<name>; its kind is `library` or one of PlumbPrecompile.cmake. A library under source/ is also installed,
# exported and linked into the umbrella plumb::plumb (PlumbPackage.cmake). plumb_tool(name SOURCES ... [DEPENDS ...]):
# one installed command line tool. plumb_settings(target): warnings as errors, the sanitizers and fmt, which writes our
# sentences, per target and never globally.
find_package(fmt REQUIRED)
set_property(GLOBAL APPEND PROPERTY PLUMB_PACKAGES fmt)
function(plumb_settings target)
  target_link_libraries(${target} PRIVATE ${plumb_fmt})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -fno-math-errno -ffp-contract=off)
  if(PLUMB_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  else()
    target_compile_options(${target} PRIVATE -Werror)  # g++'s warnings; clang, which the fuzz build needs, has others
  endif()
  if(PLUMB_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PLUMB_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PLUMB_SANITIZE})
  endif()
endfunction()

function(plumb_library name)
  cmake_parse_arguments(ARG "" "KIND" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(plumb_${name} STATIC ${ARG_SOURCES})
  add_library(plumb::${name} ALIAS plumb_${name})
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
  string(FIND ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/source in_source)
  if(in_source EQUAL 0)
    plumb_export(plumb_${name} ${ARG_DEPENDS} ${ARG_PRIVATE})
  endif()
endfunction()

function(plumb_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  plumb_of_kind(${name} tool)
  plumb_settings(${name})
  add_dependencies(tools ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
