# SPDX-License-Identifier: Apache-2.0
"""Protobuf without a schema: enough to take a message apart, change it and put it together again."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError


class Field:
    """One field of a message; `inner` holds the fields of what can be read as a message, else None."""

    def __init__(self, number, kind, value, inner=None):
        self.number, self.kind, self.value, self.inner = number, kind, value, inner

    def encoded(self):
        head = varint(self.number << 3 | self.kind)
        if self.kind == 0:
            return head + varint(self.value)
        if self.kind == 2:
            body = self.value if self.inner is None else encode(self.inner)
            return head + varint(len(body)) + body
        return head + self.value


def encode(fields):
    return b"".join(field.encoded() for field in fields)


def decode(data, depth=0):
    """The fields of a message; ValueError or IndexError when it is none."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number > 100:
            raise ValueError
        if kind == 0:
            value, at = read_varint(data, at)
            fields.append(Field(number, 0, value))
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            if at + size > len(data):
                raise ValueError
            fields.append(Field(number, kind, data[at:at + size]))
            at += size
        elif kind == 2:
            size, at = read_varint(data, at)
            if at + size > len(data):
                raise ValueError
            value = data[at:at + size]
            at += size
            fields.append(Field(number, 2, value, inner_of(value, depth)))
        else:
            raise ValueError
    return fields


def inner_of(value, depth):
    if depth > 8 or not value or len(value) > 1 << 20:
        return None
    if all(32 <= byte < 127 for byte in value):  # a name, though "2\0" and the like are messages, too
        return None
    try:
        return decode(value, depth + 1)
    except (ValueError, IndexError):
        return None


def all_lists(fields):
    """Every list of fields in the tree, the root first."""
    yield fields
    for field in fields:
        if field.inner is not None:
            yield from all_lists(field.inner)


# --- a small writer, for models that no package is needed for
def message(*parts):
    return b"".join(parts)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value
