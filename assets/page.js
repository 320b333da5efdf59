// The script of the page: the corpus menu, files dropped anywhere, the address, and arrow keys on tabs.
(() => {
  const SESSION = 'sbert-studio-session', LEFT_BY = 'sbert-studio-left-by', OWNER = 'sbert-studio-owner', CORPUS = 'sbert-studio-corpus';
  const menu = () => document.querySelector('#corpus-menu button');
  const input = selector => document.querySelector(`${selector} input[type=file]`);
  const tabs = () => [...document.querySelectorAll('#tabs > .tab-wrapper [role=tab]')];
  const isOpen = () => document.body.classList.contains('corpus-open');
  let arrived = false;  // until then the address is what the visitor asked for, and the menu stays as the visitor left it …
  let chosen = false;  // … unless a corpus was chosen from it

  // Whether a card asks if it is to be deleted; the keys go to what does no harm.
  function ask(card, asking) {
    card.classList.toggle('asking', asking);
    card.querySelector(`[data-corpus=${asking ? 'cancel' : 'ask'}]`).focus();
  }

  function unfold(open) {
    if (!open && document.getElementById('corpus-panel')?.contains(document.activeElement)) menu()?.focus();
    document.body.classList.toggle('corpus-open', open);
    menu()?.setAttribute('aria-expanded', open);
  }

  // The address names tab, corpus, query and filters, so that a reload or a bookmark brings them back; "Back" opens the tab before,
  // or asks the query before once more.
  const address = () => Object.fromEntries(new URLSearchParams(location.search));
  const named = () => address().tab ?? 'similarity';
  // The query that is answered, '' for rows without one, undefined before anything is.
  const answer = () => document.querySelector('#hits [data-query]')?.dataset.query;
  let staleQuery = null;  // the query whose answer still stands there when "Back" has asked another
  addEventListener('popstate', () => {
    tab(named());
    const { query } = address(), box = document.querySelector('#query :is(input, textarea)');
    if (query && box && answer() !== undefined && query !== answer()) {
      staleQuery = answer();
      write(box, query);
      document.getElementById('search').click();
    }
    remember();
  });
  function write(field, value) {
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  function place(values) {
    if (!arrived) return;
    if ('corpus' in values) sessionStorage.setItem(CORPUS, values.corpus ?? '');
    const { query } = address(), url = new URL(location.href);
    for (const [key, value] of Object.entries(values)) {
      if (value) url.searchParams.set(key, value); else url.searchParams.delete(key);
    }
    const otherTab = values.tab && values.tab !== named(), otherQuery = query && values.query && values.query !== query;
    const leaves = (otherTab || otherQuery) && !document.getElementById('tour');
    if (url.href !== location.href) history[leaves ? 'pushState' : 'replaceState'](history.state, '', url);
  }

  // Called when the page is loaded: what the address and this browser tab remember.
  function read() {
    const { tab = '', corpus = '', query = '', filters = '' } = address();
    const [session, left_by, kept] = [SESSION, LEFT_BY, CORPUS].map(key => sessionStorage.getItem(key) || '');
    sessionStorage.removeItem(LEFT_BY);
    return JSON.stringify({ tab, corpus, query, filters, session, left_by, kept });
  }

  // Open a tab by the name on it, or by its name in the address. Returns its button.
  function tab(name) {
    const button = tabs().find(each => each.textContent.trim().toLowerCase() === name.toLowerCase());
    if (button?.ariaSelected !== 'true') button?.click();
    return button;
  }

  // Click a button of the tab that is being shown, as soon as it is there.
  function press(id) {
    const button = document.getElementById(id);
    if (button?.offsetParent) button.click(); else requestAnimationFrame(() => press(id));
  }

  // The next load of this page begins a new session.
  const forget = () => sessionStorage.removeItem(SESSION);

  // This browser tab's session. Only a page that is left says by which connection: a copy of an open page cannot, nor take its session.
  let connection = '';
  function keep(session, by) {
    sessionStorage.setItem(SESSION, session);
    connection = by;
  }
  addEventListener('pagehide', () => sessionStorage.setItem(LEFT_BY, connection));
  addEventListener('pageshow', event => { if (event.persisted) sessionStorage.removeItem(LEFT_BY); });

  // A hosted demo that was used, and then left, begins anew; what is still computing is no one's absence.
  const idle = Number(document.querySelector('meta[name=studio-reset]')?.content) * 60, WARNING = 20;  // seconds
  let last = Infinity, notice = null;  // untouched since it was loaded: it is at its start
  function touched() {
    last = Date.now();
    notice?.remove();
    notice = null;
  }
  function look() {
    if ([...document.querySelectorAll('[role=progressbar]')].some(bar => bar.offsetParent)) last = Math.max(last, Date.now());
    const left = Math.ceil(idle - (Date.now() - last) / 1000);
    if (left <= 0) {
      forget();
      localStorage.removeItem(OWNER);
      location.replace(location.pathname);
    } else if (left <= WARNING) {
      notice ??= document.body.appendChild(Object.assign(document.createElement('p'), { id: 'reset', role: 'alert' }));
      notice.textContent = `Is nobody here? In ${left} s this page begins anew, without your data. Press a key to stay.`;
    }
  }
  if (idle) {
    for (const name of ['keydown', 'pointerdown', 'pointermove', 'touchstart', 'wheel']) addEventListener(name, touched, { capture: true, passive: true });
    setInterval(look, 500);
  }

  function arrive() {
    arrived = true;
    document.body.classList.add('arrived');
    remember();
  }

  // Bring a name into view in its row of tabs. The page, which scrollIntoView scrolls too, may have been scrolled meanwhile.
  function reveal(button) {
    const [{ left, right }, row] = [button, button.parentElement].map(each => each.getBoundingClientRect());
    button.parentElement.scrollLeft += Math.min(left - row.left, 0) + Math.max(right - row.right, 0);
  }

  // Called when a tab is shown. What was said when the corpus was opened has been read by then.
  function selected(tab, line) {
    document.body.dataset.tab = tab;  // for style.css
    const button = document.querySelector('#tabs > .tab-wrapper [aria-selected=true]');
    reveal(button);
    document.title = `${button.textContent.trim()} · SBERT Studio`;
    return line?.includes('role="status"') ? '' : line;
  }

  // The menu's button carries the name under which its corpus opens again; it changes when another corpus is opened.
  let token = '', listed = Infinity;  // how many hits stood there when more of them were asked for: the keys go on below these
  function remember() {
    const button = menu();
    if (!button) return;
    if ((arrived || chosen) && button.dataset.opened !== token) {
      unfold(false);
      wait('hits', true);  // they are of the corpus before, until Search has answered in this one
    }
    token = button.dataset.opened;
    button.setAttribute('aria-expanded', isOpen());
    place({ corpus: button.dataset.key });
    const query = answer(), next = document.querySelectorAll('#hits .hit')[listed];
    if (next) {
      listed = Infinity;
      next.tabIndex = -1;
      next.focus();
    }
    if (query === undefined || query === staleQuery) return;
    staleQuery = null;
    place({ query, filters: document.querySelector('#chips [data-filters]')?.dataset.filters });
  }

  // Scroll to an element, at once if the visitor asked for less motion, and go on there with the keys: what was pressed is folded.
  function show(id) {
    const element = document.getElementById(id), calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (!element) return;
    element.scrollIntoView({ behavior: calm ? 'auto' : 'smooth' });
    const heading = element.querySelector('h2') ?? element;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  // Dim a result while the next one is computed; style.css waits a moment first, so that a quick answer does not flicker.
  const wait = (id, busy) => document.getElementById(id)?.setAttribute('aria-busy', busy);

  // Called by the elements whose content the address names.
  function follow(element) {
    remember();
    // Gradio patches html in place: a new value may only change attributes.
    const attributeFilter = ['data-opened', 'data-key', 'data-query', 'data-filters'];
    new MutationObserver(remember).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter });
  }

  // The second click of a double click begins nothing: the run of the first would be replaced.
  document.addEventListener('click', event => {
    if (event.detail > 1 && event.target.closest('button.primary')) event.stopImmediatePropagation();
  }, { capture: true });

  document.addEventListener('click', event => {
    const target = event.target.closest('[data-corpus]');
    if (event.target.closest('#index, [data-corpus=example], [data-corpus=open]')) chosen = true;
    if (target) {
      const { corpus, name } = target.dataset;
      if (corpus === 'menu') unfold(!isOpen());
      else if (corpus === 'file') { unfold(true); input('#corpus-file')?.click(); }
      else if (corpus === 'ask' || corpus === 'cancel') ask(target.closest('.card'), corpus === 'ask');
      else window.studio.pick({ [corpus]: name });
    } else if (event.target.closest('#tabs')) unfold(false);
    const chosenTab = event.target.closest('#tabs > .tab-wrapper [role=tab]')?.dataset.tabId;
    if (chosenTab) place({ tab: chosenTab });  // not when it is shown: "Back" may come before that
    if (event.target.closest('#index-again')) unfold(true);  // there is its progress
    event.target.closest('[data-close]')?.closest('p').remove();
    const way = event.target.closest('button[data-tab]');
    if (way) tab(way.dataset.tab)?.focus({ preventScroll: true });
    if (way?.dataset.press) press(way.dataset.press);
    if (event.target.closest('#hits button[data-top]')) listed = document.querySelectorAll('#hits .hit').length;
    const more = event.target.closest('button[data-unfold]');
    if (more) {
      const open = more.closest('.hit').classList.toggle('unfolded');
      more.closest('.hit').querySelectorAll('button[data-unfold]').forEach(button => button.setAttribute('aria-expanded', open));
      if (open) more.closest('.hit').querySelector('.whole .passage')?.scrollIntoView({ block: 'center' });
    }
  });

  document.addEventListener('keydown', event => {
    if (event.key === 'Escape' && isOpen() && !event.target.closest('input, textarea')) { unfold(false); menu()?.focus(); }
    const current = event.target.closest?.('[role=tab]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!current || !step) return;
    const row = [...current.closest('[role=tablist]').querySelectorAll('[role=tab]')].filter(other => other.offsetParent && !other.disabled);
    const next = row[(row.indexOf(current) + step + row.length) % row.length];
    event.preventDefault();
    next.focus();
    next.click();
  });

  // A file dropped anywhere becomes the corpus, on the Fine-tune tab the labelled pairs; a drop zone under it goes first.
  const hasFiles = event => [...(event.dataTransfer?.types ?? [])].includes('Files');
  const hasZone = event => event.target.closest?.('.drop-zone, button:has(input[type=file])');
  let leaving = 0;
  document.addEventListener('dragover', event => {
    if (!hasFiles(event)) return;
    document.body.classList.add('dragging');
    clearTimeout(leaving);
    leaving = setTimeout(() => document.body.classList.remove('dragging'), 250);
    if (!hasZone(event)) event.preventDefault();
  });
  document.addEventListener('drop', event => {
    document.body.classList.remove('dragging');
    if (!hasFiles(event) || hasZone(event)) return;
    event.preventDefault();
    const labelled = input('#labelled-file');
    const target = labelled?.closest('#step-data')?.offsetParent ? labelled : input('#corpus-file');
    if (!target) return;
    if (target !== labelled) unfold(true);
    target.files = event.dataTransfer.files;
    target.dispatchEvent(new Event('change', { bubbles: true }));
  });

  window.studio = { arrive, follow, forget, keep, place, read, selected, show, tab, tabs, wait, write };
})();
