// SPDX-License-Identifier: Apache-2.0
// All that is known of one step.

function pairs(rows) {
  return h(
      'table', {},
      h('tbody', {},
        rows.filter(([, text]) => text !== '' && text !== null && text !== undefined)
            .map(
                ([name, text]) =>
                    h('tr', {}, h('th', {scope: 'row'}, name),
                      h('td', {}, typeof text === 'string' ? sentence(text) : text)))));
}

function differences(output) {
  const kinds = ['introduced', 'inherited', 'total'];
  const rows = [
    ['max abs', 'max_abs'], ['max rel', 'max_rel'], ['cosine', 'cosine'], ['SNR, dB', 'snr_db'], ['max ulp', 'max_ulp']
  ];
  return h(
      'table', {},
      h('thead', {}, h('tr', {}, h('th', {}), kinds.map((kind) => h('th', {class: 'number', scope: 'col'}, kind)))),
      h('tbody', {},
        rows.map(
            ([name, field]) =>
                h('tr', {}, h('th', {scope: 'row'}, name),
                  kinds.map((kind) => h('td', {class: 'number'}, shown(output[kind][field], 4)))))));
}

function worstElement(output) {
  const worst = output.introduced.worst;
  return worst ? `${worst.at}: ${shown(worst.value, 9)}, expected ${shown(worst.expected, 9)}` : '';
}

function outputPart(output, picture, many) {
  const golden = output.golden?.compared ?
      `conversion ${output.golden.conversion}; NAIVE - golden ${shown(output.golden.naive.max_abs)}, ` +
          `device - golden ${shown(output.golden.device.max_abs)}` :
      output.golden?.reason;
  return [
    h('h3', {}, 'output ' + printable(output.blob)), pairs([
      ['verdict', many ? verdictMark(output.verdict) : ''], ['reason', many ? output.reason : ''],
      ['shape', `${output.dtype} [${output.shape.join(',')}] ${output.layout}`],
      ['E, R, R_channel', `${shown(output.E)}, ${shown(output.R)}, ${shown(output.R_channel)}`],
      ['slope', value(output.slope) ? `${shown(output.slope)} (z ${shown(output.slope_z)})` : ''],
      ['bias', value(output.bias) ? `${shown(output.bias)} (z ${shown(output.bias_z)})` : ''],
      ['integers of', output.rule], ['smallest visible fault', shown(output.smallest_fault)],
      ['worst element', worstElement(output)], ['golden', golden]
    ]),
    differences(output), picture ? pictures(picture) : ''
  ];
}

function commandFor(step) {
  const base = report.reproduce || '';
  return base && currentRun().run.layers.length > 1 ? `${base} --layers ${quoted(step.layer.name)}` : base;
}

function stepParts(step) {
  const {layer} = step;
  const members = layer.members.length > 1 ?
      layer.members.map((m) => `${m.index} ${printable(m.name)} (${m.type})`).join(', ') :
      '';
  const command = commandFor(step);
  return [
    h('h2', {}, `${layer.index} ${printable(layer.name)}`),
    h('p', {}, verdictMark(layer.verdict), ' ', sentence(layer.reason)),
    layer.cause ? h('p', {}, h('b', {}, 'cause: '), sentence(layer.cause)) : '', pairs([
      ['type', step.types], ['fused of', members], ['nodes', layer.nodes.join(', ')],
      ['written at', (layer.source_lines || []).join('; ')],
      ['kernel', [layer.kernel, layer.kernel_detail].filter(Boolean).join(', ')],
      ['asked before', layer.refused.join('; ')], ['ran on', layer.fallback ? layer.device : ''],
      ['time', layer.seconds ? `${shown(layer.seconds * 1e3)} ms` : '']
    ]),
    layer.outputs.map((output, i) => outputPart(output, step.pictures[i], layer.outputs.length > 1)),
    command ? [h('h3', {}, 'shows it again'), commandLine(command)] : ''
  ];
}

// What became of an operator of the file.
function nodeParts(node, place) {
  const link = (text, act) => h('button', {type: 'button', class: 'link', onclick: act}, text);
  const links = (places) =>
      [...places.slice(0, 20).map(
           (at) => link(`${drawn.model[at].index} ${printable(drawn.model[at].name)}`, () => chooseLayer(at))),
       places.length > 20 ? ` and ${places.length - 20} more` : ''];
  const layers = layersOf[place];
  const behind = layers.length ? [] : [...new Set(readersBehind(place).flatMap((reader) => layersOf[reader]))];
  const steps = stepsOfNode(place).length;
  return [
    h('h2', {}, printable(node.name)),
    h('p', {}, layers.length ? `An operator of the ${file.format} file.` : FATES[node.fate]?.[1] || ''), pairs([
      ['operator', printable(node.type)],
      [layers.length === 1 ? 'its layer' : `its ${layers.length} layers`, layers.length ? links(layers) : ''],
      ['read by the layers', behind.length && node.fate !== 'unread' ? links(behind) : ''],
      ['written at', node.source_line], ['reads', node.reads.filter(Boolean).join(', ')],
      ['its inner graphs read', node.inner_reads.join(', ')], ['writes', node.writes.filter(Boolean).join(', ')]
    ]),
    steps > 1 ? h('p', {}, `Its layers are in ${steps} steps of this run; below is the one that is furthest off.`) : ''
  ];
}

function layerParts(layer) {
  return [
    h('h2', {}, `${layer.index} ${printable(layer.name)}`),
    h('p', {},
      'This layer of the model is in no step of this run: it was judged with its neighbours, folded, or left out.'),
    pairs([
      ['type', layer.type], ['nodes', layer.nodes.join(', ')], ['written at', layer.source_line],
      ['reads', layer.reads.join(', ')], ['writes', layer.writes.join(', ')]
    ])
  ];
}

function showDetails(element) {
  const step = currentStep();
  const layer = drawn.model[state.layer], node = file.nodes[state.node];
  element.replaceChildren(...(step      ? [node ? nodeParts(node, state.node) : '', stepParts(step)] :
                                  node  ? nodeParts(node, state.node) :
                                  layer ? layerParts(layer) :
                                          [h('p', {}, 'No layer is selected.')])
                              .flat(Infinity)
                              .filter(Boolean));
  element.scrollTop = 0;
}
