# SPDX-License-Identifier: Apache-2.0
# Finds a Python with nanobind and its headers and sets `plumb_python`: scikit-build-core's in a wheel's build; else
# build/venv, which platforms/linux/*.sh make; else python3. Without one only the Python package is missing.
set(PLUMB_BUILD_PYTHON AUTO CACHE STRING "Build the Python package plumbnn (python/): ON, OFF or AUTO, where it can be")

macro(plumb_find_python)
  set(plumb_python OFF)
  # A Python without the sanitizers cannot load what they are in.
  if(PLUMB_BUILD_PYTHON STREQUAL ON OR (PLUMB_BUILD_PYTHON STREQUAL AUTO AND NOT PLUMB_SANITIZE AND NOT PLUMB_FUZZ))
    if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
      set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
    endif()
    find_package(Python 3.10 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule QUIET)
    if(Python_Development.Module_FOUND)
      execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
      find_package(nanobind CONFIG QUIET)
      set(plumb_python ${nanobind_FOUND})
    endif()
    if(NOT plumb_python AND PLUMB_BUILD_PYTHON STREQUAL ON)
      message(FATAL_ERROR "PLUMB_BUILD_PYTHON needs Python's headers (python3-dev) and nanobind (pip install nanobind)")
    elseif(NOT plumb_python)
      message(STATUS "The Python package is off: it needs python3-dev and nanobind (pip install nanobind)")
    endif()
  endif()
endmacro()
