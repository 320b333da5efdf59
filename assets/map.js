// The map's own script: what a person does on it goes to Python, what Python answers is drawn without sending the points
// again. Also inside the exported page, where nobody answers.
const studioMap = (() => {
  const OVERLAYS = 2; // the last traces: picked rows, the query
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const ints = text => new Int32Array(bytes(text).buffer);
  const floats = text => new Float32Array(bytes(text).buffer);
  const own = gd => gd._fullData.slice(0, -OVERLAYS);
  const numbers = list => Array.from(list, (_, i) => i);

  // Names that would lie on a larger cluster's name are hidden; a zoom makes room for more.
  function declutter(gd) {
    const taken = [];
    const frame = gd.querySelector('.nsewdrag')?.getBoundingClientRect();
    for (const name of gd.querySelectorAll('.annotation')) {
      name.style.visibility = 'visible';
      const box = name.getBoundingClientRect();
      const clear = frame && box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom
        && !taken.some(o => box.left < o.right && o.left < box.right && box.top < o.bottom && o.top < box.bottom);
      if (clear) taken.push(box); else name.style.visibility = 'hidden';
    }
  }

  // Some rows stay bright, the others fade; none: all are bright.
  function light(gd, rows) {
    const wanted = new Set(rows);
    const traces = own(gd);
    const chosen = traces.map(trace => {
      if (!wanted.size) return null;
      const found = [];
      trace.customdata.forEach((row, i) => { if (wanted.has(row)) found.push(i); });
      return found;
    });
    Plotly.restyle(gd, {selectedpoints: chosen}, numbers(traces));
  }

  // Rings around rows, or the star of a query. places: x, y, x, y, …
  function mark(gd, overlay, places) {
    const xs = [], ys = [];
    for (let i = 0; i < places.length; i += 2) { xs.push(places[i]); ys.push(places[i + 1]); }
    Plotly.restyle(gd, {x: [xs], y: [ys]}, [gd.data.length - OVERLAYS + overlay]);
  }

  // Each row on its way from its first place (share 0) to its second (share 1). {row: place in the two lists of x, y, …}
  function morph(gd, share, move) {
    const traces = own(gd), xs = [], ys = [];
    for (const trace of traces) {
      const x = new Float32Array(trace.customdata.length), y = new Float32Array(trace.customdata.length);
      trace.customdata.forEach((row, i) => {
        const at = 2 * move.at.get(row);
        x[i] = move.from[at] + share * (move.to[at] - move.from[at]);
        y[i] = move.from[at + 1] + share * (move.to[at + 1] - move.from[at + 1]);
      });
      xs.push(x); ys.push(y);
    }
    Plotly.restyle(gd, {x: xs, y: ys}, numbers(traces));
  }

  // Tell what happens on the plot: tell(kind, rows). A drawn outline is taken away: the next drag inside would move it.
  function listen(gd, tell) {
    const rows = event => (event?.points ?? []).map(point => point.customdata).filter(Number.isInteger);
    gd.on('plotly_click', event => { const found = rows(event); if (found.length) tell('click', found.slice(0, 1)); });
    gd.on('plotly_selected', event => {
      if (!event || !(event.lassoPoints || event.range)) return;
      tell('lasso', rows(event));
      setTimeout(() => Plotly.relayout(gd, {selections: []}), 0);
    });
    const all = () => { // after a double click: plotly tells of it in one way or the other, by what dragging does
      light(gd, []);
      mark(gd, 0, []);
      Plotly.relayout(gd, {'xaxis.autorange': true, 'yaxis.autorange': true});
      tell('all', []);
    };
    gd.on('plotly_doubleclick', all);
    gd.on('plotly_deselect', all);
    let waiting;
    gd.on('plotly_hover', event => {
      clearTimeout(waiting);
      waiting = setTimeout(() => tell('hover', rows(event).slice(0, 1)), 90);
    });
    gd.on('plotly_afterplot', () => declutter(gd));
    gd.on('plotly_relayout', () => declutter(gd));
    gd.setAttribute('role', 'group');
    gd.setAttribute('aria-label', 'Map of the corpus. The list of clusters beside it says the same in words.');
    declutter(gd);
  }

  return {declutter, light, mark, morph, listen, ints, floats};
})();
