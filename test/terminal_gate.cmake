# SPDX-License-Identifier: Apache-2.0
# There is one way to the terminal: base/terminal.cc, through include/plumb/tool/terminal.h (and common/print.h in the
# tools). Nothing else in source/, tools/ and python/module/ prints; tools/bench, which reads no file of others, may.
# cmake -DROOT=<repository> -P terminal_gate.cmake
cmake_minimum_required(VERSION 3.20)
set(calls "v?f?printf|v?dprintf|f?puts|puts_unlocked|f?putc|putchar|fwrite|perror|psignal|vfprintf_unlocked")
set(ways "(^|[^A-Za-z0-9_])(${calls})[ \n]*\\(|std::(cout|cerr|clog|wcout|wcerr|print)[^A-Za-z_]|fmt::print|spdlog")
string(APPEND ways "|(^|[^A-Za-z0-9_.>])(write|writev|pwrite|sendfile|splice)[ \n]*\\([ \n]*(1|2|STD|fileno)")
string(APPEND ways "|::(write|writev|pwrite|sendfile|splice)[ \n]*\\(|/dev/(tty|stdout|stderr|fd/[12])")
string(APPEND ways "|[,=(][ \n]*(stdout|stderr)[ \n]*[,;)]")
# base/terminal.cc is the way; base/file.cc and base/atomic_file.cc write to the files that they opened; common/guard.cc
# says one constant sentence out of a signal's handler, where nothing else may be called.
set(may source/base/terminal.cc source/base/file.cc source/base/atomic_file.cc tools/common/guard.cc)

# The search finds them all, and nothing in what is no way.
foreach(way "std::printf(\"%s\", x)" " fprintf (f" "{fputs(x" "::fwrite(" "std::cout << x" "std::cerr\n<<"
    "fmt::print(\"\"" "::write(fd"
    "x = write(1, y" "write(STDERR_FILENO" "perror(x" "open(\"/dev/tty\")" "f = stderr;" "spdlog::info" "putchar(c")
  if(NOT way MATCHES "${ways}")
    message(FATAL_ERROR "The search does not find '${way}'")
  endif()
endforeach()
foreach(other "snprintf(text" "vsnprintf(text" "file.write(1" "Write(1, 2)" "PrintText(text)" "Inputs(" "on stderr\")"
    "isatty(STDOUT_FILENO)")
  if(other MATCHES "${ways}")
    message(FATAL_ERROR "The search takes '${other}' for a way to the terminal")
  endif()
endforeach()

set(found "")
set(count 0)
foreach(room source tools python/module)
  foreach(ending cc h c def)
    file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${room}/*.${ending})
    foreach(file IN LISTS files)
      if(file MATCHES "^tools/bench/" OR file IN_LIST may)
        continue()
      endif()
      math(EXPR count "${count} + 1")
      file(READ ${ROOT}/${file} text)
      string(REGEX REPLACE "//[^\n]*" "" text "${text}")
      if(text MATCHES "${ways}")
        string(APPEND found "\n  ${file}: ${CMAKE_MATCH_0}")
      endif()
    endforeach()
  endforeach()
endforeach()
file(GLOB files RELATIVE ${ROOT} ${ROOT}/tools/python/plumb_golden/*.py)
# cli.py has the one function, and test_hostile.py holds that nothing else there prints.
list(REMOVE_ITEM files tools/python/plumb_golden/cli.py)
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  if(text MATCHES "(^|[^A-Za-z_.])(print|pprint)\\(|file=sys|sys\\.stderr\\.write|warnings\\.warn|os\\.write\\(")
    string(APPEND found "\n  ${file}: ${CMAKE_MATCH_0} (say of cli.py)")
  endif()
endforeach()
if(count LESS 500)
  message(FATAL_ERROR "Only ${count} files in '${ROOT}': the search is broken")
endif()
if(found)
  message(FATAL_ERROR "Print through plumb/tool/terminal.h (tools: common/print.h), it escapes all but text:${found}")
endif()
message("${count} files, and none of them prints by itself")
