// What all drawings share: a frame with axes, lines that differ by more than
// their colour, and a table.

const Chart = {
  // A fresh drawing as wide as its place. x, y: scales without a range.
  frame(id, {height, x, y, left = 76, right = 16, top = 12, bottom = 40,
             xTicks, yTicks, xName, yName, label}) {
    const place = Page.find(id);
    const width = Math.max(260, place.clientWidth);
    d3.select(place).select('svg').remove();
    const svg = d3.select(place).append('svg').attr('width', width)
        .attr('height', height).attr('role', 'img').attr('aria-label', label);
    x.range([left, width - right]);
    y.range([height - bottom, top]);
    const many = Math.max(2, Math.floor((width - left - right) / 90));
    svg.append('g').attr('class', 'grid')
        .attr('transform', `translate(${left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickSize(-(width - left - right))
            .tickFormat(''));
    svg.append('g').attr('class', 'axis x')
        .attr('transform', `translate(0,${height - bottom})`)
        .call(d3.axisBottom(x).ticks(many).tickFormat(xTicks).tickSizeOuter(0));
    svg.append('g').attr('class', 'axis y')
        .attr('transform', `translate(${left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickFormat(yTicks).tickSizeOuter(0));
    svg.append('text').attr('class', 'name').attr('x', width - right)
        .attr('y', height - 4).attr('text-anchor', 'end').text(xName);
    svg.append('text').attr('class', 'name').attr('x', 2).attr('y', 10)
        .text(yName || '');
    return {svg, width, height, left, right, top, bottom};
  },

  // Byte axes have ticks at round numbers of the unit that they are shown in.
  byteTicks(scale) {
    const most = scale.domain()[1];
    const unit = Math.pow(1024, Math.max(0, Math.min(4,
        Math.floor(Math.log(Math.max(1, most)) / Math.log(1024)))));
    const values = d3.ticks(0, most / unit, 5).map((v) => v * unit);
    return {values, text: (v) => Words.bytes(v).replace('.0 ', ' ')};
  },
  // Puts such ticks on a frame's axis and its grid.
  useByteTicks(frame, y) {
    const {values, text} = Chart.byteTicks(y);
    frame.svg.select('.axis.y').call(d3.axisLeft(y).tickValues(values)
        .tickFormat(text).tickSizeOuter(0));
    frame.svg.select('.grid').call(d3.axisLeft(y).tickValues(values)
        .tickSize(-(frame.width - frame.left - frame.right)).tickFormat(''));
  },

  colour: (i) => `var(--s${i % 8})`,
  dash: (i) => ['', '7 3', '2 3', '9 3 2 3', '4 2'][i % 5],
  symbol: (i, size = 60) =>
      d3.symbol().type(d3.symbols[i % d3.symbols.length]).size(size)(),

  // A short line with its mark, for legends.
  sample(i) {
    const svg = d3.create('svg').attr('width', 30).attr('height', 14)
        .attr('aria-hidden', 'true');
    svg.append('line').attr('x1', 0).attr('x2', 30).attr('y1', 7).attr('y2', 7)
        .attr('stroke', Chart.colour(i)).attr('stroke-width', 2)
        .attr('stroke-dasharray', Chart.dash(i));
    svg.append('path').attr('d', Chart.symbol(i, 40))
        .attr('transform', 'translate(15,7)').attr('fill', Chart.colour(i));
    return svg.node();
  },

  // Names at the lines' right ends, moved apart where they would overlap.
  spread(labels, least = 14) {
    labels.sort((a, b) => a.y - b.y);
    for (let i = 1; i < labels.length; ++i) {
      labels[i].y = Math.max(labels[i].y, labels[i - 1].y + least);
    }
    return labels;
  },

  // columns: [{name, key, text(row), number, words, cell(row)}]
  table(columns, rows) {
    const table = d3.create('table');
    table.append('thead').append('tr').selectAll('th').data(columns).join('th')
        .attr('scope', 'col').attr('class', (c) => c.words ? 'words' : null)
        .text((c) => c.name);
    const body = table.append('tbody');
    for (const row of rows) {
      const line = body.append('tr');
      for (const column of columns) {
        const cell = line.append('td')
            .attr('class', column.words ? 'words' : null);
        const shown = column.show(row);
        if (shown instanceof Node) cell.node().append(shown);
        else cell.text(shown);
      }
    }
    return table.node();
  },
};
