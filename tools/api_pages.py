# SPDX-License-Identifier: Apache-2.0
"""api_pages.py HX_H... FOLDER: writes a manual page for each function and type of the headers, of which hx.h is the first,
NAME.3, from its comments. A name that shares its comment with the name before it becomes a link to that page.

The comments of the headers have a simple form. Text is filled; lines that are indented by four blanks are code, those by two
are rows. A sentence that begins with a status and a colon (HX_UNSUPPORTED: ...) is an error, up to the next such
sentence or the end. A declaration without a name of its own, of constants, belongs to the function or type that its
comment names. tools/site/build.py makes a page of the web site from the same."""
import pathlib
import re
import sys
import textwrap

NAME = r"\bhx_[a-z0-9_]+"
BEGINS = re.compile(r"HX_API |typedef |struct |union |enum |#define ")
CHECKED = "The task. What is wrong with it is found by the call that it is given to, hx_offload or hx_offload_async."
STATUS = "HX_OK, or another hx_status; hx_error_detail then returns one sentence that names the wrong value."


class Entry:
    """Declarations that share a comment: their names, and the parts of the comment."""

    def __init__(self, header, comment, declarations, statuses):
        self.header, self.comment, self.declarations = header, comment, declarations
        self.names = [name for name in map(declared, declarations) if name]
        lines = [re.sub(r"^ \* ?", "", line) for line in re.sub(r"^/\* ?|\s*\*/$", "", comment).split("\n")]
        self.parts, self.errors = parts_of(lines, statuses)
        if self.names and not comment:
            sys.exit(f"{header}: {self.names[0]} has no comment")

    def summary(self):
        """The first sentence or clause of the comment, for the section NAME."""
        text = re.split(r"(?<=[^\s.])[.:;](?:\s|$)", re.sub(r" \([^)]*\)", "", self.parts[0][1]))[0]
        return text if text[1:3] == " =" else text[0].lower() + text[1:]

    def returned(self):
        for result, sentence in (("hx_status", STATUS), ("hx_task", CHECKED)):
            if self.declarations[0].startswith(f"HX_API {result} hx_"):
                return sentence
        return None

    def related(self):
        """Other names that the entry mentions."""
        texts = self.declarations + [text for _, text in self.parts + self.errors] + [self.returned() or ""]
        return sorted({name for text in texts for name in re.findall(NAME, text)} - set(self.names))


def declared(text):
    """The name of a function, or of a type with members."""
    pattern = r"HX_API [^(]*?(hx_\w+)\(|(?:typedef )?(?:struct|union|enum) (hx_\w+) \{"
    match = re.match(pattern, text)
    return match and (match.group(1) or match.group(2))


def parts_of(lines, statuses):
    """Parts (kind, text) of a comment, where kind is text, row or code; and errors (statuses, text)."""
    parts, error = [], rf"(?:^|(?<=\.) )((?:{statuses})(?:, (?:{statuses}))*): "
    for line in lines:
        indent = len(line) - len(line.lstrip())
        kind, before = "code" if indent >= 4 else "row" if indent >= 2 else "text", parts[-1] if parts else ("", "")
        if kind == "row" and before[0] == "text" and re.search(error, before[1]):
            kind = "text"  # more of the error
        if kind == "text" == before[0]:
            parts[-1] = (kind, f"{before[1]} {line.strip()}")
        else:
            parts.append(
                (
                    kind,
                    re.sub(r"(?<=\S) {3,}", "  ", line[4:]) if kind == "code" else re.sub(r" {2,}", ": ", line.strip()),
                )
            )
    if parts[-1][0] != "text":
        return parts, []
    pieces = re.split(error, parts[-1][1])
    return parts[:-1] + [("text", pieces[0])] * bool(pieces[0]), list(zip(pieces[1::2], pieces[2::2]))


def declarations_of(code):
    """The declarations of a block of lines."""
    found, depth = [], 0
    for line in code.split("\n"):
        if depth == 0 and BEGINS.match(line) and not (found and found[-1].endswith("\\")):
            found.append(line)
        elif found and (depth > 0 or not re.search(r"(;|^#.*[^\\])$|; /\*.*\*/$", found[-1].split("\n")[-1])):
            found[-1] += "\n" + line
        depth += line.count("{") - line.count("}")
    return found


def entries(headers):
    """The entries of headers {name: text}, in their order."""
    status = re.search(r"enum hx_status \{.*?\n\}", headers["hx.h"], re.S).group()
    statuses = "|".join(re.findall(r"^  (HX_\w+)", status, re.M))
    found = []
    for name, header in headers.items():
        for block in header[header.index("\ntypedef ") : header.rindex("\n#ifdef")].strip().split("\n\n"):
            comment, code = re.match(r"(/\*.*?\*/\n)?(.*)", block, re.S).groups()
            found.append(Entry(name, (comment or "").strip(), declarations_of(code), statuses))
    for entry in found:
        if not entry.names and entry.comment:
            owner = next(other for other in found if re.search(NAME, entry.comment).group() in other.names)
            owner.declarations.append("\n".join([entry.comment] + entry.declarations))
    return [entry for entry in found if entry.names]


