/**
 * An invented bank with a fraud ring: accounts of five kinds with their figures, and payments between them. Members of the ring
 * send money in circles and receive some from victims, and otherwise pay in shops as others do. Their figures overlap with those
 * of other accounts, and victims pay members too: neither an account alone nor its partners suffice to find all of them.
 */
import { Random } from '../../util/philox.js';

export const ringKind = 'ring';

const kinds = ['private', 'student', 'business', 'merchant', ringKind] as const;
type Kind = (typeof kinds)[number];

/** Accounts of each kind. */
const sizes: Readonly<Record<Kind, number>> = {
  private: 1700,
  student: 450,
  business: 450,
  merchant: 300,
  ring: 120,
};

/** Towns, in which people meet and shop. */
const towns = 12;

/** Mean of each figure by kind, in standard deviations. */
export const figures: Readonly<Record<string, Readonly<Record<Kind, number>>>> = {
  age: { private: 0.2, student: -0.9, business: 0.3, merchant: 0.4, ring: -0.8 },
  balance: { private: 0, student: -0.6, business: 0.8, merchant: 0.6, ring: -0.2 },
  received: { private: -0.2, student: -0.5, business: 0.7, merchant: 1, ring: 0.1 },
  at_night: { private: 0, student: 0.4, business: -0.6, merchant: -0.3, ring: 1.5 },
  abroad: { private: 0, student: 0.2, business: 0.3, merchant: -0.3, ring: 1.4 },
};

export interface Account {
  readonly id: string;
  readonly kind: Kind;
  readonly [figure: string]: string | number;
}

export interface Bank {
  readonly accounts: readonly Account[];
  /** Payer and receiver. */
  readonly payments: readonly (readonly [string, string])[];
}

/** Makes the bank; the same seed makes the same one. */
export function fraudRing(seed: number): Bank {
  const random = new Random(seed).split(0xf2a0d);
  const order = shuffled(
    kinds.flatMap((kind) => new Array<Kind>(sizes[kind]).fill(kind)),
    random,
  );
  const people = order.map((kind, i) => ({ i, kind, town: random.nextInt(towns) }));
  const idOf = (i: number): string => `account-${String(i + 1).padStart(4, '0')}`;
  const accounts = people.map(({ i, kind }): Account => {
    const values = Object.entries(figures).map(([name, means]) => [
      name,
      Math.round(1000 * (means[kind] + normal(random))) / 1000,
    ]);
    return { id: idOf(i), ...Object.fromEntries(values), kind };
  });
  const payments = new Map<string, readonly [string, string]>();
  const pay = (from: Person | undefined, to: Person | undefined): void => {
    if (from === undefined || to === undefined || from === to) return;
    payments.set(`${from.i} ${to.i}`, [idOf(from.i), idOf(to.i)]);
  };
  everydayPayments(people, random, pay);
  ringPayments(people, random, pay);
  return { accounts, payments: [...payments.values()] };
}

interface Person {
  readonly i: number;
  readonly kind: Kind;
  readonly town: number;
}

type Pay = (from: Person | undefined, to: Person | undefined) => void;

/** Shops and friends of the same town, wages, and trade between businesses. Members of the ring shop and have friends too. */
function everydayPayments(people: readonly Person[], random: Random, pay: Pay): void {
  const groups = new Map<string, Person[]>();
  for (const person of people)
    for (const key of [person.kind, `${person.kind} ${person.town}`]) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [person]);
      else group.push(person);
    }
  const oneOf = (key: string, skew = 1): Person | undefined => {
    const group = groups.get(key) ?? [];
    // Some shops have most of the customers.
    return group[Math.floor(group.length * random.nextFloat() ** skew)];
  };
  for (const person of people) {
    const { kind, town } = person;
    const shops = { private: 3, student: 2, business: 1, merchant: 0, ring: 3 }[kind];
    for (let k = 0; k < shops; k++) pay(person, oneOf(`merchant ${town}`, 2));
    if (kind === 'business' || kind === 'merchant') {
      for (let k = 0; k < 2; k++) pay(person, oneOf('business', 1.5));
      continue;
    }
    for (let k = 0; k < 2; k++) pay(person, oneOf(`${kind === 'ring' ? 'private' : kind} ${town}`));
    pay(oneOf(`business ${town}`), person);
  }
}

/** Each member pays the next one and two others; victims pay members. */
function ringPayments(people: readonly Person[], random: Random, pay: Pay): void {
  const members = people.filter(({ kind }) => kind === ringKind);
  const victims = people.filter(({ kind }) => kind === 'private' || kind === 'student');
  for (const [at, member] of members.entries()) {
    pay(member, members[(at + 1) % members.length]);
    for (let k = 0; k < 2; k++) pay(member, members[random.nextInt(members.length)]);
    for (let v = 0; v < 8; v++) pay(victims[random.nextInt(victims.length)], member);
  }
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  const order = [...values];
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Draws from the standard normal distribution, by the method of Box and Muller. */
function normal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.nextFloat()));
  return radius * Math.cos(2 * Math.PI * random.nextFloat());
}
