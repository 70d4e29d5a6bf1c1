# SPDX-License-Identifier: Apache-2.0
"""drop_needed.py FILE LIBRARY: the ELF file FILE no longer asks for LIBRARY, whose symbols become weak.

For Debian's oneDNN, which is linked with the OpenCL loader for its GPU engine: Plumb never makes
one, and a machine without the loader could not load the file. (patchelf leaves the symbols'
versions behind, and glibc aborts at a version of no library.)
"""

import struct
import sys

from elftools.elf.elffile import ELFFile  # auditwheel brings it

DT_NULL, DT_NEEDED, DT_VERNEEDNUM = 0, 1, 0x6FFFFFFF
WEAK_FUNCTION = 2 << 4 | 2
GLOBAL_VERSION = 1


def drop_versions(image, elf, library):
    """Takes the library's entry out of the chain of versions. Returns their numbers."""
    needs = elf.get_section_by_name(".gnu.version_r")
    at, place, previous = needs["sh_offset"], None, None
    for need, auxiliaries in needs.iter_versions():
        if need.name == library:
            place, found = at, {auxiliary["vna_other"] for auxiliary in auxiliaries}
            break
        previous, at = at, at + need["vn_next"]
    if place is None or previous is None:
        sys.exit(f"drop_needed.py: {library} is not a later one of the libraries with versions")
    after = place + need["vn_next"] - previous if need["vn_next"] else 0
    struct.pack_into("<I", image, previous + 12, after)
    header = elf["e_shoff"] + elf.get_section_index(".gnu.version_r") * elf["e_shentsize"]
    struct.pack_into("<I", image, header + 44, needs.num_versions() - 1)  # sh_info
    return found


def drop_dependency(image, elf, library):
    """Rewrites the dynamic section without the library, and with one entry of versions fewer."""
    dynamic = elf.get_section_by_name(".dynamic")
    names = elf.get_section_by_name(".dynstr")
    entries = []
    for tag, value in struct.iter_unpack("<qQ", dynamic.data()):
        if tag == DT_NEEDED and names.get_string(value) == library:
            continue
        entries.append((tag, value - 1 if tag == DT_VERNEEDNUM else value))
    entries += [(DT_NULL, 0)] * (dynamic["sh_size"] // 16 - len(entries))
    for i, entry in enumerate(entries):
        struct.pack_into("<qQ", image, dynamic["sh_offset"] + 16 * i, *entry)


def weaken(image, elf, versions):
    """Makes the symbols of these versions weak and without a version. Returns their names."""
    symbols, numbers = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
    names = []
    for i, (number,) in enumerate(struct.iter_unpack("<H", numbers.data())):
        if number in versions:
            image[symbols["sh_offset"] + 24 * i + 4] = WEAK_FUNCTION
            struct.pack_into("<H", image, numbers["sh_offset"] + 2 * i, GLOBAL_VERSION)
            names.append(symbols.get_symbol(i).name)
    return names


def main(path, library):
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        if elf.elfclass != 64 or not elf.little_endian:
            sys.exit(f"drop_needed.py: {path} is not a 64 bit little endian ELF file")
        stream.seek(0)
        image = bytearray(stream.read())
        names = weaken(image, elf, drop_versions(image, elf, library))
        drop_dependency(image, elf, library)
    with open(path, "wb") as stream:
        stream.write(image)
    print(f"{path}: without {library} and its {len(names)} functions")


if __name__ == "__main__":
    main(*sys.argv[1:])
