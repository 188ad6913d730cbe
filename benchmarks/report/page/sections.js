// One function per section of the page: an array of elements, or null if nothing was measured.

const nameColumns = [
  {name: 'space', words: true, cell: (m) => m.space},
  {name: 'rival', words: true, cell: (m) => m.rival},
];
const rateColumns = [
  {name: 'cycles/s', cell: (m) => spreadText(m.per_second, rate)},
  {name: 'of floor', cell: (m) => (m.role === 'floor' ? 'the floor' : spreadText(m.ratio, share))},
];
const latencyColumns = (key, what) => [['p50', 'p50'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'max']]
  .map(([part, name]) => ({name: `${what} ${name}`, cell: (m) => duration(latencyPart(m[key], part))}));
const cpuColumn = {name: 'CPU/cycle', cell: (m) => spreadText(m.cpu_us, duration)};
const countColumn = (key, name) => ({name, cell: (m) => grouped(m[key])});

const must = (run, id, unit) => run.promises.find((p) => p.promise === id && p.unit === unit && isNumber(p.must)) || {};
const bounds = (promise, format) => [
  isNumber(promise.must) ? {value: promise.must, name: `must ${format(promise.must)}`, colour: 'var(--must)'} : null,
  isNumber(promise.aim) ? {value: promise.aim, name: `aim ${format(promise.aim)}`, colour: 'var(--aim)'} : null,
].filter((bound) => bound !== null);
const boundName = (format) => (value) => format(value).replace(/(\.\d*?)0+(?=\D*$)/, '$1').replace(/\.(?=\D*$)/, '');

const percentiles = [['p50', 'circle', 'p50'], ['p99', 'square', 'p99'], ['p999', 'triangle', 'p99.9'], ['max', 'plus', 'max']];

function latencyRow(m, key) {
  const marks = percentiles.map(([part, shape, name]) => ({shape, value: latencyPart(m[key], part), name}))
    .filter((one) => one.value > 0)
    .map((one) => ({...one, title: `${m.space}, ${m.rival}: ${one.name} ${duration(one.value)}`}));
  if (marks.length === 0) return null;
  const values = marks.map((one) => one.value);
  return {marks, span: [Math.min(...values), Math.max(...values)], thin: !isLockset(m)};
}
const percentileLegend = percentiles.map(([, shape, name]) => ({name, shape, colour: 'var(--floor)', line: false}));

function rateRow(m) {
  const spread = spreadOf(m.per_second);
  if (spread === null || spread.median <= 0) return null;
  const ratio = m.role === 'floor' ? '' : spreadText(m.ratio, share);
  return {
    marks: [{shape: 'circle', hollow: !isLockset(m), value: spread.median,
      title: `${m.space}, ${m.rival}: ${spreadText(spread, rate)} cycles/s${ratio && ', of floor ' + ratio}`}],
    text: rate(spread.median),
  };
}

