# SPDX-License-Identifier: Apache-2.0
"""links.py PAGE.md...: every relative link of a page leads to a file of this tree, and every #part to a heading of its page.
Prints what is wrong with its place; exit status 1 if anything is."""
import os
import re
import sys

LINK = re.compile(r"\]\(<?([^()<>\s]+)>?\)")
CODE = re.compile(r"`[^`]*`")


def text_lines(page):
    """The lines of a page without code, with their numbers."""
    fenced = False
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield number, CODE.sub("", line), line


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    names = []
    for _, _, line in text_lines(page):
        match = re.match(r"#+ +(.*?) *#*$", line.rstrip("\n"))
        if not match:
            continue
        name = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match.group(1).lower())
        name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        count = sum(1 for other in names if other == name or re.fullmatch(re.escape(name) + r"-\d+", other))
        names.append(name if not count else f"{name}-{count}")
    return names


def check(page):
    for number, line, _ in text_lines(page):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, part = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(to):
                yield f"{page}:{number}: {target}: there is no {to}"
            elif part and to.endswith(".md") and part not in anchors(to):
                yield f"{page}:{number}: {target}: {to} has no heading for #{part}"


def main():
    wrong = [sentence for page in sys.argv[1:] for sentence in check(page)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
