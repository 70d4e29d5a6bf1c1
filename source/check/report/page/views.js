// SPDX-License-Identifier: Apache-2.0
// Up to three graphs side by side: the operators of the model's file, the layers that were made of them, and the steps
// that the device made of these. Which nodes of one are which of the others, and which graphs stand on the page.
const file = drawn.file;
const layersOf = file.nodes.map(() => []);  // by node of the file, places in drawn.model
drawn.model.forEach((layer, place) => layersOf[layer.node]?.push(place));
const nodesByName = new Map();
file.nodes.forEach((node, place) => nodesByName.has(node.name) || nodesByName.set(node.name, place));
const readersOfBlob = new Map();
const readsOf = (node) => [...node.reads, ...node.inner_reads].filter(Boolean);
file.nodes.forEach((node, place) => readsOf(node).forEach((blob) => {
  if (!readersOfBlob.has(blob)) readersOfBlob.set(blob, []);
  readersOfBlob.get(blob).push(place);
}));

const FATES = {
  folded: ['folded', 'What it gives was known when the model was loaded: no layer computes it.'],
  'handed on': ['handed on', 'It gives what it reads: no layer was made of it.'],
  unread: ['not needed', 'No network output needs what it gives: no layer was made of it.']
};

// The nodes with layers that read what a node without any gives, also by way of others without.
function readersBehind(place) {
  const found = new Set(), seen = new Set([place]);
  for (const at of seen) {  // a set grows while it is walked
    for (const blob of file.nodes[at].writes)
      for (const reader of readersOfBlob.get(blob) || []) (layersOf[reader].length ? found : seen).add(reader);
  }
  return [...found];
}

const stepOfLayer = (place) => currentRun().holds.get(drawn.model[place].index);
function stepsOfNode(place) {
  if (!layersOf[place].length) return currentRun().folded.get(file.nodes[place].name) || [];
  return [...new Set(layersOf[place].map(stepOfLayer).filter((step) => step !== undefined))];
}

// What is selected in each graph. A step stands for all of its layers, and these for their nodes.
function selection() {
  const steps = state.node >= 0 ? stepsOfNode(state.node) : state.step >= 0 ? [state.step] : [];
  const held = new Set(steps);
  const own = state.node >= 0 ? layersOf[state.node] : state.layer >= 0 ? [state.layer] : [];
  const layers = held.size ? drawn.model.map((_, place) => place).filter((place) => held.has(stepOfLayer(place))) : own;
  const nodes = new Set(layers.map((place) => drawn.model[place].node).filter((node) => node >= 0));
  if (state.node >= 0) nodes.add(state.node);
  const step = currentStep();
  if (step && !layers.length)  // a constant that was judged: its node was folded
    step.layer.nodes.forEach((name) => nodesByName.has(name) && nodes.add(nodesByName.get(name)));
  return {steps, layers, nodes: [...nodes], ownLayer: own[0]};
}

const worseLevel = (a, b) => (SEVERITY_OF_LEVELS.indexOf(b) > SEVERITY_OF_LEVELS.indexOf(a) ? b : a);
const SEVERITY_OF_LEVELS = ['none', 'a0', 'a1', 'a2', 'untested', 'grey', 'wrong'];

// A node is drawn as the worst of the steps that hold its layers was judged.
function fileNode(node, place) {
  const {steps} = currentRun();
  const box = {name: node.name, reads: readsOf(node), writes: node.writes};
  const count = layersOf[place].length, of = stepsOfNode(place).map((step) => steps[step]);
  const note = count > 1 ? `${count} layers` : count ? '' : FATES[node.fate]?.[0] || '';
  if (!count && !of.length) return {...box, title: '– ' + printable(node.type), level: 'none', note};
  if (!of.length) return {...box, title: printable(node.type), level: 'untested', note};
  const worst = of.reduce((a, b) => (worseLevel(a.level, b.level) === a.level ? a : b));
  return {...box, title: `${SIGNS[worst.layer.verdict]} ${printable(node.type)}`, level: worst.level, note};
}
const fileNodes = () => file.nodes.map(fileNode);

