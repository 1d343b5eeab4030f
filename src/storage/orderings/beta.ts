/**
 * The BETA ordering (Mohoney et al.: "Marius", OSDI 2021): a sequence of buffer states in which every pair of
 * partitions is resident together at some point, each state differing from the one before by exactly one partition.
 *
 * All but one of the buffer's partitions stay while all others on disk pass through the last slot; then the fixed ones
 * have been paired with every other and are not read again. The number of swaps is within a few per cent of the lower
 * bound and does not depend on the random choices.
 */
import type { Random } from '../../util/philox.js';

/** Shuffles in place (Fisher–Yates). */
export function shuffle(items: number[], random: Random): number[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    const kept = items[i];
    items[i] = items[j];
    items[j] = kept;
  }
  return items;
}

/** Returns the buffer states in order, as sets; `placeInSlots` assigns slots. Needs capacity >= 2. */
export function betaStates(partitions: number, capacity: number, random: Random): number[][] {
  const order = shuffle(
    Array.from({ length: partitions }, (_, i) => i),
    random,
  );
  const buffer = order.slice(0, capacity);
  let disk = order.slice(capacity);
  const states = [buffer.slice()];
  const last = buffer.length - 1;
  while (disk.length > 0) {
    shuffle(buffer, random);
    shuffle(disk, random);
    for (let i = 0; i < disk.length; i++) {
      const evicted = buffer[last];
      buffer[last] = disk[i];
      disk[i] = evicted;
      states.push(buffer.slice());
    }
    shuffle(disk, random);
    const replaced = Math.min(last, disk.length);
    for (let i = 0; i < replaced; i++) {
      buffer[i] = disk[i];
      states.push(buffer.slice());
    }
    disk = disk.slice(replaced);
  }
  return states;
}

/** Returns the number of partitions that a BETA ordering reads after the first state. */
export function betaSwaps(partitions: number, capacity: number): number {
  if (capacity >= partitions) return 0;
  const outside = partitions - capacity;
  const rounds = Math.floor(outside / (capacity - 1));
  return outside + (rounds + 1) * (outside - (rounds * (capacity - 1)) / 2);
}

/** Returns the least number of swaps of single partitions: a swap adds at most capacity − 1 new pairs. */
export function swapLowerBound(partitions: number, capacity: number): number {
  if (capacity >= partitions) return 0;
  const pairs = (n: number): number => (n * (n - 1)) / 2;
  return Math.ceil((pairs(partitions) - pairs(capacity)) / (capacity - 1));
}
