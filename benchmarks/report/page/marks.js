// The mark of a space or a rival: a colour, a shape and a dash, so that any one of them is enough
// to tell two apart.

const shapes = ['circle', 'square', 'triangle', 'diamond', 'cross', 'plus', 'down'];
const dashes = ['', '7 3', '2 3', '9 3 2 3'];

function mark(shape, x, y, colour, title, hollow) {
  const r = 4.5;
  const solid = {fill: hollow ? 'var(--paper)' : colour, stroke: colour, 'stroke-width': 1.5};
  const path = (d, more) => svg('path', {d, class: 'mark', ...(more || solid)});
  const strokes = {fill: 'none', stroke: colour, 'stroke-width': 2.4};
  const made = {
    circle: () => svg('circle', {cx: x, cy: y, r, class: 'mark', ...solid}),
    square: () => path(`M${x - r + 0.5} ${y - r + 0.5}h${2 * r - 1}v${2 * r - 1}h${1 - 2 * r}z`),
    triangle: () => path(`M${x} ${y - r - 0.5}l${r + 0.5} ${2 * r}h${-2 * r - 1}z`),
    down: () => path(`M${x} ${y + r + 0.5}l${r + 0.5} ${-2 * r}h${-2 * r - 1}z`),
    diamond: () => path(`M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`),
    cross: () => path(`M${x - r + 1} ${y - r + 1}l${2 * r - 2} ${2 * r - 2}m0 ${2 - 2 * r}l${2 - 2 * r} ${2 * r - 2}`, strokes),
    plus: () => path(`M${x - r} ${y}h${2 * r}M${x} ${y - r}v${2 * r}`, strokes),
    bar: () => path(`M${x} ${y - r - 3}v${2 * r + 6}`, {...strokes, 'stroke-width': 3}),
  }[shape]();
  if (title) made.append(svg('title', {}, title));
  return made;
}

// entries: [{name, colour, shape, dash, line, hollow}]
function legend(entries) {
  return html('ul', {class: 'legend'}, entries.map((entry) => html('li', {},
    svg('svg', {viewBox: '0 0 30 14', 'aria-hidden': 'true'},
      entry.line === false ? null : svg('path', {
        d: 'M1 7H29', stroke: entry.colour, 'stroke-width': 2, 'stroke-dasharray': entry.dash || null}),
      mark(entry.shape, 15, 7, entry.colour, '', entry.hollow)),
    html('span', {}, entry.name))));
}
