/** What is wrong with a configuration, apart from how it was found: so that types that name it need no other package. */

/** One thing wrong with a configuration. */
export interface ConfigProblem {
  /** For example `training.num_epochs`. */
  readonly key: string;
  readonly message: string;
}
