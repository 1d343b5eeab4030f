/** Buttons that save a picture. */
import { fileName, savePng, saveSvg } from '../lib/save-picture.js';

interface SaveButtonsProps {
  readonly title: string;
  /** Draws the picture when it is wanted. */
  readonly draw: () => string;
}

export function SaveButtons({ title, draw }: SaveButtonsProps) {
  return (
    <span class="save">
      <button
        type="button"
        class="small"
        title={`Save "${title}" as SVG`}
        onClick={() => saveSvg(fileName(title), draw())}
      >
        SVG
      </button>
      <button
        type="button"
        class="small"
        title={`Save "${title}" as PNG`}
        onClick={() => void savePng(fileName(title), draw())}
      >
        PNG
      </button>
    </span>
  );
}
