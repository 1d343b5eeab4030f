/**
 * How one row draws, in WGSL: the picks of `native/reference/node-draws.ts`, word for word. Integers only.
 *
 * Picks are places within the row. Up to 64 of them are kept sorted in private memory. More lie in the row's own
 * part of `slots`; then Floyd's algorithm looks a pick up in a table of the row's part of another array, which nothing else
 * uses yet, and sorts at the end.
 */

/** Room for picks of a row in private memory; a hop takes the smallest that suffices, because all of it is cleared first. */
export const pickRooms = [16, 32, 64] as const;

/** Sorted picks by insertion. `pickAt(i)` and `setPick(i, value)` say where they are. */
const sortedPicks = /* wgsl */ `
/** The first place whose pick is not below value. */
fn lowerBound(n: u32, value: u32) -> u32 {
  var low = 0u;
  var high = n;
  while (low < high) {
    let middle = (low + high) >> 1u;
    if (pickAt(middle) < value) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

fn insertPick(n: u32, place: u32, value: u32) {
  for (var i = n; i > place; i--) { setPick(i, pickAt(i - 1u)); }
  setPick(place, value);
}
`;

const privatePicks = (room: number) => /* wgsl */ `
var<private> picks: array<u32, ${room}>;
fn pickAt(i: u32) -> u32 { return picks[i]; }
fn setPick(i: u32, value: u32) { picks[i] = value; }
${sortedPicks}
fn writePicks(begin: u32, start: u32, n: u32) {
  for (var i = 0u; i < n; i++) { slots[begin + i] = start + picks[i]; }
}
`;

const storedPicks = /* wgsl */ `
var<private> picksBegin: u32;
fn pickAt(i: u32) -> u32 { return slots[picksBegin + i]; }
fn setPick(i: u32, value: u32) { slots[picksBegin + i] = value; }
${sortedPicks}
fn writePicks(begin: u32, start: u32, n: u32) {
  for (var i = 0u; i < n; i++) { slots[begin + i] += start; }
}
`;

/** Draws without and with replacement for at most `room` picks. */
export const fewUniformWgsl = (room: number) => /* wgsl */ `
${privatePicks(room)}
fn drawRow(begin: u32, row: vec4<u32>) {
  let k = row.z;
  if (p.replace != 0u) {
    for (var n = 0u; n < k; n++) {
      let pick = mulHigh(nextWord(), row.y);
      insertPick(n, lowerBound(n, pick), pick);
    }
  } else {
    for (var n = 0u; n < k; n++) {
      let last = row.y - k + n;
      let pick = mulHigh(nextWord(), last + 1u);
      let place = lowerBound(n, pick);
      // All picks so far are below last, so it goes to the end.
      if (place < n && pickAt(place) == pick) { setPick(n, last); }
      else { insertPick(n, place, pick); }
    }
  }
  writePicks(begin, row.x, k);
}
`;

