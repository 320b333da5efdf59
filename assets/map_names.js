// Where the names of clusters are on a map: one layout for the screen, pictures, kept pages and the full screen.
const mapNames = (() => {
  const MOST = 25; // names at once: zooming in shows those of smaller clusters
  const REST = 200; // milliseconds after the last step of a move

  // Where a cluster's name may be: on its centre, else beside it, ever farther: [sideways, upright, pixels between].
  const SIDES = [[0, -1], [0, 1], [1, 0], [-1, 0], [0.6, -1], [-0.6, -1], [0.6, 1], [-0.6, 1]];
  const PLACES = [[0, 0, 0], ...[8, 20, 36, 56, 80, 108].flatMap(gap => SIDES.map(([sideways, upright]) => [sideways, upright, gap]))];
  const NEAR = 10, APART = 2; // pixels: a name farther from its centre gets a line to it; between two names

  const steps = new WeakMap(); // drawing -> the place of each name among PLACES
  const resting = new WeakMap(); // a drawing that moves -> the timer that ends it

  // Place the names of clusters, the largest cluster's first; hide those without a free place. drawing: an element with a drawn map;
  // framed: the box that names stay in, for a picture. Names are moved inside plotly's drawing, which plotly makes anew, so that
  // moving them causes no further event. While the clusters move, a name stays on its side of the centre: it would jump.
  function place(drawing, framed) {
    const layer = drawing.querySelector('.infolayer'), area = drawing.querySelector('.nsewdrag');
    if (!layer || !(framed ?? area)) return;
    const origin = drawing.querySelector('.main-svg').getBoundingClientRect(), before = resting.has(drawing) && steps.get(drawing);
    const names = [...drawing.querySelectorAll('.annotation')].sort((a, b) => a.dataset.index - b.dataset.index);
    names.forEach(name => name.removeAttribute('transform'));
    const box = element => boxAt(element.getBoundingClientRect(), origin); // all are measured before one is moved: one reflow
    const frame = framed ?? box(area), boxes = names.map(box), centres = boxes.map(middle), placed = [];
    steps.set(drawing, names.map((name, i) => {
      const choice = before ? [before[i]].filter(Boolean) : PLACES;
      const seen = placed.length < MOST && boxes[i].right > boxes[i].left && inside(centres[i], frame);
      const place = seen && freePlace(boxes[i], frame, placed, centres, choice);
      name.style.visibility = place ? 'visible' : 'hidden';
      if (!place) return before?.[i];
      placed.push(place);
      name.setAttribute('transform', `translate(${place.left - boxes[i].left},${place.top - boxes[i].top})`);
      return place.step;
    }));
    drawLines(layer, placed.filter(place => place.line));
  }

  // The nearest free place of a name whose line crosses nothing; better one that covers no other cluster's centre.
  function freePlace(box, frame, placed, centres, choice) {
    const [x, y] = middle(box), others = centres.filter(([cx, cy]) => cx !== x || cy !== y);
    const free = choice.map(step => placeAt(box, frame, step)).filter(place => !placed.some(other => (
      overlap(place, other) || crosses(place.line, other) || crosses(other.line, place) || cross(place.line, other.line))));
    return free.find(place => !others.some(centre => inside(centre, place))) ?? free[0];
  }

  function placeAt(box, frame, step) {
    const [sideways, upright, gap] = step;
    const [x, y] = middle(box), width = box.right - box.left, height = box.bottom - box.top;
    const left = clamp(x + sideways * (width / 2 + gap) - width / 2, frame.left, frame.right - width);
    const top = clamp(y + upright * (height / 2 + gap) - height / 2, frame.top, frame.bottom - height);
    const place = {step, left, top, right: left + width, bottom: top + height};
    const end = [clamp(x, place.left, place.right), clamp(y, place.top, place.bottom)];
    if (Math.hypot(end[0] - x, end[1] - y) > NEAR) place.line = [[x, y], end];
    return place;
  }

  const boxAt = (rect, origin) => ({left: rect.left - origin.left, right: rect.right - origin.left, top: rect.top - origin.top, bottom: rect.bottom - origin.top});
  const middle = box => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const inside = ([x, y], box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const overlap = (a, b) => a.left < b.right + APART && b.left < a.right + APART && a.top < b.bottom + APART && b.top < a.bottom + APART;
  const crosses = (line, box) => line && Array.from({length: 16}, (_, i) => i / 15)
    .some(share => inside([line[0][0] + share * (line[1][0] - line[0][0]), line[0][1] + share * (line[1][1] - line[0][1])], box));
  const turn = ([ax, ay], [bx, by], [cx, cy]) => Math.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax));
  const parted = ([a, b], [c, d]) => turn(a, b, c) !== turn(a, b, d);
  const cross = (one, other) => one && other && parted(one, other) && parted(other, one);

  // Draw the lines from clusters to their moved names, below the names. The colours are for pictures: pages have a style.
  function drawLines(layer, places) {
    layer.querySelector('.leaders')?.remove();
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    const d = places.map(({line: [[x, y], [endX, endY]]}) => `M${x - 2},${y}a2,2 0 1 0 4,0a2,2 0 1 0 -4,0M${x},${y}L${endX},${endY}`).join('');
    for (const [name, value] of Object.entries({class: 'leaders', d, fill: '#1c1c1f', stroke: '#1c1c1f', opacity: 0.7})) path.setAttribute(name, value);
    layer.prepend(path);
  }

  // Place the names now and after each change of the plot.
  function follow(gd) {
    for (const event of ['plotly_afterplot', 'plotly_relayout', 'plotly_relayouting']) gd.on(event, () => place(gd));
    place(gd);
  }

  // The clusters are on the move: their names find new places once they rest.
  function moving(gd) {
    clearTimeout(resting.get(gd));
    resting.set(gd, setTimeout(() => { resting.delete(gd); place(gd); }, REST));
  }

  // A picture of a map, an svg as text, with its names placed as on the screen, within its margins.
  function inPicture(picture, {width, height, margin}) {
    const box = document.createElement('div');
    box.style.cssText = 'position: fixed; left: -99999px; top: 0';
    box.innerHTML = picture;
    document.body.append(box);
    place(box, {left: margin.l, right: width - margin.r, top: margin.t, bottom: height - margin.b});
    for (const name of box.querySelectorAll('.annotation')) if (name.style.visibility === 'hidden') name.remove();
    box.remove();
    return new XMLSerializer().serializeToString(box.firstElementChild);
  }

  return {place, follow, moving, inPicture};
})();
