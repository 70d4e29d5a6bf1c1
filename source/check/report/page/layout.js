// SPDX-License-Identifier: Apache-2.0
// Where nodes and edges of a graph lie: dagre (third_party/dagre) in a worker, block by block.
const NODE_HEIGHT = 38, READABLE = 0.42;

// From whom to whom the blobs go, as pairs of places. A network input gets a node of its own, behind the others.
function connect(nodes) {
  const writers = new Map();
  nodes.forEach((node, place) => node.writes.forEach((blob) => writers.set(blob, place)));
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

// dagre puts a helper on every rank that an edge passes: edges that pass most are drawn without being laid out, until
// three helpers a node are left.
function markFarEdges(nodes, edges) {
  const rank = new Array(nodes.length).fill(0);
  const into = nodes.map(() => []);
  edges.forEach((edge) => into[edge.to].push(edge));
  const inputsFirst =
      nodes.map((_, i) => i).sort((a, b) => (nodes[b].level === 'input') - (nodes[a].level === 'input'));
  for (const i of inputsFirst)
    into[i].forEach((edge) => {
      rank[i] = Math.max(rank[i], rank[edge.from] + 1);
    });
  const span = (edge) => rank[edge.to] - rank[edge.from];
  const near = new Set(into.map((list) => list.reduce((a, b) => (!a || span(b) < span(a) ? b : a), null)));
  let helpers = 3 * nodes.length;
  for (const edge of [...edges].sort((a, b) => span(a) - span(b))) {
    if (near.has(edge)) continue;
    helpers -= span(edge) + 1;
    edge.far = helpers < 0;
  }
}

// Blocks of at least so many nodes, cut where all that is laid out passes one node, which both blocks hold: dagre takes
// more than twice the time for twice the nodes.
function blocksOf(nodes, edges) {
  const least = 60;
  const order =
      nodes.map((_, i) => i).sort((a, b) => (nodes[b].level === 'input') - (nodes[a].level === 'input') || a - b);
  const position = [];
  order.forEach((i, at) => {
    position[i] = at;
  });
  const reach = new Array(order.length).fill(0);
  edges.forEach((edge) => {
    reach[position[edge.from]] = Math.max(reach[position[edge.from]], position[edge.to]);
  });
  const cuts = [0];
  let furthest = 0;
  order.forEach((_, at) => {
    if (at - cuts.at(-1) >= least && furthest <= at) cuts.push(at);
    furthest = Math.max(furthest, reach[at]);
  });
  if (cuts.at(-1) < order.length - 1 || cuts.length < 2) cuts.push(order.length - 1);
  const blocks = cuts.slice(1).map((end, k) => ({places: order.slice(cuts[k], end + 1), edges: []}));
  let block = 0;
  const byPosition = edges.map((edge, i) => i).sort((a, b) => position[edges[a].to] - position[edges[b].to]);
  for (const i of byPosition) {
    while (position[edges[i].to] > cuts[block + 1]) block++;
    blocks[block].edges.push(i);
  }
  return blocks;
}

// In the worker: each block by dagre, put below the one before so that the node that both hold is in one place.
function answerLayout({data: {sizes, ends, blocks, options}}) {
  const places = [], points = [];
  for (const block of blocks) {
    const boxes = block.places.map((i) => ({v: String(i), width: sizes[i][0], height: sizes[i][1]}));
    const links = block.edges.map((i) => ({
                                    v: String(ends[i][0]),
                                    w: String(ends[i][1]),
                                    minlen: 1,
                                    weight: 1,
                                    width: 0,
                                    height: 0,
                                    labelpos: 'r',
                                    labeloffset: 0
                                  }));
    dagre.layout(boxes, links, options, {});
    const shared = places[block.places[0]], dx = shared ? shared[0] - boxes[0].x : 0,
          dy = shared ? shared[1] - boxes[0].y : 0;
    block.places.forEach((i, at) => {
      places[i] = [boxes[at].x + dx, boxes[at].y + dy];
    });
    block.edges.forEach((i, at) => {
      points[i] = links[at].points.map((p) => ({x: p.x + dx, y: p.y + dy}));
    });
  }
  postMessage([places, points]);
}

// One worker for all graphs of the page, which answers in the order in which it is asked.
const layouts = {
  worker: null,
  waiting: []
};
function askWorker(task) {
  if (!layouts.worker) {
    const text = `${document.getElementById('layout').textContent}\n${answerLayout}\nonmessage = answerLayout;`;
    layouts.worker = new Worker(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
    layouts.worker.onmessage = ({data}) => layouts.waiting.shift()(data);
  }
  layouts.worker.postMessage(task);
  return new Promise((done) => {
    layouts.waiting.push(done);
  });
}

async function layOut(nodes, edges) {
  const lines = edges.filter((edge) => !edge.far);
  const [places, points] = await askWorker({
    sizes: nodes.map((node) => [node.width, NODE_HEIGHT]),
    ends: lines.map((edge) => [edge.from, edge.to]),
    blocks: blocksOf(nodes, lines),
    options: {nodesep: 18, ranksep: 18, rankdir: 'TB'}
  });
  const left = places.reduce((least, [x], i) => Math.min(least, x - nodes[i].width / 2), Infinity);
  places.forEach(([x, y], i) => Object.assign(nodes[i], {x: x - left, y}));
  points.forEach((line, i) => {
    lines[i].points = line.map((p) => ({x: p.x - left, y: p.y}));
  });
}

function edgePath(nodes, edge) {
  if (edge.far || !edge.points) {
    const a = nodes[edge.from], b = nodes[edge.to], top = a.y + NODE_HEIGHT / 2, end = b.y - NODE_HEIGHT / 2;
    const aside = Math.max(a.x + a.width, b.x + b.width) + 40;
    return `M${a.x} ${top}C${aside} ${top + 40} ${aside} ${end - 40} ${b.x} ${end}`;
  }
  const [first, ...rest] = edge.points;
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    path +=
        next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
  });
  return path;
}
