# SPDX-License-Identifier: Apache-2.0
"""build.py FOLDER: builds the site of the pages of this tree in FOLDER, with mkdocs and the settings in mkdocs.yml.

The pages are those of the tree's first folder and all that they lead to, with the files that they link to, so that a
link works on the site as it does in the tree; and docs/API.md, made from runtime/hx.h. A link to what is not there, a
page that mkdocs.yml does not name and anything that a browser would load from another host is an error."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import api_pages  # noqa: E402
import links  # noqa: E402


def reached():
    """The pages and the files that they link to, by their places in the tree."""
    found = {}
    waiting = sorted(page.name for page in TREE.glob("*.md"))
    while waiting:
        name = waiting.pop()
        if name in found or not (TREE / name).is_file():
            continue
        found[name] = None
        if name.endswith(".md"):
            for _, line, _ in links.text_lines(TREE / name):
                for target in links.LINK.findall(line):
                    if not re.match(r"[a-z]+:|#", target):
                        waiting.append(os.path.normpath(os.path.join(os.path.dirname(name), target.split("#")[0])))
    return list(found)


class Page(html.parser.HTMLParser):
    """The names of places in a page of the site, what it links to and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.targets, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name == "src" or (tag == "link" and name == "href"):
                self.loads.append(value)
            elif name == "href":
                self.targets.append(value)


def wrong_links(site):
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        if where.name == "404.html":  # mkdocs writes it for a server's first folder
            continue
        for target in page.targets + page.loads:
            url = urllib.parse.urlparse(target)
            if url.scheme or url.netloc:
                if target in page.loads and url.scheme != "data":
                    yield f"{where} loads {target}"
                continue
            to = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(url.path))) if url.path else path
            if to.is_dir():
                to = to / "index.html"
            if not to.exists():
                yield f"{where} links to {target}, which is not there"
            elif to in pages and url.fragment not in pages[to].ids:
                yield f"{where} links to {target}, but there is no such heading"


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    if site.exists() and any(site.iterdir()) and not (site / "search" / "search_index.json").exists():
        sys.exit(f"site: {site} holds something else; mkdocs would delete it")
    with tempfile.TemporaryDirectory() as pages:
        for name in reached():
            copy = pathlib.Path(pages, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TREE / name, copy)
        headers = api_pages.read(TREE / "runtime" / name for name in ("hx.h", "hx_map.h"))
        pathlib.Path(pages, "docs/API.md").write_text(api_pages.markdown(headers), encoding="utf-8")
        command = [
            "mkdocs",
            "build",
            "--strict",
            "--clean",
            "--config-file",
            str(HERE / "mkdocs.yml"),
            "--site-dir",
            str(site),
        ]
        built = subprocess.run(
            command,
            env={**os.environ, "HX_SITE_PAGES": pages},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if built.returncode or "not included in the" in built.stdout:
        sys.exit(built.stdout + "site: the pages or mkdocs.yml have to be changed")
    wrong = list(wrong_links(site))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"site: {len(list(site.rglob('*.html')))} pages, {site / 'index.html'}")


if __name__ == "__main__":
    main()
