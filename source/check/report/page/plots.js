// SPDX-License-Identifier: Apache-2.0
// How a step's errors are spread (histogram, quantiles) and where they lie (maps).

function figure(caption, width, height, ...drawing) {
  return h(
      'figure', {},
      s('svg', {class: 'plot', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': caption},
        ...drawing),
      h('figcaption', {}, caption));
}

function histogram(picture) {
  const [width, height, foot] = [250, 120, 104];
  const most = Math.max(...picture.histogram, 1), bar = width / picture.histogram.length;
  const x = (excess) => (excess / picture.reach + 1) / 2 * width;
  const bars = picture.histogram.map((count, i) => {
    const tall = count && Math.max(1, Math.log1p(count) / Math.log1p(most) * (foot - 4));
    return s(
        'rect', {class: 'data', x: i * bar + 0.5, y: foot - tall, width: bar - 1, height: tall},
        s('title', {}, `${count} values`));
  });
  const lines = [-4, -1, 1, 4]
                    .filter((e) => Math.abs(e) <= picture.reach)
                    .map((e) => s('line', {class: 'limit', x1: x(e), x2: x(e), y1: 0, y2: foot}));
  const marks = [
    [0, '-' + shown(picture.reach, 2), 'start'], [width / 2, '0', 'middle'], [width, shown(picture.reach, 2), 'end']
  ];
  return figure(
      'histogram of e / tau (counts in log scale); dashed: 1, the bound, and 4, beyond which it is wrong', width,
      height, bars, lines, s('line', {class: 'axis', x1: 0, x2: width, y1: foot, y2: foot}),
      marks.map(([at, text, anchor]) => s('text', {x: at, y: height - 4, 'text-anchor': anchor}, text)));
}

// Quantiles of the normal distribution at (i + 0.5) / count, by summing its density.
function normalQuantiles(count) {
  const wanted = [], step = 1e-3;
  let below = 0;
  for (let x = -6; x < 6 && wanted.length < count; x += step) {
    below += step * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    while (wanted.length < count && below >= (wanted.length + 0.5) / count) wanted.push(x);
  }
  while (wanted.length < count) wanted.push(6);
  return wanted;
}

function quantilePlot(picture) {
  const size = 120, expected = normalQuantiles(picture.quantiles.length), found = picture.quantiles.map(value);
  const reach = Math.max(2.5, ...found.map(Math.abs));
  const y = (z) => size / 2 - z / reach * (size / 2 - 3), x = (z) => size / 2 + z / 2.5 * (size / 2 - 3);
  const line = s('path', {class: 'axis', d: `M${x(-2.5)} ${y(-2.5)}L${x(2.5)} ${y(2.5)}`});
  const frame = s('path', {class: 'axis', d: `M0 ${size / 2}H${size}M${size / 2} 0V${size}`, opacity: 0.4});
  return figure(
      `quantiles of 8 e / tau (up to ${
          shown(reach, 2)}) beside the normal distribution; the line is all rounding there ` +
          'may be',
      size, size, frame, line,
      found.map(
          (z, i) =>
              s('circle', {class: 'data', r: 2.2, cx: x(expected[i]), cy: y(z)},
                s('title', {}, `${shown(z)} where rounding has ${shown(expected[i])}`))));
}

// Of [rows, columns, height, width]: which positions a cell covers.
function cellName([rows, columns, height, width], i) {
  const span = (at, cells, positions) => {
    const from = Math.ceil(at * positions / cells), to = Math.ceil((at + 1) * positions / cells) - 1;
    return from === to ? `${from}` : `${from} to ${to}`;
  };
  return `row ${span(Math.floor(i / columns), rows, height)}, column ${span(i % columns, columns, width)}`;
}

function cells(picture, caption, draw) {
  const [rows, columns] = picture.size, side = Math.max(6, Math.min(11, 180 / columns));
  return figure(
      caption, columns * side, rows * side,
      Array.from(
          {length: rows * columns},
          (_, i) =>
              draw(i, {x: i % columns * side, y: Math.floor(i / columns) * side, width: side, height: side}, side)));
}

function excessMap(picture, map) {
  const where = map.channel < 0 ? 'E, the worst of all channels' : `channel ${map.channel}: E`;
  const most = Math.max(...map.E.map(value));
  return cells(picture, `${where} (up to ${shown(most, 2)})`, (i, box, side) => {
    const excess = value(map.E[i]);
    const level = excess > 4 ? 'wrong' : excess > 1 ? 'grey' : excess > 0.5 ? 'a2' : excess > 0.25 ? 'a1' : 'a0';
    const sign = excess > 4 ? '×' : excess > 1 ? '·' : '';
    return s(
        'g', {},
        s('rect', {...box, class: 'cell fill-' + level, 'stroke-dasharray': 'none'},
          s('title', {}, `${cellName(picture.size, i)}: E ${shown(excess)}`)),
        sign && s('text', {class: 'sign', x: box.x + side / 2, y: box.y + side / 2 + 3}, sign));
  });
}

function imageMap(picture, map, name) {
  const both = [...map.device, ...map.reference].map(value).filter(Number.isFinite);
  const least = Math.min(...both), range = Math.max(...both) - least;
  return cells(picture, `${name}, ${shown(least)} (black) to ${shown(least + range)} (white)`, (i, box) => {
    const x = value(map[name][i]);
    const grey = Number.isFinite(x) ? Math.round(255 * (range ? (x - least) / range : 0.5)) : null;
    return s(
        'rect', {...box, fill: grey === null ? '#c0f' : `rgb(${grey} ${grey} ${grey})`},
        s('title', {}, `${cellName(picture.size, i)}: ${shown(x, 6)}`));
  });
}

function pictures(picture) {
  const signed = `${picture.values} values with a bound; signed mean of 8 e / tau ${shown(picture.mean)}` +
      (picture.exact ? `; ${picture.exact} the same, where the bound is 0` : '') +
      (picture.outside ? `; ${picture.outside} different where the bound is 0, or finite on one side only` : '');
  const spread = picture.values ? h('div', {class: 'plots'}, histogram(picture), quantilePlot(picture)) : '';
  const maps = picture.maps.map(
      (map) =>
          h('div', {class: 'plots'}, excessMap(picture, map),
            map.device ? [imageMap(picture, map, 'device'), imageMap(picture, map, 'reference')] : ''));
  const [rows, columns, height, width] = picture.size;
  const covered = rows < height || columns < width ?
      `; a cell stands for the worst of its positions (${height} by ${width} in all)` :
      '';
  return [h('p', {}, signed), spread, picture.maps.length ? h('h3', {}, 'where it lies' + covered) : '', maps];
}
