# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal, as Plumb's tools print it (plumb/tool/printing.h; python/tests/test_golden.py compares).

What a file calls something may hold an escape sequence or a line break, which would draw a forged line."""
MAX_SHOWN = 200

# Nothing shown, separators, direction, byte order mark, annotations, tags.
ESCAPED = ((0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E),
           (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF))


def escaped(character):
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # bytes that were no UTF-8
        data = bytes([code & 0xFF]) if 0xDC80 <= code <= 0xDCFF else character.encode("utf-8", "surrogatepass")
        return "".join(f"\\x{byte:02X}" for byte in data)
    if not any(low <= code <= high for low, high in ESCAPED):
        return character
    return f"\\x{code:02X}" if code < 0x80 else f"\\u{{{code:X}}}"


def name(text):
    """One name on one line, cut to MAX_SHOWN characters."""
    return "".join(map(escaped, text[:MAX_SHOWN])) + ("..." if len(text) > MAX_SHOWN else "")


def opens_quote(text, at):
    return text[at] == "'" and not (at > 0 and text[at - 1].isascii() and text[at - 1].isalnum())


def line(text):
    """One line; each 'quoted' part is cut as a name."""
    shown, at = [], 0
    while at < len(text):
        end = text.find("'", at + 1) if opens_quote(text, at) else -1
        if end < 0:
            shown.append(escaped(text[at]))
            at += 1
        else:
            shown.append(f"'{name(text[at + 1:end])}'")
            at = end + 1
    return "".join(shown)


def message(text):
    """A whole message: line breaks outside of quotes that two spaces follow stay, as they stand in lists."""
    shown, inside, start = [], False, 0
    for at, character in enumerate(text):
        if character == "'":
            inside = not inside and opens_quote(text, at) and text.find("'", at + 1) >= 0
        if character == "\n" and not inside and text[at + 1:at + 3] == "  ":
            shown.append(line(text[start:at]))
            start = at + 1
    return "\n".join([*shown, line(text[start:])])
