/** Answers to the last requests that had an id. */
import type { AppendResult, EventOutcome } from '../predictor.js';

const kept = 100_000;
const letters: Readonly<Record<EventOutcome, string>> = {
  ...{ accepted: 'a', waiting: 'w', duplicate: 'd', late: 'l', quarantined: 'q' },
};
const outcomesOf = new Map(
  Object.entries(letters).map(([outcome, letter]) => [letter, outcome as EventOutcome]),
);

export class RequestMemory {
  /** Number of new nodes and one letter per event, by request id. */
  readonly #answers = new Map<string, string>();

  get(id: string): AppendResult | null {
    const answer = this.#answers.get(id);
    if (answer === undefined) return null;
    const [newNodes, codes] = answer.split(':');
    return {
      outcomes: Array.from(codes, (letter) => outcomesOf.get(letter) as EventOutcome),
      newNodes: Number(newNodes),
    };
  }

  add(id: string, { outcomes, newNodes }: AppendResult): void {
    this.#answers.set(id, `${newNodes}:${outcomes.map((outcome) => letters[outcome]).join('')}`);
    if (this.#answers.size > kept) this.#answers.delete(this.#answers.keys().next().value as string);
  }

  save(): unknown {
    return [...this.#answers];
  }

  load(saved: unknown): void {
    for (const [id, answer] of saved as [string, string][]) this.#answers.set(id, answer);
  }
}