function promiseSection(run) {
  if (run.promises.length === 0) return null;
  const format = {
    share, times, percent, us: (value) => duration(value), ms: (value) => duration(1000 * value), count: (value) => figures(value, 1),
  };
  const shown = (p) => format[p.unit] || share;
  const short = (p) => boundName(shown(p));
  const classes = {'aim': 'aim', 'must': 'must', 'missed': 'missed', 'not measured': 'unmeasured', 'no promise': 'none'};
  const words = {'aim': '✓✓ aim', 'must': '✓ must', 'missed': '✗ missed', 'not measured': 'not measured', 'no promise': 'no promise'};
  const few = (p) => ['aim', 'must', 'missed'].includes(p.verdict) && isNumber(p.repetitions) && p.repetitions > 0 && p.repetitions < 5;
  const verdict = (p) => html('span', {class: classes[p.verdict]}, (words[p.verdict] || '') + (few(p) ? '*' : ''));

  const kinds = [];
  for (const p of run.promises) {
    if (!kinds.some((kind) => kind.promise === p.promise && kind.what === p.what)) kinds.push(p);
  }
  const names = {
    'P1 share': 'share of floor, 1 client', 'P2 times': '8 names', 'P3 share': 'share of floor, 16 clients',
    'P3 percent': 'internal retries', 'P4 times': 'hand-over', 'P5 times': 'full store', 'P6 percent': 'renewal: CPU',
    'P6 times': 'renewal: others wait', 'P7 count': 'tries per grant', 'P9 share': 'least of most served',
    'P9 percent': 'the same, 200 clients',
    'P8 us': 'memory', 'P12 share': 'share of the native lock',
  };
  const cell = (id, kind) => {
    const p = run.promises.find((one) => one.space === id && one.promise === kind.promise && one.what === kind.what);
    if (p === undefined) return html('td', {class: 'none'}, '');
    const spread = spreadOf(p.measured);
    return html('td', {}, spread === null ? null : html('div', {}, shown(p)(spread.median)), html('small', {}, verdict(p)));
  };
  const matrix = html('div', {class: 'scroll'}, html('table', {class: 'matrix'},
    html('thead', {}, html('tr', {}, html('th', {class: 'words'}, ''), kinds.map((kind) =>
      html('th', {title: kind.what}, kind.promise, html('small', {}, names[`${kind.promise} ${kind.unit}`] || kind.what))))),
    html('tbody', {}, run.ids.filter((id) => run.promises.some((p) => p.space === id)).map((id) =>
      html('tr', {}, html('td', {}, id), kinds.map((kind) => cell(id, kind)))))));
  const list = html('details', {}, html('summary', {}, 'Each promise, with its spread'), table([
    {name: '', words: true, cell: (p) => p.promise},
    {name: 'promise', words: true, cell: (p) => p.what},
    {name: 'space', words: true, cell: (p) => p.space},
    {name: 'must', cell: (p) => (isNumber(p.must) ? (p.better === 'more' ? '≥ ' : '≤ ') + short(p)(p.must) : '')},
    {name: 'aim', cell: (p) => (isNumber(p.aim) ? (p.better === 'more' ? '≥ ' : '≤ ') + short(p)(p.aim) : '')},
    {name: 'measured', cell: (p) => spreadText(p.measured, shown(p))},
    {name: 'verdict', words: true, cell: verdict},
    {name: 'note', words: true, cell: (p) => p.note || ''},
  ], run.promises));
  return [
    html('p', {class: 'soft'}, 'Medians over the turns. ✓✓: as good as aimed at; ✓: what must be; ✗: missed.',
      run.promises.some(few) ? ' * By fewer than 5 turns: a hint, not a result.' : ''),
    matrix, list];
}

function shareSection(run) {
  const one = measured(run, 'uncontended', (m) => isLockset(m) && spreadOf(m.ratio) !== null);
  const at16 = measured(run, 'disjoint', (m) => isLockset(m) && m.clients === 16 && spreadOf(m.ratio) !== null);
  const processes = at16.filter((m) => m.processes > 1);
  const sixteen = processes.length > 0 ? processes : at16;
  if (one.length === 0 && sixteen.length === 0) return null;
  const chart = (items, promise, name) => {
    const musts = new Set(run.promises.filter((p) => p.promise === promise && p.unit === 'share').map((p) => p.must));
    const own = (m) => run.promises.find((p) => p.promise === promise && p.unit === 'share' && p.space === m.space);
    return drawn((width) => rowChart({
      name, x: 'share of the floor’s cycles per second (1 = as fast as the floor)', format: share, tick: shortest, atLeast: 1,
      rows: items.map((m) => ({
        name: m.space, colour: run.looks.get(m.space).colour, bar: spreadOf(m.ratio),
        bound: musts.size > 1 && own(m) ? own(m).must : undefined,
      })),
      lines: bounds(must(run, promise, 'share'), boundName(share)).filter((b) => musts.size <= 1 || b.colour !== 'var(--must)')
        .map((b) => ({x: b.value, name: b.name, colour: b.colour})),
      legend: musts.size > 1 ? [{name: 'must', shape: 'bar', colour: 'var(--must)', line: false}] : null,
    }, width));
  };
  return [
    html('p', {class: 'soft'}, 'The floor is the least that the store’s own client library can do for a lock, on the same server, in turns with Lockset. Whiskers: the lowest and the highest turn.'),
    ...(one.length === 0 ? [] : [html('h3', {}, 'One client'), chart(one, 'P1', 'Share of the floor, one client')]),
    ...(sixteen.length === 0 ? [] : [
      html('h3', {}, processes.length > 0 ? '16 clients, a process each' : '16 clients, threads of one process'),
      chart(sixteen, 'P3', 'Share of the floor, 16 clients')]),
    numbers([...nameColumns, countColumn('clients', 'clients'), ...rateColumns], [...one, ...sixteen])];
}

