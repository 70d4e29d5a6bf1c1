// SPDX-License-Identifier: Apache-2.0
// Puts the page together: head, runs, selection, keys, print.
const byId = (id) => document.getElementById(id);
let list, views;

// A network output on both sides, the best five where they are scores.
function outputRow(output) {
  const side = (one) =>
      (!one         ? '' :
           one.top5 ? one.top5.map((t) => `#${t.index} ${shown(t.value, 4)}`).join('  ') :
                      `${shown(one.min, 4)} to ${shown(one.max, 4)}, mean ${shown(one.mean, 4)}`);
  const changed = output.top1_changed === undefined ? '' :
      output.top1_changed                           ? '✗ top-1 changed' :
                                                      '✓ top-1 is the same';
  return h('tr', {}, [
    printable(output.name), `${output.dtype} [${output.shape.join(',')}]`, side(output.device), side(output.reference),
    changed
  ].map((text) => h('td', {}, text)));
}

function showHead() {
  const {run} = currentRun() || {run: null};
  const wrong = byId('verdict');
  wrong.className = classOf(report.verdict);
  wrong.textContent = `${SIGNS[report.verdict] || ''} ${wrong.textContent.replace(/^[✓~✗○] /u, '')}`;
  const lines =
      [h('p', {}, h('b', {}, 'model '), printable(report.model),
         `, ${report.num_layers} layers, weights ${printable(report.weights)}`, report.tool ? `; ${report.tool}` : '')];
  report.errors.forEach((error) => lines.push(h('p', {class: 'verdict wrong'}, '✗ ' + sentence(error.message))));
  report.devices.filter((device) => device.error)
      .forEach(
          (device) => lines.push(
              h('p', {}, `${SIGNS['not tested']} ${device.device} ${device.state}: ${sentence(device.error)}`)));
  if (run) {
    lines.push(
        h('p', {}, h('b', {}, printable(run.device) + ' '), verdictMark(run.verdict), ' ', sentence(run.summary)),
        ...run.outputs.filter((output) => output.effect)
            .flatMap(
                (output) =>
                    output.effect.said.map((said) => h('p', {}, `${printable(output.name)}: `, sentence(said)))),
        ...run.choices.filter((choice) => choice.said).map((choice) => h('p', {}, 'choices ', sentence(choice.said))),
        h('p', {}, sentence(run.device_description)));
    const rest = [
      h('summary', {}, 'inputs, outputs, notes'),
      ...[...report.notes, ...run.notes].map((line) => h('p', {}, sentence(line)))
    ];
    if (run.outputs.length) {
      rest.push(
          h('table', {},
            h('thead', {},
              h('tr', {}, ['output', 'shape', run.device, 'reference', ''].map((t) => h('th', {scope: 'col'}, t)))),
            h('tbody', {}, run.outputs.map(outputRow))));
    }
    lines.push(h('details', {}, rest));
  }
  if (report.reproduce) lines.push(commandLine(report.reproduce));
  byId('head').replaceChildren(...lines);
  byId('rests').replaceChildren(
      ...(run ? [h('h2', {}, 'What this rests on'), ...run.rests_on.map((line) => h('p', {}, sentence(line)))] : []));
}

function showRuns() {
  const tabs = runs.map(
      ({run}, place) =>
          h('button', {type: 'button', 'aria-pressed': String(place === state.run), onclick: () => chooseRun(place)},
            `${SIGNS[run.verdict]} ${printable(run.device)}: ${run.verdict}`));
  const sample = (level) => s('svg', {}, s('rect', {class: 'fill-' + level, x: 2, y: 2, width: 18, height: 10}));
  byId('runs').replaceChildren(
      ...tabs, views.bar,
      h('span', {class: 'legend'}, LEVELS.map(([level, text]) => h('span', {}, sample(level), ' ', text))),
      h('button', {type: 'button', onclick: showHelp}, 'keys ( ? )'));
}

function mark() {
  list.select();
  showDetails(byId('details'));
  views.select();
}
function choose(selected) {
  Object.assign(state, {step: -1, layer: -1, node: -1}, selected);
  mark();
}
const chooseStep = (place) => currentRun().steps[place] && choose({step: place});
const chooseLayer = (place) => drawn.model[place] && choose({layer: place, step: stepOfLayer(place) ?? -1});
function chooseNode(place) {
  if (!file.nodes[place]) return;
  const {steps} = currentRun();
  const worst = stepsOfNode(place).reduce(
      (a, b) => (a >= 0 && worseLevel(steps[b].level, steps[a].level) === steps[a].level ? a : b), -1);
  choose({node: place, step: worst});
}

