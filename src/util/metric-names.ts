/** Kinds of values among the metrics of an evaluation, by name. */

/** Whether a value is a number of evaluated items, such as `new_node_events`, which says how much a metric is a mean of. */
export const isCount = (name: string): boolean => /(^|_)(events|edges|nodes|count)$/.test(name);
