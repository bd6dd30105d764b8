// What the chosen policy would move, at the chosen size of fast memory.

const Moves = {
  begin() {
    WhatIf.listeners.push(() => this.draw());
    Page.drawers.push(() => this.draw());
  },

  draw() {
    const data = WhatIf.data;
    const row = WhatIf.row(WhatIf.policy);
    const share = data.shares[WhatIf.share];
    const fast = Page.data.machine.tiers[0].name;
    Page.fill('moves-title',
        `What ${WhatIf.policy} would keep in ${fast}, and move`);
    d3.select('#moves svg').remove();
    if (!row || row.error) {
      Page.fill('moves-text', row ? row.error : '');
      return;
    }
    const {fast_bytes: held, to_fast_bytes: into, from_fast_bytes: out} = row.moves;
    const most = Math.max(share.fast_bytes, d3.max(held) || 0, d3.max(into) || 0);
    const x = d3.scaleLinear().domain([0, held.length]);
    const y = d3.scaleLinear().domain([-(d3.max(out) || 0), most * 1.05]);
    const frame = Chart.frame('moves', {
      height: 220, x, y, top: 22, right: 24,
      xTicks: (v) => Words.percent(v / held.length), yTicks: Words.bytes,
      xName: data.times_are_of === 'step' ? 'operators of a step' : 'the run, by work done',
      label: `Bytes in ${fast} and bytes moved under ${WhatIf.policy}`,
    });
    const ticks = Chart.byteTicks(y);
    frame.svg.select('.axis.y').call(d3.axisLeft(y).tickValues(ticks.values)
        .tickFormat(ticks.text).tickSizeOuter(0));
    const {svg} = frame;
    const area = d3.area().curve(d3.curveStepAfter).x((_, i) => x(i)).y0(y(0))
        .y1((v) => y(v));
    svg.append('path').attr('fill', 'var(--accent)').attr('fill-opacity', 0.25)
        .attr('d', area([...held, held[held.length - 1]]));
    svg.append('line').attr('class', 'reference').attr('x1', x(0))
        .attr('x2', x(held.length)).attr('y1', y(share.fast_bytes))
        .attr('y2', y(share.fast_bytes));
    svg.append('text').attr('class', 'name halo').attr('x', x(0) + 6)
        .attr('y', y(share.fast_bytes) - 5)
        .text(`holds ${Words.bytes(share.fast_bytes)}`);
    const wide = Math.max(1, (x(1) - x(0)) * 0.7);
    for (const [list, sign, colour] of [[into, 1, 'var(--s0)'], [out, -1, 'var(--s1)']]) {
      svg.append('g').selectAll('rect').data(list).join('rect')
          .attr('x', (_, i) => x(i)).attr('width', wide).attr('fill', colour)
          .attr('y', (v) => sign > 0 ? y(v) : y(0))
          .attr('height', (v) => Math.abs(y(v) - y(0)));
    }
    svg.on('mousemove', () => {
      const i = Math.max(0, Math.min(held.length - 1,
          Math.floor(x.invert(d3.mouse(svg.node())[0]))));
      Page.tip(`${Words.percent(i / held.length)} of the ${data.times_are_of}\n` +
          `${Words.bytes(held[i])} in ${fast}\nmoved there ${Words.bytes(into[i])}, ` +
          `moved out ${Words.bytes(out[i])}`, d3.event.clientX, d3.event.clientY);
    }).on('mouseleave', () => Page.tip(''));
    const total = Page.figure(row.moved_bytes, Words.bytes(row.moved_bytes));
    total.id = 'moved';
    Page.fill('moves-text', `Filled: in ${fast}. Bars up: moved into it; bars down: out of it. Moved in all: `,
        total, data.times_are_of === 'step' ? ' a step (mean of several; drawn is the last)' : '',
        `. Modelled: this is the policy replayed on the recorded job, not a run.`,
        row.note ? ` The policy says: ${row.note}.` : '');
  },
};