function chooseRun(place) {
  const before = currentStep();
  Object.assign(state, {run: place, step: -1, layer: -1, node: -1});
  const {run, steps, holds} = currentRun();
  const same = before && before.layer.members.length ? holds.get(before.layer.members[0].index) : undefined;
  const guilty = steps.findIndex((step) => step.layer.verdict === 'wrong');
  const largest = steps.reduce((a, b) => (a && !(b.excess > a.excess) ? a : b), null);
  state.step = same ?? (guilty >= 0 ? guilty : largest ? largest.place : -1);
  showHead();
  showRuns();
  byId('list').parentElement.style.setProperty('--above', `${byId('list').parentElement.offsetTop}px`);
  list.show();
  views.forget();
  const [shown, whole] = views.show();
  mark();
  const now = (name) => () => {
    document.body.dataset[name] = String(Math.round(performance.now()));
  };
  shown.then(() => new Promise(requestAnimationFrame)).then(now('ready'));  // what is looked at is on the screen
  whole.then(now('whole'));
}

function showHelp() {
  const keys = [
    ['/', 'search'], ['j k, arrows', 'the next, the one before; in a graph (Tab goes there) its own'],
    ['n p', 'the same of those that are not aligned'], ['+ −', 'zoom the graphs'], ['0', 'the whole graphs'],
    ['c', 'back to the layer selected'], ['1 to 9', 'the runs'],
    ['o m s', 'shows or hides the graph of the file, the model, the steps'], ['d', 'to the details'],
    ['Esc', 'clears the search'], ['?', 'this']
  ];
  const dialog = byId('help');
  dialog.replaceChildren(
      h('h2', {}, 'Keys'), pairs(keys),
      h('p', {},
        'The wheel moves a graph, with Ctrl it zooms; a drag moves, too. ' +
            'The strip at its right is all of it: a click goes there.'),
      h('p', {},
        'E: the largest introduced error in units of the rounding to ' +
            'be expected there; R: its rms. Wrong: E > 4, R > 2 or R of a channel > 6. Grey: E > 1.'),
      h('button', {type: 'button', onclick: () => dialog.close()}, 'close'));
  if (!dialog.open) dialog.showModal();
}

function onKey(event) {
  const typing = event.target.closest?.('input, select, textarea');
  if (event.key === 'Escape' && !byId('help').open) {
    state.words = list.search.value = '';
    list.search.blur();
    return list.show();
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  const focused = views.all.find(({view}) => view.canvas === document.activeElement);
  const to = (by, off) => {
    if (focused && !off) return focused.view.choose(focused.view.looksAt() + by);
    const next = list.next(by, off);
    if (next >= 0) chooseStep(next);
  };
  const acts = {
    '/': () => list.search.focus(),
    '?': showHelp,
    d: () => byId('details').focus(),
    j: () => to(1),
    ArrowDown: () => to(1),
    k: () => to(-1),
    ArrowUp: () => to(-1),
    n: () => to(1, true),
    p: () => to(-1, true),
    '+': () => views.open.forEach((view) => view.zoom(1.4)),
    '-': () => views.open.forEach((view) => view.zoom(1 / 1.4)),
    0: () => views.open.forEach((view) => view.nodes.length && view.fit()),
    c: () => views.open.forEach((view) => view.center([view.looksAt()]))
  };
  views.all.forEach((one) => {
    acts[one.key] = () => views.toggle(one);
  });
  const act = acts[event.key] || (runs[Number(event.key) - 1] && (() => chooseRun(Number(event.key) - 1)));
  if (!act) return;
  event.preventDefault();
  act();
}

// Paper has no selection: all rows, the steps that are not aligned, else the selected one, and the graphs whole.
function beforePrint() {
  const off =
      currentRun().steps.filter((step) => step.layer.verdict === 'wrong' || step.layer.verdict === 'grey').slice(0, 20);
  const steps = off.length ? off : [currentStep()].filter(Boolean);
  byId('printed').replaceChildren(
      ...steps.map((step) => h('article', {}, stepParts(step).flat(Infinity).filter(Boolean))));
  list.show(true);
  byId('head').querySelectorAll('details').forEach((details) => details.setAttribute('open', ''));
  for (const view of views.open) {
    view.keepView();
    if (view.nodes.length) view.fit();
  }
}
function afterPrint() {
  list.show();
  views.open.forEach((view) => view.restoreView());
}

if (runs.length) {
  list = new StepList(byId('list'), chooseStep);
  views = new Views(byId('graphs'), h('span', {class: 'shows'}));
  document.addEventListener('keydown', onKey);
  window.addEventListener('beforeprint', beforePrint);
  window.addEventListener('afterprint', afterPrint);
  chooseRun(Math.max(0, runs.findIndex(({run}) => run.verdict === 'wrong')));
} else {
  showHead();
  document.querySelector('main').remove();
  document.body.dataset.ready = String(Math.round(performance.now()));
}
