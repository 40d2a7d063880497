// Converts users' values from their HTTP form (src/server/views/values.ts) to a tree for display.
//   - All content is shown as text. It is never executed, parsed as markup or used as an address without a
//        check.
//   - The parts of a node are created when the node is opened, so that a large value costs only what is
//        shown.

export type Shown =
  | { readonly kind: "leaf"; readonly type: LeafType; readonly text: string }
  | {
      readonly kind: "branch";
      /** The label: "Map", "Set" or the name of an error. Empty for plain objects and arrays. */
      readonly title: string;
      readonly brackets: "{}" | "[]";
      readonly size: number;
      readonly parts: () => readonly Part[];
    };
export type LeafType = "text" | "number" | "word" | "special" | "note";
export interface Part {
  readonly name: Shown | string | null;
  readonly value: Shown;
}

/** Converts a value from the server. Undefined: there is no value. */
export function shownOf(json: unknown): Shown {
  const mark = markOf(json);
  if (mark === undefined) return plain(json, shownOf);
  const [name, inner] = mark;
  if (name === "$perdure") return tagged(inner);
  if (name === "$perdureCut") return note(`cut: ${charsOf(inner)} characters`);
  return note(`unreadable: ${String(inner)}`);
}

export function isCut(json: unknown): boolean {
  return markOf(json)?.[0] === "$perdureCut";
}

export function isUnreadable(json: unknown): boolean {
  return markOf(json)?.[0] === "$perdureUnreadable";
}

function markOf(json: unknown): [string, unknown] | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const [first, ...more] = Object.entries(json);
  if (first === undefined || more.length > 0) return undefined;
  return MARKS.includes(first[0]) ? first : undefined;
}

const MARKS = ["$perdure", "$perdureCut", "$perdureUnreadable"];

function plain(json: unknown, inner: (part: unknown) => Shown): Shown {
  switch (typeof json) {
    case "string":
      return { kind: "leaf", type: "text", text: json };
    case "number":
      return { kind: "leaf", type: "number", text: String(json) };
    case "object":
      break;
    default:
      return word(String(json));
  }
  if (json === null) return word("null");
  if (Array.isArray(json)) return list("", json, inner);
  return members("", json, inner);
}

/** The codec's tagged form; src/core/values/class-tags.ts lists the tags. */
function tagged(json: unknown): Shown {
  if (!Array.isArray(json)) return plain(json, tagged);
  const [head, ...parts] = json as unknown[];
  if (typeof head !== "string" || !head.startsWith("~")) return list("", json, tagged);
  switch (head) {
    case "~":
      return list("", parts, tagged);
    case "~u":
      return word("undefined");
    case "~n":
      return { kind: "leaf", type: "number", text: String(parts[0]) };
    case "~i":
      return { kind: "leaf", type: "number", text: `${String(parts[0])}n` };
    case "~h":
      return { kind: "leaf", type: "number", text: hexText(String(parts[0])) };
    case "~d":
      return special("Date", dateText(parts[0]));
    case "~m":
      return mapOf(parts);
    case "~s":
      return list("Set", parts, tagged);
    case "~b":
      return special(String(parts[0]), `${bytesOf(parts[1])} bytes`);
    case "~l":
      return special("URL", String(parts[0]));
    case "~r":
      return special("RegExp", `/${String(parts[0])}/${String(parts[1])}`);
    case "~e":
      return members(String(parts[0]), { ...asObject(parts[1]), ...asObject(parts[2]) }, tagged);
    case "~0":
      return members("", asObject(parts[0]), tagged);
    default:
      return note(`a value from a newer version (tag ${head})`);
  }
}

function list(title: string, items: readonly unknown[], inner: (part: unknown) => Shown): Shown {
  return {
    kind: "branch",
    title,
    brackets: "[]",
    size: items.length,
    parts: () => items.map((item) => ({ name: null, value: inner(item) })),
  };
}

function members(title: string, object: object, inner: (part: unknown) => Shown): Shown {
  const entries = Object.entries(object);
  return {
    kind: "branch",
    title,
    brackets: "{}",
    size: entries.length,
    parts: () => entries.map(([name, value]) => ({ name, value: inner(value) })),
  };
}

function mapOf(parts: readonly unknown[]): Shown {
  return {
    kind: "branch",
    title: "Map",
    brackets: "{}",
    size: Math.floor(parts.length / 2),
    parts: () =>
      parts.flatMap((key, index) =>
        index % 2 === 1 ? [] : [{ name: tagged(key), value: tagged(parts[index + 1]) }],
      ),
  };
}

/** The text of a long BigInt. */
function hexText(digits: string): string {
  return digits.startsWith("-") ? `-0x${digits.slice(1)}n` : `0x${digits}n`;
}

function dateText(ms: unknown): string {
  if (typeof ms !== "number" || Math.abs(ms) > 8.64e15) return "invalid";
  return new Date(ms).toISOString();
}

function bytesOf(base64: unknown): number {
  const text = String(base64).replace(/=+$/, "");
  return Math.floor((text.length * 3) / 4);
}

function charsOf(inner: unknown): string {
  return typeof inner === "object" && inner !== null && "chars" in inner
    ? String(inner.chars)
    : "?";
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

function word(text: string): Shown {
  return { kind: "leaf", type: "word", text };
}
function special(type: string, text: string): Shown {
  return { kind: "leaf", type: "special", text: `${type} ${text}` };
}
function note(text: string): Shown {
  return { kind: "leaf", type: "note", text };
}
