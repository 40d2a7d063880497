// The error classes that every process has, by name. A stored error is restored as an instance of one of
// them.
//   - Stored texts contain these names: the meaning of a name never changes.
//   - A class of another installed copy of the package counts as this copy's class of the same name.

import { brandOf } from "./brand.ts";
import { PerdureError } from "./errors.ts";
import { CancelledError, OrchestrationError } from "./outcome-errors.ts";
import { RequestError } from "./request-error.ts";
import { NonRetryableError, RetryAfterError } from "./retry-errors.ts";
import { ActivityError, ChildError, StepError } from "./task-errors.ts";

type ErrorClass = new (...args: never[]) => Error;

const BUILT_IN: Readonly<Record<string, ErrorClass>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  AggregateError,
  SuppressedError,
};

const OURS: Readonly<Record<string, ErrorClass>> = {
  PerdureError,
  ActivityError,
  StepError,
  ChildError,
  CancelledError,
  OrchestrationError,
  RequestError,
  NonRetryableError,
  RetryAfterError,
};

const CLASS_BY_NAME = new Map(Object.entries({ ...BUILT_IN, ...OURS }));
const NAME_BY_PROTOTYPE = new Map<object, string>();
for (const [name, errorClass] of CLASS_BY_NAME) NAME_BY_PROTOTYPE.set(errorClass.prototype, name);
const BRANDS = Object.keys(OURS).map((name) => ({ name, brand: brandOf(name) }));

/** The name of the class with this prototype; undefined if not every process has the class. */
export function errorClassName(prototype: object): string | undefined {
  const name = NAME_BY_PROTOTYPE.get(prototype);
  if (name !== undefined) return name;
  return BRANDS.find(({ brand }) => Object.hasOwn(prototype, brand))?.name;
}

/** The name of the nearest such class in the prototype chain of the error. */
export function nearestErrorClassName(error: object): string | undefined {
  let prototype: object | null = Object.getPrototypeOf(error);
  while (prototype !== null) {
    const name = errorClassName(prototype);
    if (name !== undefined) return name;
    prototype = Object.getPrototypeOf(prototype);
  }
  return undefined;
}

export function isErrorClassName(name: string): boolean {
  return CLASS_BY_NAME.has(name);
}

/** A genuine error of that class without own properties. The constructor of the class does not run. */
export function bareError(className: string): Error {
  const error = Reflect.construct(Error, [], CLASS_BY_NAME.get(className) ?? Error) as Error;
  Reflect.deleteProperty(error, "stack");
  return error;
}

/** Defines a property that is not enumerable, as `message`, `stack` and `cause` are. */
export function defineHidden(error: Error, key: string, value: unknown): void {
  define(error, key, value, false);
}

/** Defines an ordinary property. A key such as `__proto__` is data. */
export function defineShown(error: Error, key: string, value: unknown): void {
  define(error, key, value, true);
}

function define(error: Error, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable });
}
