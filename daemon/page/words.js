'use strict';
// Numbers as people read them; the same units as the command line prints.

const Words = {
  bytes(value) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (value >= 1024 && unit < 4) {
      value /= 1024;
      ++unit;
    }
    return `${unit === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
  },
  time(ns) {
    const s = Math.abs(ns) / 1e9;
    const sign = ns < 0 ? '-' : '';
    if (s >= 60) return `${sign}${Math.floor(s / 60)} min ${(s % 60).toFixed(0)} s`;
    if (s >= 1 || s === 0) return `${sign}${s.toFixed(3)} s`;
    if (s >= 1e-3) return `${sign}${(s * 1e3).toFixed(1)} ms`;
    return `${sign}${(s * 1e6).toFixed(1)} \u00b5s`;
  },
  // On an axis, whose numbers are round.
  tick: (ns) => Words.time(ns).replace(/\.?0+ (?=[sm\u00b5])/, ' '),
  count(value) {
    if (value < 1e4) return d3.format(',')(Math.round(value));
    return d3.format('.3s')(value).replace('k', ' thousand')
        .replace('M', ' million').replace('G', ' billion');
  },
  percent(share) {
    return `${+(share * 100).toFixed(1)} %`;
  },
  times(ratio) {
    return `${ratio.toFixed(2)} times`;
  },
};

const Page = {
  data: JSON.parse(document.getElementById('data').textContent),
  find: (id) => document.getElementById(id),
  // What redraws itself when the window changes.
  drawers: [],
  draw() {
    for (const drawer of Page.drawers) drawer();
  },
  // A figure: its exact value stays in the page, for whoever copies it.
  figure: (value, text) => {
    const node = document.createElement('data');
    node.value = value;
    node.textContent = text;
    return node;
  },
  // Fills an element with text and nodes; text never becomes markup.
  fill(id, ...parts) {
    Page.find(id).replaceChildren(...parts);
  },
  tip(text, x, y) {
    const tip = Page.find('tip');
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const right = x + 14 + box.width < window.innerWidth;
    tip.style.left = `${Math.max(4, right ? x + 14 : x - 14 - box.width)}px`;
    const below = y + 14 + box.height < window.innerHeight;
    tip.style.top = `${Math.max(4, below ? y + 14 : y - 14 - box.height)}px`;
  },
};
