// A form made from a JSON Schema. The server's message about a field is shown at the field.

import { useId, type ReactElement } from "react";
import { valueOfField, type FormField, type FormShape, type FormTexts } from "./form-shape.ts";
import { JsonField } from "./json-field.tsx";

export function SchemaForm({
  form,
  texts,
  refused,
  onTexts,
}: {
  readonly form: FormShape;
  readonly texts: FormTexts;
  /** Why the server refused the value of a field. */
  readonly refused: { readonly field: string; readonly why: string } | undefined;
  readonly onTexts: (texts: FormTexts) => void;
}): ReactElement {
  return (
    <>
      {form.fields.map((field) => (
        <FieldView
          key={field.name}
          field={field}
          text={texts[field.name] ?? ""}
          refused={refused?.field === field.name ? refused.why : undefined}
          onText={(text) => onTexts({ ...texts, [field.name]: text })}
        />
      ))}
    </>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly text: string;
  readonly refused: string | undefined;
  readonly onText: (text: string) => void;
}

function FieldView(props: FieldProps): ReactElement {
  const { field, text, refused, onText } = props;
  const hintId = useId();
  const label = field.isRequired ? field.label : `${field.label} (optional)`;
  if (field.kind === "json") {
    return (
      <JsonField
        label={label}
        text={text}
        error={refused}
        hint={field.description}
        onText={onText}
      />
    );
  }
  const parsed = valueOfField(field, text);
  const wrong = parsed.kind === "wrong" ? parsed.why : refused;
  const hint = wrong ?? field.description;
  const described = {
    "aria-invalid": wrong !== undefined,
    "aria-required": field.isRequired,
    ...(hint === undefined ? {} : { "aria-describedby": hintId }),
  };
  return (
    <label className="field">
      <span>{label}</span>
      {field.kind === "text" || field.kind === "number" ? (
        <input
          className="input"
          inputMode={field.kind === "number" ? "decimal" : undefined}
          autoComplete="off"
          value={text}
          onChange={(event) => onText(event.target.value)}
          {...described}
        />
      ) : (
        <select
          className="input"
          value={text}
          onChange={(event) => onText(event.target.value)}
          {...described}
        >
          {optionsOf(field).map(({ value, title }) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      )}
      {hint === undefined ? null : (
        <span
          id={hintId}
          className="hint wrap"
          data-tone={wrong === undefined ? undefined : "danger"}
        >
          {hint}
        </span>
      )}
    </label>
  );
}

/** The values are JSON. The empty one means that the field is absent. */
function optionsOf({
  kind,
  isRequired,
  choices,
}: FormField): readonly { readonly value: string; readonly title: string }[] {
  if (kind === "boolean") {
    const both = [
      { value: "true", title: "Yes" },
      { value: "false", title: "No" },
    ];
    return isRequired ? both : [{ value: "", title: "Not set" }, ...both];
  }
  const titles = choices.map((choice) => ({
    value: JSON.stringify(choice),
    title: typeof choice === "string" ? choice : JSON.stringify(choice),
  }));
  return [{ value: "", title: isRequired ? "Choose…" : "Not set" }, ...titles];
}
