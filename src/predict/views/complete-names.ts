/** Names that begin with, or contain, what a user has typed so far. */
export interface ListedNames {
  readonly size: number;
  nameOf(id: number): string;
}

/** Names that are looked at: of larger graphs the first ones, so that an answer takes some milliseconds. */
const mostRead = 300_000;

/** Returns names that begin with a text, then those that contain it, without regard to case. */
export function completeNames(names: ListedNames, typed: string, limit: number): string[] {
  const wanted = typed.trim().toLowerCase();
  const starting: string[] = [];
  const containing: string[] = [];
  for (let id = 0; id < Math.min(names.size, mostRead) && starting.length < limit; id++) {
    const name = names.nameOf(id);
    const at = wanted === '' ? 0 : name.toLowerCase().indexOf(wanted);
    if (at === 0) starting.push(name);
    else if (at > 0 && containing.length < limit) containing.push(name);
  }
  return [...starting, ...containing].slice(0, limit);
}
