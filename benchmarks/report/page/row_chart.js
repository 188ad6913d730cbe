// One row per compared thing.
// chart: {name, x, format, tick, log, rows, lines, legend, atLeast}
//   rows: [{name, colour, bar: spread, bound, marks: [{shape, value, title, hollow}],
//          span: [from, to], text, heading}]
//   lines: [{x, name, colour}]
function rowChart(chart, width) {
  const narrow = width < 560;
  const hasHeadings = chart.rows.some((row) => row.heading);
  const longest = Math.max(...chart.rows.map((row) => row.name.length));
  const left = narrow ? 6 : Math.min(230, 26 + longest * 7);
  const texts = chart.rows.map((row) => (row.bar ? chart.format(row.bar.median) : row.text || ''));
  const right = 22 + Math.max(...texts.map((text) => text.length)) * 6.6;
  const heightOf = (row) => (narrow ? (row.heading ? 24 : 38) : 26);
  const top = chart.lines && chart.lines.length > 0 ? 20 : 6;
  const bottom = 42;
  const height = top + chart.rows.reduce((sum, row) => sum + heightOf(row), 0) + bottom;

  const values = chart.rows.flatMap((row) => [
    ...(row.bar ? [row.bar.median, row.bar.high] : []), ...(row.marks || []).map((m) => m.value), ...(row.span || [])])
    .concat((chart.lines || []).map((line) => line.x), chart.atLeast).filter(isNumber);
  const x = chart.log ? logScale(values, left, width - right) : scaleFromZero(values, left, width - right);
  const base = height - bottom;

  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': chart.name});
  for (const tick of roomy(x.ticks, x, 52)) {
    drawing.append(
      svg('path', {d: `M${x(tick)} ${top}V${base}`, stroke: 'var(--grid)'}),
      svg('text', {x: x(tick), y: base + 16, 'text-anchor': 'middle', class: 'tick'}, chart.tick(tick)));
  }
  drawing.append(
    svg('path', {d: `M${left} ${base}H${width - right}`, stroke: 'var(--soft)'}),
    svg('text', {x: narrow ? left : (left + width - right) / 2, y: height - 6, 'text-anchor': narrow ? 'start' : 'middle', class: 'axis-name'}, chart.x));

  let next = top;
  for (const row of chart.rows) {
    const y = next + (narrow ? 26 : heightOf(row) / 2);
    next += heightOf(row);
    drawing.append(narrow
      ? svg('text', {x: left, y: y - 11, class: 'halo', style: row.heading ? 'font-weight:600' : null}, cut(row.name, Math.floor(width / 7.5)))
      : svg('text', {x: row.heading || !hasHeadings ? 2 : 16, y: y + 4, style: row.heading ? 'font-weight:600' : null}, cut(row.name, 32)));
    if (row.span) {
      drawing.append(svg('path', {d: `M${x(row.span[0])} ${y}H${x(row.span[1])}`, stroke: row.colour, 'stroke-width': row.thin ? 1.5 : 3, opacity: 0.55}));
    }
    if (row.bar) {
      const thick = 14;
      const end = x(row.bar.median);
      drawing.append(svg('rect', {x: x(chart.log ? x.low : 0), y: y - thick / 2, width: Math.max(1, end - left), height: thick, fill: row.colour, class: 'mark', opacity: 0.9},
        svg('title', {}, `${row.name}: ${spreadText(row.bar, chart.format)}`)));
      if (row.bar.low !== undefined) {
        drawing.append(svg('path', {
          d: `M${x(row.bar.low)} ${y}H${x(row.bar.high)}M${x(row.bar.low)} ${y - 4}v8M${x(row.bar.high)} ${y - 4}v8`,
          stroke: 'var(--ink)', 'stroke-width': 1.4, fill: 'none'}));
      }
    }
    for (const one of row.marks || []) {
      drawing.append(mark(one.shape, x(one.value), y, row.colour, one.title, one.hollow));
    }
    if (row.bound !== undefined) {
      drawing.append(svg('path', {d: `M${x(row.bound)} ${y - 12}v24`, stroke: 'var(--must)', 'stroke-width': 2}));
    }
    row.y = y;
  }
  for (const line of chart.lines || []) {
    drawing.append(
      svg('path', {d: `M${x(line.x)} ${top - 4}V${base}`, stroke: line.colour, 'stroke-width': 1.5, 'stroke-dasharray': '5 4'}),
      svg('text', {x: x(line.x), y: 11, 'text-anchor': 'middle', style: `fill:${line.colour}`}, line.name));
  }
  // Above the lines.
  chart.rows.forEach((row, index) => {
    const reached = [...(row.bar ? [row.bar.median, row.bar.high] : []), ...(row.marks || []).map((m) => m.value)].filter(isNumber);
    if (texts[index] === '' || reached.length === 0) return;
    drawing.append(svg('text', {x: Math.max(...reached.map(x)) + 9, y: row.y + 4, class: 'halo'}, texts[index]));
  });
  return html('div', {}, chart.legend ? legend(chart.legend) : null, drawing);
}
