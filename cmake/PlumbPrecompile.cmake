# SPDX-License-Identifier: Apache-2.0
# plumb_kind(NAME [EXECUTABLE] [OPTIONS ...] [LINKS ...] [HEADERS ...]): a kind of targets: those that share compiler
# options and, because a precompiled header serves only targets with the very same flags, their precompiled headers.
# plumb_of_kind(target NAME): the target gets the kind's options and headers.
# Reading headers is half of a compiler's time here. Only headers that never change are precompiled: an edited header of
# ours must not rebuild everything. Every file still includes what it uses; platforms/linux/tidy.sh reads them without.
set(PLUMB_STANDARD_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint>
  <cstdio> <cstdlib> <cstring> <deque> <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
  <set> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/core.h>)

function(plumb_kind name)
  cmake_parse_arguments(ARG "EXECUTABLE" "" "OPTIONS;LINKS;HEADERS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/generated/precompiled.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A precompiled header belongs to a target, and a target has a source.\n")
  add_library(plumb_kind_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  set_property(GLOBAL PROPERTY PLUMB_KIND_${name} "${ARG_OPTIONS}")
  target_compile_options(plumb_kind_${name} PRIVATE ${ARG_OPTIONS})
  plumb_settings(plumb_kind_${name})
  if(ARG_EXECUTABLE)  # compiled with -fPIE where a library has -fPIC
    set_target_properties(plumb_kind_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(plumb_kind_${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
  target_link_libraries(plumb_kind_${name} PRIVATE ${ARG_LINKS})
  target_precompile_headers(plumb_kind_${name} PRIVATE ${PLUMB_STANDARD_HEADERS} ${ARG_HEADERS})
endfunction()

function(plumb_of_kind target name)
  get_property(options GLOBAL PROPERTY PLUMB_KIND_${name})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM plumb_kind_${name})
endfunction()
