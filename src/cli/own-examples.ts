/**
 * `examples/umls-complex.yaml` in a project that has the package installed: the documentation names these files, and a
 * clone has them. Where the working directory has none, the package's own is meant.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The arguments, with examples that are not in the working directory replaced; `note` is told of each. */
export function withOwnExamples(args: readonly string[], note: (text: string) => void): string[] {
  return args.map((arg) => {
    const [, name] = /^(?:\.[/\\])?examples[/\\]([\w-]+\.ya?ml)$/.exec(arg) ?? [];
    if (name === undefined || existsSync(arg)) return arg;
    const own = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
    if (!existsSync(own)) return arg;
    note(`${arg} is not in this directory; using the package's own, ${own}`);
    return own;
  });
}
