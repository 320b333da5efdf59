// Runs in the app's page, for the card that asks whether two texts mean the same. "answered", "undone", "graded", "adapt"
// and "handed" (over, the threshold) are custom events.
const card = () => element.querySelector('.label-card');
let shown = 0, sent = null; // when the question came, and the number of answers when it was answered

new MutationObserver(() => { shown = performance.now(); sent = null; })
  .observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ['data-drawn'] });

function act(button) {
  const { label, act } = button.dataset, count = Number(card().dataset.count);
  const listed = Boolean(document.querySelector('#label-list')?.offsetParent); // it is drawn again, too
  if (act) { trigger(act, { listed }); return; }
  if (sent === count) return; // the next question has not come yet
  sent = count;
  trigger('answered', { label, count, listed, seconds: (performance.now() - shown) / 1000 });
}

element.addEventListener('click', event => {
  const button = event.target.closest('.label-card button');
  if (button) act(button);
});
document.addEventListener('keydown', event => {
  if (!card()?.offsetParent || event.altKey || event.repeat || event.target.closest?.('input, textarea, select, [contenteditable]')) return;
  const undo = (event.ctrlKey || event.metaKey) && event.key === 'z', key = undo ? 'u' : event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && !undo) return;
  if (key === ' ' && event.target.closest?.('button, a, summary, label')) return; // which the space bar presses
  const button = card().querySelector(`button[data-key="${CSS.escape(key)}"]`);
  if (!button && !/^[0-9]$/.test(key)) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // a digit that is no answer here opens no tab either
  if (button) act(button);
}, true);
