// The map's script: reports clicks and selections to Python and draws the answers without sending the points again. Also part
// of the exported page, where there is no Python.
const studioMap = (() => {
  const OVERLAYS = 2; // the last traces: rings, the query's star
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const ints = text => new Int32Array(bytes(text).buffer);
  const floats = text => new Float32Array(bytes(text).buffer);
  const pointTraces = gd => gd._fullData.slice(0, -OVERLAYS);
  const indices = list => Array.from(list, (_, i) => i);

  const lit = new WeakMap(); // plot -> the rows that are bright
  const TOUCH = matchMedia('(pointer: coarse)').matches;

  // Keep these rows bright and fade the others; without rows, all are bright.
  function highlight(gd, rows) {
    lit.set(gd, rows);
    const bright = new Set(rows);
    const traces = pointTraces(gd);
    const selected = ({customdata}) => indices(customdata).filter(i => bright.has(customdata[i]));
    Plotly.restyle(gd, {selectedpoints: traces.map(trace => (bright.size ? selected(trace) : null))}, indices(traces));
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
    const [x, y] = [0, 1].map(axis => positions.filter((_, i) => i % 2 === axis));
    Plotly.restyle(gd, {x: [x], y: [y]}, [gd.data.length - OVERLAYS + overlay]);
  }

  // Draw each row, and each cluster's centre, between its first position (share 0) and its second (share 1). move.indexOf: row ->
  // index in from and to.
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
    const {centres, others = []} = gd.layout.meta, between = (i, axis) => centres[i][axis] + share * (others[i][axis] - centres[i][axis]);
    const moved = gd.layout.annotations.flatMap((_, i) => (others[i] ? [0, 1].map(axis => [`annotations[${i}].${'xy'[axis]}`, between(i, axis)]) : []));
    mapNames.moving(gd);
    Plotly.update(gd, {x: xs, y: ys}, Object.fromEntries(moved), indices(traces));
  }

  // Call report(kind, rows) for each event of the plot. A drawn outline is removed, because the next drag inside would move it.
  function listen(gd, report) {
    const rows = event => (event?.points ?? []).map(point => point.customdata).filter(Number.isInteger);
    gd.on('plotly_click', event => { const clicked = rows(event); if (clicked.length) report('click', clicked.slice(0, 1)); });
    gd.on('plotly_selected', event => {
      if (!event || !(event.lassoPoints || event.range)) return;
      const inside = rows(event), before = lit.get(gd) ?? [];
      if (inside.length) { lit.set(gd, inside); report('lasso', inside); }
      setTimeout(async () => {
        await Plotly.relayout(gd, {selections: []});
        if (!inside.length) highlight(gd, before);
      }, 0);
    });
    let drawn;
    const free = () => { // of a new figure; plotly's buttons still choose a tool
      if (!TOUCH || gd.layout.meta?.figure === drawn) return;
      drawn = gd.layout.meta?.figure;
      Plotly.relayout(gd, {dragmode: false}); // a swipe scrolls the page, a tap selects
    };
    gd.on('plotly_afterplot', free);
    free();
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
    mapNames.follow(gd);
    gd.setAttribute('role', 'group');
    gd.setAttribute('aria-label', 'Map of the corpus. The list of clusters beside it has the same content as text.');
  }

  return {highlight, rename, mark, morph, listen, ints, floats};
})();
