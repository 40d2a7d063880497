// The input of a request: a form if a JSON Schema is known, otherwise JSON. The user can switch to JSON and back.

import type { ReactElement } from "react";
import {
  fieldOfPath,
  initialTexts,
  textsOf,
  valueOfForm,
  type FormShape,
  type FormTexts,
} from "./form-shape.ts";
import { JsonField } from "./json-field.tsx";
import { parseJson, type ParsedJson } from "./parsed-json.ts";
import { SchemaForm } from "./schema-form.tsx";

/** What the user entered: the texts of a form, or JSON. */
export type Draft =
  | { readonly kind: "form"; readonly form: FormShape; readonly texts: FormTexts }
  | { readonly kind: "json"; readonly text: string };

export interface RefusedInput {
  readonly message: string;
  /** The part of the input that was refused, such as `$.lines[0].sku`. */
  readonly path: string | undefined;
}

export function emptyDraft(form: FormShape | null): Draft {
  if (form === null) return { kind: "json", text: "" };
  return { kind: "form", form, texts: initialTexts(form) };
}

export function valueOfDraft(draft: Draft): ParsedJson {
  if (draft.kind === "json") return parseJson(draft.text);
  return valueOfForm(draft.form, draft.texts);
}

export function InputField({
  form,
  draft,
  refused,
  onDraft,
}: {
  /** Null: there is only JSON. */
  readonly form: FormShape | null;
  readonly draft: Draft;
  readonly refused: RefusedInput | undefined;
  readonly onDraft: (draft: Draft) => void;
}): ReactElement {
  const why = refused === undefined ? undefined : `Refused: ${refused.message}`;
  if (draft.kind === "json") {
    return (
      <>
        <JsonField
          label="Input"
          text={draft.text}
          error={why}
          onText={(text) => onDraft({ kind: "json", text })}
        />
        {form === null ? null : <ToForm form={form} text={draft.text} onDraft={onDraft} />}
      </>
    );
  }
  const names = draft.form.fields.map(({ name }) => name);
  const named = draft.form.isObject ? fieldOfPath(refused?.path ?? "$") : "";
  const field = names.find((name) => name === named);
  const value = valueOfDraft(draft);
  const json = value.kind === "value" ? (JSON.stringify(value.value, null, 2) ?? "") : "";
  return (
    <>
      <SchemaForm
        form={draft.form}
        texts={draft.texts}
        refused={field === undefined || why === undefined ? undefined : { field, why }}
        onTexts={(texts) => onDraft({ ...draft, texts })}
      />
      {why === undefined || field !== undefined ? null : (
        <p className="hint wrap" data-tone="danger" role="alert">
          {why}
        </p>
      )}
      <div className="row">
        <button
          type="button"
          className="button"
          data-size="small"
          disabled={value.kind === "wrong"}
          onClick={() => onDraft({ kind: "json", text: json })}
        >
          Enter as JSON
        </button>
      </div>
    </>
  );
}

function ToForm({
  form,
  text,
  onDraft,
}: {
  readonly form: FormShape;
  readonly text: string;
  readonly onDraft: (draft: Draft) => void;
}): ReactElement {
  const parsed = parseJson(text);
  const texts =
    parsed.kind === "none"
      ? initialTexts(form)
      : parsed.kind === "value"
        ? textsOf(form, parsed.value)
        : null;
  return (
    <div className="row">
      <button
        type="button"
        className="button"
        data-size="small"
        disabled={texts === null}
        title={texts === null ? "The form cannot show this value." : undefined}
        onClick={() => {
          if (texts !== null) onDraft({ kind: "form", form, texts });
        }}
      >
        Enter in the form
      </button>
    </div>
  );
}
