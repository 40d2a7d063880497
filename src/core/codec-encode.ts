// The tagged form, written: `~` and then JSON in which an array that begins with a `~` string is a tag.
//   Owns: the walk, its path and its bounds.  Does not own: the tags of built-in classes (codec-tags.ts).
//   G1. A tag is the only array whose first element is a string beginning with `~`. A user's array that
//       begins so is written with the tag "~" before its elements. Objects are never tags.
//   G2. Walks the value itself rather than hand it to JSON.stringify, so that no `toJSON` is ever called.
//   G3. The path is kept as it goes, so that a refusal names its place. Shared references become copies.

import { bigIntTag } from "./codec-bigint.ts";
import { describeInstance, formatPath, refusal, type Segment } from "./codec-path.ts";
import { CONTAINERS_MAX, DEPTH_MAX, hasNamedProperties, isObjectPrototype } from "./codec-plain.ts";
import { type TagWriter, tagWriterFor, type Walk } from "./codec-tags.ts";
import { isPerdureError, type PerdureError } from "./errors.ts";

/** For any value. The text is plain JSON, without `~`, if no tag was needed. */
export function encodeTagged(value: unknown): string {
  const writer = new Writer();
  try {
    const text = writer.write(value);
    return writer.usedTag ? `~${text}` : text;
  } catch (error) {
    if (isPerdureError(error)) throw error;
    throw writer.refusal("something that cannot be read, or is too large", error);
  }
}

class Writer implements Walk {
  usedTag = false;
  readonly #path: Segment[] = [];
  /** The objects that the walk is inside of, and the length of the path to each. */
  readonly #open = new Map<object, number>();
  #containers = 0;

  write(value: unknown): string {
    if (typeof value !== "object") return this.#writePrimitive(value);
    return value === null ? "null" : this.#writeContainer(value);
  }

  tag(name: string, parts: readonly string[] = []): string {
    this.usedTag = true;
    return `[${[`"${name}"`, ...parts].join()}]`;
  }

  member(value: unknown, segment: Segment): string {
    this.#path.push(segment);
    // Not by way of `write`, because each frame of a level counts against the depth.
    const isContainer = typeof value === "object" && value !== null;
    const text = isContainer ? this.#writeContainer(value) : this.write(value);
    this.#path.pop();
    return text;
  }

  refusal(what: string, cause?: unknown): PerdureError {
    return refusal(this.#path, what, cause);
  }

  refusalAt(segment: Segment, what: string): PerdureError {
    return refusal([...this.#path, segment], what);
  }

  membersText(value: object, names: readonly string[]): string {
    let text = "";
    for (const name of names) {
      const member = this.member(this.data(value, name), name);
      text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${member}`;
    }
    return `{${text}}`;
  }

  data(value: object, name: string | number): unknown {
    const property = Object.getOwnPropertyDescriptor(value, name);
    if (property === undefined || "value" in property) return property?.value;
    // The engine's own: V8 makes an error's stack text when it is first asked for.
    if (name === "stack" && Error.isError(value)) return value.stack;
    throw this.refusalAt(name, "an accessor (a getter or setter); store its value instead");
  }

  #writePrimitive(value: unknown): string {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value);
      case "number":
        if (Object.is(value, -0)) return this.tag("~n", ['"-0"']);
        return Number.isFinite(value) ? String(value) : this.tag("~n", [`"${value}"`]);
      case "undefined":
        return this.tag("~u");
      case "bigint":
        return this.#writeBigInt(value);
      case "boolean":
        return String(value);
      default:
        throw this.refusal(`a ${typeof value}`);
    }
  }

  #writeBigInt(value: bigint): string {
    const [tag, text] = bigIntTag(value);
    return this.tag(tag, [`"${text}"`]);
  }

  /** The frames from here to the next one inside it are the cost of a level: kept few and small. */
  #writeContainer(value: object): string {
    this.#enter(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    let text: string;
    if (Array.isArray(value)) {
      text = this.#writeArray(value, prototype);
    } else if (typeof prototype !== "object" || prototype === null) {
      text = this.tag("~0", [this.membersText(value, this.#names(value))]);
    } else if (isObjectPrototype(prototype)) {
      text = this.membersText(value, this.#names(value));
    } else {
      text = this.#tagWriter(prototype)(value, this);
    }
    this.#open.delete(value);
    return text;
  }

  #enter(value: object): void {
    const outer = this.#open.get(value);
    if (outer !== undefined) {
      const target = formatPath(this.#path.slice(0, outer));
      throw this.refusal(`a reference back to ${target}, which contains it`);
    }
    if (this.#open.size >= DEPTH_MAX) throw this.refusal(`more than ${DEPTH_MAX} levels deep`);
    if (++this.#containers > CONTAINERS_MAX) {
      throw this.refusal(`part of a value of more than ${CONTAINERS_MAX} objects, copies counted`);
    }
    this.#open.set(value, this.#path.length);
  }

  #tagWriter(prototype: object): TagWriter {
    const tagWriter = tagWriterFor(prototype);
    if (tagWriter === undefined) throw this.refusal(describeInstance(prototype));
    return tagWriter;
  }

  #names(value: object): string[] {
    const names = Object.getOwnPropertyNames(value);
    const [symbol] = Object.getOwnPropertySymbols(value);
    if (symbol !== undefined) throw this.refusal(`an object with the symbol key ${String(symbol)}`);
    const hidden = names.find((name) => !Object.prototype.propertyIsEnumerable.call(value, name));
    if (hidden !== undefined) throw this.refusalAt(hidden, "a property that is not enumerable");
    return names;
  }

  #writeArray(array: readonly unknown[], prototype: unknown): string {
    // True of Array.prototype in every realm, and of no subclass's prototype.
    if (!Array.isArray(prototype)) throw this.refusal(describeInstance(prototype));
    const elements: string[] = [];
    for (let index = 0; index < array.length; index++) {
      if (!Object.hasOwn(array, index)) throw this.refusalAt(index, "a hole in a sparse array");
      elements.push(this.member(this.data(array, index), index));
    }
    if (hasNamedProperties(array)) {
      // The keys of a dense array begin with its elements'.
      const others = Reflect.ownKeys(array).slice(array.length);
      const extra = others.find((key) => key !== "length");
      throw this.refusalAt(String(extra), "a property of an array besides its elements");
    }
    if (typeof array[0] === "string" && array[0].startsWith("~")) return this.tag("~", elements);
    return `[${elements.join()}]`;
  }
}
