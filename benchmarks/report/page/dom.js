// Elements. Strings become text, never markup: names and messages may contain anything.

const svgNamespace = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === '') continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

// A chart that is drawn again if its place becomes wider or narrower.
function drawn(draw) {
  const place = html('figure');
  let width = 0;
  const redraw = () => {
    const now = Math.round(place.clientWidth);
    if (now === 0 || now === width) return;
    width = now;
    place.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(place);
  place.firstDraw = redraw;
  return place;
}

// columns: [{name, words, cell: item => text}]
function table(columns, items) {
  const kind = (column) => ({class: column.words ? 'words' : undefined});
  return html('div', {class: 'scroll'}, html('table', {},
    html('thead', {}, html('tr', {}, columns.map((column) => html('th', kind(column), column.name)))),
    html('tbody', {}, items.map((item) =>
      html('tr', {}, columns.map((column) => html('td', kind(column), column.cell(item))))))));
}

function numbers(columns, items) {
  return html('details', {}, html('summary', {}, 'The numbers'), table(columns, items));
}