function rateSection(workload, about) {
  return (run) => {
    const items = measured(run, workload);
    const rows = rivalRows(run, items, rateRow);
    if (rows.length === 0) return null;
    return [
      html('p', {class: 'soft'}, about),
      drawn((width) => rowChart({
        name: 'Cycles per second', x: 'cycles per second (log), more is better', tick: countTick, log: true, rows,
      }, width)),
      numbers([...nameColumns, ...rateColumns, ...latencyColumns('lock_us', 'lock'), cpuColumn], items)];
  };
}

function latencySection(run) {
  const items = measured(run, 'uncontended');
  const rows = rivalRows(run, items, (m) => latencyRow(m, 'lock_us'));
  if (rows.length === 0) return null;
  return [
    html('p', {class: 'soft'}, 'How long lock() takes when nobody else wants the name: the median, and how bad it gets.'),
    drawn((width) => rowChart({
      name: 'Latency percentiles of lock()', x: 'time of one lock() (log), less is better', tick: durationTick, log: true, rows,
      legend: percentileLegend,
    }, width)),
    numbers([...nameColumns, ...latencyColumns('lock_us', 'lock'), ...latencyColumns('unlock_us', 'unlock')], items)];
}

function cpuSection(run) {
  const items = measured(run, 'uncontended');
  const rows = rivalRows(run, items, (m) => {
    const spread = spreadOf(m.cpu_us);
    if (spread === null || spread.median <= 0) return null;
    return {
      marks: [{shape: 'circle', hollow: !isLockset(m), value: spread.median, title: `${m.space}, ${m.rival}: ${spreadText(spread, duration)}`}],
      text: duration(spread.median),
    };
  });
  if (rows.length === 0) return null;
  return [
    html('p', {class: 'soft'}, 'Processor time of the client process per cycle (lock and unlock), one client. What the server spends is not in it.'),
    drawn((width) => rowChart({
      name: 'Processor time per cycle', x: 'processor time per cycle (log), less is better', tick: durationTick, log: true, rows,
    }, width)),
    numbers([...nameColumns, cpuColumn, ...rateColumns], items)];
}

function clientsSection(run) {
  const items = measured(run, 'disjoint', (m) => m.clients > 0);
  if (items.length === 0) return null;
  const inThreads = (m) => m.processes === 1 && m.clients > 1;
  const hasProcesses = items.some((m) => m.processes > 1);
  const overview = spaceCurves(run, items.filter((m) => !hasProcesses || !inThreads(m)), 'clients', (m) => m.per_second);
  const x = 'clients';
  const panels = run.ids.map((id) => {
    const own = items.filter((m) => m.space === id);
    const rivals = [...new Set(own.map((m) => m.rival))];
    let native = 0;
    const series = rivals.flatMap((rival) => {
      const all = own.filter((m) => m.rival === rival);
      const role = all[0].role;
      const title = rivalName(all[0]);
      const nth = role === 'native' ? native++ : 0;
      const look = role === 'lockset' ? {colour: run.looks.get(id).colour, shape: 'circle'}
        : role === 'floor' ? {colour: 'var(--floor)', shape: 'square'}
        : {colour: 'var(--ink)', shape: ['diamond', 'triangle', 'down'][nth % 3], dash: dashes[nth % dashes.length]};
      const points = (which) => all.filter((m) => m.clients === 1 || which(m)).map((m) => ({m, spread: spreadOf(m.per_second)}))
        .filter(({spread}) => spread !== null && spread.median > 0)
        .map(({m, spread}) => ({x: m.clients, y: spread.median, low: spread.low, high: spread.high}));
      const threads = all.some(inThreads);
      const apart = all.some((m) => m.processes > 1);
      return [
        ...(apart || !threads ? [{name: title, ...look, points: points((m) => !inThreads(m))}] : []),
        ...(threads ? [{name: `${title}, threads`, ...look, hollow: true, dash: '4 3', points: points(inThreads)}] : []),
      ];
    }).filter((one) => one.points.length > 0);
    if (series.length === 0) return null;
    return html('div', {}, html('h3', {}, id), legend(series), drawn((width) => lineChart({
      name: `Cycles per second by clients, ${id}`, x, y: 'cycles per second (log)', format: rate, tick: countTick, series, labels: false,
    }, width)));
  }).filter((panel) => panel !== null);
  return [
    html('p', {class: 'soft'}, 'Each client takes and gives back a name of its own: what the store can do at most. ' +
      (hasProcesses ? 'A process for each client; “threads”: all in one process.' : 'All clients are threads of one process.')),
    overview.length === 0 ? null : drawn((width) => lineChart({
      name: 'Cycles per second of Lockset by number of clients', x, y: 'cycles per second of all clients (log)', format: rate, tick: countTick, series: overview,
    }, width)),
    html('h3', {}, 'Each store against its floor and against what people would pick instead'),
    html('div', {class: 'panels'}, panels),
    numbers([...nameColumns, countColumn('clients', 'clients'), countColumn('processes', 'processes'), ...rateColumns,
      ...latencyColumns('lock_us', 'lock'), cpuColumn], items)];
}

