// Runs in the page of the app, after map.js: hooks the plot that Gradio draws, and obeys what Python says.
const plot = () => document.querySelector('#map-plot .js-plotly-plot');
const seen = new WeakSet();
let move = null;
function hook() {
  const gd = plot();
  if (!gd || !gd.on || seen.has(gd)) return;
  seen.add(gd);
  studioMap.listen(gd, (kind, rows) => {
    if (kind === 'hover' && gd.layout.meta?.texts) return; // the plot knows the sentences itself
    trigger('picked', {kind, rows});
  });
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
}
window.studioMapMorph = share => obey({share: Number(share)});
new MutationObserver(hook).observe(document.body, {childList: true, subtree: true});
hook();
watch('value', () => { try { obey(JSON.parse(props.value || 'null')); } catch (error) { console.warn(error); } });
