/** Copies the tiles of a table, reading each before it is requested. */
import type { Tile } from '../../storage/trained-rows.js';
import { InternalError } from '../../util/errors.js';

/** Reads the next tile while the caller uses the last one. */
export function readAhead(tiles: AsyncGenerator<Tile, void, undefined>) {
  const start = (): Promise<IteratorResult<Tile, void>> => {
    const reading = tiles.next();
    // `next` throws the error; until then it must not be reported as unhandled.
    reading.catch(() => undefined);
    return reading;
  };
  let pending = start();
  return {
    async next(into: Float32Array): Promise<void> {
      const { value } = await pending;
      if (!value) throw new InternalError('readAhead: expected another tile, got the end of the table');
      into.set(value.rows);
      pending = start();
    },
    async end(): Promise<void> {
      await pending.catch(() => undefined);
      await tiles.return();
    },
  };
}
