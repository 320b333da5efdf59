// The map's script: reports clicks and selections to Python and draws the answers without sending the points again. Also part
// of the exported page, where there is no Python.
const studioMap = (() => {
  const OVERLAYS = 2; // the last traces: rings, the query's star
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const ints = text => new Int32Array(bytes(text).buffer);
  const floats = text => new Float32Array(bytes(text).buffer);
  const pointTraces = gd => gd._fullData.slice(0, -OVERLAYS);
  const indices = list => Array.from(list, (_, i) => i);

  // Where a cluster's name may be: on its centre, else beside it, ever farther: [sideways, upright, pixels between].
  const SIDES = [[0, -1], [0, 1], [1, 0], [-1, 0], [0.6, -1], [-0.6, -1], [0.6, 1], [-0.6, 1]];
  const PLACES = [[0, 0, 0], ...[8, 20, 40, 64, 92, 124, 160, 200].flatMap(gap => SIDES.map(([sideways, upright]) => [sideways, upright, gap]))];
  const NEAR = 24, APART = 2; // pixels: a name farther from its centre gets a line to it; between two names

  // Place the names of clusters, the largest cluster's first; hide those without a free place. Zooming places all of them again.
  // They are moved inside plotly's drawing, which plotly makes anew, so that moving them causes no further event.
  function declutter(gd) {
    const layer = gd.querySelector('.infolayer'), origin = gd.querySelector('.main-svg')?.getBoundingClientRect();
    if (!layer) return;
    const names = [...gd.querySelectorAll('.annotation')];
    names.forEach(name => name.removeAttribute('transform'));
    const box = element => boxAt(element.getBoundingClientRect(), origin); // all are measured before one is moved: one reflow
    const frame = box(gd.querySelector('.nsewdrag')), boxes = names.map(box), centres = boxes.map(middle), placed = [];
    names.forEach((name, i) => {
      const place = boxes[i].right > boxes[i].left && inside(centres[i], frame) && freePlace(boxes[i], frame, placed, centres);
      name.style.visibility = place ? 'visible' : 'hidden';
      if (!place) return;
      placed.push(place);
      name.setAttribute('transform', `translate(${place.left - boxes[i].left},${place.top - boxes[i].top})`);
    });
    drawLines(layer, placed.filter(place => place.line));
  }

  // The nearest free place of a name; better one that covers no other cluster's centre and whose line crosses no other name.
  function freePlace(box, frame, placed, centres) {
    const [x, y] = middle(box), others = centres.filter(([cx, cy]) => cx !== x || cy !== y);
    const reserve = [];
    for (const step of PLACES) {
      const place = placeAt(box, frame, step);
      if (placed.some(other => overlap(place, other))) continue;
      const crossing = placed.some(other => crosses(place.line, other) || crosses(other.line, place));
      const covering = others.some(centre => inside(centre, place));
      if (!crossing && !covering) return place;
      reserve[crossing ? 1 : 0] ??= place;
    }
    return reserve[0] ?? reserve[1];
  }

  function placeAt(box, frame, [sideways, upright, gap]) {
    const [x, y] = middle(box), width = box.right - box.left, height = box.bottom - box.top;
    const left = clamp(x + sideways * (width / 2 + gap) - width / 2, frame.left, frame.right - width);
    const top = clamp(y + upright * (height / 2 + gap) - height / 2, frame.top, frame.bottom - height);
    const place = {left, top, right: left + width, bottom: top + height};
    const end = [clamp(x, place.left, place.right), clamp(y, place.top, place.bottom)];
    if (Math.hypot(end[0] - x, end[1] - y) > NEAR) place.line = [[x, y], end];
    return place;
  }

  const boxAt = (rect, origin) => ({left: rect.left - origin.left, right: rect.right - origin.left, top: rect.top - origin.top, bottom: rect.bottom - origin.top});
  const middle = box => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const inside = ([x, y], box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const overlap = (a, b) => a.left < b.right + APART && b.left < a.right + APART && a.top < b.bottom + APART && b.top < a.bottom + APART;
  const crosses = (line, box) => line && Array.from({length: 16}, (_, i) => i / 15)
    .some(share => inside([line[0][0] + share * (line[1][0] - line[0][0]), line[0][1] + share * (line[1][1] - line[0][1])], box));

  // Draw the lines from clusters to their moved names, below the names.
  function drawLines(layer, places) {
    layer.querySelector('.leaders')?.remove();
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('class', 'leaders');
    path.setAttribute('d', places.map(({line: [[x, y], [endX, endY]]}) => `M${x - 2},${y}a2,2 0 1 0 4,0a2,2 0 1 0 -4,0M${x},${y}L${endX},${endY}`).join(''));
    layer.prepend(path);
  }

  // Keep these rows bright and fade the others; without rows, all are bright.
  function highlight(gd, rows) {
    const bright = new Set(rows);
    const traces = pointTraces(gd);
    const selected = traces.map(trace => {
      if (!bright.size) return null;
      const points = [];
      trace.customdata.forEach((row, i) => { if (bright.has(row)) points.push(i); });
      return points;
    });
    Plotly.restyle(gd, {selectedpoints: selected}, indices(traces));
  }

  // Change the names of clusters. The axes are held before: names are part of what they make room for, and the map would jump.
  async function rename(gd, names) {
    const {xaxis, yaxis, annotations} = gd._fullLayout, range = axis => Object.fromEntries(
      axis.range.map((end, i) => [`${axis._name}.range[${i}]`, end]));
    const changes = names.flatMap((name, i) => (annotations?.[i] && annotations[i].text !== name ? [[`annotations[${i}].text`, name]] : []));
    if (!changes.length) return;
    if (xaxis.autorange || yaxis.autorange) await Plotly.relayout(gd, {...range(xaxis), ...range(yaxis)});
    await Plotly.relayout(gd, Object.fromEntries(changes));
  }

  // Draw rings around rows (overlay 0) or the query's star (overlay 1). positions: x, y, x, y, …
  function mark(gd, overlay, positions) {
    const xs = [], ys = [];
    for (let i = 0; i < positions.length; i += 2) { xs.push(positions[i]); ys.push(positions[i + 1]); }
    Plotly.restyle(gd, {x: [xs], y: [ys]}, [gd.data.length - OVERLAYS + overlay]);
  }

  // Draw each row between its first position (share 0) and its second (share 1). move.indexOf: row -> index in from and to.
  function morph(gd, share, move) {
    const traces = pointTraces(gd), xs = [], ys = [];
    for (const trace of traces) {
      const x = new Float32Array(trace.customdata.length), y = new Float32Array(trace.customdata.length);
      trace.customdata.forEach((row, i) => {
        const k = 2 * move.indexOf.get(row);
        x[i] = move.from[k] + share * (move.to[k] - move.from[k]);
        y[i] = move.from[k + 1] + share * (move.to[k + 1] - move.from[k + 1]);
      });
      xs.push(x); ys.push(y);
    }
    Plotly.restyle(gd, {x: xs, y: ys}, indices(traces));
  }

  // Call report(kind, rows) for each event of the plot. A drawn outline is removed, because the next drag inside would move it.
  function listen(gd, report) {
    const rows = event => (event?.points ?? []).map(point => point.customdata).filter(Number.isInteger);
    gd.on('plotly_click', event => { const clicked = rows(event); if (clicked.length) report('click', clicked.slice(0, 1)); });
    gd.on('plotly_selected', event => {
      if (!event || !(event.lassoPoints || event.range)) return;
      report('lasso', rows(event));
      setTimeout(() => Plotly.relayout(gd, {selections: []}), 0);
    });
    const all = () => { // after a double click, which plotly reports as one of two events, depending on the drag mode
      highlight(gd, []);
      mark(gd, 0, []);
      Plotly.relayout(gd, {'xaxis.autorange': true, 'yaxis.autorange': true});
      report('all', []);
    };
    gd.on('plotly_doubleclick', all);
    gd.on('plotly_deselect', all);
    let waiting;
    gd.on('plotly_hover', event => {
      clearTimeout(waiting);
      waiting = setTimeout(() => report('hover', rows(event).slice(0, 1)), 90);
    });
    gd.on('plotly_afterplot', () => declutter(gd));
    gd.on('plotly_relayout', () => declutter(gd));
    gd.on('plotly_relayouting', () => declutter(gd));
    gd.setAttribute('role', 'group');
    gd.setAttribute('aria-label', 'Map of the corpus. The list of clusters beside it has the same content as text.');
    declutter(gd);
  }

  return {declutter, highlight, rename, mark, morph, listen, ints, floats};
})();