// Relative to the first point, which is 1 by definition and often not recorded.
function costSection(workload, key, promise, about, x, first) {
  return (run) => {
    const items = measured(run, workload);
    const series = spaceCurves(run, items, key, (m) => (spreadOf(m.cost) === null && m[key] === first ? {median: 1} : m.cost));
    if (series.length === 0) return null;
    return [
      html('p', {class: 'soft'}, about),
      drawn((width) => lineChart({
        name: about, x, y: 'time of a cycle, relative (log), less is better', format: times, tick: timesTick, series,
        lines: bounds(must(run, promise, 'times'), boundName(times)).map((b) => ({
          y: b.value, name: b.name, colour: b.colour, x: promise === 'P2' ? 8 : undefined})),
      }, width)),
      numbers([...nameColumns, countColumn(key, key), {name: 'relative time', cell: (m) => spreadText(m.cost, times)}, ...rateColumns,
        ...latencyColumns('cycle_us', 'cycle')], items)];
  };
}

function contendedSection(run) {
  const items = measured(run, 'contended');
  const series = spaceCurves(run, items, 'clients', (m) => ({median: latencyPart(m.handover_us, 'p50')}));
  const counts = [...new Set(items.map((m) => m.clients))];
  const at = counts.includes(8) ? 8 : counts[0];
  const rows = rivalRows(run, items.filter((m) => m.clients === at), (m) => latencyRow(m, 'handover_us'));
  if (series.length === 0 && rows.length === 0) return null;
  return [
    html('p', {class: 'soft'}, 'All clients want the same name. Hand-over: from the moment that unlock() returned to the moment that the next client’s lock() did.'),
    series.length === 0 ? null : drawn((width) => lineChart({
      name: 'Median hand-over by number of clients', x: 'clients', y: 'median hand-over (log), less is better', format: duration, tick: durationTick, series,
    }, width)),
    ...(rows.length === 0 ? [] : [
      html('h3', {}, `With ${at} clients`),
      drawn((width) => rowChart({
        name: `Hand-over with ${at} clients`, x: 'hand-over (log), less is better', tick: durationTick, log: true, rows, legend: percentileLegend,
      }, width))]),
    numbers([...nameColumns, countColumn('clients', 'clients'), ...latencyColumns('handover_us', 'hand-over'),
      {name: 'of a lock()', cell: (m) => spreadText(m.handover_cost, times)},
      {name: 'served, least–most', cell: (m) => (m.fairness ? `${grouped(m.fairness.least)}–${grouped(m.fairness.most)}` : '')},
      {name: 'longest wait', cell: (m) => (m.fairness ? duration(m.fairness.longest_wait_us) : '')},
      {name: 'tries per grant', cell: (m) => (isNumber(m.attempts_per_grant) ? figures(m.attempts_per_grant, 1) : '')}], items)];
}

function starvingSection(run) {
  const items = measured(run, 'starving');
  const panels = [['singles', 'A set of 8 names among 8 clients that ask for one of them at a time'],
    ['readers', 'A writer among 8 readers of one name']].flatMap(([among, title]) => {
    const rows = rivalRows(run, items.filter((m) => m.among === among), (m) => latencyRow(m, 'lock_us'));
    return rows.length === 0 ? [] : [html('h3', {}, title), drawn((width) => rowChart({
      name: title, x: 'wait of the one (log), less is better', tick: durationTick, log: true, rows, legend: percentileLegend,
    }, width))];
  });
  if (panels.length === 0) return null;
  return [
    html('p', {class: 'soft'}, 'One client wants what eight others, who ask again at once, hardly ever leave free. How long it waits.'),
    ...panels,
    numbers([...nameColumns, {name: 'one among', words: true, cell: (m) => String(m.among ?? '')}, countColumn('grants', 'its grants'),
      ...latencyColumns('lock_us', 'its lock'), {name: 'others, cycles/s', cell: (m) => spreadText(m.others_per_second, rate)}], items)];
}

