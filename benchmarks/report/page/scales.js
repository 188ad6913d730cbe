// Maps numbers to positions.

function linearScale(low, high, from, to) {
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough * 0.999) * power;
  scale.ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); ++i) scale.ticks.push(i * step);
  return scale;
}

// From 0 to slightly above all values.
function scaleFromZero(values, from, to) {
  return linearScale(0, Math.max(...values, 1e-9) * 1.04, from, to);
}

function logScale(values, from, to) {
  const positive = values.filter((value) => value > 0);
  let low = Math.min(...positive);
  let high = Math.max(...positive);
  if (positive.length === 0) [low, high] = [1, 10];
  // At least a factor of three: small differences must not look big.
  const missing = Math.max(0, Math.log(3) - Math.log(high / low)) / 2;
  const margin = Math.log(high / low) * 0.05;
  low = Math.exp(Math.log(low) - missing - margin);
  high = Math.exp(Math.log(high) + missing + margin);
  const span = Math.log(high / low);
  const scale = (value) => from + (Math.log(Math.max(value, low) / low) / span) * (to - from);
  scale.low = low;
  scale.high = high;
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
  scale.ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const step of steps) {
      const value = step * 10 ** power;
      if (value >= low && value <= high) scale.ticks.push(value);
    }
  }
  return scale;
}

// The ticks that fit; the first and the last have priority.
function roomy(ticks, scale, room) {
  const kept = [];
  const order = [ticks[0], ticks[ticks.length - 1], ...ticks.slice(1, -1)];
  for (const tick of order) {
    if (tick !== undefined && kept.every((other) => Math.abs(scale(other) - scale(tick)) >= room)) kept.push(tick);
  }
  return kept.sort((a, b) => a - b);
}
