/**
 * Zachary's karate club: 34 members, 78 friendships, and the two groups they split into.
 * W. W. Zachary, "An information flow model for conflict and fission in small groups", J. Anthropol. Res. 33 (1977).
 */

/** The friends of each member that have a larger number. */
const friends: readonly (readonly number[])[] = [
  [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
  [2, 3, 7, 13, 17, 19, 21, 30],
  [3, 7, 8, 9, 13, 27, 28, 32],
  [7, 12, 13],
  [6, 10],
  [6, 10, 16],
  [16],
  [],
  [30, 32, 33],
  [33],
  [],
  [],
  [],
  [33],
  [32, 33],
  [32, 33],
  [],
  [],
  [32, 33],
  [33],
  [32, 33],
  [],
  [32, 33],
  [25, 27, 29, 32, 33],
  [25, 27, 31],
  [31],
  [29, 33],
  [33],
  [31, 33],
  [32, 33],
  [32, 33],
  [32, 33],
  [33],
  [],
]; // prettier-ignore

const instructorsGroup = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21]);

export interface KarateClub {
  readonly numNodes: number;
  /** Each friendship once, as [member, member]. */
  readonly edges: readonly (readonly [number, number])[];
  /** 0: stayed with the instructor (member 0); 1: followed the administrator (member 33). */
  readonly labels: Int32Array;
}

export function karateClub(): KarateClub {
  const edges = friends.flatMap((list, member) => list.map((friend) => [member, friend] as const));
  return {
    numNodes: 34,
    edges,
    labels: Int32Array.from(friends, (_, member) => (instructorsGroup.has(member) ? 0 : 1)),
  };
}
