# SPDX-License-Identifier: Apache-2.0
# Cross-compiles for 64-bit ARM with Debian's g++-aarch64-linux-gnu against the libraries that platforms/linux/arm64.sh
# unpacks into build/arm64-sysroot (nothing of them is installed), and runs tests and tools in qemu-user. QEMU_CPU in
# the environment says which CPU it plays: cortex-a53 (ARMv8.0), cortex-a76 (fp16 and dot products) or max (SVE, too),
# the default.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${sysroot}/usr/lib/aarch64-linux-gnu:${sysroot}/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${sysroot}")
