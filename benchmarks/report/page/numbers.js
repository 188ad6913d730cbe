// Numbers for people.

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

function figures(value, most = 2) {
  const size = Math.abs(value);
  const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toFixed(Math.min(decimals, most));
}

function duration(us) {
  if (!isNumber(us)) return '';
  if (us < 999.5) return figures(us) + ' µs';
  if (us < 999.5e3) return figures(us / 1e3) + ' ms';
  return figures(us / 1e6) + ' s';
}

// For the ticks of an axis: without superfluous zeros.
const shortest = (value) => String(Number(value.toPrecision(3)));
function durationTick(us) {
  if (us === 0) return '0';
  if (us < 1e3) return shortest(us) + ' µs';
  if (us < 1e6) return shortest(us / 1e3) + ' ms';
  return shortest(us / 1e6) + ' s';
}
function countTick(count) {
  if (count >= 1e6) return shortest(count / 1e6) + 'M';
  if (count >= 1e3) return shortest(count / 1e3) + 'k';
  return shortest(count);
}
const timesTick = (value) => shortest(value) + '×';
const percentTick = (value) => shortest(100 * value) + ' %';

function grouped(count) {
  return isNumber(count) ? Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ',') : '';
}
function rate(perSecond) {
  if (!isNumber(perSecond)) return '';
  return perSecond < 99.95 ? figures(perSecond, 1) : grouped(perSecond);
}

const share = (value) => figures(value);
const times = (value) => figures(value) + '×';
const percent = (value) => figures(100 * value) + ' %';

// {median, low, high}, or null. Without a range low and high are undefined.
function spreadOf(value) {
  if (value === null || typeof value !== 'object' || !isNumber(value.median)) return null;
  const ranged = isNumber(value.low) && isNumber(value.high);
  return {median: value.median, low: ranged ? value.low : undefined, high: ranged ? value.high : undefined};
}

function spreadText(value, format) {
  const spread = spreadOf(value);
  if (spread === null) return '';
  const range = spread.low === undefined ? '' : ` [${format(spread.low)}–${format(spread.high)}]`;
  return format(spread.median) + range;
}

function scaled(value, factor) {
  const spread = spreadOf(value);
  if (spread === null) return null;
  const by = (x) => (x === undefined ? undefined : x * factor);
  return {median: by(spread.median), low: by(spread.low), high: by(spread.high)};
}

const latencyPart = (latency, part) =>
  (latency !== null && typeof latency === 'object' && isNumber(latency[part]) ? latency[part] : null);
