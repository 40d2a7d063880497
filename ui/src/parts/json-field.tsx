// A field for a JSON value. Empty means no value.

import { useId, type ReactElement } from "react";
import { messageOf } from "../api/problem.ts";

export type ParsedJson =
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "wrong"; readonly why: string };

export function parseJson(text: string): ParsedJson {
  if (text.trim() === "") return { kind: "none" };
  try {
    return { kind: "value", value: JSON.parse(text) as unknown };
  } catch (error) {
    return { kind: "wrong", why: messageOf(error) };
  }
}

export function JsonField({
  label,
  text,
  error,
  onText,
}: {
  readonly label: string;
  readonly text: string;
  /** Why the value was refused. */
  readonly error?: string | undefined;
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
        {wrong ?? "JSON. Leave it empty for no value."}
      </span>
    </label>
  );
}