// A layer as the step that holds it.
function modelNodes() {
  const {steps, holds} = currentRun();
  return drawn.model.map((layer) => {
    const step = steps[holds.get(layer.index)];
    const sign = step ? SIGNS[step.layer.verdict] : '';
    return {
      title: `${sign} ${printable(layer.type)}`,
      name: layer.name,
      level: step ? step.level : 'untested',
      reads: layer.reads,
      writes: layer.writes
    };
  });
}
function runNodes() {
  return currentRun().steps.map((step) => ({
                                  title: `${SIGNS[step.layer.verdict]} ${printable(step.types)}`,
                                  name: step.layer.name,
                                  note: step.worst ? `E ${shown(step.worst.E, 2)}` : '',
                                  level: step.level,
                                  reads: step.reads,
                                  writes: step.writes
                                }));
}

// The graphs, from the file to the device. A view is laid out when it is first seen.
class Views {
  constructor(element, bar) {
    Object.assign(this, {element, bar, laidOut: new Map(), asked: false});
    const kinds = {
      file: [file.nodes, `${file.format} file`, 'o', fileNodes, chooseNode],
      model: [drawn.model, 'model', 'm', modelNodes, chooseLayer],
      steps: [[0], '', 's', runNodes, chooseStep]
    };
    this.all = Object.entries(kinds)
                   .filter(([, [things]]) => things.length)
                   .map(
                       ([kind, [, word, key, make, choose]]) =>
                           ({kind, word, key, make, open: false, view: new GraphView(word, (place) => choose(place))}));
    this.all.forEach(({kind, view}) => {
      view.element.dataset.kind = kind;
    });
    element.replaceChildren(...this.all.map((one) => one.view.element));
    this.openUsual();
    window.addEventListener('resize', () => this.asked || (this.openUsual() && this.show()));
  }

  get open() {
    return this.all.filter((one) => one.open).map((one) => one.view);
  }

  // As many as the width leaves room for: the steps, the file (or the model), the model. Whether that changes any.
  openUsual() {
    const narrow = window.innerWidth <= 560, room = Math.max(1, Math.floor(this.element.clientWidth / 240));
    const kinds = ['steps', 'file', 'model'].filter((kind) => this.all.some((one) => one.kind === kind));
    const usual = new Set(kinds.slice(0, narrow ? 1 : room));
    const changed = this.all.some((one) => one.open !== usual.has(one.kind));
    this.all.forEach((one) => {
      one.open = usual.has(one.kind);
    });
    return changed;
  }

  toggle(one) {
    one.open = !one.open;
    this.asked = true;
    this.show();
  }

  // Of another run all graphs are drawn anew.
  forget() {
    this.laidOut.clear();
  }

  // Lays out what is open and not laid out yet; two promises: until what is looked at is drawn, and until all is.
  show() {
    const {run, steps} = currentRun();
    const counts = {
      file: () => `${file.format}: ${file.nodes.length} nodes`,
      model: () => `model: ${drawn.model.length} layers`,
      steps: () => `${printable(run.device)}: ${steps.length} steps`
    };
    this.select();
    for (const one of this.all) {
      const back = one.open && one.view.element.hidden && this.laidOut.has(one);
      one.view.element.hidden = !one.open;
      if (back) one.view.center([one.view.looksAt()]);
      if (one.open && !this.laidOut.has(one)) this.laidOut.set(one, one.view.show(counts[one.kind](), one.make()));
    }
    this.element.hidden = !this.open.length;
    this.bar.replaceChildren(
        'graphs: ',
        ...this.all.map(
            (one) =>
                h('button', {
                  type: 'button',
                  'aria-pressed': String(one.open),
                  title: `shows or hides this graph ( ${one.key} )`,
                  onclick: () => this.toggle(one)
                },
                  one.word || printable(run.device))));
    const shown = Promise.all(this.laidOut.values());
    return [shown, shown.then((parts) => Promise.all(parts.map((part) => part.rest)))];
  }

  select() {
    const {steps, layers, nodes, ownLayer} = selection();
    const places = {file: [nodes, state.node], model: [layers, ownLayer], steps: [steps, state.step]};
    this.all.forEach((one) => one.view.select(...places[one.kind]));
  }
}
