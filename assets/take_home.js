// What a visitor takes home: pictures of charts, and commands to copy.
(() => {
  const LOCAL = 'http://127.0.0.1:7860';  // the address in the copied Python, replaced by that of this page
  // A picture cannot use the page's fonts: labels are measured in the font that draws them.
  const FONT = 'Arial, Liberation Sans, Helvetica, sans-serif';
  const INK = '#1c1c1f', LEAST_WIDTH = 720, TITLE = 18, SOURCE = 13;  // of a picture, in pixels
  // Its title, its source with what to mind, the elements that show it; of a map also what is chosen on it.
  function aboutResult(button) {
    const { shows, title, source } = button.closest('.take-home').dataset;
    const chosen = shows === 'map-plot' && document.querySelector('#map-told b');
    const minded = [...document.querySelectorAll('[data-minds]')].filter(({ dataset }) => dataset.minds.split(' ').includes(shows));
    const told = minded.map(({ textContent }) => textContent);
    return { shows, title: chosen ? `${title} · ${chosen.textContent}` : title, source: [source, ...told].join(' · ') };
  }

  const chartIn = id => document.getElementById(id)?.querySelector('.js-plotly-plot');
  const escaped = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

  // Lines of at most so many characters, as plotly does not wrap a title.
  function wrapped(text, most) {
    const lines = [''];
    for (const word of text.split(' ')) {
      if (lines.at(-1) && lines.at(-1).length + word.length >= most) lines.push('');
      lines.push(`${lines.pop()} ${word}`.trim());
    }
    return lines.map(escaped);
  }

  // A copy of the chart as it is shown, so that the shown one stays as it is.
  function copied(chart) {
    const { data, layout } = structuredClone({ data: chart.data, layout: chart.layout });
    return { data, layout: { ...layout, annotations: layout.annotations ?? [], margin: { ...chart._fullLayout.margin } } };
  }

  // The chart on white. It may stand on a tab that is not open, where it has no size but that of its last drawing.
  function printed(chart) {
    const { data, layout } = copied(chart), { width, height } = chart._fullLayout;
    layout.annotations = layout.annotations.map(name => (
      { ...name, font: { ...name.font, color: INK, weight: 700 }, bgcolor: 'rgba(255,255,255,0.82)' }));
    Object.assign(layout, { paper_bgcolor: '#fff', plot_bgcolor: '#fff', font: { ...layout.font, color: '#3f3f46', family: FONT }, autosize: false });
    if (layout.legend) layout.legend.font = { color: '#3f3f46' };
    if (layout.meta?.map && width >= LEAST_WIDTH) layout.meta.steps = mapNames.stepsOf(chart);
    return { data, layout, width: Math.max(width, LEAST_WIDTH), height };
  }

  // A printed chart below a title and its source.
  function captioned({ data, layout, width, height }, { title, source }) {
    const [titles, sources] = [wrapped(title, width / (TITLE * 0.52)), wrapped(source, width / (SOURCE * 0.52))];
    const head = 30 + 1.3 * (TITLE * titles.length + SOURCE * sources.length);
    const small = `<span style="font-size:${SOURCE}px;color:#55555e">${sources.join('<br>')}</span>`;
    const whole = Math.round(height + head + 8);
    layout.title = {
      text: [...titles.map(line => `<b>${line}</b>`), small].join('<br>'), font: { size: TITLE, color: INK, family: FONT }, automargin: false,
      // Of a title with several lines plotly places the first baseline.
      x: 16 / width, xanchor: 'left', xref: 'container', y: 1 - (12 + TITLE) / whole, yanchor: 'top', yref: 'container',
    };
    layout.margin = { ...layout.margin, l: Math.max(16, layout.margin.l), t: layout.margin.t + head, b: layout.margin.b + 8 };
    return { data, layout, width, height: whole };
  }

  // A picture as a data: address, a PNG with two pixels for one. Only an svg has names that can be placed.
  async function drawn({ data, layout, width, height }, format) {
    const isMap = Boolean(layout.meta?.map), scale = format === 'png' ? 2 : 1;
    let plot; // plotly draws a copy, and calls setBackground with it
    const setBackground = ({ _fullData, _fullLayout }) => { plot = { _fullData, _fullLayout }; };
    const picture = await Plotly.toImage({ data, layout }, { format: isMap ? 'svg' : format, width, height, scale: isMap ? 1 : scale, setBackground });
    if (!isMap) return picture;
    const named = mapNames.inPicture(await (await fetch(picture)).text(), plot);
    const address = `data:image/svg+xml,${encodeURIComponent(named)}`;
    return format === 'svg' ? address : asPng(address, width, height, scale);
  }

  async function asPng(picture, width, height, scale) {
    const image = Object.assign(new Image(), { src: picture });
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: width * scale, height: height * scale });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL('image/png');
  }

  // Save what this page has made, a blob, as a file.
  function save(blob, download) {
    const href = URL.createObjectURL(blob), link = Object.assign(document.createElement('a'), { href, download });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }

  // Plotly draws the picture in this browser: nothing is sent.
  async function takePicture(button) {
    const { picture: format, plot, name } = button.dataset;
    const chart = chartIn(plot);
    if (!chart) return;
    const picture = await drawn(captioned(printed(chart), aboutResult(button)), format);
    save(await (await fetch(picture)).blob(), `${name}.${format}`);
  }

  // Browsers offer the clipboard to https and localhost only; elsewhere the older command copies a selection.
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const box = Object.assign(document.createElement('textarea'), { value: text, className: 'off-screen' });
      document.body.append(box);
      box.select();
      const done = document.execCommand('copy');
      box.remove();
      return done;
    }
  }

  const commandOf = button => button.dataset.copy.replaceAll(LOCAL, location.origin + location.pathname.replace(/\/$/, ''));

  async function copy(button) {
    const done = await copyText(commandOf(button));
    const { label } = button.dataset;
    button.textContent = done ? 'Copied' : 'Not copied';
    button.focus();
    setTimeout(() => { button.textContent = label; }, 2000);
  }

  // Run `work` at a click on a button, which is busy until it is done.
  function atClick(selector, work) {
    document.addEventListener('click', async event => {
      const button = event.target.closest?.(selector);
      if (!button) return;
      button.setAttribute('aria-busy', 'true');
      try { await work(button); } finally { button.removeAttribute('aria-busy'); }
    });
  }
  atClick('button[data-picture]', takePicture);
  atClick('button[data-copy]', copy);

  // A copy of a result's text, without ids and without what these selectors name.
  function copyOf(element, without) {
    const copy = element.cloneNode(true);
    for (const named of [copy, ...copy.querySelectorAll('[id]')]) named.removeAttribute('id');
    for (const button of copy.querySelectorAll('td button')) {  // a figure that one can click: it stays, as text
      const figure = Object.assign(document.createElement('span'), { className: button.className });
      figure.append(...button.childNodes);
      button.replaceWith(figure);
    }
    copy.querySelectorAll(without).forEach(part => part.remove());
    return copy;
  }

  window.studioResults = { aboutResult, atClick, chartIn, commandOf, copied, copyOf, drawn, printed, save };
})();
