// A text field of the filter. It follows the address, and the address follows it after a short delay.

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
  const sent = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const hintId = useId();
  useEffect(() => {
    // Ignores changes of the address that come from this field: they are trimmed and would overwrite the
    // input.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const send = (next: string): void => {
    clearTimeout(timer.current);
    if (isWrong?.(next) === true) return;
    sent.current = next.trim();
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
          timer.current = setTimeout(() => send(next), REST_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") send(text);
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
