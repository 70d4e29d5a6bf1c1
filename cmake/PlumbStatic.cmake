# SPDX-License-Identifier: Apache-2.0
# PLUMB_STATIC: programs that need no library and no loader of the machine they run on, such as a phone
# (platforms/linux/arm64.sh --static) or a container without libraries (release.sh). The libraries are the archives
# (.a) of those that other builds load. Of three Debian has none: fmt and ONNX's messages, made by protoc, are compiled
# in; the device X86 does without oneDNN.
set(plumb_fmt fmt::fmt)
set(plumb_zstd zstd::libzstd_shared)
if(PLUMB_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(plumb_fmt fmt::fmt-header-only)
  set(plumb_zstd zstd::libzstd_static)
  add_link_options(-static -s)
endif()
if(ANDROID)  # vcpkg's libraries are archives; drivers are opened at run time, so programs are not static
  set(plumb_zstd zstd::libzstd_static)
endif()
find_path(PLUMB_HWY_INCLUDE hwy/highway.h REQUIRED)  # headers alone (source/base/highway.cc)
