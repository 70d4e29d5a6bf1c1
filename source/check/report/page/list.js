// SPDX-License-Identifier: Apache-2.0
// The table of a run's steps, with search, filter and order. Rows have one height, and only those that are seen are in
// the page.
const ROW_HEIGHT = 44, ROWS_BEYOND = 10;

function matching() {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const steps = currentRun().steps.filter(
      (step) => (!state.verdicts.size || state.verdicts.has(step.layer.verdict)) &&
          words.every((word) => step.words.includes(word)));
  const by = {
    E: (step) => -step.excess,
    introduced: (step) => -value(step.worst?.introduced.max_abs ?? 0),
    seconds: (step) => -step.layer.seconds
  }[state.order];
  const number = (x) => (Number.isNaN(x) ? Infinity : x);
  return by ? [...steps].sort((a, b) => number(by(a)) - number(by(b))) : steps;
}

function stepRow(step, at) {
  const {layer, worst} = step;
  const cell = (text, kind) => h('td', {class: kind || ''}, text);
  return h(
      'tr', {'data-step': step.place, 'aria-rowindex': at + 2, class: step.place === state.step ? 'selected' : ''},
      cell(String(layer.index)),
      h('td', {title: printable(layer.name)},
        h('div', {class: 'cut front'}, h('bdi', {dir: 'ltr'}, printable(layer.name))),
        h('div', {class: 'cut soft'}, printable(step.types))),
      cell(worst ? shown(worst.E) : '', 'number'), cell(worst ? shown(worst.introduced.max_abs) : '', 'number wide'),
      h('td', {}, verdictMark(layer.verdict)));
}

class StepList {
  constructor(element, choose) {
    this.search = h('input', {
      type: 'search',
      placeholder: 'search  ( / )',
      'aria-label': 'search layers',
      oninput: () => {
        state.words = this.search.value;
        this.show();
      }
    });
    this.order =
        h('select', {
          'aria-label': 'order',
          onchange: () => {
            state.order = this.order.value;
            this.show();
          }
        },
          [['place', 'as they run'], ['E', 'largest E'], ['introduced', 'introduced'], ['seconds', 'slowest']].map(
              ([name, text]) => h('option', {value: name}, text)));
    this.filters = h('span', {});
    this.body = h('tbody', {});
    this.count = h('p', {role: 'status', class: 'legend', style: 'padding: 4px 8px'});
    const head = [
      ['index', 'index'], ['layer', ''], ['E', 'number'], ['introduced', 'number wide'], ['verdict', 'sign']
    ].map(([text, kind]) => h('th', {class: kind, scope: 'col'}, text));
    element.replaceChildren(
        h('div', {class: 'controls'}, this.search, this.order, this.filters), this.count,
        this.rows =
            h('div', {class: 'rows', onscroll: () => this.draw()},
              this.table = h('table', {}, h('thead', {}, h('tr', {}, head)), this.body)));
    new ResizeObserver(() => this.draw()).observe(this.rows);
    this.body.addEventListener('click', (event) => {
      const row = event.target.closest('tr[data-step]');
      if (row) choose(Number(row.dataset.step));
    });
  }

  showFilters() {
    const counts = {};
    currentRun().steps.forEach((step) => {
      counts[step.layer.verdict] = (counts[step.layer.verdict] || 0) + 1;
    });
    const toggle = (verdict) => {
      state.verdicts.has(verdict) ? state.verdicts.delete(verdict) : state.verdicts.add(verdict);
      this.show();
    };
    this.filters.replaceChildren(...SEVERITY.filter((verdict) => counts[verdict])
                                     .reverse()
                                     .map(
                                         (verdict) =>
                                             h('button', {
                                               type: 'button',
                                               'aria-pressed': String(state.verdicts.has(verdict)),
                                               onclick: () => toggle(verdict),
                                             },
                                               `${SIGNS[verdict]} ${counts[verdict]} ${verdict}`)));
  }

  // `whole`: with all rows, for paper.
  show(whole = false) {
    this.showFilters();
    this.steps = matching();
    this.whole = whole;
    this.table.setAttribute('aria-rowcount', this.steps.length + 1);
    this.count.replaceChildren(`${this.steps.length} of ${currentRun().steps.length} steps`);
    this.drawn = null;
    this.draw();
  }

  // The rows that are seen, and some beyond.
  draw() {
    if (!this.steps) return;
    const all = this.steps.length, seen = Math.ceil((this.rows.clientHeight || 600) / ROW_HEIGHT);
    const top = Math.min(Math.floor(this.rows.scrollTop / ROW_HEIGHT), Math.max(0, all - seen));
    const from = this.whole ? 0 : Math.max(0, top - ROWS_BEYOND);
    const to = this.whole ? all : Math.min(all, top + seen + ROWS_BEYOND);
    if (this.drawn === `${from} ${to}`) return;
    this.drawn = `${from} ${to}`;
    const space = (rows) =>
        (rows > 0 ? h('tr', {class: 'space', style: `height: ${rows * ROW_HEIGHT}px`, 'aria-hidden': 'true'}) : '');
    this.body.replaceChildren(
        space(from), ...this.steps.slice(from, to).map((step, i) => stepRow(step, from + i)), space(all - to));
  }

  select() {
    const at = this.steps.findIndex((step) => step.place === state.step);
    const height = this.rows.clientHeight, head = 30;
    const top = at * ROW_HEIGHT, bottom = top + ROW_HEIGHT + head;
    if (at >= 0 && top < this.rows.scrollTop) this.rows.scrollTop = top;  // the page itself stays
    if (at >= 0 && bottom > this.rows.scrollTop + height) this.rows.scrollTop = bottom - height;
    this.draw();
    this.body.querySelector('.selected')?.classList.remove('selected');
    this.body.querySelector(`tr[data-step="${state.step}"]`)?.classList.add('selected');
  }

  // The step so many places further in the list; with `off` only those that are not aligned.
  next(by, off) {
    const steps = off ? this.steps.filter((step) => step.layer.verdict !== 'aligned') : this.steps;
    if (!steps.length) return -1;
    let at = steps.findIndex((step) => step.place === state.step);
    if (at < 0) at = by > 0 ? steps.findIndex((step) => step.place > state.step) - by : steps.length;
    return steps[Math.min(steps.length - 1, Math.max(0, at + by))].place;
  }
}
