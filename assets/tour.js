// The tour: six real actions on this page, each with a sentence. It works offline, can be left at any step, and leaves nothing behind.
(() => {
  const find = selector => document.querySelector(selector);
  const click = selector => find(selector)?.click();
  const hasCorpus = () => !find('.corpus-button.none');

  // at: what the sentence is about; act: what happens when the step begins, or as soon as `when` is there.
  const STEPS = [
    {
      say: 'Two sentences, one score for how close their meanings are. These two share nearly all their words and contradict each other: the marked line says so.',
      at: '#comparison', tab: 'Similarity', act: () => [...document.querySelectorAll('.gallery button, button.gallery-item')].find(b => b.textContent.trim() === 'Negation')?.click(),
    },
    {
      say: () => `All other tabs work on your texts: drop a csv, a sheet or a text file anywhere on this page. ${hasCorpus() ? 'The tour goes on with what is open.' : 'For the tour, an example with 926 support tickets is opened.'}`,
      at: '#corpus-menu', tab: 'Search', act: () => { if (!hasCorpus()) studio.pick({ example: 'support_tickets.csv' }); },
    },
    { say: 'Search by meaning: a good hit need not share a word with the query. Weak hits stand below a line.', at: '#hits', tab: 'Search' },
    { say: 'Duplicates: rows that say the same in other words, each next to the row that would stay.', at: '#duplicates-headline', tab: 'Duplicates', when: '#find-duplicates:not(:disabled)', act: () => click('#find-duplicates') },
    { say: 'The map: each point is a row, and near points mean similar things. Click a point or a cluster to read it.', at: '#map-plot', tab: 'Map', act: () => { if (!find('#map-plot .annotation')) click('#map-draw'); } },
    {
      say: 'Why vectors: for 100,000 sentences, reading every pair takes months, comparing vectors takes minutes. Start the race to measure both on this machine. Fine-tune trains on your own pairs, and Evaluation measures any model on data with known answers.',
      at: '#race-words', tab: 'Timing', when: '#race-chart .js-plotly-plot', act: slide,
    },
  ];

  let step = -1, before = null;

  // What a visitor has typed comes back, also on the new page: the first step puts its own sentences there.
  const TYPED = 'sbert-studio-typed', FIELDS = ['#sentence1 textarea', '#sentence2 textarea'];
  function write(values) {
    FIELDS.forEach((name, i) => {
      const field = find(name);
      if (field && field.value !== values[i]) studio.write(field, values[i]);
    });
  }
  (function restore(values) {
    if (!values) return;
    if (!document.body?.classList.contains('arrived')) { setTimeout(restore, 100, values); return; }
    sessionStorage.removeItem(TYPED);
    write(JSON.parse(values));
  })(sessionStorage.getItem(TYPED));

  // Move the race's slider until the words beside it say so: an answer that was on its way takes its place. Two values written at
  // once are one change, and none where the second is the one that is there.
  function slide() {
    const slider = find('#race-n input[type=range]'), mine = step;
    if (slider) studio.write(slider, 4.9);
    setTimeout(() => { if (step === mine && slider) studio.write(slider, 5); }, 200);
    setTimeout(() => { if (step === mine && !find('#race-words')?.textContent.includes('100,000 sentences')) slide(); }, 2000);
  }

  function card() {
    const box = Object.assign(document.createElement('section'), { id: 'tour', role: 'dialog', ariaLabel: 'Tour' });
    box.innerHTML = '<p class="tour-count"></p><p class="tour-say" aria-live="polite"></p>'
      + '<div><button type="button" class="small" data-tour="leave">Leave</button> <button type="button" class="tour-next" data-tour="next">Next</button></div>';
    document.body.append(box);
    return box;
  }

  function begin() {
    if (step >= 0) return;
    before = { url: location.href, corpus: hasCorpus(), typed: FIELDS.map(name => find(name)?.value) };
    next();
  }

  function next() {
    step += 1;
    if (step >= STEPS.length) { leave(); return; }
    const { say, tab } = STEPS[step];
    const box = find('#tour') ?? card();
    box.querySelector('.tour-count').textContent = `${step + 1} of ${STEPS.length}`;
    box.querySelector('.tour-say').textContent = typeof say === 'function' ? say() : say;
    const button = box.querySelector('.tour-next');
    button.textContent = step + 1 < STEPS.length ? 'Next' : 'Done';
    button.focus();
    unmark();
    studio.tab(tab);
    setTimeout(show, 300, step);
  }

  // Act and mark the place, once it is there: a tab's content is built when it is opened.
  function show(mine) {
    if (step !== mine) return;
    const { at, when, act } = STEPS[step];
    if (!find(at) || (when && !find(when))) { setTimeout(show, 200, mine); return; }
    act?.();
    find(at).classList.add('tour-here');
    find(at).scrollIntoView({ block: 'start' });
  }

  function unmark() {
    document.querySelectorAll('.tour-here').forEach(element => element.classList.remove('tour-here'));
  }

  // Back to where the tour began. What it opened is forgotten: the page is loaded anew, without its session.
  function leave() {
    if (step < 0) return;
    step = -1;
    find('#tour')?.remove();
    unmark();
    if (before.corpus) { write(before.typed); studio.tab(new URL(before.url).searchParams.get('tab') ?? 'Similarity'); return; }
    sessionStorage.setItem(TYPED, JSON.stringify(before.typed));
    studio.forget();
    location.replace(before.url);
  }

  document.addEventListener('click', event => {
    const action = event.target.closest('[data-tour]')?.dataset.tour;
    if (action) ({ begin, next, leave })[action]();
  });
  // Escape in what else is open, such as a result on the full screen or a menu, closes that alone.
  document.addEventListener('keydown', event => { if (event.key === 'Escape' && event.target.matches('body, #tour *')) leave(); });
})();
