const page = document.getElementById('page');

// The reader and the test can see it.
function complain(message) {
  page.append(html('p', {class: 'error'}, 'This page could not draw all of it: ' + message));
}
window.addEventListener('error', (event) => complain(event.message));

const sections = [
  ['promises', 'Promises kept and missed', promiseSection],
  ['share', 'Share of the floor', shareSection],
  ['uncontended', 'One client: cycles per second', rateSection('uncontended',
    'Lock and unlock of one name, over and over. Filled: Lockset. Hollow: the floor, and what people would pick instead.')],
  ['latency', 'One client: latency', latencySection],
  ['clients', 'Many clients', clientsSection],
  ['set-size', 'Sets of several names', costSection('set-size', 'names', 'P2',
    'The time of a cycle with a set of names, in relation to one name.', 'names in the set', 1)],
  ['read-mostly', 'Mostly reads', rateSection('read-mostly',
    '16 clients on 8 names that they share; 95 % of the locks are reads.')],
  ['many-held', 'A full store', costSection('many-held', 'holds', 'P5',
    'The time of a cycle while the store keeps others’ live holds, in relation to an empty store.', 'live holds in the store', 0)],
  ['contended', 'Contention: hand-over', contendedSection],
  ['starving', 'Contention: one among many', starvingSection],
  ['renewal', 'Renewal', renewalSection],
  ['crash', 'Crash recovery', crashSection],
  ['cpu', 'Client cost', cpuSection],
  ['conditions', 'Conditions of this run', conditionsSection],
];

function show(json) {
  const run = readRun(json);
  const began = new Date(json.began);
  page.append(
    html('h1', {}, 'Lockset benchmarks'),
    html('p', {class: 'soft'}, [
      `Lockset ${json.lockset}`,
      Number.isNaN(began.getTime()) ? '' : began.toISOString().slice(0, 16).replace('T', ' ') + ' UTC',
      json.quick === true ? 'a quick run' : '',
      run.json.machine && run.json.machine.processor ? String(run.json.machine.processor) : '',
    ].filter((part) => part !== '').join(' · ')));
  const nav = html('nav', {});
  page.append(nav);
  if (json.interrupted === true) {
    page.append(html('div', {class: 'notice'}, html('strong', {}, 'Interrupted. '), 'This is what had been measured until then.'));
  }
  if (run.failures.length > 0) {
    page.append(html('div', {class: 'notice'}, html('strong', {}, 'Not measured'), html('ul', {}, run.failures.map((failure) =>
      html('li', {}, [failure.space, failure.workload].filter((part) => part).join(', ') + ': ' + String(failure.why ?? ''))))));
  }
  for (const [id, title, make] of sections) {
    try {
      const parts = make(run);
      if (parts === null) continue;
      const section = html('section', {id}, html('h2', {}, title), parts);
      page.append(section);
      section.querySelectorAll('figure').forEach((figure) => figure.firstDraw && figure.firstDraw());
      nav.append(html('a', {href: '#' + id}, title));
    } catch (error) {
      complain(`${title}: ${error.message}`);
    }
  }
}

try {
  show(JSON.parse(document.getElementById('results').textContent));
} catch (error) {
  complain(error.message);
}
document.documentElement.dataset.rendered = 'yes';
