// What a form made from a JSON Schema has: its fields, and the value that their texts stand for.
//   - The schema is a help, and may be older than the code. The server checks the value, and its message is shown at
//     the field. The form itself refuses only texts that stand for no value.
//   - A part that no field fits, such as a nested object, a list or a union, is a field for JSON.

import { parseJson, type ParsedJson } from "./parsed-json.ts";

export interface FormShape {
  /** A form for an object has a field per property. Any other value has one field, with the name "". */
  readonly isObject: boolean;
  readonly fields: readonly FormField[];
}

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  /** The values of a choice. */
  readonly choices: readonly unknown[];
  /** The text that the field begins with. */
  readonly initial: string;
}

/** The text of each field by its name. An empty text of an optional field means that the field is absent. */
export type FormTexts = Readonly<Record<string, string>>;

type Schema = Readonly<Record<string, unknown>>;

const FIELDS_MAX = 50;
const CHOICES_MAX = 200;
/** With one of these a schema means more than its fields. */
const COMBINED = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties"] as const;

/** Null: a form would be no help. */
export function formOf(schema: unknown): FormShape | null {
  if (!isSchema(schema)) return null;
  if (schema["type"] !== "object") {
    const field = fieldOf("", schema, true);
    return field.kind === "json" ? null : { isObject: false, fields: [field] };
  }
  const { properties, required, additionalProperties: others } = schema;
  if (!isSchema(properties) || isCombined(schema) || isSchema(others)) return null;
  const names = Object.keys(properties);
  if (names.length === 0 || names.length > FIELDS_MAX) return null;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const fields = names.map((name) => fieldOf(name, properties[name], isRequired(name)));
  return { isObject: true, fields };
}

export function initialTexts({ fields }: FormShape): FormTexts {
  return Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));
}

export function valueOfForm({ isObject, fields }: FormShape, texts: FormTexts): ParsedJson {
  const members: [string, unknown][] = [];
  for (const field of fields) {
    const parsed = valueOfField(field, texts[field.name] ?? "");
    if (parsed.kind === "wrong") return parsed;
    if (parsed.kind === "value") members.push([field.name, parsed.value]);
  }
  if (isObject) return { kind: "value", value: Object.fromEntries(members) };
  const [only] = members;
  return only === undefined ? { kind: "none" } : { kind: "value", value: only[1] };
}

/** The texts that stand for this value. Null: the form cannot show it. */
export function textsOf({ isObject, fields }: FormShape, value: unknown): FormTexts | null {
  const members = isObject ? value : { "": value };
  if (!isSchema(members)) return null;
  const texts: [string, string][] = [];
  for (const [name, member] of Object.entries(members)) {
    const field = fields.find((each) => each.name === name);
    if (field === undefined || !fits(field, member)) return null;
    texts.push([
      name,
      typeof member === "string" && field.kind === "text" ? member : textOf(member),
    ]);
  }
  return Object.fromEntries(texts);
}

/** The first segment of a path such as `$.lines[3].sku`. Undefined: the path is the value itself. */
export function fieldOfPath(path: string): string | undefined {
  const [, plain, quoted] = /^\$(?:\.([^.[]+)|\[("(?:[^"\\]|\\.)*")\])/.exec(path) ?? [];
  return quoted === undefined ? plain : (JSON.parse(quoted) as string);
}

function fieldOf(name: string, schema: unknown, isRequired: boolean): FormField {
  const { title, description, default: given } = isSchema(schema) ? schema : {};
  const { kind, choices } = kindOf(schema);
  const initial = kind === "text" && typeof given === "string" ? given : textOf(given);
  return {
    name,
    label: typeof title === "string" && title !== "" ? title : name === "" ? "Input" : name,
    description: typeof description === "string" ? description : undefined,
    isRequired,
    kind,
    choices,
    initial: initial === "" && kind === "boolean" && isRequired ? "false" : initial,
  };
}

function kindOf(schema: unknown): Pick<FormField, "kind" | "choices"> {
  const json = { kind: "json", choices: [] } as const;
  if (!isSchema(schema)) return json;
  const choices = choicesOf(schema);
  if (choices !== null) return { kind: "choice", choices };
  if (isCombined(schema)) return json;
  switch (schema["type"]) {
    case "string":
      return { kind: "text", choices: [] };
    case "number":
    case "integer":
      return { kind: "number", choices: [] };
    case "boolean":
      return { kind: "boolean", choices: [] };
    default:
      return json;
  }
}

/** An enum, a constant, or a union of constants. */
function choicesOf(schema: Schema): readonly unknown[] | null {
  const { enum: listed, anyOf, oneOf = anyOf ?? [schema] } = schema;
  const given = listed ?? constantsOf(oneOf);
  if (!Array.isArray(given) || given.length === 0 || given.length > CHOICES_MAX) return null;
  return given.every((choice) => typeof choice !== "object" || choice === null) ? given : null;
}

/** Null: one of the schemas is not a constant. */
function constantsOf(schemas: unknown): readonly unknown[] | null {
  if (!Array.isArray(schemas)) return null;
  const isConstant = (each: unknown): each is Schema => isSchema(each) && "const" in each;
  return schemas.every(isConstant) ? schemas.map((each) => each["const"]) : null;
}

/** `none`: the field is absent. */
export function valueOfField({ kind, isRequired }: FormField, text: string): ParsedJson {
  if (kind === "text") {
    return text === "" && !isRequired ? { kind: "none" } : { kind: "value", value: text };
  }
  if (kind !== "number" || text.trim() === "") return parseJson(text);
  const value = Number(text);
  if (Number.isFinite(value)) return { kind: "value", value };
  return { kind: "wrong", why: `"${text}" is not a number.` };
}

function fits({ kind, choices }: FormField, value: unknown): boolean {
  if (kind === "json") return true;
  if (kind === "choice") return choices.includes(value);
  return typeof value === (kind === "text" ? "string" : kind);
}

/** The JSON of a value. Empty: there is none. */
function textOf(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}

function isCombined(schema: Schema): boolean {
  return COMBINED.some((name) => name in schema);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
