// SPDX-License-Identifier: Apache-2.0
// The table of a run's steps, with search, filter and order.
const MOST_ROWS = 500;

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

function stepRow(step) {
  const {layer, worst} = step;
  const cell = (text, kind) => h('td', {class: kind || ''}, text);
  return h(
      'tr', {'data-step': step.place, class: step.place === state.step ? 'selected' : ''}, cell(String(layer.index)),
      h('td', {}, printable(layer.name), h('div', {class: 'legend'}, printable(step.types))),
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
    const head = [['index'], ['layer'], ['E', 'number'], ['introduced', 'number wide'], ['verdict']].map(
        ([text, kind]) => h('th', {class: kind || '', scope: 'col'}, text));
    element.replaceChildren(
        h('div', {class: 'controls'}, this.search, this.order, this.filters), this.count,
        this.rows = h('div', {class: 'rows'}, h('table', {}, h('thead', {}, h('tr', {}, head)), this.body)));
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

  show() {
    this.showFilters();
    this.steps = matching();
    const some = state.all ? this.steps : this.steps.slice(0, MOST_ROWS);
    this.body.replaceChildren(...some.map(stepRow));
    const more = this.steps.length - some.length;
    const all = () => {
      state.all = true;
      this.show();
    };
    this.count.replaceChildren(
        `${this.steps.length} of ${currentRun().steps.length} steps`,
        more > 0 ? h('button', {type: 'button', onclick: all}, `show ${more} more rows`) : '');
  }

  select() {
    this.body.querySelector('.selected')?.classList.remove('selected');
    const row = this.body.querySelector(`tr[data-step="${state.step}"]`);
    if (!row) return;
    row.classList.add('selected');
    const head = 40, top = row.offsetTop - head, bottom = row.offsetTop + row.offsetHeight;
    if (top < this.rows.scrollTop) this.rows.scrollTop = top;  // the page itself stays
    if (bottom > this.rows.scrollTop + this.rows.clientHeight) this.rows.scrollTop = bottom - this.rows.clientHeight;
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
