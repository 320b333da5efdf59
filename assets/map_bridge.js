// Runs in the app's page, after map.js: listens to the plot that Gradio draws and applies the messages from Python. Highlights,
// zoom and the morph slider's position survive a redraw of the same map, for instance in other colours.
const plot = () => document.querySelector('#map-plot .js-plotly-plot');
const seen = new WeakSet();
let kept = {}, move = null, drawn = null, early = null; // early: a message about a map that is not drawn yet
const meta = gd => gd?.layout?.meta ?? {};

function hook() {
  const gd = plot();
  if (!gd || !gd.on || seen.has(gd)) return;
  seen.add(gd);
  new ResizeObserver(() => fill(gd)).observe(gd);
  studioMap.listen(gd, (kind, rows) => {
    if (meta(gd).preview || (kind === 'hover' && meta(gd).texts)) return; // no map on the server yet; the plot holds the texts
    if (kind === 'all') kept = {};
    trigger('picked', {kind, rows});
  });
  gd.on('plotly_relayout', change => {
    if (change['xaxis.autorange']) delete kept.zoom;
    else if ('xaxis.range[0]' in change) kept.zoom = [...gd.layout.xaxis.range, ...gd.layout.yaxis.range];
  });
  gd.on('plotly_afterplot', () => restore(gd));
  restore(gd);
}

// The figure is as large as its place on the page.
let filling;
function fill(gd) {
  clearTimeout(filling);
  filling = setTimeout(() => {  // plotly itself follows the window, but not its place on the page
    const {width, height} = gd._fullLayout ?? {};
    const fits = Math.abs(width - gd.clientWidth) < 1 && Math.abs(height - gd.clientHeight) < 1;
    if (gd.clientWidth && !fits) Plotly.Plots.resize(gd);
  }, 250);
}

// What is above the map, without the corpus panel, which pushes it down.
function measure() {
  const row = document.getElementById('map-and-list');
  if (!row?.offsetParent || document.body.classList.contains('corpus-open')) return;
  document.documentElement.style.setProperty('--map-above', `${Math.ceil(row.getBoundingClientRect().top + scrollY)}px`);
}
new ResizeObserver(measure).observe(document.body);
addEventListener('resize', measure);

function restore(gd) {
  if (meta(gd).figure === drawn?.figure) return;
  const same = meta(gd).map && meta(gd).map === drawn?.map;
  drawn = {...meta(gd)};
  setTimeout(() => { if (gd.isConnected) mapNames.place(gd); }, 500);  // when the figure has its size
  if (!same) {
    kept = {}; move = null;
    if (early && early.map === drawn.map) setTimeout(() => apply(early), 0);
    return;
  }
  setTimeout(() => {
    const {zoom, highlight, rings, share} = kept;
    if (zoom) Plotly.relayout(gd, {'xaxis.range': zoom.slice(0, 2), 'yaxis.range': zoom.slice(2)});
    if (share && move) studioMap.morph(gd, share, move);
    if (highlight) studioMap.highlight(gd, studioMap.ints(highlight));
    if (rings) studioMap.mark(gd, 0, rings);
  }, 0);
}

function apply(message) {
  const gd = plot();
  if (!message) return;
  if (message.map && message.map !== meta(gd).map) { early = message; return; }
  if (!gd) return;
  if ('highlight' in message) studioMap.highlight(gd, studioMap.ints(message.highlight));
  if ('rings' in message) studioMap.mark(gd, 0, message.rings);
  if ('names' in message) { meta(gd).given = message.given; studioMap.rename(gd, message.names); }
  if ('query' in message) studioMap.mark(gd, 1, message.query);
  if ('from' in message) {
    const rows = studioMap.ints(message.rows);
    meta(gd).others = message.others;
    move = {from: studioMap.floats(message.from), to: studioMap.floats(message.to), indexOf: new Map(Array.from(rows, (row, i) => [row, i]))};
  }
  if ('share' in message && move) studioMap.morph(gd, message.share, move);
  for (const key of ['highlight', 'rings', 'share']) if (key in message) kept[key] = message[key];
}
window.studioMapMorph = share => apply({share: Number(share)});
new MutationObserver(hook).observe(document.body, {childList: true, subtree: true});
hook();
const receive = () => { try { apply(JSON.parse(props.value || 'null')); } catch (error) { console.warn(error); } };
watch('value', receive);
receive(); // a message that came before the tab was opened
