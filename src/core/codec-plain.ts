// Plain: what `JSON.stringify` writes and `JSON.parse` restores without losing anything.
//   P1. Says no when in doubt: the tagged form then takes the value, or refuses it with its path.
//   P2. Reads data properties alone. Accessors, symbol keys and hidden properties are found without running them.
//   P3. Bounded in depth and in number, so that neither a cycle nor a web of shared objects holds the process.
//   Not looked for, because it would cost 30 ns an element: a named property of an array that is not enumerable.

/** Objects and arrays inside one another: a fraction of what the stack has room for. */
export const DEPTH_MAX = 500;

/** Objects and arrays in one value; a shared one counts each time it is met. */
export const CONTAINERS_MAX = 1_000_000;

const arrayPrototype: { readonly toJSON?: unknown } & unknown[] = Array.prototype;

let containers = 0;

export function isPlain(value: object): boolean {
  // Someone gave all objects or all arrays a `toJSON`: JSON.stringify would call it.
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
    // An accessor has no `value`, which reads as undefined, which is not plain either.
    if (property?.enumerable !== true || !isPlainMember(property.value, depth)) return false;
  }
  return Object.getOwnPropertySymbols(value).length === 0;
}

function isPlainArray(array: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(array) !== Array.prototype) return false;
  for (let index = 0; index < array.length; index++) {
    // A hole, or an accessor with a setter alone, reads as undefined, which is not plain.
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

/** A third of the cost of a property descriptor. */
function hasGetter(array: readonly unknown[], index: number): boolean {
  return lookupGetter.call(array, index) !== undefined;
}

/** Whether a dense array has enumerable properties besides its elements. */
export function hasNamedProperties(array: readonly unknown[]): boolean {
  return (
    Object.keys(array).length !== array.length || Object.getOwnPropertySymbols(array).length > 0
  );
}

/** Also in another realm: a test runner's sandbox must not make plain objects foreign. */
export function isObjectPrototype(prototype: object): boolean {
  if (prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}
