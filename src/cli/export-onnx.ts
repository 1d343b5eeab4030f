/**
 * The work of `skein export --format onnx`: writes the model of a run for onnxruntime. A node classification run gives
 * model.onnx; a link prediction run gives decoder.onnx, and encoder.onnx unless nodes are compared by their embeddings.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { exportOnnx } from '../interop/index.js';
import { writeFileAtomic } from '../storage/atomic-file.js';
import { makeFolder } from '../storage/make-folder.js';
import { exportEncoderOnnx, LinkPredictionModel, Output, openRun } from '../train/index.js';
import { StorageError, ValueError } from '../util/errors.js';
import type { ExportCommand, ExportSource } from './export.js';

export async function exportRunOnnx(
  { directory, target: folder }: ExportSource,
  command: ExportCommand,
): Promise<void> {
  const output = new Output({ json: command.json });
  if (command.what !== undefined || command.tables !== undefined)
    throw new ValueError(
      'export: expected neither --what nor --tables with --format onnx, got one. Use another format to export tables.',
    );
  const files: string[] = [];
  for (const [name, bytes] of await modelFiles(directory)) {
    const path = join(folder, name);
    if (existsSync(path) && !command.overwrite)
      throw new StorageError(
        `export: expected a new file, got ${path}, which exists. Choose another --output-dir or use --overwrite.`,
        { path },
      );
    makeFolder(folder);
    await writeFileAtomic(path, bytes);
    output.text(`${name}: ${bytes.length} bytes in ${path}`);
    output.event('export', { model: name, bytes: bytes.length, files: [path] });
    files.push(path);
  }
  output.event('done', { files });
  output.doneIn();
}

async function modelFiles(directory: string): Promise<[string, Uint8Array][]> {
  const run = await openRun(directory, {
    command: 'export',
    over: 'graph',
    advice: 'Choose another format.',
  });
  try {
    const { model, config } = run;
    const encoder = (): Uint8Array => exportEncoderOnnx(model, config.model.encoder);
    if (!(model instanceof LinkPredictionModel)) return [['model.onnx', encoder()]];
    const decoder: [string, Uint8Array] = ['decoder.onnx', exportOnnx(model.decoder)];
    return model.comparesEmbeddings ? [decoder] : [['encoder.onnx', encoder()], decoder];
  } finally {
    await run.close();
  }
}
