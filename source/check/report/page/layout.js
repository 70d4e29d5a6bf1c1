// SPDX-License-Identifier: Apache-2.0
// Where nodes and edges of a graph lie: dagre (third_party/dagre) in a worker, block by block. The blocks around what
// is looked at come first, so that it can be read while the rest is laid out.
const NODE_HEIGHT = 38, READABLE = 0.42;

// From whom to whom the blobs go, as pairs of places. A network input gets a node of its own, behind the others.
function connect(nodes) {
  const writers = new Map();
  nodes.forEach((node, place) => node.writes.forEach((blob) => blob && writers.set(blob, place)));
  const inputs = new Set(drawn.inputs);
  const edges = new Map();
  for (let place = 0, count = nodes.length; place < count; place++) {
    for (const blob of nodes[place].reads) {
      if (!writers.has(blob) && inputs.has(blob)) {
        writers.set(blob, nodes.length);
        nodes.push({title: 'input', name: blob, level: 'input', reads: [], writes: [blob]});
      }
      const from = writers.get(blob);
      if (from !== undefined && from !== place) edges.set(from + ' ' + place, {from, to: place});
    }
  }
  return [...edges.values()];
}

// Each node behind what it reads, as far as there is no cycle, and otherwise as they stand. What no network input
// reaches (constants of a file) stands right before its first reader.
function orderOf(nodes, edges) {
  const into = nodes.map(() => []), out = nodes.map(() => []);
  edges.forEach(({from, to}) => {
    into[to].push(from);
    out[from].push(to);
  });
  const fed = new Set(nodes.map((_, i) => i).filter((i) => nodes[i].level === 'input'));
  for (const i of fed) out[i].forEach((next) => fed.add(next));  // a set grows while it is walked
  const order = [], seen = new Set();
  const visit = (root) => {
    const open = [[root, 0]];
    seen.add(root);
    while (open.length) {
      const top = open.at(-1);
      const next = into[top[0]][top[1]++];
      if (next === undefined)
        order.push(open.pop()[0]);
      else if (!seen.has(next)) {
        seen.add(next);
        open.push([next, 0]);
      }
    }
  };
  const now = (i) => (fed.has(i) && nodes[i].level !== 'input') || !out[i].length;
  for (const chosen of [now, () => true]) nodes.forEach((_, i) => chosen(i) && !seen.has(i) && visit(i));
  return {order, into, out, fed};
}

// dagre puts a helper on every rank that an edge passes: edges that pass most are drawn without being laid out, until
// three helpers a node are left.
function markFarEdges(nodes, edges, {order, into, out, fed}) {
  const rank = new Array(nodes.length).fill(0);
  const late = (i) => fed.size && !fed.has(i);
  for (const i of order)
    into[i].forEach((from) => {
      if (late(i) || !late(from)) rank[i] = Math.max(rank[i], rank[from] + 1);
    });
  for (const i of [...order].reverse())
    if (late(i) && out[i].length) rank[i] = out[i].reduce((least, to) => Math.min(least, rank[to]), Infinity) - 1;
  const span = (edge) => Math.abs(rank[edge.to] - rank[edge.from]);
  const near = new Array(nodes.length).fill(null);
  edges.forEach((edge) => {
    if (!near[edge.to] || span(edge) < span(near[edge.to])) near[edge.to] = edge;
  });
  const kept = new Set(near);
  let helpers = 3 * nodes.length;
  for (const edge of [...edges].sort((a, b) => span(a) - span(b))) {
    if (kept.has(edge)) continue;
    helpers -= span(edge) + 1;
    edge.far = helpers < 0;
  }
}

