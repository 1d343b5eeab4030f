/**
 * The k best items of several users, from blocks of scores that arrive in any order. Equal scores go to the lower id; an
 * item whose score is not a number is never taken.
 */
export class TopLists {
  readonly length: number;
  /** Best first, [users, length]; −1 where there is none. */
  readonly items: Int32Array;
  readonly #scores: Float64Array;
  readonly #sizes: Int32Array;

  constructor(users: number, length: number) {
    this.length = length;
    this.items = new Int32Array(users * length).fill(-1);
    this.#scores = new Float64Array(users * length);
    this.#sizes = new Int32Array(users);
  }

  /**
   * Offers items to a user.
   *
   * @param scores of the items ids[0], ids[1], …
   */
  offer(user: number, ids: Int32Array, scores: ArrayLike<number>): void {
    const { length } = this;
    const last = user * length + length - 1;
    for (let i = 0; i < ids.length; i++) {
      const score = scores[i];
      const isBetter =
        this.#sizes[user] < length
          ? !Number.isNaN(score)
          : score > this.#scores[last] || (score === this.#scores[last] && ids[i] < this.items[last]);
      if (isBetter) this.#insert(user, ids[i], score);
    }
  }

  #insert(user: number, id: number, score: number): void {
    const first = user * this.length;
    let at = first + Math.min(this.#sizes[user], this.length - 1);
    while (at > first) {
      const before = this.#scores[at - 1];
      if (before > score || (before === score && this.items[at - 1] < id)) break;
      this.#scores[at] = before;
      this.items[at] = this.items[at - 1];
      at--;
    }
    this.#scores[at] = score;
    this.items[at] = id;
    if (this.#sizes[user] < this.length) this.#sizes[user]++;
  }
}