def shown(declaration, width=78):
    """A declaration without what is for compilers; that of a function is cut between arguments."""
    text = re.sub(r" +\\$", r" \\", declaration.replace("HX_EXTENSION ", ""), flags=re.M)
    if not text.startswith("HX_API "):
        return text
    head, arguments = re.match(r"HX_API (.*?\()(.*)\);", re.sub(r"\s+", " ", text)).groups()
    lines = [head]
    for argument in arguments.split(", "):
        if len(lines[-1]) + len(argument) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(head))
        lines[-1] += argument + ", "
    return "\n".join(lines)[:-2] + ");"


def roff(text):
    """Text with the characters that roff would take for its own replaced."""
    text = text.replace("\\", "\\e").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return re.sub(r"(?<![a-z])-|-(?![a-zA-Z])", r"\\-", text)


def filled(text):
    bold = re.sub(rf"({NAME})", r"\\%\\fB\1\\fR", roff(text))
    lines = textwrap.wrap(bold, 78, break_long_words=False, break_on_hyphens=False)
    return [re.sub(r"^(?=[.'])", r"\\&", line) for line in lines]


def verbatim(text):
    lines = [re.sub(r"^(?=\.)", r"\\&", roff(line).replace("'", "\\(aq")) for line in text.split("\n")]
    return [".EX", *lines, ".EE"]


def prototype(declaration):
    """A function with its arguments in italics."""
    text = re.sub(r"(?!void\b)\b(\w+)(?=,|\);)", r"\\fI\1\\fB", roff(shown(declaration)))
    return [rf"\fB{line}\fR" for line in text.split("\n")]


def man_page(entry, known, version):
    lines = [
        '.\\" SPDX-License-Identifier: Apache-2.0',
        f'.\\" Made from the comments of {entry.header}.',
        f'.TH {entry.names[0].upper()} 3 "" "hx {version}" "Library Functions"',
        ".ad l",
        ".SH NAME",
        f"{', '.join(entry.names)} \\- {roff(entry.summary())}",
        ".SH SYNOPSIS",
        ".nf",
        f".B #include <{entry.header}>",
        ".fi",
    ]
    for declaration in entry.declarations:
        lines += [
            ".PP",
            *([".nf", *prototype(declaration), ".fi"] if "HX_API" in declaration else verbatim(shown(declaration))),
        ]
    lines.append(".SH DESCRIPTION")
    before = None
    for kind, text in entry.parts:
        if kind == "code" and before == "code":
            lines[-1:] = verbatim(text)[1:]
        elif kind == "code":
            lines += [".PP", *verbatim(text)]
        elif kind == "row":
            lines += ['.IP "" 4', *filled(text)]
        else:
            lines += [".PP"] * (before is not None) + filled(text)
        before = kind
    if entry.returned():
        lines += [".SH RETURN VALUE", *filled(entry.returned())]
    if entry.errors:
        lines.append(".SH ERRORS")
    for names, text in entry.errors:
        lines += [".TP", f".B {names}", *filled(text)]
    related = ["hx"] + [name for name in entry.related() if name in known]
    lines += [".SH SEE ALSO", *(f".BR \\%{name} (3)," for name in related)]
    return "\n".join(lines)[:-1] + "\n"


def marked(text):
    """Text as Markdown, with links from names to their headings and from pages of docs/ to them."""

    def mark(match):
        word = match.group()
        if word.startswith("docs/"):
            return f"[{word}]({word[5:]})"
        if word.startswith("hx_"):
            return f"[{word}](#{word})"
        return f"`{word}`" if word.startswith("HX_") else f"&#{ord(word)};"

    return re.sub(rf"docs/[A-Z_]+\.md|{NAME}|\bHX_\w+|[\\`*_\[\]<>#]", mark, text)


def read(paths):
    """The headers {name: text}."""
    return {path.name: path.read_text(encoding="utf-8") for path in map(pathlib.Path, paths)}


def markdown(headers):
    """The page of the web site."""
    names = " and ".join(f"[{name}](../runtime/{name})" for name in headers)
    lines = ["# Functions and types", "", f"From the comments of {names}.", ""]
    for entry in entries(headers):
        lines += [f"## {name}\n" for name in entry.names]
        lines += ["```c", *map(shown, entry.declarations), "```", ""]
        before = None
        for kind, text in entry.parts:
            if kind == "code" and before == "code":
                lines[-2:] = [text, "```", ""]
            else:
                lines += ["```text", text, "```", ""] if kind == "code" else ["- " * (kind == "row") + marked(text), ""]
            before = kind
        lines += [f"- {marked(names)}: {marked(text)}" for names, text in entry.errors] + [""]
    return re.sub(rf"\[({NAME})\]\(#\1\)", linked(lines), "\n".join(lines))


def linked(lines):
    """Makes a link to a name without a heading plain."""
    headings = {line[3:].strip() for line in lines if line.startswith("## ")}
    return lambda match: match.group() if match.group(1) in headings else match.group(1).replace("_", "\\_")


def main():
    headers, folder = read(sys.argv[1:-1]), pathlib.Path(sys.argv[-1])
    number = int(re.search(r"#define HX_VERSION_NUMBER (\d+)", headers["hx.h"]).group(1))
    version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    found = entries(headers)
    known = {name for entry in found for name in entry.names}
    for entry in found:
        (folder / f"{entry.names[0]}.3").write_text(man_page(entry, known, version), encoding="utf-8")
        for name in entry.names[1:]:
            (folder / f"{name}.3").symlink_to(f"{entry.names[0]}.3")


if __name__ == "__main__":
    main()
