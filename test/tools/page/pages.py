# SPDX-License-Identifier: Apache-2.0
"""Networks for the page's test, and a page open in Chromium with all that must not happen on it."""
import numpy

HOSTILE = "</script><img/onerror=alert(1)/src=x>"
CONVOLUTION = "Convolution {0} 1 1 {1} {0} 1 4 4 3 3 1 1 1 1 1 -1 1 1 0 ,"


def write_tnnproto(path, count, hostile=False, far=False):
    """Blocks of convolution, ReLU, convolution and the sum with what they read; `far`: with what layer 0 wrote."""
    layers, blobs, last, block = [], ["data"], "data", "data"
    for place in range(count):
        name = HOSTILE if hostile and place == 1 else f"layer_{place}"
        if place % 4 == 3:
            layers.append(f"Add {name} 2 1 {last} {'layer_0' if far else block} {name} 0 ,")
            block = name
        elif place % 4 == 1:
            layers.append(f"ReLU {name} 1 1 {last} {name} ,")
        else:
            layers.append(CONVOLUTION.format(name, last))
        blobs.append(name)
        last = name
    lines = [f"1 {len(blobs)} 1 4206624772 ,", "data 4 1 4 8 8 0 ,", f" {' '.join(sorted(blobs))} ,", f"{last} ,",
             f" {count} ,", *layers]
    path.write_text("".join(f'"{line}"\n' for line in lines))


def write_onnx(path, count, hostile=False):
    """The same with a constant, a Mish (three of our layers), an Identity and a node that nobody reads in each block:
    `count` nodes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = numpy.random.default_rng(1)
    nodes, weights, last = [], [], "data"

    def node(kind, reads, name, **attributes):
        nodes.append(helper.make_node(kind, reads, [name], name=name, **attributes))
        return name

    while len(nodes) < count:
        at = str(len(nodes) // 9)
        read = last
        shift = numpy_helper.from_array(random.normal(size=(1, 4, 1, 1)).astype(numpy.float32))
        node("Constant", [], f"shift_{at}", value=shift)
        node("Neg", [f"shift_{at}"], f"back_{at}")
        weights.append(numpy_helper.from_array(random.normal(0, 0.005, (4, 4, 3, 3)).astype(numpy.float32), f"w_{at}"))
        last = node("Conv", [last, f"w_{at}"], HOSTILE if hostile and at == "0" else f"conv_{at}", pads=[1, 1, 1, 1])
        last = node("Relu", [last], f"relu_{at}")
        last = node("Identity", [last], f"same_{at}")
        last = node("Mish", [last], f"mish_{at}")
        last = node("Add", [last, f"back_{at}"], f"biased_{at}")
        last = node("Add", [last, read], f"sum_{at}")
        node("Exp", [last], f"unread_{at}")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8, 8]) for name in ("data", last)]
    graph = helper.make_graph(nodes, "blocks", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


class Opened:
    """A page. `seconds` until the verdict, the list and the graphs around the selected step were on the screen."""

    def __init__(self, browser, path, **options):
        self.page = browser.new_context(**options).new_page()
        self.console, self.requests = [], []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.console.append("a name was run"))
        self.metrics = self.page.context.new_cdp_session(self.page)
        self.metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.add_init_script(SEEN_WHEN_READY)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-ready]", timeout=60000)
        self.seconds = int(self.page.get_attribute("body", "data-ready")) / 1000

    def whole(self):
        """Seconds until every graph that is shown is laid out to its end."""
        self.page.wait_for_selector("body[data-whole]", timeout=60000)
        return int(self.page.get_attribute("body", "data-whole")) / 1000

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

    def graph(self, kind):
        """Of "file", "model" or "steps"."""
        return self.page.locator(f".graph[data-kind={kind}]")

    def boxes(self, kind):
        """The names in the chosen nodes of a graph."""
        return self.graph(kind).locator("g.chosen text:last-child").all_text_contents()

    def kinds(self):
        return self.page.eval_on_selector_all(".graph:not([hidden])", "all => all.map(one => one.dataset.kind)")


# What is on the page in the moment in which it says that it is open.
SEEN_WHEN_READY = """
new MutationObserver((_, observer) => {
  if (!document.body?.dataset.ready) return;
  observer.disconnect();
  window.seenWhenReady = {
    verdict: document.getElementById('verdict').textContent,
    rows: document.querySelectorAll('#list tr[data-step]').length,
    drawn: [...document.querySelectorAll('.graph:not([hidden])')].map((graph) => [
      graph.querySelectorAll('g.node').length, graph.querySelectorAll('g.chosen').length])
  };
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready']});
"""
