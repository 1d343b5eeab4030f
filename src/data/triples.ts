/**
 * Facts (head, relation, tail) with numbered names, as read from knowledge graphs and RDF files.
 */

/** Fact i is `entities[src[i]]`, `relations[rel[i]]`, `entities[dst[i]]`. */
export interface Triples {
  readonly entities: readonly string[];
  readonly relations: readonly string[];
  readonly src: Int32Array;
  readonly rel: Int32Array;
  readonly dst: Int32Array;
}

/** Numbers names in order of first appearance. */
export class NameNumbers {
  readonly names: string[] = [];
  readonly #ids = new Map<string, number>();

  /** Returns the number of a name; adds the name if it is new. */
  add(name: string): number {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = this.names.length;
      this.#ids.set(name, id);
      this.names.push(name);
    }
    return id;
  }

  /** Returns the number of a known name. */
  get(name: string): number | undefined {
    return this.#ids.get(name);
  }
}

/** Collects facts; several splits can share the name tables. */
export class TripleBuilder {
  #src: number[] = [];
  #rel: number[] = [];
  #dst: number[] = [];

  constructor(
    readonly entities = new NameNumbers(),
    readonly relations = new NameNumbers(),
  ) {}

  add(head: string, relation: string, tail: string): void {
    this.#src.push(this.entities.add(head));
    this.#rel.push(this.relations.add(relation));
    this.#dst.push(this.entities.add(tail));
  }

  finish(): Triples {
    return {
      entities: this.entities.names,
      relations: this.relations.names,
      src: Int32Array.from(this.#src),
      rel: Int32Array.from(this.#rel),
      dst: Int32Array.from(this.#dst),
    };
  }
}
