/**
 * Parquet, JSON and SQL by DuckDB as CSV text. Values are text as DuckDB writes it. A column of lists of numbers, all of one
 * length, becomes one column per number: `embedding` gives `embedding_0`, `embedding_1`, ….
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { FormatError, ValueError } from '../../util/errors.js';
import { csvText, type RowBlock } from './csv-text.js';
import { queryChunks, sqlName, sqlPath, sqlText } from './duckdb.js';

/** Yields a file as CSV with a header. */
export async function* readTableFile(
  connection: DuckDBConnection,
  path: string,
  format: 'parquet' | 'json',
): AsyncGenerator<string> {
  const reader = format === 'parquet' ? 'read_parquet' : 'read_json_auto';
  yield* readRelation(connection, path, `${reader}(${sqlPath(path)})`, '');
}

let tables = 0;

/**
 * Yields the result of a query, one SELECT statement, as CSV with a header. With `file`, the query runs in that database,
 * which is not changed.
 */
export async function* readDuckQuery(
  connection: DuckDBConnection,
  { query, name, file }: { readonly query: string; readonly name: string; readonly file?: string },
): AsyncGenerator<string> {
  const table = `given${++tables}`;
  const attached = `attached${tables}`;
  try {
    if (file !== undefined) {
      await connection.run(`ATTACH ${sqlText(file)} AS ${attached} (READ_ONLY)`);
      await connection.run(`USE ${attached}`);
    }
    await checkOneSelect(connection, query, name);
    // Materialised, so that an ORDER BY of the query is kept.
    await connection.run(`CREATE TEMP TABLE ${table} AS ${query}`);
    if (file !== undefined) {
      await connection.run('USE memory');
      await connection.run(`DETACH ${attached}`);
    }
  } catch (error) {
    if (error instanceof ValueError) throw error;
    const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
    throw new ValueError(
      `preprocess: expected a query that DuckDB runs for ${name}, got ${reason}`,
      {},
      { cause: error },
    );
  }
  yield* readRelation(connection, name, table, ' ORDER BY rowid');
  await connection.run(`DROP TABLE ${table}`);
}

/** Throws unless a query is one SELECT statement: other statements, or a second one, could write files. */
async function checkOneSelect(connection: DuckDBConnection, query: string, name: string): Promise<void> {
  const { StatementType } = await import('@duckdb/node-api');
  const wrong = (got: string): ValueError =>
    new ValueError(
      `preprocess: expected one SELECT statement for ${name}, got ${got}. Leave other statements out, and list the values of a PIVOT with IN: it is two statements without them.`,
    );
  const statements = await connection.extractStatements(query);
  if (statements.count !== 1) throw wrong(`${statements.count} statements`);
  const statement = await statements.prepare(0);
  const { statementType: type } = statement;
  statement.destroySync();
  if (type !== StatementType.SELECT) throw wrong(`a statement of type ${StatementType[type]}`);
}

async function* readRelation(
  connection: DuckDBConnection,
  name: string,
  relation: string,
  order: string,
): AsyncGenerator<string> {
  let columns: readonly Column[];
  try {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${relation}`);
    const all = described.getRows().map(([column, type]) => [String(column), String(type)] as const);
    columns = (await Promise.all(all.map((one) => expandColumn(connection, relation, ...one)))).flat();
  } catch (error) {
    const reason = (error as Error).message.split('\n').slice(0, 2).join(' ');
    throw new FormatError(`${name}: expected a table, got ${reason}`, { path: name }, { cause: error });
  }
  const selected = columns.map(({ expression }) => `${expression}::VARCHAR`).join(', ');
  const rows = readRows(connection, `SELECT ${selected} FROM ${relation}${order}`, columns.length);
  yield* csvText(
    columns.map((column) => column.name),
    rows,
  );
}

interface Column {
  readonly name: string;
  readonly expression: string;
}

const numberList = /^(TINYINT|SMALLINT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*\))\[\d*\]$/;

async function expandColumn(
  connection: DuckDBConnection,
  relation: string,
  name: string,
  type: string,
): Promise<Column[]> {
  const whole = { name, expression: sqlName(name) };
  if (!numberList.test(type)) return [whole];
  const length = `len(${sqlName(name)})`;
  const result = await connection.runAndReadAll(
    `SELECT min(${length}), max(${length}), count(*) - count(${sqlName(name)}) FROM ${relation}`,
  );
  const [least, most, missing] = result.getRows()[0].map(Number);
  if (least !== most || missing > 0 || most === 0) return [whole];
  return Array.from({ length: most }, (_, i) => ({
    name: `${name}_${i}`,
    expression: `${sqlName(name)}[${i + 1}]`,
  }));
}

async function* readRows(connection: DuckDBConnection, sql: string, width: number): AsyncGenerator<RowBlock> {
  for await (const chunk of queryChunks(connection, sql)) {
    const columns: readonly (readonly (string | null)[])[] = Array.from({ length: width }, (_, c) =>
      chunk.strings(c),
    );
    yield Array.from({ length: chunk.rows }, (_, i) => columns.map((column) => column[i]));
  }
}
