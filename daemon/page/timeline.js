// The run over time: memory, the tiers that served it, and the zoom that these
// and the heat map share.

const Timeline = {
  get data() { return Page.data.timeline; },
  // Bins shown: [first, one past the last].
  zoom: [0, 1],
  listeners: [],

  begin() {
    this.zoom = [0, this.data.bins];
    this.listeners.push(() => this.draw());
    Page.drawers.push(() => this.draw());
    const actions = {
      'zoom-in': () => this.scale(0.5), 'zoom-out': () => this.scale(2),
      'earlier': () => this.shift(-0.25), 'later': () => this.shift(0.25),
      'whole': () => this.show(0, this.data.bins),
    };
    for (const id in actions) Page.find(id).addEventListener('click', actions[id]);
    const keys = {'+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out',
                  'ArrowLeft': 'earlier', 'ArrowRight': 'later', '0': 'whole'};
    for (const id of ['memory', 'traffic']) {
      Page.find(id).addEventListener('keydown', (event) => {
        if (!(event.key in keys)) return;
        event.preventDefault();
        actions[keys[event.key]]();
      });
    }
    this.say();
  },

  show(first, last) {
    const most = this.data.bins;
    const length = Math.min(most, Math.max(Math.min(most, 4), Math.round(last - first)));
    const from = Math.max(0, Math.min(most - length, Math.round(first)));
    this.zoom = [from, from + length];
    this.say();
    for (const listener of this.listeners) listener();
  },
  scale(factor) {
    const [first, last] = this.zoom;
    const middle = (first + last) / 2;
    const half = (last - first) / 2 * factor;
    this.show(middle - half, middle + half);
  },
  shift(share) {
    const [first, last] = this.zoom;
    const by = (last - first) * share;
    this.show(first + by, last + by);
  },
  // Of a bin's left edge, since the start.
  time(bin) { return bin * this.data.bin_ns; },
  say() {
    const [first, last] = this.zoom;
    Page.fill('zoom-text',
        `${Words.time(this.time(first))} to ${Words.time(this.time(last))}`);
  },
  x() {
    return d3.scaleLinear().domain(this.zoom.map((bin) => this.time(bin)));
  },

  draw() {
    const {memory} = this.data;
    const lines = [
      ['tensors alive', memory.live_bytes],
      ['pages touched so far', memory.footprint_bytes],
      ['pages touched at the time', memory.touched_bytes],
    ].filter(([, values]) => values.length > 0);
    this.lines('memory', lines, {
      empty: 'This trace has neither tensors nor samples: nothing is known of its memory.',
      ticks: Words.bytes, inBytes: true, label: 'Memory over time',
    });
    this.drawTraffic();
  },

  drawTraffic() {
    const {traffic, bin_ns: bin} = this.data;
    const seconds = bin / 1e9;
    const rate = (values) => values.map((v) => v / seconds);
    const links = [];
    let what = '';
    if (traffic.links.some((link) => link.read_bytes)) {
      what = 'What passed each tier\u2019s link, by its memory controller\u2019s counters.';
      for (const link of traffic.links) {
        links.push([`${link.tier}, read`, rate(link.read_bytes)],
            [`${link.tier}, written`, rate(link.written_bytes)]);
      }
    } else if (traffic.links.some((link) => link.misses)) {
      what = 'Cache misses that each tier served, by counters, 64 bytes each.';
      for (const link of traffic.links) {
        links.push([link.tier, rate(link.misses.map((v) => v * 64))]);
      }
    }
    if (links.length > 0) {
      const lines = links.filter(([, values]) => d3.max(values) > 0);
      Page.fill('traffic-text', what,
          links.length > lines.length ? ' Tiers that served nothing are left out.' : '');
      this.lines('traffic', lines, {
        empty: 'No tier served anything, by its counters.', inBytes: true,
        ticks: (v) => `${Words.bytes(v)}/s`, label: 'Bytes per second by tier',
      });
      return;
    }
    const served = Object.entries(traffic.served).filter(([name]) => name !== 'unknown');
    Page.fill('traffic-text', served.length ?
        'Sampled accesses by where their data came from.' : '');
    this.lines('traffic', served.map(([name, values]) => [name, rate(values)]), {
      empty: 'Neither counters nor samples of this trace say which tier served it.',
      ticks: (v) => `${d3.format('~s')(v)}/s`, label: 'Accesses per second by source',
    });
  },

  lines(id, lines, {empty, ticks, inBytes, label}) {
    const place = Page.find(id);
    if (lines.length === 0) {
      place.replaceChildren(Object.assign(document.createElement('p'),
          {className: 'quiet', textContent: empty}));
      return;
    }
    const [first, last] = this.zoom;
    const seen = lines.map(([name, values]) => [name, values.slice(first, last)]);
    const x = this.x();
    const y = d3.scaleLinear()
        .domain([0, (d3.max(seen, ([, values]) => d3.max(values)) || 1) * 1.05]);
    const wide = place.clientWidth > 640;
    const frame = Chart.frame(id, {
      height: (id === 'memory' ? 260 : 200) + (wide ? 0 : 16 * lines.length),
      x, y, right: wide ? 170 : 20, left: 84,
      top: wide ? 16 : 16 + 16 * lines.length,
      xTicks: Words.tick, yTicks: ticks, xName: 'time since the start', label,
    });
    if (inBytes) {
      const {values, text} = Chart.byteTicks(y);
      const unit = id === 'traffic' ? '/s' : '';
      frame.svg.select('.axis.y').call(d3.axisLeft(y).tickValues(values)
          .tickFormat((v) => text(v) + unit).tickSizeOuter(0));
      frame.svg.select('.grid').call(d3.axisLeft(y).tickValues(values)
          .tickSize(-(frame.width - frame.left - frame.right)).tickFormat(''));
    }
    this.steps(frame, x);
    const labels = [];
    seen.forEach(([name, values], i) => {
      const points = values.map((v, k) => [this.time(first + k + 0.5), v]);
      frame.svg.append('path').attr('fill', 'none').attr('data-line', name)
          .attr('stroke', Chart.colour(i)).attr('stroke-width', 2)
          .attr('stroke-dasharray', Chart.dash(i))
          .attr('d', d3.line().x((p) => x(p[0])).y((p) => y(p[1]))(points));
      labels.push({name, i, y: y(values[values.length - 1]) + 4});
    });
    (wide ? Chart.spread(labels) : labels).forEach((label, k) => {
      const at = wide ? [frame.width - frame.right + 6, label.y] :
          [frame.left + 36, 12 + 16 * k];
      frame.svg.append('text').attr('x', at[0]).attr('y', at[1])
          .style('fill', Chart.colour(label.i)).text(label.name);
      if (wide) return;
      frame.svg.append('line').attr('x1', frame.left).attr('x2', frame.left + 30)
          .attr('y1', at[1] - 4).attr('y2', at[1] - 4).attr('stroke-width', 2)
          .attr('stroke', Chart.colour(label.i))
          .attr('stroke-dasharray', Chart.dash(label.i));
    });
    this.pointer(frame, x, lines, ticks);
  },

  // Where the job's steps begin, as ticks on the axis.
  steps(frame, x) {
    const [from, to] = x.domain();
    const here = this.data.steps_ns.filter((t) => t >= from && t <= to);
    if (here.length > 120) return;
    frame.svg.append('g').selectAll('line').data(here).join('line')
        .attr('x1', x).attr('x2', x).attr('y1', frame.height - frame.bottom)
        .attr('y2', frame.height - frame.bottom - 7).attr('stroke', 'var(--mark)')
        .attr('stroke-width', 1.5);
  },

  pointer(frame, x, lines, ticks) {
    const {svg, top, bottom, left, right, width, height} = frame;
    const rule = svg.append('line').attr('class', 'cursor').attr('y1', top)
        .attr('y2', height - bottom).attr('visibility', 'hidden');
    const brush = d3.brushX().extent([[left, top], [width - right, height - bottom]])
        .on('end', () => {
          const chosen = d3.event.selection;
          if (!chosen) return;
          this.show(...chosen.map((px) => x.invert(px) / this.data.bin_ns));
        });
    svg.append('g').attr('class', 'brush').call(brush);
    svg.on('mousemove', () => {
      const [px] = d3.mouse(svg.node());
      const bin = Math.floor(x.invert(px) / this.data.bin_ns);
      if (bin < this.zoom[0] || bin >= this.zoom[1]) return Page.tip('');
      rule.attr('x1', px).attr('x2', px).attr('visibility', 'visible');
      Page.tip([`at ${Words.time(this.time(bin))}`, ...lines.map(([name, values]) =>
          `${name}: ${ticks(values[bin])}`)].join('\n'),
          d3.event.clientX, d3.event.clientY);
    }).on('mouseleave', () => {
      rule.attr('visibility', 'hidden');
      Page.tip('');
    });
  },
};
