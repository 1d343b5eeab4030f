/** Changes of the running statistics by one event: the twin of `observe_event.cpp`. */
import { type EventStatisticsArguments, eventLayout } from '../event-kernels.js';
import * as the from './event-store.js';

type Store = EventStatisticsArguments;
const { pairInts: pairWidth, pairValues: pairValueWidth, relations, mostRelated } = eventLayout;
const { node, pairInt, relation, value } = the;
/** Earlier partners that a new pair relates to the new partner. */
const relatedPartners = 12;
const pairRate = 0.3;
const nodeRate = 0.1;

export function hasRoom({ totals, pairRoom, slotCount, relatedRoom }: Store): boolean {
  return (
    totals[1] < pairRoom &&
    2 * (totals[1] + 1) <= slotCount &&
    totals[2] + eventLayout.relatedSlack <= relatedRoom
  );
}

export function observeEvent(store: Store, src: number, dst: number, time: number): void {
  const { nodeInts, nodeTimes, clock, totals } = store;
  const [own, target] = [the.intsOf(src, the.source), the.intsOf(dst, the.destination)];
  let pair = the.findPair(store, src, dst);
  const isNew = pair < 0;
  const before = nodeInts[own + node.recent] - 1;
  const sourceIsNew = nodeInts[own + node.events] === 0;
  const age = time - nodeTimes[2 * dst + 1];
  const targetAge = nodeInts[target + node.events] > 0 ? the.logOf(age * clock[0]) : 0;
  if (isNew) relateNew(store, src, dst);
  follow(store, before, dst, the.destination);
  follow(store, nodeInts[target + node.recent] - 1, src, the.source);
  if (isNew) pair = addPair(store, src, dst);
  totals[0]++;
  updatePair(store, pair, time, before !== dst);
  updateNode(store, src, dst, { side: the.source, time, isNew, novelty: targetAge });
  updateNode(store, dst, src, { side: the.destination, time, isNew, novelty: Number(sourceIsNew) });
}

function blockOf(size: number): number {
  let block = 4;
  while (block < size) block *= 2;
  return block;
}

/** Returns the entry of `other` in the row of a node; the weakest entry of a full row is replaced, the first of several. */
function relatedEntry(store: Store, id: number, other: number, side: number): number {
  const { nodeInts, relatedIds, relatedCounts, totals } = store;
  const own = the.intsOf(id, side);
  const start = nodeInts[own + node.relatedStart];
  const size = nodeInts[own + node.relatedSize];
  for (let i = start; i < start + size; i++) if (relatedIds[i] === other) return i;
  let at = start + size;
  if (size === mostRelated) {
    at = start;
    let least = Number.POSITIVE_INFINITY;
    // No entry is weaker than one that was seen once.
    for (let i = start; i < start + size && least > 1; i++) {
      const c = i * relations;
      const sum = relatedCounts[c] + relatedCounts[c + 1] + relatedCounts[c + 2];
      if (sum < least) [least, at] = [sum, i];
    }
  } else {
    if (size === 0 || size === blockOf(size)) {
      const moved = totals[2];
      totals[2] += blockOf(size + 1);
      relatedIds.copyWithin(moved, start, start + size);
      relatedCounts.copyWithin(moved * relations, start * relations, (start + size) * relations);
      nodeInts[own + node.relatedStart] = moved;
      at = moved + size;
    }
    nodeInts[own + node.relatedSize] = size + 1;
  }
  relatedIds[at] = other;
  relatedCounts.fill(0, at * relations, (at + 1) * relations);
  return at;
}

function relate(store: Store, id: number, other: number, side: number, which: number): void {
  store.relatedCounts[relatedEntry(store, id, other, side) * relations + which]++;
}

/** Relates the ends of a new pair to the earlier partners of the other end. */
function relateNew(store: Store, src: number, dst: number): void {
  const { nodeInts, pairInts } = store;
  let pair = nodeInts[the.intsOf(src, the.source) + node.newestPair] - 1;
  for (let k = 0; k < relatedPartners && pair >= 0; k++) {
    const other = pairInts[pair * pairWidth + pairInt.dst];
    relate(store, dst, other, the.destination, relation.common);
    relate(store, other, dst, the.destination, relation.common);
    pair = pairInts[pair * pairWidth + pairInt.older] - 1;
  }
  const recent = the.intsOf(dst, the.destination) + node.recent;
  for (let k = 0; k < the.numRecent && nodeInts[recent + k] > 0; k++) {
    const other = nodeInts[recent + k] - 1;
    relate(store, src, other, the.source, relation.common);
    relate(store, other, src, the.source, relation.common);
  }
}

