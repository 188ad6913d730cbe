// Curves. chart: {name, x, y, format, tick, xTick, series, lines, linear}
//   series: [{name, colour, shape, dash, points: [{x, y, low, high}]}]
//   lines: [{y, name, colour, x}]  a bound, or with x one at that place alone
//   labels: names at the ends of the curves where there is room, instead of a legend
function lineChart(chart, width) {
  const series = chart.series.filter((one) => one.points.length > 0);
  const points = series.flatMap((one) => one.points);
  const atEnds = chart.labels !== false && width >= 640;
  const longest = Math.max(...series.map((one) => one.name.length));
  const right = atEnds ? Math.min(220, 24 + longest * 7.4) : 14;
  const left = 58;
  const top = 26;
  const height = Math.round(Math.min(360, Math.max(200, width * 0.5)));
  const bottom = 42;

  const xs = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const x = logScale(xs, left, width - right);
  const ys = points.flatMap((p) => [p.y, p.low, p.high]).filter(isNumber)
    .concat((chart.lines || []).map((line) => line.y));
  const y = chart.linear ? scaleFromZero(ys, height - bottom, top) : logScale(ys, height - bottom, top);

  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': chart.name});
  for (const tick of roomy(y.ticks, y, 18)) {
    drawing.append(
      svg('path', {d: `M${left} ${y(tick)}H${width - right}`, stroke: 'var(--grid)'}),
      svg('text', {x: left - 6, y: y(tick) + 4, 'text-anchor': 'end', class: 'tick'}, chart.tick(tick)));
  }
  const xTick = chart.xTick || countTick;
  for (const tick of roomy(xs, x, 30)) {
    drawing.append(
      svg('path', {d: `M${x(tick)} ${height - bottom}v5`, stroke: 'var(--soft)'}),
      svg('text', {x: x(tick), y: height - bottom + 18, 'text-anchor': 'middle', class: 'tick'}, xTick(tick)));
  }
  drawing.append(
    svg('path', {d: `M${left} ${height - bottom}H${width - right}`, stroke: 'var(--soft)'}),
    svg('text', {x: 2, y: 12, class: 'axis-name'}, chart.y),
    svg('text', {x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle', class: 'axis-name'}, chart.x));

  const names = [];  // above the curves
  for (const line of chart.lines || []) {
    const from = line.x ? x(line.x) - 16 : left;
    const to = line.x ? x(line.x) + 16 : width - right;
    drawing.append(
      svg('path', {d: `M${from} ${y(line.y)}H${to}`, stroke: line.colour, 'stroke-width': 1.5, 'stroke-dasharray': '5 4'}));
    names.push(
      svg('text', {x: line.x ? to + 4 : left + 6, y: y(line.y) - (line.x ? -4 : 5), class: 'halo', style: `fill:${line.colour}`}, line.name));
  }

  for (const one of series) {
    const sorted = [...one.points].sort((a, b) => a.x - b.x);
    const path = sorted.map((p, i) => `${i === 0 ? 'M' : 'L'}${x(p.x).toFixed(1)} ${y(p.y).toFixed(1)}`).join('');
    drawing.append(svg('path', {
      d: path, fill: 'none', stroke: one.colour, 'stroke-width': 2, 'stroke-dasharray': one.dash || null, class: 'curve'}));
    for (const p of sorted) {
      if (isNumber(p.low) && isNumber(p.high)) {
        drawing.append(svg('path', {d: `M${x(p.x)} ${y(p.low)}V${y(p.high)}`, stroke: one.colour, 'stroke-width': 1.2}));
      }
      drawing.append(mark(one.shape, x(p.x), y(p.y), one.colour,
        `${one.name}, ${xTick(p.x)} ${chart.x}: ${spreadText({median: p.y, low: p.low, high: p.high}, chart.format)}`, one.hollow));
    }
  }
  drawing.append(...names);
  if (!atEnds) return html('div', {}, chart.labels === false ? null : legend(series), drawing);

  // Names at the ends, moved apart.
  const ends = series.map((one) => {
    const last = one.points.reduce((a, b) => (b.x > a.x ? b : a));
    return {one, fromX: x(last.x), fromY: y(last.y), y: y(last.y)};
  }).sort((a, b) => a.y - b.y);
  const gap = 15;
  for (let i = 1; i < ends.length; ++i) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + gap);
  let limit = height - bottom + 4;
  for (let i = ends.length - 1; i >= 0; --i) {
    ends[i].y = Math.min(ends[i].y, limit);
    limit = ends[i].y - gap;
  }
  for (const end of ends) {
    const at = width - right + 12;
    drawing.append(
      svg('path', {d: `M${end.fromX + 7} ${end.fromY}L${at - 3} ${end.y}`, stroke: end.one.colour, opacity: 0.5}),
      svg('text', {x: at, y: end.y + 4, style: `fill:${end.one.colour};font-weight:600`}, cut(end.one.name, 26)));
  }
  return drawing;
}

function cut(text, most) {
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
