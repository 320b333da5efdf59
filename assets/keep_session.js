// Keep this session: the results on screen, as one page that needs nothing else. This browser makes it: nothing is sent.
(() => {
  const { aboutResult, atClick, chartIn, commandOf, copyOf, drawn, printed, save } = window.studioResults;
  const NOT_KEPT = '.take-home, .judge, button, .skeleton, summary i';

  function element(name, attributes, ...children) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  }

  // The links under the results, one for each result, in the order of the tabs.
  const results = () => [...new Map([...document.querySelectorAll('.take-home')].map(links => [links.dataset.shows, links])).values()];

  async function picture(chart, title) {
    const plot = printed(chart);
    const image = element('img', { src: await drawn(plot, 'png'), alt: title, width: plot.width, height: plot.height });
    return element('figure', {}, image);
  }

  function text(id) {
    const copy = copyOf(document.getElementById(id), NOT_KEPT);
    copy.querySelectorAll('.hit').forEach(hit => hit.classList.add('unfolded'));
    return element('div', { innerHTML: copy.innerHTML });
  }

  // How to make the result again, as it would be copied.
  function commands(links) {
    const copies = [...links.querySelectorAll('[data-copy]')];
    if (!copies.length) return '';
    const kinds = copies.flatMap(copy => [element('p', { className: 'hint' }, copy.dataset.label), element('pre', {}, commandOf(copy))]);
    return element('details', {}, element('summary', {}, 'Make it again'), ...kinds);
  }

  async function section(links) {
    const { shows, title, source } = aboutResult(links);
    const parts = [];
    for (const id of shows.split(' ')) {
      const chart = chartIn(id);
      if (chart) parts.push(await picture(chart, title));
      else if (document.getElementById(id)?.textContent.trim()) parts.push(text(id));
    }
    if (!parts.length) return '';
    return element('section', {}, element('h2', {}, title), element('p', { className: 'source' }, source), ...parts, commands(links));
  }

  async function page() {
    const made = new DOMParser().parseFromString(document.getElementById('session-page').textContent, 'text/html');
    const now = new Date(), day = now.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
    const time = now.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    made.title = made.querySelector('h1').textContent = `Session of ${day}`;
    made.querySelector('header .source').textContent = `SBERT Studio, ${time}`;
    made.head.prepend(element('style', {}, window.gradio_config.css));  // the styles of the app: results look as on screen
    const sections = [];
    for (const links of results()) sections.push(await section(links));
    made.querySelector('main').append(...sections);
    return `<!doctype html>\n${made.documentElement.outerHTML}`;
  }

  atClick('button[data-keep-session]', async () => save(new Blob([await page()], { type: 'text/html' }), 'sbert-studio-session.html'));
})();
