// Plain values: values that `JSON.stringify` writes and `JSON.parse` restores exactly.
//   - In doubt the answer is no: the tagged form then encodes the value, or throws with its path.
//   - The check reads data properties only. It detects accessors, symbol keys and hidden properties without
//       running them.
//   - The check is bounded in depth and in number, so that cycles and webs of shared objects cannot block the
//       event loop.
//   Not checked, because it would cost 30 ns per element: a named property of an array that is not
//   enumerable.

/** The deepest nesting of objects and arrays: a fraction of what the stack allows. */
export const DEPTH_MAX = 500;

/** The most objects and arrays in one value. A shared object counts once per occurrence. */
export const CONTAINERS_MAX = 1_000_000;

const arrayPrototype: { readonly toJSON?: unknown } & unknown[] = Array.prototype;

let containers = 0;

export function isPlain(value: object): boolean {
  // A `toJSON` on the prototype of all objects or arrays: JSON.stringify would call it.
  if (arrayPrototype.toJSON !== undefined) return false;
  containers = 0;
  return isPlainContainer(value, 1);
}

function isPlainContainer(value: object, depth: number): boolean {
  if (depth > DEPTH_MAX || ++containers > CONTAINERS_MAX) return false;
  if (Array.isArray(value)) return isPlainArray(value, depth);
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const names = Object.getOwnPropertyNames(value);
  for (const name of names) {
    const property = Object.getOwnPropertyDescriptor(value, name);
    // The `value` of an accessor reads as undefined, which is not plain.
    if (property?.enumerable !== true || !isPlainMember(property.value, depth)) return false;
  }
  return Object.getOwnPropertySymbols(value).length === 0;
}

function isPlainArray(array: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(array) !== Array.prototype) return false;
  for (let index = 0; index < array.length; index++) {
    // A hole, and an accessor without a getter, read as undefined, which is not plain.
    if (hasGetter(array, index) || !isPlainMember(array[index], depth)) return false;
  }
  return !hasNamedProperties(array);
}

function isPlainMember(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return value - value === 0 && !Object.is(value, -0);
    case "object":
      return value === null || isPlainContainer(value, depth + 1);
    default:
      return false;
  }
}

const { __lookupGetter__: lookupGetter } = Object.prototype as {
  __lookupGetter__(key: number): unknown;
};

/** Costs a third of reading a property descriptor. */
function hasGetter(array: readonly unknown[], index: number): boolean {
  return lookupGetter.call(array, index) !== undefined;
}

/** Whether a dense array has enumerable properties besides its elements. */
export function hasNamedProperties(array: readonly unknown[]): boolean {
  return (
    Object.keys(array).length !== array.length || Object.getOwnPropertySymbols(array).length > 0
  );
}

/**
 * Also true for the Object.prototype of another realm, so that plain objects of a test runner's sandbox stay
 * plain.
 */
export function isObjectPrototype(prototype: object): boolean {
  if (prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}
