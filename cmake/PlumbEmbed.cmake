# plumb_embed(target NAMESPACE name FILES file...): puts files (kernel sources, SPIR-V; paths relative to the current source
# folder, or absolute ones that a custom command makes) into the target as byte arrays, at build time, without Python. A file is
# found by its bare name:
#   #include "base/embed.h"
#   namespace plumb::opencl { extern const EmbeddedFile kEmbedded[]; extern const size_t kNumEmbedded; }
# A changed file is embedded again; nothing generated is written into the source tree. Each array ends in a zero byte that the
# size does not count, so text is a C string; arrays are aligned for SPIR-V's words.
set(PLUMB_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake)

function(plumb_embed target)
  cmake_parse_arguments(ARG "" "NAMESPACE" "FILES" ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(table "// Written by plumb_embed().\n#include \"base/embed.h\"\n\nnamespace ${ARG_NAMESPACE} {\n\n")
  set(rows "")
  foreach(file IN LISTS ARG_FILES)
    get_filename_component(name ${file} NAME)
    get_filename_component(path ${file} ABSOLUTE)
    string(MAKE_C_IDENTIFIER ${name} id)
    add_custom_command(OUTPUT ${folder}/${name}.cc
      COMMAND ${CMAKE_COMMAND} -DINPUT=${path} -DOUTPUT=${folder}/${name}.cc -DNAMESPACE=${ARG_NAMESPACE} -DID=${id}
        -P ${PLUMB_EMBED_SCRIPT}
      DEPENDS ${path} ${PLUMB_EMBED_SCRIPT} COMMENT "Embedding ${name}" VERBATIM)
    target_sources(${target} PRIVATE ${folder}/${name}.cc)
    set_source_files_properties(${folder}/${name}.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # nothing but numbers
    string(APPEND table "extern const unsigned char kBytes_${id}[];\nextern const size_t kSize_${id};\n")
    string(APPEND rows "    {\"${name}\", kBytes_${id}, &kSize_${id}},\n")
  endforeach()
  list(LENGTH ARG_FILES count)
  string(APPEND table "\nextern const EmbeddedFile kEmbedded[] = {\n${rows}};\nextern const size_t kNumEmbedded = ${count};\n\n"
    "}  // namespace ${ARG_NAMESPACE}\n")
  file(CONFIGURE OUTPUT ${folder}/table.cc CONTENT "${table}" @ONLY)  # rewritten only when it changes
  target_sources(${target} PRIVATE ${folder}/table.cc)
endfunction()