/** Draws without and with replacement for any number of picks; `table` is as long as `slots`. */
export const manyUniformWgsl = /* wgsl */ `
fn siftDown(begin: u32, top: u32, n: u32) {
  var hole = top;
  let value = slots[begin + top];
  loop {
    var child = 2u * hole + 1u;
    if (child >= n) { break; }
    if (child + 1u < n && slots[begin + child + 1u] > slots[begin + child]) { child++; }
    if (slots[begin + child] <= value) { break; }
    slots[begin + hole] = slots[begin + child];
    hole = child;
  }
  slots[begin + hole] = value;
}

fn sortPicks(begin: u32, n: u32) {
  for (var i = n / 2u; i > 0u; i--) { siftDown(begin, i - 1u, n); }
  for (var end = n; end > 1u; end--) {
    let most = slots[begin];
    slots[begin] = slots[begin + end - 1u];
    slots[begin + end - 1u] = most;
    siftDown(begin, 0u, end - 1u);
  }
}

/** Adds a pick to the row's table and says whether it was new. A row has as many entries as picks, so one is free. */
fn addPick(begin: u32, k: u32, pick: u32) -> bool {
  var at = (pick * 0x9e3779b1u) % k;
  while (table[begin + at] != 0u) {
    if (table[begin + at] == pick + 1u) { return false; }
    at++;
    if (at == k) { at = 0u; }
  }
  table[begin + at] = pick + 1u;
  return true;
}

fn drawRow(begin: u32, row: vec4<u32>) {
  let k = row.z;
  if (p.replace != 0u) {
    for (var n = 0u; n < k; n++) { slots[begin + n] = row.x + mulHigh(nextWord(), row.y); }
  } else {
    for (var n = 0u; n < k; n++) { table[begin + n] = 0u; }
    for (var n = 0u; n < k; n++) {
      let last = row.y - k + n;
      var pick = mulHigh(nextWord(), last + 1u);
      if (!addPick(begin, k, pick)) {
        pick = last;
        addPick(begin, k, pick);
      }
      slots[begin + n] = row.x + pick;
    }
  }
  sortPicks(begin, k);
}
`;

/**
 * Draws by weight: `sums` are running sums of integer weights within each row, made on the host, so that a comparison of
 * integers decides. `room`: for how many picks there is private memory, null for any number. An alias table would serve draws with replacement only; the sums serve both, at log(degree) a draw.
 */
export function weightedWgsl(room: number | null): string {
  return /* wgsl */ `
${room === null ? storedPicks : privatePicks(room)}
var<private> sumsBegin: u32;
fn sumAt(i: u32) -> u32 { return sums[sumsBegin + i]; }
fn sumBefore(i: u32) -> u32 {
  if (i == 0u) { return 0u; }
  return sums[sumsBegin + i - 1u];
}

fn takePositive(begin: u32, row: vec4<u32>) {
  var at = begin;
  for (var i = 0u; i < row.y; i++) {
    if (sumAt(i) != sumBefore(i)) {
      slots[at] = row.x + i;
      at++;
    }
  }
}

fn findSum(degree: u32, u: u32) -> u32 {
  var low = 0u;
  var high = degree;
  while (low < high) {
    let middle = (low + high) >> 1u;
    if (sumAt(middle) > u) { high = middle; } else { low = middle + 1u; }
  }
  return low;
}

/** u among the weights that are left, as a place among all: what was taken below it is skipped. */
fn skipTaken(n: u32, drawn: u32) -> u32 {
  var u = drawn;
  for (var i = 0u; i < n; i++) {
    let taken = pickAt(i);
    let before = sumBefore(taken);
    if (u < before) { break; }
    u += sumAt(taken) - before;
  }
  return u;
}

fn drawRow(begin: u32, row: vec4<u32>) {
  sumsBegin = row.x - p.first;
  ${room === null ? 'picksBegin = begin;' : ''}
  if (p.fanout == 0xffffffffu || (p.replace == 0u && row.y <= p.fanout)) {
    takePositive(begin, row);
    return;
  }
  var left = sumAt(row.y - 1u);
  for (var n = 0u; n < row.z; n++) {
    var u = mulHigh(nextWord(), left);
    if (p.replace == 0u) { u = skipTaken(n, u); }
    let pick = findSum(row.y, u);
    if (p.replace == 0u) { left -= sumAt(pick) - sumBefore(pick); }
    insertPick(n, lowerBound(n, pick), pick);
  }
  writePicks(begin, row.x, row.z);
}
`;
}

/** Keeps each edge whose word is not below the threshold. */
export const dropoutWgsl = /* wgsl */ `
fn drawRow(begin: u32, row: vec4<u32>) {
  var at = begin;
  for (var i = 0u; i < row.y; i++) {
    if (nextWord() >= p.drop) {
      slots[at] = row.x + i;
      at++;
    }
  }
}
`;
