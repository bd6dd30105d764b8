// The heat map: memory by time, coloured by how often it was used.

const Heat = {
  by: 'address',
  cursor: null,  // [row, bin] of what the keys point at
  rows: [],      // those that the filter lets through

  get map() { return Page.data.timeline.heat[this.by]; },
  cells(row, bin) {
    const kind = Page.find('heat-kind').value;
    return (kind === 'stores' ? 0 : row.loads[bin]) +
        (kind === 'loads' ? 0 : row.stores[bin]);
  },

  begin() {
    const maps = Page.data.timeline.heat;
    const select = Page.find('heat-by');
    if (maps.tensor.rows.length > 0) this.by = 'tensor';
    for (const option of [...select.options]) {
      option.disabled = maps[option.value].rows.length === 0;
    }
    select.value = this.by;
    select.addEventListener('change', () => {
      this.by = select.value;
      this.cursor = null;
      this.filter();
    });
    Page.find('heat-kind').addEventListener('change', () => this.draw());
    Page.find('heat-filter').addEventListener('input', () => this.filter());
    Page.find('heat').addEventListener('keydown', (event) => this.key(event));
    Timeline.listeners.push(() => this.draw());
    Page.drawers.push(() => this.draw());
    this.filter();
  },

  filter() {
    const wanted = Page.find('heat-filter').value.trim().toLowerCase();
    const address = /^0x[0-9a-f]+$/.test(wanted) ? BigInt(wanted) : null;
    this.rows = this.map.rows.filter((row) =>
        !wanted || `${row.name} ${row.label} ${row.start}`.toLowerCase().includes(wanted) ||
        (address !== null && address >= BigInt(row.start) && address < BigInt(row.end)));
    this.cursor = null;
    this.draw();
  },

  key(event) {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0],
                  ArrowDown: [1, 0]}[event.key];
    if (event.key === '+' || event.key === '=') Timeline.scale(0.5);
    else if (event.key === '-') Timeline.scale(2);
    else if (event.key === '0') Timeline.show(0, Timeline.data.bins);
    else if (!step || this.rows.length === 0) return;
    else {
      const [first, last] = Timeline.zoom;
      const at = this.cursor ? [this.cursor[0] + step[0], this.cursor[1] + step[1]] :
          [0, first];
      this.cursor = [Math.max(0, Math.min(this.rows.length - 1, at[0])),
                     Math.max(first, Math.min(last - 1, at[1]))];
      this.draw();
      Page.fill('heat-said', this.told(...this.cursor).replace(/\n/g, '; '));
    }
    event.preventDefault();
  },

  called(row) {
    const name = row.name || `${row.start} to ${row.end}`;
    return row.label ? `${name} (${row.label})` : name;
  },

  told(r, bin) {
    const row = this.rows[r];
    const {unit} = this.map;
    const lines = [this.called(row)];
    if (this.by === 'address') lines.push(`${row.start} to ${row.end}, ${Words.count(row.count)} touched pages`);
    else lines.push(`${Words.bytes(row.bytes)}${row.count > 1 ? `, ${Words.count(row.count)} tensors` : ''}`);
    lines.push(`${Words.time(Timeline.time(bin))} to ${Words.time(Timeline.time(bin + 1))}`,
        `loads ${Words.count(row.loads[bin] * unit)}, stores ${Words.count(row.stores[bin] * unit)}`);
    return lines.join('\n');
  },

  say() {
    const {map} = this;
    const {bins} = Timeline.data;
    const what = this.by === 'address' ?
        `${map.rows.length} rows of equally many touched pages, lowest addresses first; memory that no sample hit is left out` :
        `a row for the tensors that lived in one place one after another, the most used first; those beyond ${map.rows.length - 1} rows are one`;
    const how = map.sampled ? 'Sampled accesses' :
        'No samples: what operators read and wrote, in lines of 64 bytes';
    Page.fill('heat-text', `${how}, binned: ${what}; ${bins} columns of ${Words.time(Timeline.data.bin_ns)}.`);
  },

  draw() {
    this.say();
    const place = Page.find('heat');
    if (this.rows.length === 0) {
      Page.fill('heat-scale');
      place.replaceChildren(Object.assign(document.createElement('p'), {
        className: 'quiet', textContent: this.map.rows.length === 0 ?
            'This trace has no samples, and no operators that use tensors: no heat is known.' :
            'Nothing has such a name.',
      }));
      return;
    }
    const [first, last] = Timeline.zoom;
    const rows = this.rows.length;
    const named = place.clientWidth > 640;
    const left = named ? 170 : 16;
    const right = 16;
    const width = Math.max(260, place.clientWidth);
    const tall = Math.max(rows <= 60 ? Math.max(14, 120 / rows) : 480 / rows, 2.5);
    const height = Math.round(rows * tall);
    place.replaceChildren();
    const canvas = d3.select(place).append('canvas').node();
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `Heat by ${this.by} and time; arrow keys read it out`);
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const wide = (width - left - right) / (last - first);
    const style = getComputedStyle(document.documentElement);
    const most = Math.max(1, d3.max(this.map.rows, (row) =>
        d3.max(row.loads, (_, bin) => this.cells(row, bin))));
    const colour = d3.scaleSequentialLog(this.shade()).domain([1, Math.max(2, most)]);
    pen.fillStyle = style.getPropertyValue('--empty');
    pen.fillRect(left, 0, width - left - right, height);
    this.rows.forEach((row, r) => {
      for (let bin = first; bin < last; ++bin) {
        const value = this.cells(row, bin);
        if (value === 0) continue;
        pen.fillStyle = colour(value);
        pen.fillRect(left + (bin - first) * wide, r * tall, wide + 0.5, tall);
      }
    });
    if (named) this.names(pen, style, tall, left);
    if (this.cursor) {
      const [r, bin] = this.cursor;
      pen.strokeStyle = style.getPropertyValue('--mark');
      pen.lineWidth = 2;
      pen.strokeRect(left + (bin - first) * wide - 1, r * tall - 1,
          Math.max(wide, 4) + 2, tall + 2);
    }
    this.axis(place, width, left, right);
    this.scale(colour, most);
    canvas.onmousemove = (event) => {
      const bin = first + Math.floor((event.offsetX - left) / wide);
      const row = Math.floor(event.offsetY / tall);
      const inside = bin >= first && bin < last && row >= 0 && row < rows;
      Page.tip(inside ? this.told(row, bin) : '', event.clientX, event.clientY);
    };
    canvas.onmouseleave = () => Page.tip('');
  },

  // Hot is far from the ground, in either scheme; cold still differs from it.
  shade() {
    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
    return (t) => d3.interpolateCividis(dark ? 0.25 + 0.75 * t : 0.85 * (1 - t));
  },

  // As many names as there is room for; of rows alike, the first.
  names(pen, style, tall, left) {
    pen.font = '12px system-ui, sans-serif';
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    pen.fillStyle = style.getPropertyValue('--quiet');
    let free = 0;
    let before = null;
    this.rows.forEach((row, r) => {
      const text = this.by === 'address' ? row.name.split('/').pop() || row.start :
          this.called(row);
      const y = (r + 0.5) * tall;
      if (y < free || (this.by === 'address' && row.name && row.name === before)) return;
      before = row.name;
      let shown = text;
      while (pen.measureText(shown).width > left - 12 && shown.length > 4) {
        shown = `${shown.slice(0, -2).replace(/\u2026$/, '')}\u2026`;
      }
      pen.fillText(shown, left - 8, Math.max(7, y));
      free = y + 14;
    });
  },

  axis(place, width, left, right) {
    const x = Timeline.x().range([left, width - right]);
    const svg = d3.select(place).append('svg').attr('width', width)
        .attr('height', 40).attr('aria-hidden', 'true');
    svg.append('g').attr('class', 'axis')
        .call(d3.axisBottom(x).ticks(Math.max(2, Math.floor((width - left) / 90)))
            .tickFormat(Words.tick).tickSizeOuter(0));
    svg.append('text').attr('class', 'name').attr('x', width - right).attr('y', 36)
        .attr('text-anchor', 'end').text('time since the start');
  },

  scale(colour, most) {
    const bar = document.createElement('span');
    const stops = d3.range(0, 1.01, 0.1).map(this.shade());
    bar.style.cssText = `width:10rem;height:.8rem;background:linear-gradient(90deg,${stops})`;
    const {unit} = this.map;
    Page.fill('heat-scale', Words.count(unit), bar,
        `${Words.count(most * unit)} accesses a cell, each colour step as many times more; empty: none`);
  },
};
