// A text of the filter. It follows the address, and the address follows it after a moment of rest.

import { useEffect, useId, useRef, useState, type ReactElement } from "react";

const REST_MS = 250;

export function FilterText({
  label,
  value,
  onValue,
  type = "text",
  placeholder,
  hint,
  isWrong,
}: {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "text" | "search";
  readonly placeholder?: string;
  readonly hint?: string;
  readonly isWrong?: (text: string) => boolean;
}): ReactElement {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const hintId = useId();
  useEffect(() => {
    // Only what others put into the address: one's own words come back changed, as trimmed.
    if (value !== told.current) setText(value);
    told.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const tell = (next: string): void => {
    clearTimeout(timer.current);
    if (isWrong?.(next) === true) return;
    told.current = next.trim();
    onValue(next.trim());
  };
  const wrong = isWrong?.(text) === true;
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        type={type}
        value={text}
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={wrong}
        aria-describedby={hint === undefined ? undefined : hintId}
        onChange={(event) => {
          const next = event.target.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => tell(next), REST_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") tell(text);
        }}
      />
      {hint === undefined ? null : (
        <span id={hintId} className={wrong ? "hint" : "visually-hidden"} data-tone="danger">
          {hint}
        </span>
      )}
    </label>
  );
}
