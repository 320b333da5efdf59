// Runs in the page of the app, after map.js: hooks the plot that Gradio draws, and obeys what Python says. What was lit,
// where it was zoomed to and how far it was moved is kept through a redraw of the same map, in other colours for instance.
const plot = () => document.querySelector('#map-plot .js-plotly-plot');
const NARROW = 520; // pixels
const seen = new WeakSet();
let kept = {}, move = null, drawn = null;
const about = gd => gd.layout?.meta ?? {};

function hook() {
  const gd = plot();
  if (!gd || !gd.on || seen.has(gd)) return;
  seen.add(gd);
  studioMap.listen(gd, (kind, rows) => {
    if (about(gd).preview || (kind === 'hover' && about(gd).texts)) return; // nobody knows the rows yet; the plot knows them
    if (kind === 'all') kept = {};
    trigger('picked', {kind, rows});
  });
  gd.on('plotly_relayout', change => {
    if (change['xaxis.autorange']) delete kept.zoom;
    else if ('xaxis.range[0]' in change) kept.zoom = [...gd.layout.xaxis.range, ...gd.layout.yaxis.range];
  });
  gd.on('plotly_afterplot', () => again(gd));
  again(gd);
}

function again(gd) {
  if (about(gd).figure === drawn?.figure) return;
  const same = about(gd).map && about(gd).map === drawn?.map;
  drawn = {...about(gd)};
  if (gd.clientWidth < NARROW) Plotly.relayout(gd, {height: gd.clientWidth + 100}); // no empty bands above and below
  if (!same) { kept = {}; move = null; return; }
  setTimeout(() => {
    const {zoom, lit, picked, share} = kept;
    if (zoom) Plotly.relayout(gd, {'xaxis.range': zoom.slice(0, 2), 'yaxis.range': zoom.slice(2)});
    if (share && move) studioMap.morph(gd, share, move);
    if (lit) studioMap.light(gd, studioMap.ints(lit));
    if (picked) studioMap.mark(gd, 0, picked);
  }, 0);
}

function obey(said) {
  const gd = plot();
  if (!gd || !said) return;
  if ('lit' in said) studioMap.light(gd, studioMap.ints(said.lit));
  if ('picked' in said) studioMap.mark(gd, 0, said.picked);
  if ('query' in said) studioMap.mark(gd, 1, said.query);
  if ('from' in said) {
    const rows = studioMap.ints(said.rows);
    move = {from: studioMap.floats(said.from), to: studioMap.floats(said.to), at: new Map(Array.from(rows, (row, i) => [row, i]))};
  }
  if ('share' in said && move) studioMap.morph(gd, said.share, move);
  for (const key of ['lit', 'picked', 'share']) if (key in said) kept[key] = said[key];
}
window.studioMapMorph = share => obey({share: Number(share)});
new MutationObserver(hook).observe(document.body, {childList: true, subtree: true});
hook();
watch('value', () => { try { obey(JSON.parse(props.value || 'null')); } catch (error) { console.warn(error); } });
