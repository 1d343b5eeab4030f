/** A field for a name, with completion over the names of the run: the combobox pattern of WAI-ARIA. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { get, runPath } from '../lib/api.js';

interface NameInputProps {
  readonly run: string;
  readonly of: 'nodes' | 'relations';
  readonly label: string;
  readonly value: string;
  /** Told about every name that is chosen or typed and confirmed. */
  readonly onChoose: (name: string) => void;
  readonly placeholder?: string;
}

export function NameInput(props: NameInputProps) {
  const { label, placeholder } = props;
  const id = useId();
  const { text, names, active, isOpen, choose, open, type, onKeyDown, close } = useCompletion(id, props);
  return (
    <div class="combobox">
      <label for={`${id}-input`}>{label}</label>
      <input
        id={`${id}-input`}
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && active >= 0 ? `${id}-${active}` : undefined}
        placeholder={placeholder ?? ''}
        value={text}
        onFocus={open}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!isOpen}>
        {names.map((name, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: The keys of the list are those of the field, which keeps the focus.
          <li
            key={name}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === active}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(name)}
          >
            {name}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The text of the field, and the names that it may become. */
function useCompletion(id: string, { run, of, value, onChoose }: NameInputProps) {
  const [text, setText] = useState(value);
  const [names, setNames] = useState<readonly string[]>([]);
  const [active, setActive] = useState(-1);
  const [isWanted, setWanted] = useState(false);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => setText(value), [value]);
  const isOpen = isWanted && names.length > 0;
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, active]);
  const complete = (typed: string): void => {
    setWanted(true);
    // Enter must not choose a name that was marked for another text.
    setActive(-1);
    ending.current?.abort();
    ending.current = new AbortController();
    const { signal } = ending.current;
    get<{ names: string[] }>(
      `${runPath(run, 'names')}?${new URLSearchParams({ of, text: typed })}`,
      signal,
    ).then(
      (found) => {
        setNames(found.names);
      },
      () => signal.aborted || setNames([]),
    );
  };
  const choose = (name: string): void => {
    setText(name);
    setWanted(false);
    onChoose(name);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && names.length > 0) {
      event.preventDefault();
      setWanted(true);
      // Without an active name, up begins at the last one.
      const from = active < 0 && step < 0 ? 0 : active;
      setActive((from + step + names.length) % names.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(isOpen && active >= 0 ? names[active] : text.trim());
    } else if (event.key === 'Escape') setWanted(false);
  };
  return {
    ...{ text, names, active, isOpen, choose, onKeyDown },
    open: () => complete(text),
    close: () => setWanted(false),
    type: (typed: string) => {
      setText(typed);
      complete(typed);
    },
  };
}