function renewalSection(run) {
  const items = measured(run, 'renewal');
  const bars = (key) => items.filter((m) => spreadOf(m[key]) !== null).map((m) => ({
    name: isLockset(m) ? m.space : `${m.space}, ${m.rival}`, colour: run.looks.get(m.space).colour, bar: spreadOf(m[key])}));
  const chart = (key, unit, name, x, format, tick) => (bars(key).length === 0 ? [] : [
    html('h3', {}, name),
    drawn((width) => rowChart({name, x, format, tick, rows: bars(key),
      lines: bounds(must(run, 'P6', unit), boundName(format)).map((b) => ({x: b.value, name: b.name, colour: b.colour}))}, width))]);
  const parts = [
    ...chart('cpu_share', 'percent', 'What it costs the holder', 'share of one core, less is better', percent, percentTick),
    ...chart('slowdown', 'times', 'What it costs another client', 'its median lock() in relation to without renewals, less is better', times, timesTick)];
  if (parts.length === 0) return null;
  return [
    html('p', {class: 'soft'}, `A process that holds ${grouped(items[0].holds) || 'many'} locks renews them all each third of a lease.`),
    ...parts,
    numbers([...nameColumns, countColumn('holds', 'holds'), countColumn('renewals', 'renewals'),
      {name: 'of one core', cell: (m) => spreadText(m.cpu_share, percent)},
      {name: 'other’s lock()', cell: (m) => spreadText(m.slowdown, times)},
      {name: 'its p99', cell: (m) => spreadText(m.slowdown_p99, times)}], items)];
}

function crashSection(run) {
  const items = measured(run, 'crash', (m) => spreadOf(m.recovery_ms) !== null);
  const rows = rivalRows(run, items, (m) => ({bar: scaled(m.recovery_ms, 1000)}));
  if (rows.length === 0) return null;
  const leases = [...new Set(items.filter((m) => m.lease_ms > 0).map((m) => m.lease_ms))];
  return [
    html('p', {class: 'soft'}, 'The holder is killed (kill -9): how long until a waiter is granted. A lease runs out by time; a lock that hangs on a connection ends with it, if the server gets to know.'),
    drawn((width) => rowChart({
      name: 'Time from the kill to the next grant', x: 'time from the kill to the next grant, less is better', format: duration, tick: durationTick, rows,
      lines: leases.length === 1 ? [{x: leases[0] * 1000, name: `lease ${duration(leases[0] * 1000)}`, colour: 'var(--soft)'}] : [],
    }, width)),
    numbers([...nameColumns, {name: 'lease', cell: (m) => (m.lease_ms > 0 ? duration(m.lease_ms * 1000) : 'none')},
      {name: 'until the next grant', cell: (m) => spreadText(scaled(m.recovery_ms, 1000), duration)}], items)];
}

function conditionsSection(run) {
  const json = run.json;
  const text = (value) => (value !== null && typeof value === 'object' ? JSON.stringify(value) : String(value));
  const pairs = (object) => (object !== null && typeof object === 'object' ? Object.entries(object) : []);
  const machine = [['begun', json.began], ['duration', isNumber(json.seconds) ? minutes(json.seconds) : ''],
    ['Lockset', json.lockset], ...pairs(json.machine).map(([k, v]) => [k === 'memory_gib' ? 'memory (GiB)' : k, v]),
    ...pairs(json.method).map(([k, v]) => [{repetitions: 'turns', slice_seconds: 'seconds per turn'}[k] || k, v])];
  const two = (items) => table([{name: '', words: true, cell: (item) => item[0]}, {name: '', words: true, cell: (item) => text(item[1] ?? '')}], items);
  return [
    html('div', {class: 'panels'},
      html('div', {}, html('h3', {}, 'Machine and method'), two(machine)),
      run.spaces.map((space) => html('div', {}, html('h3', {}, String(space.id ?? '')),
        two([...(space.url ? [['address', space.url]] : []), ...pairs(space.settings)]))))];
}

function minutes(seconds) {
  const all = Math.floor(seconds);
  return all < 60 ? `${all} s` : `${Math.floor(all / 60)} min ${all % 60} s`;
}
