// The page of `thermocline probe`, from its figures.

const Probe = {
  places: Page.data.places || [],
  threads: 1,
  rate: (v) => `${v >= 1e9 ? (v / 1e9).toFixed(2) + ' GB' : (v / 1e6).toFixed(1) + ' MB'}/s`,

  begin() {
    const {machine} = Page.data;
    document.title = `${machine.name}: Thermocline probe`;
    Page.fill('machine', machine.name);
    if (machine.emulated) {
      Page.fill('badges', Object.assign(document.createElement('span'),
          {className: 'badge', textContent: 'emulated'}));
    }
    this.drawTiers();
    this.drawGuidelines();
    if (this.places.length === 0) {
      for (const id of ['guidelines-section', 'operations-section', 'loaded-section']) {
        Page.find(id).hidden = true;
      }
      return;
    }
    const counts = [...new Set(this.places.flatMap(
        (place) => place.operations.map((one) => one.threads)))].sort(d3.ascending);
    this.threads = counts[counts.length - 1];
    d3.select('#threads').selectAll('option').data(counts).join('option')
        .attr('value', (v) => v).property('selected', (v) => v === this.threads)
        .text((v) => v);
    Page.find('threads').addEventListener('change', (event) => {
      this.threads = Number(event.target.value);
      this.drawOperations();
    });
    this.drawLegend();
    this.drawFigures();
    Page.drawers.push(() => this.drawOperations());
    Page.find('loaded-section').hidden = !this.places.some((one) => one.latency_under_load);
    Page.drawers.push(() => this.drawLoaded());
  },

  drawTiers() {
    const spread = (origin) => origin && origin.spread > 0 ?
        ` \u00b1 ${Words.percent(origin.spread)}` : '';
    const origins = (tier) => tier.origins || {};
    Page.fill('tiers', Chart.table([
      {name: 'tier', words: true, show: (tier) => tier.name},
      {name: 'nodes', words: true, show: (tier) => tier.nodes.join(', ')},
      {name: 'capacity', show: (tier) => Words.bytes(tier.capacity)},
      {name: 'a load', show: (tier) => `${tier.read_ns.toFixed(1)} ns${spread(origins(tier).read_ns)}`},
      {name: 'reads', show: (tier) => this.rate(tier.read_bytes_per_s) + spread(origins(tier).read_bytes_per_s)},
      {name: 'writes', show: (tier) => this.rate(tier.write_bytes_per_s) + spread(origins(tier).write_bytes_per_s)},
    ], Page.data.machine.tiers));
    const notes = Page.data.nodes.flatMap((node) =>
        node.notes.map((note) => `node ${node.node}: ${note}`));
    for (const note of notes) {
      Page.find('notes').append(Object.assign(document.createElement('p'),
          {className: 'quiet', textContent: note}));
    }
  },

  drawGuidelines() {
    for (const one of Page.data.guidelines || []) {
      Page.find('guidelines').append(
          Object.assign(document.createElement('dt'),
              {textContent: `${one.place}: ${one.guideline}`}),
          Object.assign(document.createElement('dd'), {textContent: one.evidence}));
    }
  },

  drawLegend() {
    const items = this.places.map((place, i) => {
      const item = document.createElement('span');
      const kind = place.granularity ?
          ` (by ${place.granularity}, ${place.durable ? 'durable' : 'not durable'})` : '';
      item.append(Chart.sample(i), ` ${place.place}${kind}`);
      return item;
    });
    Page.fill('legend', ...items);
  },

  // Of each operation, the figure for the most bytes.
  largest(place) {
    const out = new Map();
    for (const one of place.operations) {
      if (one.threads !== this.threads) continue;
      const before = out.get(one.title);
      if (!before || before.bytes < one.bytes) out.set(one.title, one);
    }
    return out;
  },

  drawOperations() {
    const found = this.places.map((place) => this.largest(place));
    const titles = [...new Set(found.flatMap((one) => [...one.keys()]))];
    const all = found.flatMap((one) => [...one.values()].map((v) => v.bytes_per_s));
    d3.select('#operations svg').remove();
    if (all.length === 0) return;
    const x = d3.scaleLog().domain([d3.min(all) / 1.5, d3.max(all) * 1.5]);
    const y = d3.scalePoint().domain([...titles].reverse()).padding(0.6);
    const {svg} = Chart.frame('operations', {
      height: 60 + 24 * titles.length, x, y, left: 150,
      xTicks: (v) => /^[125]/.test(v.toExponential()) ? this.rate(v).replace(/\.?0+ /, ' ') : '',
      yTicks: (v) => v, xName: 'wanted bytes a second',
      label: `Rates of operations by ${this.threads} threads`,
    });
    found.forEach((one, i) => {
      for (const figure of one.values()) {
        const at = y(figure.title) + 5 * (i - (found.length - 1) / 2);
        const [low, high] = [1 - figure.spread, 1 + figure.spread]
            .map((v) => x(figure.bytes_per_s * Math.max(v, 0.05)));
        svg.append('line').attr('stroke', Chart.colour(i)).attr('stroke-width', 2)
            .attr('x1', low).attr('x2', high).attr('y1', at).attr('y2', at);
        svg.append('path').attr('d', Chart.symbol(i)).attr('fill', Chart.colour(i))
            .attr('class', 'figure')
            .attr('transform', `translate(${x(figure.bytes_per_s)},${at})`)
            .append('title').text(`${this.places[i].place}, ${figure.title}: ` +
                `${this.rate(figure.bytes_per_s)} \u00b1 ${this.spread(figure)}`);
      }
    });
  },

  // Of a single repeat nobody knows.
  spread(figure) {
    return figure.repeats === 1 ? '?' : Words.percent(figure.spread);
  },

  drawFigures() {
    const rows = this.places.flatMap((place) =>
        place.operations.map((one) => ({place: place.place, ...one})));
    Page.fill('figures', Chart.table([
      {name: 'place', words: true, show: (row) => row.place},
      {name: 'operation', words: true, show: (row) => row.title},
      {name: 'in', show: (row) => Words.bytes(row.bytes)},
      {name: 'threads', show: (row) => row.threads},
      {name: 'rate', show: (row) => Page.figure(row.bytes_per_s, this.rate(row.bytes_per_s))},
      {name: 'spread', show: (row) => this.spread(row)},
    ], rows));
  },

  drawLoaded() {
    const curves = this.places.map((place, i) => ({i, points: place.latency_under_load || []}))
        .filter((one) => one.points.length > 0);
    d3.select('#loaded svg').remove();
    if (curves.length === 0) return;
    const points = curves.flatMap((one) => one.points);
    const x = d3.scaleLinear().domain([0, d3.max(points, (one) => one.bytes_per_s) * 1.05]);
    const y = d3.scaleLinear().domain([0, d3.max(points, (one) => one.read_ns) * 1.1]);
    const {svg} = Chart.frame('loaded', {
      height: 260, x, y, top: 22, xTicks: (v) => this.rate(v).replace(/\.?0+ /, ' '),
      yTicks: (v) => `${v} ns`, xName: 'traffic beside it', yName: 'a load takes',
      label: 'Latency of a load by the traffic beside it',
    });
    for (const {i, points: curve} of curves) {
      svg.append('path').attr('fill', 'none').attr('stroke', Chart.colour(i))
          .attr('stroke-width', 2).attr('stroke-dasharray', Chart.dash(i))
          .attr('d', d3.line().x((one) => x(one.bytes_per_s)).y((one) => y(one.read_ns))(curve));
      svg.append('g').selectAll('path').data(curve).join('path')
          .attr('d', Chart.symbol(i)).attr('fill', Chart.colour(i))
          .attr('transform', (one) => `translate(${x(one.bytes_per_s)},${y(one.read_ns)})`)
          .append('title').text((one) => `${this.places[i].place}: ${one.read_ns.toFixed(0)} ns ` +
              `beside ${this.rate(one.bytes_per_s)}`);
    }
  },
};

Probe.begin();
Page.fill('made-by', `Made by thermocline probe ${Page.data.thermocline}. This file holds all it shows and loads nothing.`);
Page.draw();
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  Page.draw();
});
document.documentElement.dataset.ready = 'yes';
