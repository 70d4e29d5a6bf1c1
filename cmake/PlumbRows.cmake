# SPDX-License-Identifier: Apache-2.0
# plumb_rows(variable file.def MACRO column): column `column` (0-based) of every row MACRO(a, b, ...) in the file, in
# order; and of "#define FAMILY(...) MACRO(a, b, ...)", which stands for the rows of a family's own list.
# CMake runs again when the file changes, so a row in a .def is all that a new source file needs.
function(plumb_rows variable file macro column)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^(#define [^ ].*\\) )?${macro}\\(")
  set(values)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^.*${macro}\\(([^)]*)\\).*" "\\1" arguments "${line}")
    string(REPLACE "," ";" arguments "${arguments}")
    list(GET arguments ${column} value)
    string(STRIP "${value}" value)
    list(APPEND values ${value})
  endforeach()
  set(${variable} ${values} PARENT_SCOPE)
endfunction()

# plumb_cpu_files(variable): what X86 and ARM share, seen from source/device/x86 or source/device/arm.
function(plumb_cpu_files variable)
  plumb_rows(files ${PROJECT_SOURCE_DIR}/source/device/cpu/kernel_list.def PLUMB_CPU_KERNEL 2)
  list(APPEND files attention_group blocked_layout bordered_rows cpu_device half_layout integer_panels kernel_list
    panel_convolution panel_product pointwise_convolution recurrent_gates reorder scaled_sums sliced_convolution strided
    unary_scalar winograd_convolution winograd_weights)
  list(REMOVE_DUPLICATES files)
  list(TRANSFORM files REPLACE "(.+)" "../cpu/\\1.cc")
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# plumb_op_files(variable): the file column of op/core/op_list.def and of the lists of families that it includes; each
# once.
function(plumb_op_files variable)
  plumb_rows(files ${PROJECT_SOURCE_DIR}/source/op/core/op_list.def PLUMB_OP 1)
  plumb_rows(unary ${PROJECT_SOURCE_DIR}/source/op/unary.def PLUMB_UNARY 1)
  list(APPEND files ${unary})
  list(REMOVE_ITEM files file)  # the column of the family unary, whose rows say it
  list(REMOVE_DUPLICATES files)
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