function follow(store: Store, before: number, after: number, side: number): void {
  if (before < 0 || before === after) return;
  relate(store, before, after, side, relation.next);
  relate(store, after, before, side, relation.previous);
}

function addPair(store: Store, src: number, dst: number): number {
  const { nodeInts, pairInts, pairSlots, pairValues, totals } = store;
  const pair = totals[1];
  const slot = the.slotOf(store, src, dst);
  totals[1]++;
  pairSlots[slot] = pair + 1;
  const at = pair * pairWidth;
  const newest = the.intsOf(src, the.source) + node.newestPair;
  pairInts.fill(0, at, at + pairWidth);
  pairInts[at + pairInt.src] = src;
  pairInts[at + pairInt.dst] = dst;
  pairInts[at + pairInt.older] = nodeInts[newest];
  nodeInts[newest] = pair + 1;
  pairValues.fill(0, pair * pairValueWidth, (pair + 1) * pairValueWidth);
  return pair;
}

function moveAverage(array: Float32Array, at: number, to: number, rate: number, first: boolean): void {
  array[at] = first ? to : array[at] + rate * (to - array[at]);
}

function updatePair(store: Store, pair: number, time: number, returned: boolean): void {
  const { nodeInts, pairInts, pairTimes, pairValues, clock } = store;
  const at = pair * pairWidth;
  const values = pair * pairValueWidth;
  const count = pairInts[at + pairInt.count];
  if (count > 0) {
    const age = time - pairTimes[pair];
    for (const [h, half] of the.pairHalfLives.entries())
      pairValues[values + h] *= the.decay(age, clock[1 + half]);
    moveAverage(pairValues, values + the.pairGap, the.logOf(age * clock[0]), pairRate, count === 1);
  }
  for (let h = 0; h < the.pairHalfLives.length; h++) pairValues[values + h] += 1;
  const [src, dst] = [pairInts[at + pairInt.src], pairInts[at + pairInt.dst]];
  pairInts[at + pairInt.count] = count + 1;
  if (returned) pairInts[at + pairInt.visits]++;
  pairInts[at + pairInt.srcEvents] = nodeInts[the.intsOf(src, the.source) + node.events] + 1;
  pairInts[at + pairInt.dstEvents] = nodeInts[the.intsOf(dst, the.destination) + node.events] + 1;
  pairTimes[pair] = time;
}

interface NodeChange {
  readonly side: number;
  readonly time: number;
  readonly isNew: boolean;
  /** How new the partner is. */
  readonly novelty: number;
}

function updateNode(store: Store, id: number, partner: number, change: NodeChange): void {
  const { nodeInts, nodeTimes, nodeValues, clock, totals } = store;
  const { side, time, isNew, novelty } = change;
  const own = the.intsOf(id, side);
  const values = the.valuesOf(id, side);
  const events = nodeInts[own + node.events];
  const age = events > 0 ? time - nodeTimes[2 * id + side] : 0;
  for (let h = 0; h < eventLayout.halfLives; h++)
    nodeValues[values + h] = (events > 0 ? nodeValues[values + h] * the.decay(age, clock[1 + h]) : 0) + 1;
  if (events > 0)
    moveAverage(nodeValues, values + value.gap, the.logOf(age * clock[0]), nodeRate, events === 1);
  moveAverage(nodeValues, values + value.novelty, novelty, nodeRate, events === 0);
  moveAverage(nodeValues, values + value.newPairs, Number(isNew), nodeRate, events === 0);
  const recent = own + node.recent;
  const mark = partner + 1;
  const repeats = nodeInts[recent] === mark;
  nodeInts[own + node.run] = repeats ? nodeInts[own + node.run] + 1 : 1;
  if (repeats) nodeInts[own + node.repeats]++;
  if (isNew) nodeInts[own + node.distinct]++;
  nodeInts[own + node.last + (events % the.numLast)] = mark;
  nodeInts[own + node.events] = events + 1;
  nodeInts[own + node.lastEvent] = totals[0];
  nodeTimes[2 * id + side] = time;
  let at = 0;
  while (at < the.numRecent - 1 && nodeInts[recent + at] !== mark) at++;
  nodeInts.copyWithin(recent + 1, recent, recent + at);
  nodeInts[recent] = mark;
}
