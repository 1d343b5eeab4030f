/** The base class of all metrics of graph runs. */
export abstract class Metric {
  /** The key under which it is reported. */
  abstract readonly name: string;
}
