# SPDX-License-Identifier: Apache-2.0
"""Pages of `model_check --html` in headless Chromium: what is shown, clicked and typed; nothing on the console, no
request, names as text; sizes and times of 1,000 and 5,000 layers.

Needs Debian's chromium, and playwright, onnx and numpy from PyPI (in a virtual environment in the build folder);
without one of them the test is skipped (exit code 77) and says why. Screenshots stay in the work folder, to be looked
at.
"""
import argparse
import importlib
import os
import pathlib
import shutil
import subprocess
import sys

PACKAGES = ["playwright==1.65.2", "onnx==1.23.2", "numpy"]
# Until verdict, list and the graphs around the selected step are on the screen. What the page's own thread took of a
# processor is judged always; the time itself where the machine had processors to spare, for it waits for the browser's
# other processes, too.
SECONDS = {1000: 1.0, 5000: 5.0}
MEGABYTES = {1000: 5, 5000: 25}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def environment(work):
    """Starts this script again where its packages are."""
    python = work / "page_packages" / "bin" / "python"
    if pathlib.Path(sys.executable) == python:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *PACKAGES]
        if subprocess.run(install, capture_output=True).returncode != 0:
            shutil.rmtree(python.parent.parent)
            skip(f"pip cannot install {', '.join(PACKAGES)} here")
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


def judge_list(opened):
    """Layers 0 and 1 are one step of X86, and so on."""
    page = opened.page
    assert page.text_content("#verdict").startswith("✓ ALIGNED"), page.text_content("#verdict")
    assert "layer_" in opened.selected()
    assert opened.kinds() == ["model", "steps"], "a tnnproto has no other file"
    page.fill("#list input", "layer_8")
    assert page.locator("#list tr[data-step]").count() == 1
    page.click("#list tr[data-step]")
    step = opened.selected()
    held = opened.boxes("model")
    assert len(held) == 2 and "layer_8" in held, held
    assert len(opened.boxes("steps")) == 1
    page.keyboard.press("Escape")
    assert page.locator("#list tr[data-step]").count() > 3
    page.keyboard.press("j")
    assert opened.selected() != step
    page.keyboard.press("k")
    assert opened.selected() == step
    opened.graph("model").locator("g.node:has-text('layer_9')").first.click()
    assert opened.selected() == step, "both layers are one step"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")


def judge_keys(opened):
    page, steps = opened.page, opened.graph("steps")
    before = steps.locator("svg.picture").get_attribute("viewBox")
    page.keyboard.press("+")
    assert steps.locator("svg.picture").get_attribute("viewBox") != before
    page.keyboard.press("0")
    assert steps.locator("g.node, svg.picture path").count() > 0
    page.keyboard.press("m")
    assert opened.kinds() == ["steps"]
    page.keyboard.press("m")
    assert opened.kinds() == ["model", "steps"]
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert page.locator("#details svg.plot").count() >= 4, "histogram, quantiles, maps"
    end = page.text_content("#rests")
    for words in ("compared: ", "on data f32 [1,4,8,8]: generated", "its values: ", "not tested: nothing",
                  "smallest gain error that would have been seen"):
        assert words in end, words


def node_at(opened, name):
    """Looks for a node of the file's graph and clicks it."""
    opened.page.evaluate(
        "name => views.all[0].view.center([file.nodes.findIndex((node) => node.name === name)])", name)
    opened.graph("file").locator(f"g.node:has-text('{name}')").first.click()


def judge_three(opened):
    """File, model and steps beside each other: one to many, many to one, and nodes that became nothing."""
    page = opened.page
    opened.whole()
    assert opened.kinds() == ["file", "model", "steps"], opened.kinds()
    node_at(opened, "mish_1")
    assert opened.selected() == "mish_1" and "3 layers" in page.text_content("#details")
    assert len([name for name in opened.boxes("model") if "mish_1" in name]) == 3, opened.boxes("model")
    assert opened.boxes("steps"), "the steps that hold its layers"
    node_at(opened, "relu_1")
    chosen = opened.boxes("file")
    assert "relu_1" in chosen and "conv_1" in chosen, f"X86 fuses them: {chosen}"
    assert len(opened.boxes("steps")) == 1
    for name, said in (("back_0", "was known when the model was loaded"), ("same_1", "gives what it reads"),
                       ("unread_1", "No network output needs")):
        node_at(opened, name)
        assert opened.selected() == name and said in page.text_content("#details"), page.text_content("#details")
        assert opened.boxes("model") == [] and opened.boxes("steps") == [], name
        assert len(opened.boxes("file")) == 1
    node_at(opened, "back_0")
    page.locator("#details button.link").first.click()
    assert "biased_0" in opened.boxes("model"), "the layer that reads the constant"
    opened.graph("model").locator("g.node:has-text('conv_1')").first.click()
    assert "relu_1" in opened.boxes("file") and "conv_1" in opened.boxes("file")
    page.keyboard.press("o")
    assert opened.kinds() == ["model", "steps"]
    page.keyboard.press("o")
    assert opened.boxes("file"), "what is selected is seen again"
    node_at(opened, "same_1")
    opened.graph("file").locator("svg.picture").focus()
    page.keyboard.press("ArrowUp")
    assert opened.selected() == "relu_1", "a graph that has the focus goes by its own nodes"
    page.keyboard.press("j")
    assert opened.selected() == "same_1"


