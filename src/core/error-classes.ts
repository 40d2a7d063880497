// The error classes that every process knows, by name: what a stored error is restored as.
//   K1. The list is closed. A name in it never changes its meaning, because stored texts hold it.
//   K2. A class of another installed copy of the package counts as ours of the same name.

import { brandOf } from "./error-brand.ts";
import { PerdureError } from "./errors.ts";
import { CancelledError, OrchestrationError } from "./outcome-errors.ts";
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
  NonRetryableError,
  RetryAfterError,
};

const CLASS_BY_NAME = new Map(Object.entries({ ...BUILT_IN, ...OURS }));
const NAME_BY_PROTOTYPE = new Map<object, string>();
for (const [name, errorClass] of CLASS_BY_NAME) NAME_BY_PROTOTYPE.set(errorClass.prototype, name);
const BRANDS = Object.keys(OURS).map((name) => ({ name, brand: brandOf(name) }));

/** The name of the class whose prototype this is, if every process knows that class. */
export function errorClassName(prototype: object): string | undefined {
  const name = NAME_BY_PROTOTYPE.get(prototype);
  if (name !== undefined) return name;
  return BRANDS.find(({ brand }) => Object.hasOwn(prototype, brand))?.name;
}

/** The name of the nearest such class among the error's ancestors. */
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

/** A genuine error of that class without any property of its own, its constructor not run. */
export function bareError(className: string): Error {
  const error = Reflect.construct(Error, [], CLASS_BY_NAME.get(className) ?? Error) as Error;
  Reflect.deleteProperty(error, "stack");
  return error;
}

/** The way `message`, `stack` and `cause` are there: not enumerable. */
export function defineHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  });
}

/** Ordinary properties; a key such as `__proto__` is data. */
export function defineShown(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    writable: true,
    configurable: true,
    enumerable: true,
  });
}
