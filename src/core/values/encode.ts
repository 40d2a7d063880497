// Encoding of the tagged form: `~` followed by JSON in which an array that begins with a `~` string is a tag.
//   Owns: the walk over the value, its path and its bounds.  Does not own: the tags of built-in classes
//   (class-tags.ts).
//   - A tag is the only array whose first element is a string that begins with `~`. A user's array that
//       begins in this way is written with the tag "~" before its elements. Objects are never tags.
//   - The encoder walks the value itself instead of calling JSON.stringify, so that no `toJSON` is ever
//       called.
//   - The encoder keeps the path as it walks, so that an error names the place. Shared references become
//       copies.

import { bigIntTag } from "./bigint.ts";
import { describeInstance, formatPath, refusal, type Segment } from "./path.ts";
import { CONTAINERS_MAX, DEPTH_MAX, hasNamedProperties, isObjectPrototype } from "./plain.ts";
import { type TagWriter, tagWriterFor, type EncodingWalk } from "./class-tags.ts";
import { isPerdureError, type PerdureError } from "../errors/errors.ts";

/** Encodes any value. The text is plain JSON, without `~`, if no tag is needed. */
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

class Writer implements EncodingWalk {
  usedTag = false;
  readonly #path: Segment[] = [];
  /** The objects that contain the current one, with the length of the path to each. */
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
    // Calls #writeContainer directly, because every stack frame per level lowers the depth that the stack
    // allows.
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
    // This accessor belongs to V8, which formats the stack of an error on the first read.
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

  /**
   * Recursion passes through here once per level, so the number and size of its stack frames must stay small.
   */
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
    // Array.prototype is itself an array, in every realm; the prototype of a subclass is not.
    if (!Array.isArray(prototype)) throw this.refusal(describeInstance(prototype));
    const elements: string[] = [];
    for (let index = 0; index < array.length; index++) {
      if (!Object.hasOwn(array, index)) throw this.refusalAt(index, "a hole in a sparse array");
      elements.push(this.member(this.data(array, index), index));
    }
    if (hasNamedProperties(array)) {
      // The keys of a dense array begin with the indexes of its elements.
      const others = Reflect.ownKeys(array).slice(array.length);
      const extra = others.find((key) => key !== "length");
      throw this.refusalAt(String(extra), "a property of an array besides its elements");
    }
    if (typeof array[0] === "string" && array[0].startsWith("~")) return this.tag("~", elements);
    return `[${elements.join()}]`;
  }
}
