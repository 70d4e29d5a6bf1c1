// SPDX-License-Identifier: Apache-2.0
// One graph, drawn as far as it is seen. Zoomed out, nodes are one path per level.
class GraphView {
  // choose(place): a node was clicked.
  constructor(title, choose) {
    this.choose = choose;
    this.nodes = this.all = [];
    this.chosen = new Set();
    this.canvas = s('svg', {class: 'picture', role: 'group', tabindex: 0});
    this.map = s('svg', {class: 'map', preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    this.wait = h('div', {class: 'wait'}, 'laying out ...');
    const button = (text, label, act) =>
        h('button', {type: 'button', 'aria-label': label, title: label, onclick: act}, text);
    const bar =
        h('div', {class: 'bar'}, this.title = h('b', {}, title), button('+', 'zoom in', () => this.zoom(1.4)),
          button('−', 'zoom out', () => this.zoom(1 / 1.4)), button('all', 'whole graph', () => this.fit()));
    this.element = h('div', {class: 'graph'}, bar, h('div', {class: 'canvas'}, this.canvas, this.map, this.wait));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Draws what lies around the first node chosen; the promise that it returns then holds another one, for the rest.
  async show(title, nodes) {
    this.title.textContent = title;
    this.canvas.setAttribute('aria-label', title + '; arrow keys go from node to node');
    const edges = connect(nodes);
    nodes.forEach((node, place) => {
      const cut = printable(node.name);
      node.place = place;
      node.line = node.level === 'none' ? node.note :  // there are many beside each other
          (node.note ? node.note + ' · ' : '') + (cut.length > 26 ? '…' + cut.slice(-25) : cut);
      node.width = Math.max(node.line.length, node.title.length) * 7.3 + 16;
    });
    this.nodes = this.all = [];
    this.waitFor('laying out ...', !nodes.length);
    const turn = this.turn = (this.turn || 0) + 1;
    if (!nodes.length) return {};
    const layout = new Layout(nodes, edges);
    await layout.around(this.looksAt());
    if (turn !== this.turn) return {};
    this.view = null;
    this.take(nodes, edges);
    this.center([this.looksAt()]);
    this.waitFor('laying out the rest ...');
    const rest = layout.rest().then(() => turn === this.turn && this.takeRest(nodes, edges));
    return {rest};
  }

  waitFor(text, over = false) {
    this.wait.textContent = text;
    this.wait.hidden = over;
  }

  // The node of those chosen that is to be seen in any case.
  looksAt() {
    return this.chosen.has(this.focus) ? this.focus : [...this.chosen][0] ?? 0;
  }

  // Nodes and edges as far as they are laid out.
  take(nodes, edges) {
    this.nodes = nodes.filter((node) => node.x !== undefined);
    this.edges = edges.filter(
        (edge) => (edge.far ? nodes[edge.from].x !== undefined && nodes[edge.to].x !== undefined : edge.points));
    for (const edge of this.edges) {
      const a = nodes[edge.from], b = nodes[edge.to];
      Object.assign(edge, {path: null, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y)});
    }
    for (const node of this.nodes) node.was = [node.x, node.y];
    this.all = nodes;
    this.right = this.nodes.reduce((most, node) => Math.max(most, node.x + node.width / 2), 1);
    this.bottom = this.nodes.reduce((most, node) => Math.max(most, node.y + NODE_HEIGHT / 2), 1);
    this.drawMap();
  }
  pathOf(edge) {
    return edge.path ??= edgePath(this.all, edge);
  }

  // What is looked at stays where it is.
  takeRest(nodes, edges) {
    const [width, height] = this.size(), {scale, x, y} = this.view;
    const off = ({was}) => Math.hypot(was[0] - x - width / scale / 2, was[1] - y - height / scale / 2);
    const nearest = this.nodes.reduce((a, b) => (off(b) < off(a) ? b : a));
    this.view = {scale, x: x + nearest.x - nearest.was[0], y: y + nearest.y - nearest.was[1]};
    const drawn = new Set(this.nodes);
    this.take(nodes, edges);
    this.waitFor('', true);
    if (this.chosen.size && !drawn.has(nodes[this.looksAt()]))
      this.center([this.looksAt()]);
    else
      this.draw();
  }

  size() {
    return [this.canvas.clientWidth || 300, this.canvas.clientHeight || 300];
  }

  placed(places) {
    return places.map((place) => this.all[place]).filter((node) => node?.x !== undefined);
  }

  // Looks at these nodes, else at the first, so that text can be read.
  center(places) {
    if (!this.nodes.length) return;
    const [width, height] = this.size();
    const usual = Math.min(1, Math.max(0.8, width / this.right));
    const scale = this.view && this.view.scale > READABLE ? this.view.scale : usual;
    const inView = this.placed(places);
    const of = inView.length ? inView : this.nodes.slice(0, 1);
    const x = of.reduce((sum, node) => sum + node.x, 0) / of.length;
    const y = of.reduce((sum, node) => sum + node.y, 0) / of.length;
    const lowest = Math.max(-20, this.bottom + 20 - height / scale);
    this.view = {scale, x: x - width / scale / 2, y: Math.min(Math.max(-20, y - height / scale / 2), lowest)};
    this.draw();
  }

  // For paper, and back.
  keepView() {
    this.kept = this.view;
  }
  restoreView() {
    this.view = this.kept || this.view;
    this.draw();
  }

  fit() {
    const [width, height] = this.size();
    const scale = Math.min(width / (this.right + 20), height / (this.bottom + 20), 1.5);
    this.view = {scale, x: this.right / 2 - width / scale / 2, y: this.bottom / 2 - height / scale / 2};
    this.draw();
  }

  zoom(factor, px, py) {
    if (!this.view) return;
    const [width, height] = this.size(), {scale, x, y} = this.view;
    const to = Math.min(4, Math.max(0.002, scale * factor));
    const ax = px ?? width / 2, ay = py ?? height / 2;
    this.view = {scale: to, x: x + ax / scale - ax / to, y: y + ay / scale - ay / to};
    this.draw();
  }

  // `focus`: the one of them to look at.
  select(places, focus) {
    this.chosen = new Set(places);
    this.focus = focus;
    if (!this.nodes.length || !this.view) return;
    const [width, height] = this.size(), {scale, x, y} = this.view;
    const seen = (node) => node.x > x && node.y > y && node.x < x + width / scale && node.y < y + height / scale;
    const all = this.placed(places);
    const close = all.length > 12 ? this.placed([this.looksAt()]) : all;  // of many, one is enough
    if (close.length && !(scale > READABLE && close.every(seen)))
      this.center(close.map((node) => node.place));
    else
      this.draw();
  }

  draw() {
    if (!this.nodes.length || !this.view) return;
    const [width, height] = this.size(), {scale, x, y} = this.view;
    const [right, bottom] = [x + width / scale, y + height / scale];
    this.canvas.setAttribute('viewBox', `${x} ${y} ${width / scale} ${height / scale}`);
    const seen = this.nodes.filter(
        (node) => node.y > y - NODE_HEIGHT && node.y < bottom + NODE_HEIGHT && node.x + node.width / 2 > x &&
            node.x - node.width / 2 < right);
    const within = (at) => at >= y && at <= bottom;  // far edges that only pass by would be a hatching
    const lines = this.edges.filter(
        (edge) => edge.bottom >= y && edge.top <= bottom && (!edge.far || within(edge.top) || within(edge.bottom)));
    const readable = scale > READABLE && seen.length < 1500;
    const path = (edges, name) =>
        edges.length && s('path', {class: name, d: edges.map((e) => this.pathOf(e)).join('')});
    const chosen = (edge) => this.chosen.has(edge.from) || this.chosen.has(edge.to);
    this.canvas.replaceChildren(
        path(lines.filter((e) => !e.far && !chosen(e)), 'edge') || '',
        path(lines.filter((e) => e.far && !chosen(e)), 'edge far') || '',
        path(lines.filter(chosen), 'edge chosen') || '',
        ...(readable ? seen.map((node) => this.drawNode(node)) : this.drawFar(seen, 1.5 / scale)));
    this.drawWindow(x, y, width / scale, height / scale);
  }

  drawNode(node) {
    const chosen = this.chosen.has(node.place) ? ' chosen' : '';
    const left = node.x - node.width / 2, top = node.y - NODE_HEIGHT / 2;
    return s(
        'g', {class: `node fill-${node.level}${chosen}`, 'data-place': node.place},
        s('title', {}, `${node.title}\n${printable(node.name)}`),
        s('rect', {x: left, y: top, width: node.width, height: NODE_HEIGHT}),
        s('text', {x: left + 8, y: top + 16}, node.title), s('text', {x: left + 8, y: top + 31}, node.line));
  }

  // Nodes too small for text, the worst last and at least so large; wrong ones have a cross, grey ones a line.
  drawFar(nodes, least) {
    const order = ['input', 'none', 'a0', 'a1', 'a2', 'untested', 'grey', 'wrong'];
    const paths = new Map(order.map((level) => [level, '']));
    let marks = '';
    for (const node of nodes) {
      const strong = node.level === 'wrong' ? 4 : node.level === 'grey' ? 3 : 1;
      const width = Math.max(node.width, least * strong), height = Math.max(NODE_HEIGHT, least * strong);
      paths.set(
          node.level,
          paths.get(node.level) + `M${node.x - width / 2} ${node.y - height / 2}h${width}v${height}h${- width}z`);
      const half = Math.min(width, height) / 3;
      if (strong > 1) marks += `M${node.x - half} ${node.y - half}l${2 * half} ${2 * half}`;
      if (strong > 3) marks += `M${node.x - half} ${node.y + half}l${2 * half} ${- 2 * half}`;
    }
    const drawn = order.filter((level) => paths.get(level))
                      .map((level) => s('path', {class: 'fill-' + level, d: paths.get(level)}));
    return [...drawn, s('path', {class: 'mark', d: marks})];
  }

  drawMap() {
    this.map.setAttribute('viewBox', `0 0 ${this.right} ${this.bottom}`);
    this.map.replaceChildren(
        ...this.drawFar(this.nodes, this.bottom / 400), this.window = s('rect', {class: 'window'}));
  }

  drawWindow(x, y, width, height) {
    const box = {x, y: Math.max(0, y), width, height: Math.max(Math.min(height, this.bottom), this.bottom / 100)};
    Object.entries(box).forEach(([name, number]) => this.window.setAttribute(name, number));
  }

  listen() {
    let from = null, moved = false;
    this.canvas.addEventListener('pointerdown', (event) => {
      from = [event.clientX, event.clientY];
      moved = false;
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (!from || !this.view || !event.buttons) return;
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = true;
      from = [event.clientX, event.clientY];
      this.view = {...this.view, x: this.view.x - dx / this.view.scale, y: this.view.y - dy / this.view.scale};
      this.draw();
    });
    this.canvas.addEventListener('click', (event) => {
      const node = event.target.closest?.('[data-place]');
      if (node && !moved) this.choose(Number(node.dataset.place));
    });
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (!this.view) return;
      if (event.ctrlKey || event.metaKey) return this.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
      const {scale} = this.view;
      this.view = {...this.view, x: this.view.x + event.deltaX / scale, y: this.view.y + event.deltaY / scale};
      this.draw();
    }, {passive: false});
    const jump = (event) => {
      if (!this.view || (event.type === 'pointermove' && !event.buttons)) return;
      const y = (event.offsetY / this.map.clientHeight) * this.bottom;
      this.view = {...this.view, y: y - this.size()[1] / this.view.scale / 2};
      this.draw();
    };
    ['pointerdown', 'pointermove'].forEach((kind) => this.map.addEventListener(kind, jump));
  }
}
