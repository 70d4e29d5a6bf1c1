# SPDX-License-Identifier: Apache-2.0
# plumb_embed(target NAMESPACE name FILES file...): puts files (kernel sources, SPIR-V; paths relative to the current
# source folder, or absolute ones that a custom command makes) into the target as byte arrays, by the assembler's
# .incbin. A file is found by its bare name:
#   #include "base/embed.h"
#   namespace plumb::opencl { extern const EmbeddedFile kEmbedded[]; extern const size_t kNumEmbedded; }
# A changed file is embedded again; nothing generated is written into the source tree. Each array ends in a zero byte
# that the size does not count, so text is a C string; arrays are aligned for SPIR-V's words.
function(plumb_embed target)
  cmake_parse_arguments(ARG "" "NAMESPACE" "FILES" ${ARGN})
  set(table ${CMAKE_CURRENT_BINARY_DIR}/embedded.cc)
  set(declared "")
  set(rows "")
  foreach(file IN LISTS ARG_FILES)
    get_filename_component(name ${file} NAME)
    get_filename_component(path ${file} ABSOLUTE)
    string(MAKE_C_IDENTIFIER ${target}_${name} id)
    set_property(SOURCE ${table} APPEND PROPERTY OBJECT_DEPENDS ${path})
    string(APPEND declared
      "asm(\".section .rodata\\n.balign 16\\n.hidden ${id}\\n.global ${id}\\n${id}:\\n.incbin \\\"${path}\\\"\\n\"\n"
      "    \".hidden ${id}_end\\n.global ${id}_end\\n${id}_end:\\n.byte 0\\n.text\");\n"
      "extern \"C\" const unsigned char ${id}[], ${id}_end[];\n")
    string(APPEND rows "    {\"${name}\", ${id}, ${id}_end},\n")
  endforeach()
  list(LENGTH ARG_FILES count)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT "// Written by plumb_embed().\n#include \"base/embed.h\"\n\n${declared}
namespace ${ARG_NAMESPACE} {
extern const EmbeddedFile kEmbedded[] = {\n${rows}};
extern const size_t kNumEmbedded = ${count};
}  // namespace ${ARG_NAMESPACE}\n")  # rewritten only when it changes
  set_source_files_properties(${table} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${table})
endfunction()
