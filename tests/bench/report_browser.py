#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_browser.py FOLDER PAGE...: opens pages of twelve charts in headless Chromium, light and dark, wide and narrow, and
checks what a reader sees: no message on the console, no request for another file, every text of a chart inside it and on
no other text, contrast, no sideways scrolling. Stores screenshots and the A4 print of each in FOLDER."""

import base64
import json
import os
import subprocess
import sys
import tempfile

LOOK = r"""
(() => {
  const faults = [], charts = [...document.querySelectorAll("svg")];
  const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = parse(c).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const paper = getComputedStyle(document.body).backgroundColor;
  for (const svg of charts) {
    const name = svg.querySelector("title").textContent, box = svg.getBoundingClientRect();
    if (svg.getAttribute("role") !== "img" || !svg.querySelector("desc").textContent) faults.push(name + ": no description");
    const texts = [...svg.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
    if (texts.length < 5) faults.push(name + ": too few texts");
    for (const [t, r] of texts) {
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
        faults.push(name + ": outside: " + t.textContent);
      const c = contrast(getComputedStyle(t).fill, paper);
      if (c < 4.5) faults.push(name + ": contrast " + c.toFixed(1) + ": " + t.textContent);
    }
    for (let i = 0; i < texts.length; i++)
      for (let j = 0; j < i; j++) {
        const [s, a] = texts[i], [t, b] = texts[j];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
          faults.push(name + ": '" + s.textContent + "' covers '" + t.textContent + "'");
      }
    for (const m of svg.querySelectorAll(".mark, .line")) {
      const style = getComputedStyle(m), tone = m.classList.contains("mark") ? style.fill : style.stroke;
      if (contrast(tone, paper) < 3) faults.push(name + ": a mark of contrast " + contrast(tone, paper).toFixed(1));
    }
  }
  for (const e of document.querySelectorAll("p, td, th, dd, a, figcaption, caption")) {
    const c = contrast(getComputedStyle(e).color, paper);
    if (c < 4.5) faults.push("contrast " + c.toFixed(1) + ": " + e.textContent.slice(0, 40));
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push("scrolls sideways: " + root.scrollWidth + " of " + root.clientWidth);
  return {faults, charts: charts.length, scripts: document.scripts.length, images: document.querySelectorAll("img").length,
          sections: document.querySelectorAll("section").length, rows: document.querySelectorAll("tbody tr").length,
          resources: performance.getEntriesByType("resource").length, height: root.scrollHeight, paper};
})()"""


class Browser:
    """Speaks the DevTools protocol over two pipes, which Chromium has as descriptors 3 and 4."""

    def __init__(self, folder):
        down, up = os.pipe(), os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"]
        script = f'exec 3<&{down[0]} 4>&{up[1]}; exec "$@"'
        self.process = subprocess.Popen(["sh", "-c", script, "sh", *command], pass_fds=(down[0], up[1]),
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder})
        os.close(down[0])
        os.close(up[1])
        self.to, self.back = down[1], os.fdopen(up[0], "rb")
        self.number, self.session, self.events, self.rest = 0, None, [], b""

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.back.fileno(), 1 << 16)
            if not more:
                raise RuntimeError("chromium has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def open(self, path):
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("Page.loadEventFired")

    def show(self, scheme, width):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        return self.call("Runtime.evaluate", expression=LOOK, returnByValue=True)["result"]["value"]

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=30)


def messages(events):
    """What the console shows, and what was requested beside the page itself."""
    requests = [e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"]
    for event in events:
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded",
                                   "Page.javascriptDialogOpening"):
            yield f"{event['method']}: {json.dumps(event['params'])[:300]}"
    for url in requests[1:]:
        yield f"a request for {url}"


def look(browser, page, folder):
    """Returns what is wrong with the page."""
    name = os.path.splitext(os.path.basename(page))[0]
    faults, papers = [], set()
    browser.open(page)
    for scheme, width in ("light", 900), ("dark", 900), ("light", 360):
        seen = browser.show(scheme, width)
        papers.add(seen["paper"])
        faults += [f"{scheme}, {width} px: {fault}" for fault in seen["faults"]]
        if (seen["charts"], seen["scripts"], seen["images"], seen["sections"]) != (12, 0, 0, 9) or seen["rows"] < 100:
            faults.append(f"the page has {seen}")
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": min(seen["height"], 7000), "scale": 1})
        with open(f"{folder}/{name}-{scheme}-{width}.png", "wb") as f:
            f.write(base64.b64decode(shot["data"]))
    if len(papers) != 2:
        faults.append(f"light and dark have the background {papers}")
    pdf = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
    with open(f"{folder}/{name}.pdf", "wb") as f:
        f.write(pdf)
    if not pdf.startswith(b"%PDF"):
        faults.append("the print is no PDF")
    return [f"{name}: {fault}" for fault in faults + list(messages(browser.events))]


def main():
    faults = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(home)
        try:
            for page in sys.argv[2:]:
                faults += look(browser, page, sys.argv[1])
        finally:
            browser.close()
    for fault in faults[:30]:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
