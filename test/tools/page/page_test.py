# SPDX-License-Identifier: Apache-2.0
"""Pages of `model_check --html` in headless Chromium: what is shown, clicked and typed; nothing on the console, no
request, names as text; sizes and times of 1,000 and 5,000 layers.

Needs Debian's chromium and playwright from PyPI (into a virtual environment in the build folder); without one of them
the test is skipped (exit code 77) and says why. Screenshots stay in the work folder, to be looked at.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

NETWORK_END = "Convolution {0} 1 1 {1} {0} 1 4 4 3 3 1 1 1 1 1 -1 1 1 0 ,"
HOSTILE = "</script><img/onerror=alert(1)/src=x>"
# Until the graphs are drawn, on an idle machine: of a busy one the time is printed, and what the page's own thread took
# of a processor is judged (the layout runs in another thread).
SECONDS = {1000: 1.0, 5000: 5.0}
MEGABYTES = {1000: 5, 5000: 25}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def playwright(work):
    """The module, out of an environment of its own; this script starts again in it."""
    try:
        from playwright.sync_api import sync_playwright
        return sync_playwright
    except ImportError:
        pass
    python = work / "playwright" / "bin" / "python"
    if sys.executable == str(python):
        skip("playwright cannot be imported")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "playwright==1.65.2"]
        if subprocess.run(install, capture_output=True).returncode != 0:
            shutil.rmtree(python.parent.parent)
            skip("pip cannot install playwright 1.65.2 here")
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


def write_network(path, count, hostile=False):
    """Blocks of convolution, ReLU, convolution and the sum with what they read."""
    layers, blobs, last, block = [], ["data"], "data", "data"
    for place in range(count):
        name = HOSTILE if hostile and place == 1 else f"layer_{place}"
        if place % 4 == 3:
            layers.append(f"Add {name} 2 1 {last} {block} {name} 0 ,")
            block = name
        elif place % 4 == 1:
            layers.append(f"ReLU {name} 1 1 {last} {name} ,")
        else:
            layers.append(NETWORK_END.format(name, last))
        blobs.append(name)
        last = name
    lines = [f"1 {len(blobs)} 1 4206624772 ,", "data 4 1 4 8 8 0 ,", f" {' '.join(sorted(blobs))} ,", f"{last} ,",
             f" {count} ,", *layers]
    path.write_text("".join(f'"{line}"\n' for line in lines))


class Opened:
    """A page, and all that must not happen on it."""

    def __init__(self, browser, path, **options):
        self.page = browser.new_context(**options).new_page()
        self.console, self.requests = [], []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.console.append("a name was run"))
        self.metrics = self.page.context.new_cdp_session(self.page)
        self.metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-ready]", timeout=60000)
        self.seconds = int(self.page.get_attribute("body", "data-ready")) / 1000

    def processor_seconds(self):
        metrics = self.metrics.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def close(self):
        assert not self.console, self.console
        loaded = [url for url in self.requests if not url.startswith(("file:", "blob:"))]
        assert not loaded and sum(url.startswith("file:") for url in self.requests) == 1, self.requests
        self.page.context.close()

    def selected(self):
        return self.page.text_content("#details h2")

    def boxes(self, graph):
        return self.page.locator(graph).locator("g.chosen text:last-child").all_text_contents()


def judge_use(opened):
    """Layers 0 and 1 are one step of X86, and so on."""
    page = opened.page
    assert page.text_content("#verdict").startswith("✓ ALIGNED"), page.text_content("#verdict")
    assert "layer_" in opened.selected()
    model, steps = ".graph >> nth=0", ".graph >> nth=1"
    page.fill("#list input", "layer_8")
    assert page.locator("#list tbody tr").count() == 1
    page.click("#list tbody tr")
    step = opened.selected()
    held = opened.boxes(model)
    assert len(held) == 2 and "layer_8" in held, held
    assert len(opened.boxes(steps)) == 1
    page.keyboard.press("Escape")
    assert page.locator("#list tbody tr").count() > 3
    page.keyboard.press("j")
    assert opened.selected() != step
    page.keyboard.press("k")
    assert opened.selected() == step
    page.locator(f"{model} >> g.node:has-text('layer_9')").first.click()
    assert opened.selected() == step, "both layers are one step"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    before = page.get_attribute(f"{steps} >> svg.picture", "viewBox")
    page.keyboard.press("+")
    assert page.get_attribute(f"{steps} >> svg.picture", "viewBox") != before
    page.keyboard.press("0")
    assert page.locator(steps).locator("g.node, svg.picture path").count() > 0
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert page.locator("#details svg.plot").count() >= 4, "histogram, quantiles, maps"


def check_page(browser, check, work, name, count, hostile=False):
    network, html = work / f"{name}.tnnproto", work / f"{name}.html"
    write_network(network, count, hostile)
    subprocess.run([check, "-m", network, "-d", "X86", "--quiet", "--html", html], check=True, capture_output=True)
    megabytes = html.stat().st_size / 1e6
    opened = Opened(browser, html, viewport={"width": 1366, "height": 768})
    print(f"{name}: {count} layers, {megabytes:.1f} MB, open in {opened.seconds:.2f} s")
    return opened, megabytes


def shoot(browser, html, work):
    for name, options in {"laptop": {"viewport": {"width": 1366, "height": 768}},
                          "dark": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "dark"},
                          "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True}}.items():
        opened = Opened(browser, html, **options)
        wide = opened.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name}: {wide} pixels beyond the screen"
        opened.page.screenshot(path=work / f"{html.stem}-{name}.png", full_page=name == "phone")
        if name == "laptop":
            opened.page.pdf(path=work / f"{html.stem}.pdf")
        opened.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        skip("chromium is not installed")
    work = arguments.work / "page"
    work.mkdir(parents=True, exist_ok=True)
    with playwright(arguments.work)() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        check = arguments.bin / "model_check"
        opened, _ = check_page(browser, check, work, "small", 40)
        judge_use(opened)
        opened.close()
        opened, _ = check_page(browser, check, work, "hostile", 8, hostile=True)
        opened.page.fill("#list input", "onerror")
        opened.page.click("#list tbody tr")
        assert HOSTILE in opened.selected() and opened.page.locator("img").count() == 0
        opened.close()
        shoot(browser, work / "small.html", work)
        slow = []
        for count in SECONDS:
            opened, megabytes = check_page(browser, check, work, f"n{count}", count)
            assert megabytes <= MEGABYTES[count], megabytes
            seconds = opened.processor_seconds()
            print(f"    {seconds:.2f} s of its own thread")
            assert seconds <= SECONDS[count], seconds
            slow += [f"{count} layers: {opened.seconds} s"] if opened.seconds > SECONDS[count] else []
            opened.close()
        if slow:
            print(f"slower than wanted, which is this machine's load or our fault: {', '.join(slow)}")
        browser.close()


if __name__ == "__main__":
    main()
