/**
 * How well the members of a ring are found among accounts whose kind the model has not seen: by the model, and by simpler rules.
 */
import type { NodePredictor } from '../../predict/index.js';
import type { Bank } from './fraud-ring.js';
import { figures, ringKind } from './fraud-ring.js';

export interface Suspect {
  readonly id: string;
  readonly probability: number;
  readonly isMember: boolean;
}

export interface RingReport {
  /** Held-out accounts, and how many of them are members: as many of the most suspicious ones are looked at. */
  readonly accounts: number;
  readonly members: number;
  /** Members that each way of ranking finds among them. */
  readonly found: {
    readonly model: number;
    readonly knownPartners: number;
    readonly figures: number;
    readonly payments: number;
    readonly chance: number;
  };
  /** The most suspicious held-out accounts, the first one first. */
  readonly suspects: readonly Suspect[];
}

/** @param known the accounts whose kind the model was trained or chosen with */
export async function findRing(
  model: Pick<NodePredictor, 'classify' | 'classes'>,
  bank: Bank,
  known: ReadonlySet<string>,
): Promise<RingReport> {
  const { accounts, payments } = bank;
  const held = accounts.filter(({ id }) => !known.has(id));
  const isMember = held.map(({ kind }) => kind === ringKind);
  const members = isMember.filter(Boolean).length;
  const ring = model.classes.indexOf(ringKind);
  const answers = await model.classify(held.map(({ id }) => id));
  const probabilities = answers.map((answer) => answer.probabilities[ring]);
  const knownMembers = new Set(
    accounts.filter(({ id, kind }) => kind === ringKind && known.has(id)).map(({ id }) => id),
  );
  const count = (counts: (partner: string) => boolean): number[] => {
    const sums = new Map<string, number>();
    for (const [from, to] of payments)
      for (const [own, partner] of [
        [from, to],
        [to, from],
      ])
        if (counts(partner)) sums.set(own, (sums.get(own) ?? 0) + 1);
    return held.map(({ id }) => sums.get(id) ?? 0);
  };
  const suspects = held
    .map(({ id }, i): Suspect => ({ id, probability: probabilities[i], isMember: isMember[i] }))
    .sort((a, b) => b.probability - a.probability || (a.id < b.id ? -1 : 1));
  return {
    accounts: held.length,
    members,
    found: {
      model: membersAmong(probabilities, isMember, members),
      knownPartners: membersAmong(
        count((partner) => knownMembers.has(partner)),
        isMember,
        members,
      ),
      figures: membersAmong(byFigures(bank, known), isMember, members),
      payments: membersAmong(
        count(() => true),
        isMember,
        members,
      ),
      chance: (members * members) / held.length,
    },
    suspects: suspects.slice(0, members),
  };
}

/** Scores held-out accounts by how far their figures are from those of others towards those of known members. */
function byFigures({ accounts }: Bank, known: ReadonlySet<string>): number[] {
  const names = Object.keys(figures);
  const meanOf = (some: Bank['accounts'], name: string): number =>
    some.reduce((sum, account) => sum + Number(account[name]), 0) / some.length;
  const seen = accounts.filter(({ id }) => known.has(id));
  const members = seen.filter(({ kind }) => kind === ringKind);
  const others = seen.filter(({ kind }) => kind !== ringKind);
  const directions = names.map((name) => meanOf(members, name) - meanOf(others, name));
  return accounts
    .filter(({ id }) => !known.has(id))
    .map((account) => names.reduce((sum, name, i) => sum + directions[i] * Number(account[name]), 0));
}

/**
 * Returns how many members are among the k accounts with the highest scores. Where equal scores straddle the limit, it is the
 * mean over their orders.
 */
export function membersAmong(scores: readonly number[], isMember: readonly boolean[], k: number): number {
  const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a]);
  const limit = scores[order[k - 1]];
  const above = order.filter((i) => scores[i] > limit);
  const equal = order.filter((i) => scores[i] === limit);
  const count = (some: readonly number[]): number => some.filter((i) => isMember[i]).length;
  return count(above) + (count(equal) * (k - above.length)) / Math.max(1, equal.length);
}