// dagre takes more than twice the time for twice the nodes: blocks of at least 60, cut where all that is laid out
// passes one node, which both blocks hold. Where there is no such node within 300, where the fewest edges pass; these
// are drawn without being laid out.
function blocksOf(order, edges) {
  const least = 60, most = 300;
  const position = [];
  order.forEach((i, at) => {
    position[i] = at;
  });
  const lines = edges.filter((edge) => !edge.far);
  for (const edge of lines) edge.far = position[edge.from] > position[edge.to];  // of a cycle
  const reach = new Array(order.length).fill(0), passing = new Array(order.length + 1).fill(0);
  for (const edge of lines) {
    const a = position[edge.from], b = position[edge.to];
    if (edge.far) continue;
    reach[a] = Math.max(reach[a], b);
    passing[a + 1]++;
    passing[b + 1]--;
  }
  for (let at = 1; at < passing.length; at++) passing[at] += passing[at - 1];
  const blocks = [];
  let begin = 0, furthest = 0, shares = false;
  const close = (end, next, sharesNext) => {
    blocks.push({places: order.slice(begin, end), shares});
    [begin, furthest, shares] = [next, 0, sharesNext];
  };
  for (let at = 0; at < order.length; at++) {
    if (at - begin >= least && furthest <= at) {
      close(at + 1, at, true);
    } else if (at - begin >= most) {
      let cut = begin + least;
      for (let i = cut; i <= at; i++) cut = passing[i] < passing[cut] ? i : cut;
      close(cut, cut, false);
      at = cut;
    }
    furthest = Math.max(furthest, reach[at]);
  }
  if (!blocks.length || begin < order.length - 1 || !shares) close(order.length, order.length, false);
  const blockOf = [];  // where the node is, and where it is not shared with the block before
  blocks.forEach((block, k) => block.places.forEach((i) => {
    blockOf[i] = k;
  }));
  const local = blocks.map((block) => new Map(block.places.map((i, at) => [i, at])));
  blocks.forEach((block) => Object.assign(block, {edges: [], links: []}));
  edges.forEach((edge, e) => {
    if (edge.far) return;
    const k = blockOf[edge.to] > 0 && !local[blockOf[edge.to]].has(edge.from) ? blockOf[edge.to] - 1 : blockOf[edge.to];
    edge.far = !local[k].has(edge.from) || !local[k].has(edge.to);
    if (edge.far) return;
    blocks[k].edges.push(e);
    blocks[k].links.push([local[k].get(edge.from), local[k].get(edge.to)]);
  });
  return blocks;
}

// In the worker: each block by dagre.
function answerLayout({data: {blocks, options}}) {
  postMessage(blocks.map(({sizes, links}) => {
    const boxes = sizes.map(([width, height], i) => ({v: String(i), width, height}));
    const lines = links.map(([from, to]) => ({
                              v: String(from),
                              w: String(to),
                              minlen: 1,
                              weight: 1,
                              width: 0,
                              height: 0,
                              labelpos: 'r',
                              labeloffset: 0
                            }));
    dagre.layout(boxes, lines, options, {});
    return {boxes: boxes.map(({x, y}) => [x, y]), points: lines.map((line) => line.points)};
  }));
}

