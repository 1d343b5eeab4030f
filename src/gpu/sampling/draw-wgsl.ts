/**
 * The draws of one row in WGSL: the picks of `native/reference/node-draws.ts`, bit for bit. Integers only.
 *
 * Picks are indices within the row. Up to 64 of them are kept sorted in private memory. More are written to the row's
 * range of `positions`; then Floyd's algorithm looks picks up in a hash table in the row's range of another array,
 * which is unused at that time, and sorts at the end.
 */

/**
 * Capacities for picks of a row in private memory; a hop uses the smallest that suffices, because all of it is cleared
 * first.
 */
export const pickRooms = [16, 32, 64] as const;

/** Insertion into sorted picks. `pickAt(i)` and `setPick(i, value)` access them. */
const sortedPicks = /* wgsl */ `
/** Returns the first index whose pick is not below value. */
fn lowerBound(n: u32, value: u32) -> u32 {
  var low = 0u;
  var high = n;
  while (low < high) {
    let middle = (low + high) >> 1u;
    if (pickAt(middle) < value) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

fn insertPick(n: u32, index: u32, value: u32) {
  for (var i = n; i > index; i--) { setPick(i, pickAt(i - 1u)); }
  setPick(index, value);
}
`;

const privatePicks = (room: number) => /* wgsl */ `
var<private> picks: array<u32, ${room}>;
fn pickAt(i: u32) -> u32 { return picks[i]; }
fn setPick(i: u32, value: u32) { picks[i] = value; }
${sortedPicks}
fn writePicks(begin: u32, start: u32, n: u32) {
  for (var i = 0u; i < n; i++) { positions[begin + i] = start + picks[i]; }
}
`;

const storedPicks = /* wgsl */ `
var<private> picksBegin: u32;
fn pickAt(i: u32) -> u32 { return positions[picksBegin + i]; }
fn setPick(i: u32, value: u32) { positions[picksBegin + i] = value; }
${sortedPicks}
fn writePicks(begin: u32, start: u32, n: u32) {
  for (var i = 0u; i < n; i++) { positions[begin + i] += start; }
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
      let index = lowerBound(n, pick);
      // All picks so far are below last, so it goes to the end.
      if (index < n && pickAt(index) == pick) { setPick(n, last); }
      else { insertPick(n, index, pick); }
    }
  }
  writePicks(begin, row.x, k);
}
`;

/** Draws without and with replacement for any number of picks; `table` is as long as `positions`. */
export const manyUniformWgsl = /* wgsl */ `
fn siftDown(begin: u32, top: u32, n: u32) {
  var hole = top;
  let value = positions[begin + top];
  loop {
    var child = 2u * hole + 1u;
    if (child >= n) { break; }
    if (child + 1u < n && positions[begin + child + 1u] > positions[begin + child]) { child++; }
    if (positions[begin + child] <= value) { break; }
    positions[begin + hole] = positions[begin + child];
    hole = child;
  }
  positions[begin + hole] = value;
}

fn sortPicks(begin: u32, n: u32) {
  for (var i = n / 2u; i > 0u; i--) { siftDown(begin, i - 1u, n); }
  for (var end = n; end > 1u; end--) {
    let most = positions[begin];
    positions[begin] = positions[begin + end - 1u];
    positions[begin + end - 1u] = most;
    siftDown(begin, 0u, end - 1u);
  }
}

/**
 * Adds a pick to the row's hash table and returns whether it was new. A row has as many entries as picks, so one is
 * free.
 */
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
    for (var n = 0u; n < k; n++) { positions[begin + n] = row.x + mulHigh(nextWord(), row.y); }
  } else {
    for (var n = 0u; n < k; n++) { table[begin + n] = 0u; }
    for (var n = 0u; n < k; n++) {
      let last = row.y - k + n;
      var pick = mulHigh(nextWord(), last + 1u);
      if (!addPick(begin, k, pick)) {
        pick = last;
        addPick(begin, k, pick);
      }
      positions[begin + n] = row.x + pick;
    }
  }
  sortPicks(begin, k);
}
`;

/**
 * Draws by weight: `sums` are running sums of integer weights within each row, computed on the host, so that integer
 * comparisons decide. `room` is the number of picks in private memory, null for any number. An alias table would serve
 * draws with replacement only; the sums serve both, at log(degree) per draw.
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
      positions[at] = row.x + i;
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

/** Maps u among the remaining weights to a value among all, skipping the weights already taken below it. */
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
      positions[at] = row.x + i;
      at++;
    }
  }
}
`;
