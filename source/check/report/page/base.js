// SPDX-License-Identifier: Apache-2.0
// What all parts of the page share: the data, words and signs of verdicts, and how elements are made. Texts of the
// report become text nodes, never markup.
'use strict';
const report = JSON.parse(document.getElementById('report').textContent);
const drawn = JSON.parse(document.getElementById('drawn').textContent);
const state = {
  run: 0,
  step: -1,
  layer: -1,  // its place in drawn.model
  node: -1,   // its place in drawn.file.nodes
  words: '',
  verdicts: new Set(),
  order: 'place'
};
const SIGNS = {
  aligned: '✓',
  grey: '~',
  wrong: '✗',
  'not tested': '○',
  error: '✗'
};
const classOf = (verdict) => (verdict === 'not tested' ? 'untested' : verdict);

function make(space, tag, attributes, children) {
  const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const s = (tag, attributes, ...children) => make('http://www.w3.org/2000/svg', tag, attributes, children);

// A name as the tools print it: nothing in it turns, hides or breaks a line, and 200 characters are enough.
function printable(text) {
  const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;
  const shown = String(text).replace(unseen, (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');
  return shown.length > 200 ? shown.slice(0, 197) + '...' : shown;
}
// Sentences may be longer than names.
const sentence = (text) => String(text).split(/\s+/).map(printable).join(' ');

// The report's "nan", "inf" and "-inf" are numbers, too.
function value(number) {
  if (typeof number !== 'string') return number;
  return {nan: NaN, inf: Infinity, '-inf': -Infinity}[number];
}
function shown(number, digits = 3) {
  const x = value(number);
  if (x === null || x === undefined) return '';
  if (!Number.isFinite(x)) return String(x).replace('Infinity', 'inf');
  if (x === 0) return '0';
  const size = Math.abs(x);
  return size >= 1e-3 && size < 1e6 ? String(Number(x.toPrecision(digits))) : x.toExponential(digits - 1);
}

const SEVERITY = ['aligned', 'not tested', 'grey', 'wrong'];
function worstOutput(layer) {
  let worst = null;
  for (const output of layer.outputs) {
    const more = worst && SEVERITY.indexOf(output.verdict) - SEVERITY.indexOf(worst.verdict);
    if (!worst || more > 0 || (more === 0 && value(output.E) > value(worst.E))) worst = output;
  }
  return worst;
}
// The class that a node and its signs are drawn by: three steps of aligned, and one for each other verdict.
function levelOf(verdict, excess) {
  if (verdict !== 'aligned') return classOf(verdict);
  return excess > 0.5 ? 'a2' : excess > 0.25 ? 'a1' : 'a0';
}
const LEVELS = [
  ['a0', '✓ E up to 0.25'], ['a1', '✓ up to 0.5'], ['a2', '✓ up to 1'], ['grey', '~ grey'], ['wrong', '✗ wrong'],
  ['untested', '○ not tested'], ...(drawn.file.nodes.length ? [['none', '– has no layer']] : [])
];

// Of every run its steps in order, which step holds a layer, and which are what a node gives that was folded.
const runs = report.runs.map((run, place) => {
  const holds = new Map(), folded = new Map();
  const steps = run.layers.map((layer, i) => {
    const worst = worstOutput(layer);
    const excess = worst ? value(worst.E) : NaN;
    for (const member of layer.members) holds.set(member.index, i);
    if (!layer.members.length) holds.set(layer.index, i);
    if (layer.index < 0) layer.nodes.forEach((name) => folded.set(name, [...(folded.get(name) || []), i]));
    const types = layer.members.map((member) => member.type).join('+') || layer.type;
    const words = [
      layer.index, layer.name, types, layer.kernel, layer.verdict, layer.reason, layer.cause, ...layer.nodes,
      ...layer.members.map((member) => member.name), ...layer.outputs.map((o) => o.blob)
    ];
    return {
      layer,
      types,
      worst,
      excess,
      place: i,
      level: levelOf(layer.verdict, excess),
      words: words.join('\n').toLowerCase(),
      ...drawn.runs[place][i]
    };
  });
  return {run, steps, holds, folded};
});
const currentRun = () => runs[state.run];
const currentStep = () => currentRun()?.steps[state.step];

// A word for a POSIX shell.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : '\'' + word.replaceAll('\'', '\'\\\'\'') + '\'');

function commandLine(command) {
  const copy = h('button', {type: 'button', onclick: () => navigator.clipboard?.writeText(command)}, 'copy');
  return h('div', {class: 'command'}, h('code', {}, sentence(command)), copy);
}
function verdictMark(verdict) {
  return h('span', {class: 'verdict ' + classOf(verdict)}, (SIGNS[verdict] || '') + ' ' + verdict);
}
