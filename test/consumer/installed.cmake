# SPDX-License-Identifier: Apache-2.0
# Part of consumer_test.cmake: what an installation at ${WORK}/prefix holds beside the CMake package. The tools start,
# each with its manual page and completions; the schema; and with the one shared library also pkg-config, and symbols
# of Plumb's alone. Then what `uninstall` removes of a second one.
set(prefix ${WORK}/prefix)
file(GLOB tools ${prefix}/bin/*)
foreach(tool IN LISTS tools)
  run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${tool} --version)
  get_filename_component(name ${tool} NAME)
  set(page ${prefix}/share/man/man1/${name}.1)
  set(completion ${prefix}/share/bash-completion/completions/${name})
  foreach(file ${page} ${completion} ${prefix}/share/zsh/site-functions/_${name}
      ${prefix}/share/fish/vendor_completions.d/${name}.fish)
    file(READ ${file} text)
    if(NOT text MATCHES "json" AND NOT text MATCHES "-max\\\\?-memory")
      message(FATAL_ERROR "${file} does not know the tool's options")
    endif()
  endforeach()
  # As a shell's Tab asks it.
  run(bash -euc "source '${completion}'; COMP_WORDS=(${name} --vers); COMP_CWORD=1; _plumb_${name}
    [ \"\${COMPREPLY[*]}\" = --version ] || { echo \"found '\${COMPREPLY[*]}'\"; exit 1; }")
endforeach()
list(LENGTH tools count)
if(count LESS 7)
  message(FATAL_ERROR "${prefix}/bin has ${count} tools")
endif()
run(bash -euc "source '${prefix}/share/bash-completion/completions/model_check'
  COMP_WORDS=(model_check -d X); COMP_CWORD=2; _plumb_model_check; [ \"\${COMPREPLY[*]}\" = X86 ]
  COMP_WORDS=(model_check --precision = NO); COMP_CWORD=3; _plumb_model_check; [ \"\${COMPREPLY[*]}\" = NORMAL ]")
foreach(checker
    "zsh;-n;share/zsh/site-functions/_model_check"
    "fish;-n;share/fish/vendor_completions.d/model_check.fish"
    "mandoc;-T;lint;-W;error;share/man/man1/model_check.1"
    "man;--warnings;-E;UTF-8;-l;-Tutf8;-Z;share/man/man1/model_check.1")
  list(POP_FRONT checker program)
  list(POP_BACK checker file)
  find_program(found_${program} ${program})
  if(found_${program})
    run(${found_${program}} ${checker} ${prefix}/${file})
    if(out MATCHES "warning|error")
      message(FATAL_ERROR "${program} says of ${file}:\n${out}")
    endif()
  endif()
endforeach()
if(NOT EXISTS ${prefix}/share/plumb/check.schema.json)
  message(FATAL_ERROR "the schema of the report is not installed")
endif()

file(GLOB_RECURSE library ${prefix}/libplumb.so)
find_program(PKG_CONFIG pkg-config)
if(library)
  run(nm -D --defined-only ${library})
  string(REGEX MATCHALL "[^\n]+" symbols "${out}")
  list(FILTER symbols EXCLUDE REGEX " (_ZN5plumb|_ZNK5plumb|_ZT[VIST]N5plumb|_ZT[hv].*N5plumb|_ZGVN5plumb|plumb_)")
  if(symbols)
    message(FATAL_ERROR "libplumb.so shows what is not Plumb's: ${symbols}")
  endif()
endif()
if(library AND PKG_CONFIG)
  file(GLOB_RECURSE pc ${prefix}/plumb.pc)
  get_filename_component(folder ${pc} DIRECTORY)
  get_filename_component(lib ${library} DIRECTORY)
  file(WRITE ${WORK}/pc.cc "#include <plumb/plumb.h>\n#include <cstdio>\nint main() { std::puts(plumb::Version()); }\n")
  run(bash -euc "export PKG_CONFIG_PATH='${folder}'
    '${COMPILER}' -std=c++17 '${WORK}/pc.cc' $('${PKG_CONFIG}' --cflags --libs plumb) -o '${WORK}/pc'
    [ $(LD_LIBRARY_PATH='${lib}' '${WORK}/pc') = $('${PKG_CONFIG}' --modversion plumb) ]")
endif()

if(library)
  get_filename_component(lib ${library} DIRECTORY)
  foreach(program ${root}/examples/c/check.c ${CMAKE_CURRENT_LIST_DIR}/c_api.c)
    get_filename_component(name ${program} NAME_WE)
    run(cc -std=c99 -Wall -Wextra -pedantic -Werror -I${prefix}/include ${program} -L${lib} -lplumb -Wl,-rpath,${lib}
      -o ${WORK}/${name})
  endforeach()
  run(${WORK}/c_api ${digits}.tnnproto ${WORK}/c_dump)
  run(${WORK}/check ${digits}.tnnproto NAIVE ${WORK}/c_example_dump)
  if(NOT out MATCHES "ALIGNED: NAIVE aligned.*ALIGNED: subject aligned" OR
      NOT EXISTS ${WORK}/c_example_dump/manifest.json)
    message(FATAL_ERROR "examples/c/check.c prints, or dumps, something else:\n${out}")
  endif()
endif()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/second)
file(WRITE ${WORK}/second/bin/of_others "")
run(${CMAKE_COMMAND} -DBUILD=${BUILD} -P ${root}/cmake/uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES false RELATIVE ${WORK}/second ${WORK}/second/*)
if(NOT left STREQUAL "bin/of_others" OR EXISTS ${WORK}/second/include/plumb)
  message(FATAL_ERROR "uninstall leaves ${left}")
endif()