// One worker for all graphs of the page, which answers in the order in which it is asked. It starts while the page
// makes its list.
const layouts = {
  worker: runs.length ? startWorker() : null,
  waiting: []
};
function startWorker() {
  const text = `${document.getElementById('layout').textContent}\n${answerLayout}\nonmessage = answerLayout;`;
  const worker = new Worker(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
  worker.onmessage = ({data}) => layouts.waiting.shift()(data);
  return worker;
}
function askWorker(task) {
  layouts.worker.postMessage(task);
  return new Promise((done) => {
    layouts.waiting.push(done);
  });
}

// Constants that one node reads stand at its left, up to six in a column: laid out by themselves they would push the
// graph aside. By node what stands there.
function besideOf(nodes, edges) {
  const out = nodes.map(() => []), read = new Set();
  edges.forEach((edge) => {
    out[edge.from].push(edge);
    read.add(edge.to);
  });
  const beside = new Map();
  nodes.forEach((node, i) => {
    if (node.level !== 'none' || read.has(i) || out[i].length !== 1) return;
    const [edge] = out[i], those = beside.get(edge.to) || [];
    if (those.length === 6) return;
    beside.set(edge.to, [...those, edge]);
    edge.beside = true;
  });
  return beside;
}

// The layout of one graph, which comes in two parts.
class Layout {
  constructor(nodes, edges) {
    Object.assign(this, {nodes, edges});
    this.beside = besideOf(nodes, edges);
    this.readers = new Map([...this.beside].flatMap(([to, those]) => those.map((edge) => [edge.from, to])));
    const lines = edges.filter((edge) => !edge.beside);
    const order = orderOf(nodes, lines);
    markFarEdges(nodes, lines, order);
    this.lines = lines;
    this.blocks = blocksOf(order.order.filter((i) => !this.readers.has(i)), lines);
  }

  // Of a node and what stands beside it; as much is kept free at its right, so that it stays in the middle.
  sizeOf(i) {
    const those = this.beside.get(i) || [];
    const widest = those.reduce((most, edge) => Math.max(most, this.nodes[edge.from].width + 14), 0);
    return [this.nodes[i].width + 2 * widest, Math.max(NODE_HEIGHT, those.length * (NODE_HEIGHT + 8) - 8)];
  }

  // Lays out the blocks around that node: as many as fill a screen.
  async around(place) {
    const at = this.readers.get(place) ?? place;
    const holds = Math.max(0, this.blocks.findIndex((block) => block.places.includes(at)));
    await this.ask(this.blocks.slice(Math.max(0, holds - 1), holds + 2));
  }
  rest() {
    return this.ask(this.blocks.filter((block) => !block.boxes));
  }

  async ask(blocks) {
    const answers = await askWorker({
      blocks: blocks.map(({places, links}) => ({sizes: places.map((i) => this.sizeOf(i)), links})),
      options: {nodesep: 18, ranksep: 18, rankdir: 'TB'}
    });
    answers.forEach((answer, k) => Object.assign(blocks[k], answer));
    this.place();
  }

  // Each block below the one before, so that the node that both hold is in one place; mirrored where the graph would
  // drift to one side. Of blocks that are not laid out yet the height is a guess.
  place() {
    const {nodes, edges, lines} = this;
    let bottom = 0, last = null;
    for (const block of this.blocks) {
      if (!block.boxes) {
        bottom += block.places.length * (NODE_HEIGHT + 18);
        last = null;
        continue;
      }
      const half = block.places.map((i) => this.sizeOf(i)[1] / 2);
      const [x, y] = block.boxes[0], top = Math.min(...block.boxes.map((box, at) => box[1] - half[at]));
      const begin = block.shares && last ? last : {x: 0, y: bottom + 18 + y - top};
      const side = (block.boxes.at(-1)[0] - x) * begin.x > 0 ? -1 : 1;
      const placed = (a, b) => ({x: begin.x + side * (a - x), y: begin.y + b - y});
      block.places.forEach((i, at) => {
        Object.assign(nodes[i], placed(...block.boxes[at]));
        bottom = Math.max(bottom, nodes[i].y + half[at]);
        this.placeBeside(i);
      });
      block.edges.forEach((e, at) => {
        lines[e].points = block.points[at].map((point) => placed(point.x, point.y));
      });
      last = nodes[block.places.at(-1)];
    }
    const placed = nodes.filter((node) => node.x !== undefined);
    const left = placed.reduce((least, node) => Math.min(least, node.x - node.width / 2), Infinity);
    placed.forEach((node) => {
      node.x -= left;
    });
    edges.forEach((edge) => edge.points?.forEach((point) => {
      point.x -= left;
    }));
  }

  placeBeside(i) {
    const node = this.nodes[i], those = this.beside.get(i) || [];
    those.forEach((edge, at) => {
      const one = this.nodes[edge.from], right = node.x - node.width / 2;
      one.x = right - 14 - one.width / 2;
      one.y = node.y + (at - (those.length - 1) / 2) * (NODE_HEIGHT + 8);
      edge.points = [{x: right - 14, y: one.y}, {x: right, y: node.y}];
    });
  }
}

function edgePath(nodes, edge) {
  const a = nodes[edge.from], b = nodes[edge.to];
  const top = a.y + NODE_HEIGHT / 2, end = b.y - NODE_HEIGHT / 2;
  if (edge.far) {  // beside what lies between
    const aside = Math.max(a.x + a.width, b.x + b.width) + 40;
    return `M${a.x} ${top}C${aside} ${top + 40} ${aside} ${end - 40} ${b.x} ${end}`;
  }
  // From border to border, where what stands beside a node makes its place higher than itself.
  const points = edge.beside ? edge.points : [{x: a.x, y: top}, ...edge.points.slice(1, -1), {x: b.x, y: end}];
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    path +=
        next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
  });
  return path;
}
