// The shown run, and how its spaces and rivals look.

function readRun(json) {
  const list = (value) => (Array.isArray(value) ? value.filter((item) => item !== null && typeof item === 'object') : []);
  const run = {
    json,
    measurements: list(json.measurements).filter((m) => typeof m.rival === 'string'),
    promises: list(json.promises),
    failures: list(json.failures),
    spaces: list(json.spaces),
  };
  const ids = [...new Set([...run.spaces, ...run.measurements].map((item) => String(item.id ?? item.space)))];
  const known = ['memory', 'sqlite', 'postgresql', 'mysql', 'redis', 'zookeeper'];
  const perScheme = {};
  run.looks = new Map(ids.map((id, index) => {
    const space = run.spaces.find((one) => one.id === id);
    const scheme = String((space && space.url) || id).split(/[: ]/)[0];
    const nth = perScheme[scheme] = (perScheme[scheme] ?? -1) + 1;
    return [id, {
      colour: known.includes(scheme) ? `var(--${scheme})` : 'var(--ink)',
      shape: shapes[index % shapes.length],
      dash: dashes[nth % dashes.length],
    }];
  }));
  run.ids = ids;
  return run;
}

// The measurements of a workload: the rivals of a space together, in their original order.
function measured(run, workload, fits = () => true) {
  const found = run.measurements.filter((m) => m.workload === workload && fits(m));
  const rivals = [...new Set(found.map((m) => m.rival))];
  return found.map((m, i) => ({m, i})).sort((a, b) =>
    run.ids.indexOf(a.m.space) - run.ids.indexOf(b.m.space) ||
    rivals.indexOf(a.m.rival) - rivals.indexOf(b.m.rival) || a.i - b.i).map(({m}) => m);
}

const rivalName = (m) => (m.role === 'floor' && m.rival !== 'floor' ? `${m.rival} (floor)` : m.rival);
const isLockset = (m) => m.role === 'lockset';

// A curve for each space, for Lockset only.
function spaceCurves(run, items, x, spread) {
  return run.ids.map((id) => ({
    name: id,
    ...run.looks.get(id),
    points: items.filter((m) => m.space === id && isLockset(m))
      .map((m) => ({x: m[x], spread: spreadOf(spread(m))}))
      .filter((p) => p.x > 0 && p.spread !== null && p.spread.median > 0)
      .map((p) => ({x: p.x, y: p.spread.median, low: p.spread.low, high: p.spread.high})),
  })).filter((one) => one.points.length > 0);
}

// A heading for each space, and a row for each of its rivals that `row` returns something for. If
// there is only Lockset, just a row for each space.
function rivalRows(run, items, row) {
  const alone = items.every(isLockset);
  return run.ids.flatMap((id) => {
    const rows = items.filter((m) => m.space === id).map((m) => {
      const made = row(m);
      if (made === null) return null;
      return {name: alone ? id : rivalName(m), colour: isLockset(m) ? run.looks.get(id).colour : 'var(--floor)', ...made};
    }).filter((one) => one !== null);
    return rows.length === 0 || alone ? rows : [{name: id, heading: true}, ...rows];
  });
}
