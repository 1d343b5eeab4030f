/** Tiles of a table that are copied out, each read before it is asked for. */
import type { Tile } from '../../storage/index.js';
import { InternalError } from '../../util/errors.js';

/** The next tile is read while the last one is used. */
export function readAhead(tiles: AsyncGenerator<Tile, void, undefined>) {
  const start = (): Promise<IteratorResult<Tile, void>> => {
    const reading = tiles.next();
    // The caller that takes it handles the error; until then it must not count as unhandled.
    reading.catch(() => undefined);
    return reading;
  };
  let coming = start();
  return {
    async next(into: Float32Array): Promise<void> {
      const { value } = await coming;
      if (!value) throw new InternalError('readAhead: expected another tile, got the end of the table');
      into.set(value.rows);
      coming = start();
    },
    async end(): Promise<void> {
      await coming.catch(() => undefined);
      await tiles.return();
    },
  };
}
