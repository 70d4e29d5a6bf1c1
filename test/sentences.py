#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No sentence of a page has more than 25 words (doc/style.md), but for as many old ones as test/sentences.txt says.

    sentences.py ROOT            exit code 0: so it is; 1: prints the pages with more, and their longest sentences
    sentences.py ROOT --renew    writes the counts anew, where they have fallen

Code, tables and lists of options are no prose. What stands in `code` counts as one word.
"""
import pathlib
import re
import sys

MOST_WORDS = 25


def prose(text):
    """The paragraphs of a page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]+`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = ["" if re.match(r"\s*\||    |#|\s*$", line) else re.sub(r"^\s*([-*]|\d+\.)\s+", "\n\n", line)
             for line in text.splitlines()]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", "\n".join(lines)) if part.strip()]


def long_sentences(text):
    for paragraph in prose(text):
        for sentence in re.split(r"(?<=[.:;?!])\s+", paragraph.replace("**", "")):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST_WORDS:
                yield len(words), sentence


def main():
    root = pathlib.Path(sys.argv[1])
    counts_at = root / "test/sentences.txt"
    pages = sorted([root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")] +
                   list((root / "doc").glob("*.md")))
    found = {page.relative_to(root).as_posix(): sorted(long_sentences(page.read_text(encoding="utf-8")), reverse=True)
             for page in pages}
    if len(found) < 20:
        print(f"only {len(found)} pages below '{root}': the search is broken")
        return 1
    if "--renew" in sys.argv:
        rows = [f"{page} {len(sentences)}" for page, sentences in found.items() if sentences]
        counts_at.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return 0
    allowed = dict(line.split() for line in counts_at.read_text(encoding="utf-8").splitlines())
    failed = False
    for page, sentences in found.items():
        if len(sentences) > int(allowed.get(page, 0)):
            failed = True
            print(f"{page}: {len(sentences)} sentences have more than {MOST_WORDS} words; {allowed.get(page, 0)} may:")
            for words, sentence in sentences:
                print(f"  {words} words: {sentence}")
        elif len(sentences) < int(allowed.get(page, 0)):
            print(f"{page}: fewer long sentences than test/sentences.txt allows: run {sys.argv[0]} {root} --renew")
            failed = True
    if not failed:
        print(f"{len(found)} pages, {sum(map(len, found.values()))} old long sentences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
