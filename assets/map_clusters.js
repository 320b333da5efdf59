// Runs in the app's page, for the list beside the map: a click on a cluster or value selects its rows, one on a pencil turns the
// cluster's name into a text field. "picked" and "renamed" are custom events, as in map_bridge.js.
const fieldIn = target => target.closest?.('input.new-name');
const pencil = field => element.querySelector(`[data-rename="${field.dataset.group}"]`);
const written = field => field.value.trim().replace(/\s+/g, ' ') || field.placeholder; // without a name, the one made from keywords
const unchanged = field => written(field) === pencil(field)?.dataset.name;

// Once `had`, which has the focus, is gone, because the list is made anew or makes room for the selected rows, `next` gets it.
function handOver(had, next) {
  let checks = 0;
  const watching = setInterval(() => {
    const gone = !had.isConnected || !had.offsetParent, lost = () => [document.body, had].includes(document.activeElement);
    if (gone && lost()) next()?.focus(); // in vain while it is not visible yet
    if ((gone && !lost()) || ++checks > 50) clearInterval(watching);
  }, 100);
}

function select(button) {
  trigger('picked', {group: Number(button.dataset.group)});
  handOver(button, () => document.querySelector('#map-panel [role=tab][aria-selected=true]'));
}

function edit({dataset: {rename, name, made, most}, parentElement: card}) {
  const field = document.createElement('input');
  Object.assign(field, {type: 'text', className: 'new-name', value: name, placeholder: made, maxLength: Number(most), dir: 'auto'});
  Object.assign(field.dataset, {group: rename, sent: name});
  field.setAttribute('aria-label', `Name of the cluster ${made}. Without a name it gets this one back.`);
  card.append(field);
  card.classList.add('renaming');
  field.focus();
  field.select();
}

function close(field) {
  field.parentElement.classList.remove('renaming');
  field.remove();
}

// A name that is refused stays in its field, because the list is not made anew.
function keep(field) {
  field.dataset.sent = field.value;
  trigger('renamed', {group: Number(field.dataset.group), name: field.value});
}

element.addEventListener('click', event => {
  const button = event.target.closest('button');
  if (button?.dataset.rename) edit(button);
  else if (button?.dataset.group) select(button);
});
element.addEventListener('keydown', event => {
  const field = fieldIn(event.target);
  if (!field || event.isComposing || !['Enter', 'Escape'].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === 'Enter' && !unchanged(field)) {
    keep(field);
    handOver(field, () => pencil(field));
  } else {
    close(field);
    pencil(field)?.focus();
  }
});
element.addEventListener('focusout', event => {
  const field = fieldIn(event.target);
  setTimeout(() => { // a field also loses the focus while it is removed
    if (!field?.isConnected) return;
    if (unchanged(field)) close(field);
    else if (field.value !== field.dataset.sent) keep(field);
  }, 0);
});
