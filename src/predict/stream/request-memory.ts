/** Answers to the last requests that had an id. A request may have thousands of events, mostly with the same outcome. */
import type { AppendResult, EventOutcome } from '../predictor.js';

const kept = 100_000;
const keptCharacters = 2 ** 26;
const letters: Readonly<Record<EventOutcome, string>> = {
  ...{ accepted: 'a', waiting: 'w', duplicate: 'd', late: 'l', quarantined: 'q' },
};
const outcomesOf = new Map(
  Object.entries(letters).map(([outcome, letter]) => [letter, outcome as EventOutcome]),
);

export class RequestMemory {
  /** Number of new nodes, then outcomes as runs of a count and a letter, by request id. */
  readonly #answers = new Map<string, string>();
  #characters = 0;

  get(id: string): AppendResult | null {
    const answer = this.#answers.get(id);
    if (answer === undefined) return null;
    const [newNodes, codes] = answer.split(':');
    const outcomes: EventOutcome[] = [];
    for (const [, count, letter] of codes.matchAll(/(\d+)([a-z])/g))
      for (let i = 0; i < Number(count); i++) outcomes.push(outcomesOf.get(letter) as EventOutcome);
    return { outcomes, newNodes: Number(newNodes) };
  }

  add(id: string, { outcomes, newNodes }: AppendResult): void {
    let codes = '';
    for (let i = 0; i < outcomes.length; ) {
      const from = i;
      while (outcomes[i] === outcomes[from]) i++;
      codes += `${i - from}${letters[outcomes[from]]}`;
    }
    this.#set(id, `${newNodes}:${codes}`);
  }

  save(): unknown[] {
    return [...this.#answers];
  }

  load(saved: readonly unknown[]): void {
    for (const [id, answer] of saved as [string, string][]) this.#set(id, answer);
  }

  #set(id: string, answer: string): void {
    this.#answers.set(id, answer);
    this.#characters += id.length + answer.length;
    while (this.#answers.size > kept || this.#characters > keptCharacters) {
      const [[oldest, codes]] = this.#answers;
      this.#answers.delete(oldest);
      this.#characters -= oldest.length + codes.length;
    }
  }
}
