# SPDX-License-Identifier: Apache-2.0
"""Changes to files: bytes anywhere, and for each format what its own structure makes dangerous."""
import copy
import io
import json
import re
import struct
import zipfile

import wire

NUMBERS = [0, 1, -1, 2, 7, 127, 128, 255, 256, 1000, 65535, 65536, 10**6, 10**9, 2**31 - 1, 2**31, -2**31, 2**32 - 1,
           2**32,
           2**32 + 1, 2**40, 2**62, 2**63 - 1, -2**63]
NAMES = ["", "\x1b[2J\x1b[32mall aligned", "a\rX86: all aligned", "line\nX86: all aligned: 1 aligned", "\x9b31m",
         "\u202egnp.exe",
         "x" * 300, "x" * 70000, "\x00", "../../etc/passwd", "/dev/zero", "/proc/self/mem", "%s%n",
         "y" * 4000 + "\x1b]0;t\x07"]
DEEP = "a list in a list in a list ..."
SPECIAL_FILES = ["/dev/zero", "/dev/null", "/dev/urandom", "/proc/self/mem", "/", "fifo", "socket", "loop", "n" * 300,
                 "../x",
                 "/proc/kmsg", "gone"]


def of_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        if not data:
            break
        at = rng.randrange(len(data))
        how = rng.randrange(6)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.choice([0, 1, 27, 127, 128, 255])
        elif how == 2:
            del data[at:at + rng.choice([1, 4, 64])]
        elif how == 3:
            data[at:at] = rng.randbytes(rng.choice([1, 4, 64]))
        elif how == 4:
            data[at:at + 8] = struct.pack("<Q", rng.choice(NUMBERS) & (2**64 - 1))
        else:
            del data[at:]
    return bytes(data)


