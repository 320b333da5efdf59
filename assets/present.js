// Present: a result alone on the full screen, large enough for the last row. Its charts and texts are copies: the page stays as it is.
(() => {
  const { aboutResult, chartIn, copied, copyOf } = window.studioResults;
  const NOT_PRESENTED = 'details, .downloads, .take-home, .judge, button';
  const MOST_SMALLER = 1.5;
  let leave = null;

  // Pixels of the letters, and how much larger marks and lines are than on the page: 22 and 1.7 on a screen of 1920 pixels.
  const letters = () => Math.round(Math.max(12, Math.min(32, innerWidth * 0.0115)));
  const growth = () => Math.max(1, Math.min(2.2, innerWidth / 1130));
  const larger = size => (Array.isArray(size) || ArrayBuffer.isView(size) ? Array.from(size, one => one * growth()) : size * growth());

  // Grow everything that has a size of its own; the rest inherits the font.
  function enlarged(chart) {
    const { data, layout } = copied(chart);
    const ink = getComputedStyle(document.body).getPropertyValue('--ink').trim();
    const size = letters(), font = { ...layout.font, size, color: ink };
    for (const trace of data) {
      if (trace.marker?.size) trace.marker.size = larger(trace.marker.size);
      if (trace.line?.width) trace.line.width = larger(trace.line.width);
      if (trace.textfont || trace.text) trace.textfont = { ...trace.textfont, size };
    }
    for (const shape of layout.shapes ?? []) if (shape.line?.width) shape.line.width = larger(shape.line.width);
    layout.annotations = layout.annotations.map(name => ({ ...name, font: { ...name.font, size: Math.round(size * 1.25), color: ink, weight: 700 } }));
    if (layout.legend) Object.assign(layout.legend, { font: { size }, itemwidth: 50 });
    if (layout.hoverlabel) layout.hoverlabel.font = { ...layout.hoverlabel.font, size };
    Object.assign(layout, { font, autosize: true, dragmode: layout.dragmode === 'lasso' ? 'pan' : false, selections: [] });
    delete layout.width;
    delete layout.height;
    return { data, layout };
  }

  // A copy of the chart that fills its box, whatever size the box gets.
  async function draw(box, chart) {
    const { data, layout } = enlarged(chart);
    await Plotly.newPlot(box, data, layout, { displayModeBar: false, scrollZoom: layout.dragmode === 'pan', doubleClick: 'reset' });
    new ResizeObserver(() => { if (box.isConnected) Plotly.Plots.resize(box); }).observe(box);
    if (layout.meta?.map) mapNames.follow(box);
  }

  // A table wider than the screen is smaller than other texts.
  function fit(box) {
    const wide = Math.max(...[...box.querySelectorAll('table')].map(({ parentElement: place }) => place.scrollWidth / place.clientWidth), 1);
    if (wide > 1) box.style.zoom = growth() / Math.min(wide, MOST_SMALLER);  // beyond, as on a phone, it is scrolled
  }

  // A chart comes after its text when plotly is still on its way: wait for it, unless the screen is left.
  async function arrived(id, screen) {
    while (!chartIn(id)?._fullLayout && screen.isConnected) await new Promise(done => { setTimeout(done, 100); });
    return chartIn(id);
  }

  function screenOf({ title, source }) {
    const about = { className: 'present prose', role: 'dialog', ariaModal: 'true', ariaLabel: title };
    const screen = Object.assign(document.createElement('div'), about);
    screen.style.setProperty('--growth', growth());
    screen.innerHTML = '<header><div><h2></h2><p></p></div><button type="button">Leave (Esc)</button></header><main></main>';
    screen.querySelector('h2').textContent = title;
    screen.querySelector('header p').textContent = source;
    return screen;
  }

  async function present(button) {
    leave?.();
    const about = aboutResult(button), screen = screenOf(about), main = screen.querySelector('main'), behind = [...document.body.children];
    const plots = [...button.closest('.take-home').querySelectorAll('[data-plot]')].map(link => link.dataset.plot);
    document.body.append(screen);
    behind.forEach(element => { element.inert = true; });
    history.pushState({ ...history.state, presented: true }, '');  // "Back" leaves the screen, not the tab
    leave = () => {
      leave = null;
      if (history.state?.presented) history.back();
      behind.forEach(element => { element.inert = false; });
      if (document.fullscreenElement) document.exitFullscreen();
      screen.querySelectorAll('.js-plotly-plot').forEach(chart => Plotly.purge(chart));
      screen.remove();
      button.focus();
    };
    screen.querySelector('button').focus();
    // Where the browser refuses the full screen, for instance on a phone or in a frame, the page is covered all the same.
    await screen.requestFullscreen?.().catch(() => {});
    for (const id of about.shows.split(' ')) {
      const chart = plots.includes(id) ? await arrived(id, screen) : null;
      if (!screen.isConnected) return;
      const box = chart ? document.createElement('div') : copyOf(document.getElementById(id), NOT_PRESENTED);
      box.classList.add(chart ? 'present-chart' : 'present-text');
      main.append(box);
      if (chart) await draw(box, chart);
      else fit(box);
    }
  }

  document.addEventListener('click', event => {
    const button = event.target.closest?.('button[data-present]');
    if (button) present(button);
    else if (event.target.closest?.('.present header button')) leave?.();
  });
  document.addEventListener('keydown', event => { if (event.key === 'Escape') leave?.(); });
  addEventListener('popstate', () => leave?.());
  // On the full screen the browser keeps Escape for itself.
  document.addEventListener('fullscreenchange', () => { if (!document.fullscreenElement) leave?.(); });
})();
