// What each object would gain in fast memory, as a table to sort and filter.

const Objects = {
  order: 'gain_ns',
  up: false,

  begin() {
    Page.find('objects-filter').addEventListener('input', () => this.draw());
    const {in_all: all, objects} = Page.data.objects;
    const per = Page.data.what_if.times_are_of === 'step' ? 'A step' : 'The job';
    const fast = Page.data.machine.tiers[0].name;
    const last = Page.data.machine.tiers.length - 1;
    Page.fill('objects-text', objects.length === 0 ?
        'Nothing is known of what single objects would gain.' :
        `${per} is so much faster with the object in ${fast} rather than in ${Page.data.machine.tiers[last].name}. ` +
        (all > objects.length ? `The ${objects.length} that gain most, of ${Words.count(all)}.` : ''));
    this.draw();
  },

  columns() {
    const most = d3.max(Page.data.objects.objects, (one) => one.gain_ns);
    const gain = (one) => {
      const node = document.createElement('span');
      const bar = document.createElement('span');
      const fill = document.createElement('span');
      bar.className = 'bar';
      bar.setAttribute('aria-hidden', 'true');
      fill.style.width = `${100 * Math.max(0, one.gain_ns / most)}%`;
      bar.append(fill);
      node.append(Page.figure(one.gain_ns, Words.time(one.gain_ns)), bar);
      return node;
    };
    const density = (one) => one.bytes > 0 ? one.gain_ns / one.bytes * (1 << 20) : 0;
    const labelled = Page.data.objects.objects.some((one) => one.label);
    return [
      {name: 'object', key: (one) => one.name,
       show: (one) => one.count > 1 ? `${one.name} (${Words.count(one.count)} in one place)` : one.name},
      ...(labelled ? [{name: 'label', words: true, key: (one) => one.label,
                       show: (one) => one.label}] : []),
      {name: 'size', key: (one) => one.bytes, show: (one) => Words.bytes(one.bytes)},
      {name: 'gains', id: 'gain_ns', key: (one) => one.gain_ns, show: gain},
      {name: 'gains a MiB', key: density, show: (one) => Words.time(density(one))},
    ];
  },

  draw() {
    const wanted = Page.find('objects-filter').value.trim().toLowerCase();
    const columns = this.columns();
    const by = columns.find((c) => (c.id || c.name) === this.order);
    const rows = Page.data.objects.objects.filter((one) =>
        `${one.name} ${one.label}`.toLowerCase().includes(wanted));
    rows.sort((a, b) => (this.up ? 1 : -1) * d3.ascending(by.key(a), by.key(b)));
    // A long table is for the filter, not for scrolling.
    const table = Chart.table(columns, rows.slice(0, wanted ? 200 : 20));
    d3.select(table).selectAll('th').each((column, i, cells) => {
      const id = column.id || column.name;
      const cell = d3.select(cells[i]).text('');
      if (id === this.order) cell.attr('aria-sort', this.up ? 'ascending' : 'descending');
      cell.append('button').attr('type', 'button')
          .text(`${column.name}${id === this.order ? (this.up ? ' \u2191' : ' \u2193') : ''}`)
          .on('click', () => {
            this.up = id === this.order ? !this.up : false;
            this.order = id;
            this.draw();
            Page.find('objects').querySelector('th[aria-sort] button').focus();
          });
    });
    Page.fill('objects', rows.length > 0 ? table : 'Nothing has such a name.');
  },
};
