// The what-if curve: a job's time against the size of fast memory, by policy.

const WhatIf = {
  get data() { return Page.data.what_if; },
  // What is chosen: a size and a policy. All that depends on it listens.
  share: 0,
  policy: '',
  shown: new Set(),
  listeners: [],

  names() {
    return this.data.shares[0].policies.map(this.name);
  },
  name: (row) => row.variant ? `${row.policy} (${row.variant})` : row.policy,
  row(policy, share = this.share) {
    const here = this.data.shares[share];
    return here && here.policies.find((row) => this.name(row) === policy);
  },
  // Rows that have a time, the fastest first.
  ranked(share) {
    return this.data.shares[share].policies.filter((row) => !row.error)
        .sort((a, b) => a.time_ns - b.time_ns);
  },
  choose(share, policy) {
    this.share = Math.max(0, Math.min(this.data.shares.length - 1, share));
    this.policy = policy;
    this.shown.add(policy);
    for (const listener of this.listeners) listener();
  },

  begin() {
    const shares = this.data.shares;
    const half = shares.map((s) => Math.abs(s.fast_share - 0.5));
    this.share = half.indexOf(Math.min(...half));
    const best = this.ranked(this.share);
    const names = this.names();
    this.policy = names.includes('learned') ? 'learned' :
        best.length ? this.name(best[0]) : names[0];
    // All at once are a thicket: the best few, and what needs no policy.
    for (const row of best.slice(0, 4)) this.shown.add(this.name(row));
    for (const name of ['first_touch', 'learned']) {
      if (names.includes(name)) this.shown.add(name);
    }
    this.shown.add(this.policy);
    this.controls();
    this.listeners.push(() => this.say(), () => this.draw(),
        () => this.legend());
    Page.drawers.push(() => this.draw());
    this.legend();
    this.say();
    this.table();
  },

  controls() {
    const range = Page.find('share');
    range.max = this.data.shares.length - 1;
    range.addEventListener('input', () => {
      this.choose(+range.value, this.policy);
    });
    const select = Page.find('policy');
    for (const name of this.names()) select.add(new Option(name));
    select.addEventListener('change', () => {
      this.choose(this.share, select.value);
    });
    Page.find('from-zero').addEventListener('change', () => this.draw());
    Page.fill('bars', `Error bars, drawn for the chosen policy: ${this.data.error_bars}.`);
    Page.find('what-if').addEventListener('keydown', (event) => {
      const names = this.names().filter((name) => this.shown.has(name));
      const at = names.indexOf(this.policy);
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
                    ArrowDown: [0, 1]}[event.key];
      if (!step) return;
      event.preventDefault();
      this.choose(this.share + step[0],
          names[(at + step[1] + names.length) % names.length]);
    });
  },

  // The sentence at the top: what is chosen against what needs no policy.
  say() {
    const here = this.data.shares[this.share];
    const size = `${Words.bytes(here.fast_bytes)} (${Words.percent(here.fast_share)})`;
    Page.find('share').value = this.share;
    Page.find('share').setAttribute('aria-valuetext', size);
    Page.fill('share-text', size);
    Page.find('policy').value = this.policy;
    const tiers = Page.data.machine.tiers;
    const fast = tiers[0].name;
    const slow = tiers[tiers.length - 1].name;
    const what = this.data.times_are_of === 'step' ? 'a step takes' : 'the job takes';
    const time = (id, ns) => {
      const node = Page.figure(ns, Words.time(ns));
      node.id = id;
      return node;
    };
    const row = this.row(this.policy);
    const base = this.row('first_touch');
    const parts = [`With ${size} of its memory in ${fast}, ${what} `];
    if (!row || row.error) {
      parts.push(`... ${this.policy} failed here: ${row ? row.error : 'no figures'}. `);
    } else {
      parts.push(time('chosen', row.time_ns));
      if (row.error_ns) {
        parts.push(' \u00b1 ', time('chosen-error', row.error_ns));
      }
      parts.push(` under ${this.policy}`);
      if (base && base !== row && !base.error) {
        parts.push(', against ', time('first-touch', base.time_ns),
            ' where the kernel first put it: ',
            Words.times(base.time_ns / row.time_ns), ' as fast');
      }
      parts.push('. ');
    }
    parts.push(`All in ${fast}: `, time('all-fast', this.data.all_fast_ns),
        `; all in ${slow}: `, time('all-slow', this.data.all_slow_ns), '.');
    Page.fill('headline', ...parts);
  },

  legend() {
    const place = d3.select('#legend');
    place.selectAll('button').data(this.names()).join((enter) => {
      const button = enter.append('button').attr('type', 'button');
      button.each(function(name, i) {
        this.append(Chart.sample(i), name);
      });
      return button.on('click', (name) => {
        if (!this.shown.delete(name)) this.shown.add(name);
        this.legend();
        this.draw();
      });
    }).attr('aria-pressed', (name) => this.shown.has(name))
        .style('font-weight', (name) => name === this.policy ? 650 : null);
  },

  // y runs over what is drawn; from 0 unless asked otherwise.
  domain() {
    const data = this.data;
    let least = data.all_fast_ns;
    let most = Math.max(data.all_slow_ns, least);
    for (const share of data.shares) {
      for (const row of share.policies) {
        if (row.error || !this.shown.has(this.name(row))) continue;
        most = Math.max(most, row.time_ns + (row.error_ns || 0));
        least = Math.min(least, row.time_ns - (row.error_ns || 0));
      }
    }
    const zero = Page.find('from-zero').checked;
    const room = 0.04 * (most - least);
    return [zero ? 0 : Math.max(0, least - room), most + room];
  },

  draw() {
    const data = this.data;
    const x = d3.scaleLinear().domain([0, 1]);
    const y = d3.scaleLinear().domain(this.domain());
    const wide = Page.find('what-if').clientWidth > 640;
    const frame = Chart.frame('what-if', {
      height: wide ? 400 : 320, x, y, right: wide ? 132 : 24,
      top: 22, xTicks: Words.percent,
      yTicks: Words.tick, yName: `time of ${data.times_are_of === 'step' ? 'a step' : 'the run'}`,
      xName: `share of ${Words.bytes(data.peak_bytes)} in fast memory`,
      label: 'Time against the size of fast memory, a line for each policy; the table below has the figures',
    });
    const {svg, width, right} = frame;
    const tiers = Page.data.machine.tiers;
    for (const [ns, text] of [
      [data.all_slow_ns, `all in ${tiers[tiers.length - 1].name}`],
      [data.all_fast_ns, `all in ${tiers[0].name}`]]) {
      svg.append('line').attr('class', 'reference').attr('x1', x(0))
          .attr('x2', x(1)).attr('y1', y(ns)).attr('y2', y(ns));
      svg.append('text').attr('class', 'name halo').attr('x', x(0) + 6)
          .attr('y', y(ns) - 5).text(`${text}: ${Words.time(ns)}`);
    }
    const line = d3.line().x((p) => x(p[0])).y((p) => y(p[1]));
    svg.append('path').attr('fill', 'none').attr('stroke', 'var(--quiet)')
        .attr('stroke-dasharray', '1 4').attr('stroke-width', 2)
        .attr('d', line(data.shares.map((s) => [s.fast_share, s.bound_ns])));
    const end = data.shares[data.shares.length - 1];
    const labels = [{y: y(end.bound_ns) + 4, name: 'no policy beats this'}];
    this.names().forEach((name, i) => {
      if (!this.shown.has(name)) return;
      const points = data.shares.map((s, k) => [s.fast_share, this.row(name, k)])
          .filter(([, row]) => row && !row.error);
      if (points.length === 0) return;
      const group = svg.append('g').attr('data-policy', name);
      group.append('path').attr('fill', 'none')
          .attr('stroke', Chart.colour(i)).attr('stroke-dasharray', Chart.dash(i))
          .attr('stroke-width', name === this.policy ? 3 : 1.5)
          .attr('d', line(points.map(([share, row]) => [share, row.time_ns])));
      for (const [share, row] of points) {
        if (row.error_ns && name === this.policy) this.bar(group, x(share), y, row);
        group.append('path').attr('class', 'point')
            .attr('data-ns', row.time_ns).attr('fill', Chart.colour(i))
            .attr('transform', `translate(${x(share)},${y(row.time_ns)})`)
            .attr('d', Chart.symbol(i, name === this.policy ? 90 : 45));
      }
      const last = points[points.length - 1];
      labels.push({y: y(last[1].time_ns) + 4, name, i});
    });
    if (wide) {
      for (const label of Chart.spread(labels)) {
        svg.append('text').attr('x', width - right + 6).attr('y', label.y)
            .style('fill', 'i' in label ? Chart.colour(label.i) : 'var(--quiet)')
            .style('font-weight', label.name === this.policy ? 650 : null)
            .text(label.name);
      }
    }
    this.cursor(frame, x, y);
  },

  bar(group, at, y, row) {
    const top = y(row.time_ns + row.error_ns);
    const end = y(Math.max(0, row.time_ns - row.error_ns));
    group.append('path').attr('class', 'error-bar').attr('stroke', 'var(--text)')
        .attr('fill', 'none')
        .attr('d', `M${at - 5},${top}h10M${at},${top}V${end}M${at - 5},${end}h10`);
  },

  cursor(frame, x, y) {
    const {svg, height, top, bottom} = frame;
    const here = this.data.shares[this.share];
    svg.append('line').attr('class', 'cursor').attr('x1', x(here.fast_share))
        .attr('x2', x(here.fast_share)).attr('y1', top)
        .attr('y2', height - bottom);
    // The nearest point that is drawn, for the pointer.
    const nearest = (place) => {
      const share = d3.scan(this.data.shares, (a, b) =>
          Math.abs(x(a.fast_share) - place[0]) - Math.abs(x(b.fast_share) - place[0]));
      const rows = this.ranked(share).filter((row) => this.shown.has(this.name(row)));
      const at = d3.scan(rows, (a, b) =>
          Math.abs(y(a.time_ns) - place[1]) - Math.abs(y(b.time_ns) - place[1]));
      return {share, row: rows[at]};
    };
    svg.style('cursor', 'pointer').on('mousemove', () => {
      const {share, row} = nearest(d3.mouse(svg.node()));
      if (!row) return;
      Page.tip(this.told(share, row), d3.event.clientX, d3.event.clientY);
    }).on('mouseleave', () => Page.tip('')).on('click', () => {
      const {share, row} = nearest(d3.mouse(svg.node()));
      if (row) this.choose(share, this.name(row));
    });
  },

  told(share, row) {
    const here = this.data.shares[share];
    const lines = [
      `${this.name(row)}, ${Words.bytes(here.fast_bytes)} fast (${Words.percent(here.fast_share)})`,
      `${Words.time(row.time_ns)}${row.error_ns ? ` \u00b1 ${Words.time(row.error_ns)}` : ''}`,
    ];
    if (row.gap_closed !== null) {
      lines.push(`closes ${Words.percent(row.gap_closed)} of the gap from first_touch to all fast`);
    }
    lines.push(`moves ${Words.bytes(row.moved_bytes)} a ${this.data.times_are_of}`);
    if (row.note) lines.push(row.note);
    return lines.join('\n');
  },

  table() {
    const show = (name) => (share) => {
      const row = share.policies.find((one) => this.name(one) === name);
      if (row.error) return 'failed';
      const node = document.createElement('span');
      node.append(Page.figure(row.time_ns, Words.time(row.time_ns)));
      if (row.error_ns) node.append(' \u00b1 ', Words.time(row.error_ns));
      return node;
    };
    Page.fill('what-if-table', Chart.table([
      {name: 'fast memory', show: (s) =>
          `${Words.bytes(s.fast_bytes)} (${Words.percent(s.fast_share)})`},
      ...this.names().map((name) => ({name, show: show(name)})),
      {name: 'no policy beats', show: (s) => Words.time(s.bound_ns)},
    ], this.data.shares));
  },
};
