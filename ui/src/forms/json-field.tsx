// A field for a JSON value. Empty means no value.

import { useId, type ReactElement } from "react";
import { parseJson } from "./parsed-json.ts";

export function JsonField({
  label,
  text,
  error,
  hint = "JSON. Leave it empty for no value.",
  onText,
}: {
  readonly label: string;
  readonly text: string;
  /** Why the value was refused. */
  readonly error?: string | undefined;
  /** What to enter. */
  readonly hint?: string | undefined;
  readonly onText: (text: string) => void;
}): ReactElement {
  const parsed = parseJson(text);
  const wrong = parsed.kind === "wrong" ? parsed.why : error;
  const hintId = useId();
  return (
    <label className="field">
      <span>{label}</span>
      <textarea
        className="input"
        value={text}
        spellCheck={false}
        placeholder='JSON, such as {"by": "ada"}'
        aria-invalid={wrong !== undefined}
        aria-describedby={hintId}
        onChange={(event) => onText(event.target.value)}
      />
      <span id={hintId} className="hint" data-tone={wrong === undefined ? undefined : "danger"}>
        {wrong ?? hint}
      </span>
    </label>
  );
}