def check(browser, arguments, work, name, write, **options):
    """A page of the network that `write` makes, open."""
    from pages import Opened
    network, html = work / name, work / f"{pathlib.Path(name).stem}.html"
    write(network)
    subprocess.run([arguments.bin / "model_check", "-m", network, "-d", "X86", "--quiet", "--html", html], check=True,
                   capture_output=True)
    return Opened(browser, html, **({"viewport": {"width": 1366, "height": 768}} | options)), html


def judge_time(opened, html, count, slow):
    """Open means: the verdict, the rows that are seen and the chosen node in each graph are there."""
    megabytes = html.stat().st_size / 1e6
    seen, whole = opened.page.evaluate("seenWhenReady"), opened.whole()
    assert "ALIGNED" in seen["verdict"] and 5 < seen["rows"] < 100, f"as many rows as are seen: {seen}"
    assert seen["drawn"] and all(nodes > 3 and chosen > 0 for nodes, chosen in seen["drawn"]), seen
    own = opened.processor_seconds()
    print(f"{html.stem}: {count} layers, {megabytes:.1f} MB, open in {opened.seconds:.2f} s with {len(seen['drawn'])} "
          f"graphs, all of them laid out after {whole:.2f} s; {own:.2f} s of the page's own thread")
    assert megabytes <= MEGABYTES[count], megabytes
    assert own <= SECONDS[count], own
    slow += [html.stem] if opened.seconds > SECONDS[count] else []
    opened.page.evaluate("chooseStep(currentRun().steps.length - 1)")
    assert opened.page.locator("#list tr.selected").count() == 1 and opened.boxes("steps"), "the last row is there, too"
    opened.close()


def shoot(browser, html, work):
    from pages import Opened
    laptop, phone = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
    for name, options in {"laptop": {"viewport": laptop}, "dark": {"viewport": laptop, "color_scheme": "dark"},
                          "wide": {"viewport": {"width": 1900, "height": 1000}},
                          "phone": {"viewport": phone, "is_mobile": True}}.items():
        opened = Opened(browser, html, **options)
        opened.whole()
        wide = opened.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name}: {wide} pixels beyond the screen"
        shown = opened.kinds()
        assert shown == {"phone": ["steps"], "wide": ["file", "model", "steps"]}.get(name, ["file", "steps"]), shown
        opened.page.screenshot(path=work / f"{html.stem}-{name}.png", full_page=name == "phone")
        if name == "laptop":
            opened.page.pdf(path=work / f"{html.stem}.pdf")
            opened.page.emulate_media(media="print")
            opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            steps = opened.page.evaluate("runs[0].steps.length")
            assert opened.page.locator("#list tr[data-step]").count() == steps, "paper has all rows"
        opened.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if shutil.which("chromium") is None:
        skip("chromium is not installed")
    environment(arguments.work.resolve())
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    pages = importlib.import_module("pages")
    work = arguments.work.resolve() / "page"
    work.mkdir(parents=True, exist_ok=True)
    with importlib.import_module("playwright.sync_api").sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened, _ = check(browser, arguments, work, "small.tnnproto", lambda path: pages.write_tnnproto(path, 40))
        judge_list(opened)
        judge_keys(opened)
        opened.close()
        opened, three = check(browser, arguments, work, "three.onnx", lambda path: pages.write_onnx(path, 40),
                              viewport={"width": 1900, "height": 1000})
        judge_three(opened)
        opened.close()
        shoot(browser, three, work)
        for name, write in (("hostile.tnnproto", pages.write_tnnproto), ("hostile_file.onnx", pages.write_onnx)):
            opened, _ = check(browser, arguments, work, name, lambda path, write=write: write(path, 8, hostile=True))
            opened.page.fill("#list input", "onerror")
            opened.page.click("#list tr[data-step]")
            assert pages.HOSTILE in opened.page.text_content("#details") and opened.page.locator("img").count() == 0
            opened.close()
        slow = []
        for count in SECONDS:
            for name, write in ((f"n{count}.tnnproto", lambda path: pages.write_tnnproto(path, count)),
                                (f"far{count}.tnnproto", lambda path: pages.write_tnnproto(path, count, far=True)),
                                (f"file{count}.onnx", lambda path: pages.write_onnx(path, count))):
                opened, html = check(browser, arguments, work, name, write, viewport={"width": 1900, "height": 1000})
                judge_time(opened, html, count, slow)
        browser.close()
    busy = os.getloadavg()[0] > os.cpu_count() / 2
    assert busy or not slow, f"slower than wanted: {', '.join(slow)}"
    if slow:
        print(f"slower than wanted, on a machine that has other work: {', '.join(slow)}")


if __name__ == "__main__":
    main()
