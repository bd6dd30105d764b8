// The whole page, from its data.

// What a source of losses means (traces/FORMAT.md has them all).
function lossMeaning(source) {
  const meanings = [
    [/^samples/, 'samples that the recorder could not keep up with'],
    [/^throttled/, 'times that the kernel paused sampling'],
    [/^malformed/, 'records that were not understood'],
    [/^other_processes/, 'samples of the job\u2019s other processes; the trace is of one'],
    [/^stream\.open/, 'the stream had not ended with the job: its last samples may be missing'],
    [/^recorder/, 'beyond what the recorder keeps in memory'],
    [/^observer\.foreign/, 'uses of memory that was not the framework\u2019s own (numpy\u2019s, say)'],
    [/^observer/, 'events that the library inside the job had to drop'],
    [/^writer/, 'events too large for the file'],
  ];
  const found = meanings.find(([pattern]) => pattern.test(source));
  return found ? found[1] : '';
}

function drawHeader() {
  const run = Page.data.runs[0];
  const command = run.command.join(' ') || run.file;
  document.title = `${command}: Thermocline report`;
  Page.fill('job', command);
  const badges = [];
  const badge = (text) => badges.push(Object.assign(
      document.createElement('span'), {className: 'badge', textContent: text}));
  if (run.emulated) badge('emulated');
  if (Page.data.runs.some((one) => !one.complete)) badge('trace is not whole');
  if (Page.data.what_if.complete === false) badge('stopped early');
  Page.fill('badges', ...badges);
  const {machine} = Page.data;
  const tiers = machine ? machine.tiers.map((tier) => {
    const latency = tier.read_ns > 0 ? `, ${tier.read_ns.toFixed(0)} ns a load` : '';
    const rate = tier.read_bytes_per_s > 0 ?
        `, ${(tier.read_bytes_per_s / 1e9).toFixed(1)} GB/s` : '';
    return `${tier.name} ${tier.capacity > 0 ? Words.bytes(tier.capacity) : ''}${latency}${rate}`;
  }).join('; ') : '';
  const figure = Page.figure(run.run_ns, Words.time(run.run_ns));
  figure.id = 'run-time';
  Page.fill('machine', 'Ran for ', figure,
      run.placement ? ` under ${run.placement}` : '',
      machine ? ` on ${machine.name}: ${tiers}.` : '; its machine is not known.');
  Page.fill('made-by', `Made by thermocline ${Page.data.thermocline} from ${
    Page.data.runs.map((one) => one.file).join(' and ')}. This file holds all it shows and loads nothing.`);
}

function drawMissing() {
  Page.find('with-what-if').hidden = true;
  Page.find('objects-section').hidden = true;
  Page.find('headline').className = 'quiet';
  Page.fill('headline', `Not known for this trace: ${Page.data.what_if.missing}.`);
}

function drawMemoryText() {
  const run = Page.data.runs[0];
  const parts = [];
  const add = (name, value) => {
    if (value > 0) parts.push(parts.length ? '; ' : 'At most: ', `${name} `,
        Page.figure(value, Words.bytes(value)));
  };
  add('tensors alive', run.peak_live_bytes);
  add('pages that samples touched', run.footprint_bytes);
  add('the process\u2019s own memory', run.private_bytes);
  if (Page.data.timeline.steps_ns.length > 0) {
    parts.push(`; red ticks: ${Words.count(Page.data.timeline.steps_ns.length)} steps, found by ${Page.data.timeline.steps_by}`);
  }
  Page.fill('memory-text', ...parts, parts.length ? '.' : '');
}

function drawLosses() {
  const rows = [];
  for (const run of Page.data.runs) {
    const add = (what, count, meaning) => rows.push({run, what, count, meaning});
    add('samples kept', run.samples, `${Words.count(run.loads)} loads, ${Words.count(run.stores)} stores`);
    for (const [source, count] of Object.entries(run.losses)) {
      add(`lost: ${source}`, count, lossMeaning(source));
    }
    if (Object.keys(run.losses).length === 0) add('lost', 0, 'nothing is known to be lost');
    if (run.dropped_events > 0) add('left out', run.dropped_events, 'events that contradict others');
    for (const one of run.periods) {
      add(`period of ${one.event}`, one.last, one.changes === 0 ? 'one in so many events was sampled' :
          `changed ${one.changes} times between ${one.shortest} and ${one.longest}, to keep sampling cheap`);
    }
  }
  const several = Page.data.runs.length > 1;
  Page.fill('losses', Chart.table([
    {name: 'what', show: (row) => row.what},
    {name: 'count', show: (row) => Page.figure(row.count, d3.format(',')(row.count))},
    {name: 'meaning', words: true, show: (row) => row.meaning},
    ...(several ? [{name: 'run', words: true, show: (row) => row.run.placement}] : []),
  ], rows));
}

function drawOrigins() {
  const list = [];
  for (const one of Page.data.origins) {
    const what = document.createElement('dt');
    what.textContent = one.what;
    const text = document.createElement('dd');
    const how = document.createElement('strong');
    how.textContent = one.how;
    text.append(how, `: ${one.text}.`);
    list.push(what, text);
  }
  Page.fill('origins', ...list);
  if (Page.data.notes.length === 0) return;
  const notes = document.createElement('ul');
  for (const note of Page.data.notes) {
    notes.append(Object.assign(document.createElement('li'), {textContent: note}));
  }
  const title = Object.assign(document.createElement('h3'), {textContent: 'Doubts and notes'});
  Page.fill('notes', title, notes);
}

drawHeader();
if (Page.data.what_if.missing) {
  drawMissing();
} else {
  WhatIf.begin();
  Moves.begin();
  Objects.begin();
}
Timeline.begin();
Heat.begin();
drawMemoryText();
drawLosses();
drawOrigins();
Page.draw();

// A change of width or of the colour scheme: heat is painted, not styled.
let waiting = 0;
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => Page.draw());
});
window.matchMedia('(prefers-color-scheme: dark)')
    .addEventListener('change', () => Page.draw());
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') Page.tip('');
});
document.documentElement.dataset.ready = 'yes';