def of_tflite(rng, data):
    """Words of a flatbuffer: offsets, lengths, indices, dims."""
    if rng.randrange(3) == 0:
        return of_bytes(rng, data)
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = 4 * rng.randrange(1, len(data) // 4)
        word = int.from_bytes(data[at:at + 4], "little")
        other = 4 * rng.randrange(len(data) // 4)
        new = rng.choice([rng.choice(NUMBERS), word + rng.choice([-8, -4, -1, 1, 4, 8]), word ^ 1 << rng.randrange(32),
                          int.from_bytes(data[other:other + 4], "little")])
        data[at:at + 4] = (new % 2**32).to_bytes(4, "little")
    return bytes(data)


def of_onnx(rng, data):
    if rng.random() < 0.15:
        return of_bytes(rng, data)
    try:
        fields = wire.decode(data)
    except (ValueError, IndexError):
        return of_bytes(rng, data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        lists = [fields for fields in wire.all_lists(fields) if fields]
        if not lists:
            break
        # the structure as often as the many numbers of a tensor
        parent = rng.choice(lists)
        at = rng.randrange(len(parent))
        field = parent[at]
        how = rng.randrange(8)
        if how == 0:
            del parent[at]
        elif how == 1:
            parent.insert(at, copy.deepcopy(field))
        elif how == 2:
            parent.append(copy.deepcopy(rng.choice(rng.choice(lists))))
        elif field.kind == 0:
            field.value = rng.choice(NUMBERS)
        elif field.inner is not None:
            rng.shuffle(field.inner)
        elif field.kind == 2 and how < 5:
            field.value = rng.choice(NAMES).encode("utf-8", "surrogatepass")
        elif field.kind == 2 and len(field.value) % 8 == 0 and how < 7:  # raw int64 data
            values = bytearray(field.value)
            if values:
                place = rng.randrange(len(values) // 8) * 8
                values[place:place + 8] = struct.pack("<q", max(-2**63, min(2**63 - 1, rng.choice(NUMBERS))))
            field.value = bytes(values)
        else:
            field.value = of_bytes(rng, field.value)
    try:
        return wire.encode(fields)
    except (RecursionError, struct.error):
        return of_bytes(rng, data)


def of_tnnproto(rng, data):
    if rng.random() < 0.2:
        return of_bytes(rng, data)
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice([1, 1, 2, 3])):
        tokens = list(re.finditer(r"[^\s,\":]+", text))
        if not tokens:
            break
        token = rng.choice(tokens)
        number = re.fullmatch(r"-?[0-9.]+", token.group()) is not None
        how = rng.randrange(5)
        if number and how < 3:
            new = str(rng.choice(NUMBERS))
        else:
            new = rng.choice(NAMES) if how == 3 else rng.choice(tokens).group()
        text = text[:token.start()] + new + text[token.end():]
    return text.encode("utf-8", "surrogatepass")


def of_json(rng, data, file_names):
    """A manifest: values anywhere, names of files above all."""
    if rng.random() < 0.2:
        return of_bytes(rng, data)
    root = json.loads(data)

    def places(value, found):
        if isinstance(value, dict):
            for key in value:
                found.append((value, key))
                places(value[key], found)
        elif isinstance(value, list):
            for i in range(len(value)):
                found.append((value, i))
                places(value[i], found)
        return found

    for _ in range(rng.choice([1, 1, 2, 4])):
        found = places(root, [])
        if not found:
            break
        holder, key = rng.choice(found)
        if rng.random() < 0.3:
            files = [place for place in found if place[1] in ("file", "path", "data_file", "data_name")]
            holder, key = rng.choice(files or found)
        old = holder[key]
        choices = [None, rng.choice(NUMBERS), rng.choice(NAMES), [], {}, 1e308, True, [[[]]] * 3]
        if isinstance(old, str):
            choices = [rng.choice(NAMES), rng.choice(file_names), rng.choice(file_names), rng.choice(choices)]
        elif isinstance(old, int):
            choices = [rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(choices)]
        holder[key] = rng.choice(choices) if rng.random() > 0.02 else DEEP
    deep = "[" * 100000 + "]" * 100000  # which json.dumps cannot write
    return json.dumps(root).replace(json.dumps(DEEP), deep).encode("utf-8", "surrogatepass")


def of_npy(rng, data):
    match = re.search(rb"\(.*?\)", data)
    if match is None or rng.random() < 0.3:
        return of_bytes(rng, data)
    shape = ", ".join(str(rng.choice(NUMBERS)) for _ in range(rng.randrange(6)))
    return data[:match.start()] + f"({shape},)".encode() + data[match.end():]


def of_npz(rng, data):
    how = rng.randrange(6)
    if how == 0:  # zeros: a thousand times their size
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            count = rng.choice([1 << 20, 1 << 24, 1 << 26])
            head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count // 4},), }}".ljust(117) + "\n"
            archive.writestr("input.npy",
                             b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(count))
        return packed.getvalue()
    if how == 1:  # every entry of the directory points to the same member
        end = data.rfind(b"PK\x05\x06")
        start = struct.unpack("<I", data[end + 16:end + 20])[0]
        directory = data[start:end]
        first = directory[:46 + sum(struct.unpack("<HHH", directory[28:34]))]
        count = rng.choice([2, 50, 1000])
        entries = b"".join(first[:46] + (b"%08d" % i)[:struct.unpack("<H", first[28:30])[0]].ljust(
            struct.unpack("<H", first[28:30])[0], b"_") + first[46 + struct.unpack("<H", first[28:30])[0]:]
            for i in range(count))
        tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0)
        return data[:start] + entries + tail
    return of_bytes(rng, data)


def mutate(rng, kind, name, data, file_names):
    if kind == "onnx":
        return of_onnx(rng, data)
    if kind == "tflite":
        return of_tflite(rng, data)
    if kind == "tnnproto":
        return of_tnnproto(rng, data)
    if kind in ("manifest", "graph") or name.endswith((".json", ".encodings")):
        return of_json(rng, data, file_names)
    if name.endswith(".npy"):
        return of_npy(rng, data)
    if name.endswith((".npz", ".pt")):
        return of_npz(rng, data)
    return of_bytes(rng, data)
