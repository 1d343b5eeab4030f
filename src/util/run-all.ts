/** Runs steps one after the other, all of them even if some fail; then throws the first error. For closing several things. */
export async function runAll(steps: Iterable<() => unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps)
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  if (errors.length > 0) throw errors[0];
}
