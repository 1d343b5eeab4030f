/** Rewrites of the command line before it is parsed: overrides, Marius's spelling, paths of the package's examples. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';

/** Turns `--a.b=v` and `--a.b v` into `--set a.b=v` if `command` takes overrides. */
export function rewriteOverrides(command: Command | undefined, args: readonly string[]): string[] {
  if (command === undefined || !command.options.some((option) => option.long === '--set')) return [...args];
  const rewritten: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const dotted = /^--([A-Za-z_]\w*[.[][^=]*)(=[\s\S]*)?$/.exec(args[i]);
    if (dotted === null) rewritten.push(args[i]);
    else if (dotted[2] !== undefined) rewritten.push('--set', `${dotted[1]}${dotted[2]}`);
    else rewritten.push('--set', `${dotted[1]}=${args[++i] ?? ''}`);
  }
  return rewritten;
}

/** Turns Marius's spelling into ours: `--num_partitions` into `--num-partitions`, `-ds` into `--dataset-split`. */
export function rewriteSnakeCase(command: Command | undefined, args: readonly string[]): string[] {
  const known = new Set(command?.options.map((option) => option.long));
  return args.map((arg) => {
    if (arg === '-ds' && known.has('--dataset-split')) return '--dataset-split';
    const [, name, rest] = /^(--[a-z]+(?:_[a-z]+)+)(=[\s\S]*)?$/.exec(arg) ?? [];
    const ours = name?.replaceAll('_', '-');
    return ours !== undefined && known.has(ours) ? `${ours}${rest ?? ''}` : arg;
  });
}

/**
 * Replaces `examples/<name>.yaml`, which the documentation uses, by the package's file if the working directory has none:
 * a clone has these files, a project that installed the package does not. Calls `onNote` for each replacement.
 */
export function rewriteExamplePaths(args: readonly string[], onNote: (text: string) => void): string[] {
  return args.map((arg) => {
    const [, name] = /^(?:\.[/\\])?examples[/\\]([\w-]+\.ya?ml)$/.exec(arg) ?? [];
    if (name === undefined || existsSync(arg)) return arg;
    const packaged = fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
    if (!existsSync(packaged)) return arg;
    onNote(`${arg} is not in this directory; using the package's file ${packaged}`);
    return packaged;
  });
}
