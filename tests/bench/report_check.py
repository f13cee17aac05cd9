#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_check.py PAGE FOLDER [WORD...]: the page is well formed, refers to nothing outside it, and has no script; so are
the SVG files of the folder. Each WORD must occur in the page's text; with a leading ! it must not."""

import html.parser
import pathlib
import re
import sys
import xml.etree.ElementTree

VOID = {"meta", "link", "br", "img", "hr", "input"}
KNOWN = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "nav", "a", "main", "section", "ul", "li",
         "b", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "pre",
         "footer", "svg", "desc", "text", "line", "path", "rect"}
SECTIONS = ["verdict", "machine", "rate", "modes", "split", "ladders", "roofline", "tables", "commands"]


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.ids, self.sections, self.text, self.refs = [], [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in KNOWN:
            self.faults.append(f"an element {tag}")
        for name, value in attrs:
            if name.startswith("on"):
                self.faults.append(f"a handler {name}")
            if name in ("href", "src", "xlink:href", "action", "data") and not value.startswith("#"):
                self.faults.append(f"a reference to {value}")
            if name == "id":
                self.ids.append(value)
            if name == "aria-labelledby":
                self.refs += value.split()
        if tag == "section":
            self.sections.append(dict(attrs)["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)
        elif re.search(r"url\(|@import|</", data):
            self.faults.append("a style sheet that refers to something")


def check_page(path, words):
    source = pathlib.Path(path).read_text(encoding="utf-8")
    page = Page()
    page.feed(source)
    page.close()
    faults = page.faults + [f"{tag} is not closed" for tag in page.open]
    faults += [f"the id {i} occurs twice" for i in set(page.ids) if page.ids.count(i) > 1]
    faults += [f"nothing has the id {i}" for i in page.refs if i not in page.ids]
    sections = [s for s in page.sections if s != "changes"]
    if sections != SECTIONS:
        faults.append(f"the sections are {page.sections}")
    if re.search(r"https?:|//|\bnan\b|\binf\b", re.sub(r"<(pre|td|dd|text|title|desc|h1|p)\b.*?</\1>", "", source, flags=re.S)):
        faults.append("an address, or a number that is none")
    text = " ".join(" ".join(page.text).split())
    for word in words:
        if (word.lstrip("!") in text) == word.startswith("!"):
            faults.append(f"the text has{'' if word.startswith('!') else ' no'} '{word.lstrip('!')}'")
    return [f"{path}: {fault}" for fault in faults]


def check_svg(path):
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except xml.etree.ElementTree.ParseError as error:
        return [f"{path}: {error}"]
    faults = []
    names = [element.tag.split("}")[-1] for element in root.iter()]
    if root.tag != "{http://www.w3.org/2000/svg}svg" or root.get("role") != "img":
        faults.append("is no SVG image")
    faults += [f"has an element {n}" for n in set(names) - {"svg", "title", "desc", "style", "text", "line", "path", "rect", "g"}]
    if names[1:3] != ["title", "desc"] or not all((root[i].text or "").strip() for i in (0, 1)):
        faults.append("has no title and description")
    for element in root.iter():
        for name, value in element.attrib.items():
            if re.search(r"nan|inf", value) and name not in ("id", "aria-labelledby"):
                faults.append(f"has {name}={value}")
            if "href" in name:
                faults.append(f"refers to {value}")
    return [f"{path}: {fault}" for fault in faults]


def main():
    faults = check_page(sys.argv[1], sys.argv[3:])
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*.svg")):
        faults += check_svg(path)
    for fault in faults[:30]:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
