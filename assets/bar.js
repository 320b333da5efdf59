// Cards that hang from a button, such as the bar's two menus, and the keys that work anywhere outside of fields.
(() => {
  const menus = () => [...document.querySelectorAll('details[name]')];  // they open a card over the page
  const unfolded = () => document.querySelectorAll('.popover > button.label-wrap.open');
  const ACTS = {
    api: () => document.querySelector('footer .show-api')?.click(),
    theme() {
      const url = new URL(location.href);
      url.searchParams.set('__theme', document.body.classList.toggle('dark') ? 'dark' : 'light');
      history.replaceState(history.state, '', url);
    },
  };

  // The next or previous of what the tab lists.
  function step(by) {
    const rows = [...document.querySelectorAll('#hits .hit, .dup-group, #map-clusters [data-group]')].filter(row => row.offsetParent);
    const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(document.activeElement) + by))];
    if (next?.matches('li')) next.tabIndex = -1;
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  }

  const query = () => document.querySelector('#query :is(input, textarea)');
  const write = how => setTimeout(() => query()?.focus(how), 50);  // once the tab is visible
  const KEYS = {
    '/': () => { studio.tab('Search'); write(); },
    '?': () => {
      const button = document.querySelector('#help summary');
      button.scrollIntoView({ block: 'nearest' });
      button.focus();
      button.click();
    },
    j: () => step(1),
    k: () => step(-1),
  };

  // What is open closes when the visitor goes on elsewhere.
  let pressed = [];  // where the pointer went down: a list of choices, or a chip that is removed, is gone when the click comes
  document.addEventListener('pointerdown', event => { pressed = event.composedPath(); }, true);
  document.addEventListener('click', event => {
    const path = event.isTrusted ? [...pressed, ...event.composedPath()] : event.composedPath();
    pressed = [];
    const done = event.target.closest?.('[data-act], [data-tour], [data-keep-session]');
    for (const menu of menus()) if (done || !path.includes(menu)) menu.open = false;
    for (const button of unfolded()) if (!path.includes(button.parentElement)) button.click();
    const tab = event.target.closest?.('#tabs [role=tab]')?.textContent.trim();
    if (tab === 'Search' && event.detail && matchMedia('(pointer: fine)').matches) write({ preventScroll: true });  // by mouse: keys go on with keys
    ACTS[event.target.closest?.('[data-act]')?.dataset.act]?.();
  });
  // Gradio's folds do not tell whether they are open.
  function tellOpen({ target }) {
    const fold = target.closest?.('button.label-wrap');
    if (fold) setTimeout(() => { fold.ariaExpanded = fold.classList.contains('open'); });
  }
  for (const name of ['focusin', 'click']) document.addEventListener(name, tellOpen);
  // A hosted app says in the menu what is left of the visitor's quota.
  document.addEventListener('toggle', async event => {
    if (event.target.id === 'more' && event.target.open) document.getElementById('quota').textContent = await (await fetch('quota')).text();
  }, true);
  // Gradio leaves the list of a menu open that was left by the Tab key: Escape closes it.
  document.addEventListener('focusout', ({ target }) => {
    if (target.matches?.('[role=combobox]')) setTimeout(() => {
      const open = target.ariaExpanded === 'true' && target !== document.activeElement;
      if (open) target.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    }, 150);
  });
  document.addEventListener('keydown', event => {
    if (!event.isTrusted) return;
    if (event.key === 'Escape' && event.target === query()) query().blur();
    if (event.key === 'Escape') for (const button of unfolded()) { button.click(); button.focus(); }
    if (event.key === 'Escape') for (const menu of menus().filter(each => each.open)) { menu.open = false; menu.querySelector('summary').focus(); }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select, [contenteditable], .present')) return;
    const act = KEYS[event.key] ?? (/^[1-9]$/.test(event.key) && (() => studio.tabs()[event.key - 1]?.click()));
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
