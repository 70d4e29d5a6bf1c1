// SPDX-License-Identifier: Apache-2.0
// Puts the page together: head, runs, selection, keys, print.
const byId = (id) => document.getElementById(id);
let list, modelView, runView;

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

// What the verdict rests on: what was compared, on what, what was not, and the smallest fault that would be seen.
function honestParts({run, steps}) {
  const {coverage} = run;
  const share = (part, all) => `${part} of ${all}`;
  const seen = steps.map((step) => [value(step.worst?.smallest_fault ?? NaN), step])
                   .filter(([fault, step]) => fault > 0 && step.layer.verdict === 'aligned')
                   .sort(([a], [b]) => a - b);
  const untested = steps.filter((step) => step.layer.verdict === 'not tested');
  const [middle, last] = [seen[Math.floor(seen.length / 2)], seen.at(-1)];
  return [
    h('h3', {}, 'what this rests on'),
    h('p', {}, `compared: ${share(coverage.steps, coverage.all_steps)} steps, `,
      `${share(coverage.values, coverage.all_values)} values, `,
      `${share(coverage.outputs, coverage.all_outputs)} outputs; rule: ${report.rule}`),
    ...report.inputs.map((line) => h('p', {}, 'on ', sentence(line))),
    untested.length ? h('p', {}, `not tested: ${untested.length} steps`) : '',
    ...untested.slice(0, 20).map(
        (step) => h('p', {}, `${SIGNS['not tested']} ${printable(step.layer.name)}: ${sentence(step.layer.reason)}`)),
    last ? h('p', {}, `smallest gain error that an aligned step's check could have seen: ${shown(middle[0], 2)} `,
             `in the middle, at worst ${shown(last[0], 2)} at '${printable(last[1].layer.name)}'`) : '',
  ];
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
            .flatMap((output) => output.effect.said.map((said) => h('p', {}, `${printable(output.name)}: `, sentence(said)))),
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
    rest.push(honestParts(currentRun()));
    lines.push(h('details', {}, rest));
  }
  if (report.reproduce) lines.push(commandLine(report.reproduce));
  byId('head').replaceChildren(...lines);
}

function showRuns() {
  const tabs = runs.map(
      ({run}, place) =>
          h('button', {type: 'button', 'aria-pressed': String(place === state.run), onclick: () => chooseRun(place)},
            `${SIGNS[run.verdict]} ${printable(run.device)}: ${run.verdict}`));
  const sample = (level) => s('svg', {}, s('rect', {class: 'fill-' + level, x: 2, y: 2, width: 18, height: 10}));
  byId('runs').replaceChildren(
      ...tabs, h('span', {class: 'legend'}, LEVELS.map(([level, text]) => h('span', {}, sample(level), ' ', text))),
      h('button', {type: 'button', onclick: showHelp}, 'keys ( ? )'));
}

// A layer of the model is drawn as the step that holds it was judged.
function modelNodes() {
  const {steps, holds} = currentRun();
  return drawn.model.map((layer) => {
    const step = steps[holds.get(layer.index)];
    const sign = step ? SIGNS[step.layer.verdict] : '';
    return {
      title: `${sign} ${layer.type}`,
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

function mark() {
  list.select();
  showDetails(byId('details'));
  runView.select(state.step >= 0 ? [state.step] : []);
  const {holds} = currentRun();
  const held =
      drawn.model.map((layer, place) => [layer, place])
          .filter(([layer]) => (state.step >= 0 ? holds.get(layer.index) === state.step : layer.index === state.layer));
  modelView.select(held.map(([, place]) => place));
}
function chooseStep(place) {
  Object.assign(state, {step: place, layer: -1});
  mark();
}
function chooseLayer(place) {
  const layer = drawn.model[place];
  if (!layer) return;
  Object.assign(state, {layer: layer.index, step: currentRun().holds.get(layer.index) ?? -1});
  mark();
}

function chooseRun(place) {
  const before = currentStep();
  Object.assign(state, {run: place, step: -1, all: false});
  const {run, steps, holds} = currentRun();
  const same = before && before.layer.members.length ? holds.get(before.layer.members[0].index) : undefined;
  const guilty = steps.findIndex((step) => step.layer.verdict === 'wrong');
  const largest = steps.reduce((a, b) => (a && !(b.excess > a.excess) ? a : b), null);
  state.step = same ?? (guilty >= 0 ? guilty : largest ? largest.place : -1);
  showHead();
  showRuns();
  byId('list').parentElement.style.setProperty('--above', `${byId('list').parentElement.offsetTop}px`);
  list.show();
  const laidOut = [runView.show(`${printable(run.device)}: ${steps.length} steps`, runNodes())];
  if (drawn.model.length) laidOut.push(modelView.show(`model: ${drawn.model.length} layers`, modelNodes()));
  mark();
  Promise.all(laidOut).then(() => {
    mark();
    document.body.dataset.ready = String(Math.round(performance.now()));
  });
}

function showHelp() {
  const keys = [
    ['/', 'search'], ['j k, arrows', 'the next, the one before'], ['n p', 'the same of those that are not aligned'],
    ['+ −', 'zoom the graphs'], ['0', 'the whole graphs'], ['c', 'back to the layer selected'],
    ['1 to 9', 'the runs'],
    ['d', 'to the details'], ['Esc', 'clears the search'], ['?', 'this']
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
  const views = [runView, modelView];
  const to = (by, off) => {
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
    '+': () => views.forEach((view) => view.zoom(1.4)),
    '-': () => views.forEach((view) => view.zoom(1 / 1.4)),
    0: () => views.forEach((view) => view.nodes.length && view.fit()),
    c: () => views.forEach((view) => view.center([...view.chosen]))
  };
  const act = acts[event.key] || (runs[Number(event.key) - 1] && (() => chooseRun(Number(event.key) - 1)));
  if (!act) return;
  event.preventDefault();
  act();
}

// Paper has no selection: the steps that are not aligned, else the selected one, and both graphs whole.
function beforePrint() {
  const off =
      currentRun().steps.filter((step) => step.layer.verdict === 'wrong' || step.layer.verdict === 'grey').slice(0, 20);
  const steps = off.length ? off : [currentStep()].filter(Boolean);
  byId('printed').replaceChildren(
      ...steps.map((step) => h('article', {}, stepParts(step).flat(Infinity).filter(Boolean))));
  for (const view of [runView, modelView]) {
    view.keepView();
    if (view.nodes.length) view.fit();
  }
}

if (runs.length) {
  list = new StepList(byId('list'), chooseStep);
  runView = new GraphView('steps', chooseStep);
  modelView = new GraphView('model', chooseLayer);
  byId('graphs').replaceChildren(...(drawn.model.length ? [modelView.element] : []), runView.element);
  document.addEventListener('keydown', onKey);
  window.addEventListener('beforeprint', beforePrint);
  window.addEventListener('afterprint', () => [runView, modelView].forEach((view) => view.restoreView()));
  chooseRun(Math.max(0, runs.findIndex(({run}) => run.verdict === 'wrong')));
} else {
  showHead();
  document.querySelector('main').remove();
  document.body.dataset.ready = String(Math.round(performance.now()));
}
