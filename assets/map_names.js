// Where the names of clusters are on a map: one layout for the screen, pictures, kept pages and the full screen.
const mapNames = (() => {
  const MOST = 25; // names at once: zooming in shows those of smaller clusters
  const FEW = 8; // with fewer groups of clusters in view their clusters are named; with fewer free places, names also cover points
  const REST = 200; // milliseconds after the last step of a move

  // Where a cluster's name may be: on its centre, else beside it, ever farther: [sideways, upright, pixels between].
  const around = (shifts, gaps) => gaps.flatMap(gap => shifts.flatMap(shift =>
    [[shift, -1, gap], [shift, 1, gap], ...(Math.abs(shift) < 1 ? [[1, shift, gap], [-1, shift, gap]] : [])]));
  const SHARE = 0.3, FARTHEST = 180; // the widest gap: of the map's width, and pixels
  const upTo = step => Array.from({length: FARTHEST / step}, (_, i) => 8 + step * i);
  const PLACES = [[0, 0, 0], ...around([0, 0.3, -0.3, 0.6, -0.6, 1, -1], upTo(10))];
  const MORE_PLACES = around(Array.from({length: 41}, (_, i) => (i - 20) / 20), upTo(4)); // for names that have none of those
  const NEAR = 10, APART = 2; // pixels: a name farther from its centre gets a line to it; between two names
  const CELL = 4, RADIUS = 3; // pixels: of the squares that points are counted in; of a point

  const steps = new WeakMap(); // drawing -> the place of each name among PLACES
  const resting = new WeakMap(); // a drawing that moves -> the timer that ends it

  // Place the names of clusters, the largest cluster's first; hide those without a place. drawing: an element with a drawn map;
  // plot: what plotly knows of it, for a picture. Names are moved inside plotly's drawing, which plotly makes anew, so that
  // moving them causes no further event. While the map moves, a name stays on its side of the centre: it would jump. So it does
  // in a picture, whose letters have other widths.
  function place(drawing, plot = drawing) {
    const layer = drawing.querySelector('.infolayer'), {xaxis, yaxis, meta} = plot._fullLayout ?? {};
    if (!layer || !xaxis) return;
    const origin = drawing.querySelector('.main-svg').getBoundingClientRect(), before = resting.has(drawing) ? steps.get(drawing) : meta?.steps;
    const names = [...drawing.querySelectorAll('.annotation')].sort((a, b) => a.dataset.index - b.dataset.index);
    names.forEach(name => name.removeAttribute('transform'));
    const boxes = names.map(name => boxAt(name.getBoundingClientRect(), origin)); // all before one is moved: one reflow
    const frame = {left: xaxis._offset, right: xaxis._offset + xaxis._length, top: yaxis._offset, bottom: yaxis._offset + yaxis._length};
    const inView = boxes.map(box => box.right > box.left && inside(middle(box), frame));
    const [wanted, covered] = before ? [() => true, () => 0] : [ofLevel(inView, meta?.clusters), counter(plot, frame)];
    const reach = list => list.filter(([, , gap]) => gap <= SHARE * (frame.right - frame.left)), given = meta?.given ?? [];
    const near = reach(PLACES), far = reach(MORE_PLACES);
    const arrange = first => { // the names that may choose first, then the others: the place of each, and which of the few found none without points
      const places = [], placed = [];
      const seek = (most, worst, among = wanted, choice = near) => [...first, ...names.keys()].forEach(i => {
        if (places[i] || placed.length >= most || !inView[i] || !among(i)) return;
        places[i] = freePlace(boxes[i], frame, placed, before ? [before[i]].filter(Boolean) : choice, covered, worst);
        if (places[i]) placed.push(places[i]);
      });
      seek(Infinity, Infinity, i => given.includes(i)); // what a person named is named at any zoom
      seek(MOST, 0);
      seek(MOST, 0, wanted, far);
      const free = placed.length;
      seek(FEW, Infinity);
      return {places, placed, over: placed.slice(free).map(place => places.indexOf(place))};
    };
    let found = arrange([]);
    if (found.over.length) { // once more: who chose before may have taken the only free place of another
      const other = arrange(found.over);
      if (other.over.length < found.over.length) found = other;
    }
    const {places, placed} = found;
    names.forEach((name, i) => {
      name.style.visibility = places[i] ? 'visible' : 'hidden';
      if (places[i]) name.setAttribute('transform', `translate(${places[i].left - boxes[i].left},${places[i].top - boxes[i].top})`);
    });
    steps.set(drawing, names.map((_, i) => places[i]?.step ?? before?.[i]));
    drawLines(layer, placed.filter(place => place.line));
  }

  // Which names belong to the zoom: from afar those of groups of clusters, which follow the clusters' own; near those of clusters.
  function ofLevel(inView, clusters) {
    const seen = list => list.filter(Boolean).length, near = seen(inView.slice(0, clusters)) <= MOST || seen(inView.slice(clusters)) < FEW;
    return i => (i < clusters) === near;
  }

  // The nearest place of a name that covers no point and whose line crosses nothing; else, up to `worst`, the one with the fewest points.
  function freePlace(box, frame, placed, choice, covered, worst) {
    let best, least = worst;
    for (const step of choice) {
      const place = placeAt(box, frame, step), points = covered(place), cost = points && points + step[2]; // 1 point is as bad as 1 pixel
      if (cost > least || (best && cost === least) || placed.some(other => clash(place, other))) continue;
      [best, least] = [place, cost];
      if (!cost) break;
    }
    return best;
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

  // How many points a box covers. Points are counted once, in a table of which each entry is the sum of all above and left of it.
  function counter({_fullData, _fullLayout: {xaxis, yaxis}}, {left, top, right, bottom}) {
    const wide = Math.ceil((right - left) / CELL) + 1, high = Math.ceil((bottom - top) / CELL) + 1, sums = new Uint32Array(wide * high);
    const [x0, y0] = [xaxis.d2p(0) / CELL + 1, yaxis.d2p(0) / CELL + 1], [dx, dy] = [xaxis, yaxis].map(axis => (axis.d2p(1) - axis.d2p(0)) / CELL);
    for (const {type, x, y} of _fullData.filter(trace => trace.type === 'scattergl' && trace.visible === true)) {
      for (let i = 0; i < x.length; i++) {
        const column = Math.floor(x0 + dx * x[i]), row = Math.floor(y0 + dy * y[i]);
        if (column > 0 && row > 0 && column < wide && row < high) sums[row * wide + column]++;
      }
    }
    for (let row = 1; row < high; row++) {
      for (let i = row * wide + 1, last = (row + 1) * wide; i < last; i++) sums[i] += sums[i - 1] + sums[i - wide] - sums[i - wide - 1];
    }
    const column = (x, round) => clamp(round((x - left) / CELL), 0, wide - 1), row = (y, round) => wide * clamp(round((y - top) / CELL), 0, high - 1);
    return box => {
      const [from, to] = [column(box.left - RADIUS, Math.floor), column(box.right + RADIUS, Math.ceil)];
      const [above, below] = [row(box.top - RADIUS, Math.floor), row(box.bottom + RADIUS, Math.ceil)];
      return sums[below + to] - sums[above + to] - sums[below + from] + sums[above + from];
    };
  }

  const boxAt = (rect, origin) => ({left: rect.left - origin.left, right: rect.right - origin.left, top: rect.top - origin.top, bottom: rect.bottom - origin.top});
  const middle = box => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const inside = ([x, y], box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const overlap = (a, b) => a.left < b.right + APART && b.left < a.right + APART && a.top < b.bottom + APART && b.top < a.bottom + APART;
  const turn = ([ax, ay], [bx, by], [cx, cy]) => Math.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax));
  const parted = ([a, b], [c, d]) => turn(a, b, c) !== turn(a, b, d);
  const cross = (one, other) => one && other && parted(one, other) && parted(other, one);
  const diagonals = ({left, top, right, bottom}) => [[[left, top], [right, bottom]], [[left, bottom], [right, top]]];
  const crosses = (line, box) => line && (line.some(end => inside(end, box)) || diagonals(box).some(diagonal => cross(line, diagonal)));
  const clash = (a, b) => overlap(a, b) || crosses(a.line, b) || crosses(b.line, a) || cross(a.line, b.line);

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
    gd.on('plotly_relayouting', () => moving(gd));
    for (const event of ['plotly_afterplot', 'plotly_relayout', 'plotly_relayouting']) gd.on(event, () => place(gd));
    place(gd);
  }

  // The map is on the move: its names find new places once it rests.
  function moving(gd) {
    clearTimeout(resting.get(gd));
    resting.set(gd, setTimeout(() => { resting.delete(gd); place(gd); }, REST));
  }

  // A picture of a map, an svg as text, with its names placed as on the screen. plot: what plotly knew when it drew it.
  function inPicture(picture, plot) {
    const box = document.createElement('div');
    box.style.cssText = 'position: fixed; left: -99999px; top: 0';
    box.innerHTML = picture;
    document.body.append(box);
    place(box, plot);
    for (const name of box.querySelectorAll('.annotation')) if (name.style.visibility === 'hidden') name.remove();
    box.remove();
    return new XMLSerializer().serializeToString(box.firstElementChild);
  }

  return {place, follow, moving, inPicture, stepsOf: gd => steps.get(gd)};
})();
