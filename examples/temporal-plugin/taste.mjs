/**
 * A custom type of temporal model: learned rows of sources and destinations, and the number of past events of a
 * destination, which events update.
 *   skein train examples/temporal-plugin/taste.yaml --plugin examples/temporal-plugin/taste.mjs
 */
export default ({ registerTemporalModel, nn, tensor, settings }) => {
  class Taste extends nn.Module {
    constructor(numNodes, dim, counts) {
      super();
      this.src = new nn.Embedding(numNodes, dim);
      this.dst = new nn.Embedding(numNodes, dim);
      this.popularity = new nn.Linear(1, 1);
      this.counts = counts;
    }

    forward({ rootNodes }) {
      return { embeddings: this.dst.forward(rootNodes) };
    }

    score(_, { src, dst, negatives }) {
      const each = negatives.length / Math.max(1, src.length);
      const sources = Int32Array.from(negatives, (_node, i) => src[Math.floor(i / each)]);
      return { positive: this.pairs(src, dst), negative: this.pairs(sources, negatives) };
    }

    /** Returns logits of pairs [n]. */
    pairs(src, dst) {
      const met = Float32Array.from(dst, (node) => Math.log1p(this.counts.met[node]));
      const popularity = this.popularity.forward(tensor.tensor(met, { shape: [met.length, 1] }));
      const like = tensor.sum(tensor.mul(this.src.forward(src), this.dst.forward(dst)), 1);
      return tensor.add(like, tensor.reshape(popularity, [met.length]));
    }
  }

  /** Number of past events of each node: committed after every step, saved in checkpoints. */
  class Counts {
    name = 'counts';

    constructor(numNodes) {
      this.met = new Float64Array(numNodes);
    }

    get bytes() {
      return this.met.byteLength;
    }

    prepare({ dst }) {
      return dst;
    }

    commit(dst) {
      for (const node of dst) this.met[node]++;
    }

    reset() {
      this.met.fill(0);
    }

    snapshot() {
      return { arrays: { met: this.met.slice() } };
    }

    restore({ arrays }) {
      this.met.set(arrays.met);
    }
  }

  registerTemporalModel({
    kind: 'taste',
    doc: 'learned rows of nodes and their popularity',
    settings: { dim_out: settings.integer(1, 16, 'width of the rows') },
    make: ({ options, graph }) => {
      const state = new Counts(graph.numNodes);
      return { model: new Taste(graph.numNodes, options.dim_out, state), state, needs: {} };
    },
  });
};
