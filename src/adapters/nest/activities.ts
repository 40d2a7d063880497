// Activities as methods of providers: `declareActivity` defines the name, the types and the defaults; `@Activity(charge)`
// binds a method to the declaration.
//   - Orchestrations import the declaration, not the provider, and the compiler compares the method with
//       the declaration.
//   - The decorator writes to the prototype of the class, under a registered symbol. It needs no reflect-metadata, and a
//       second installed copy of this package can read it.

import { invalidArgument } from "../../core/checks.ts";
import type { ActivityContext } from "../../core/context/activity-context.ts";
import { defineActivity, type ActivityDefaults } from "../../core/define/definitions.ts";
import type { Activity as Definition } from "../../core/define/definitions.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";
import type {
  SchemaInput,
  SchemaOutput,
  StandardSchema,
} from "../../core/values/standard-schema.ts";

const METHODS = Symbol.for("perdure.nest.methods");

/** An activity without a function: a method with `@Activity(…)` has it. `Received`: the input after its schema. */
export interface DeclaredActivity<I, O, Received = I> extends Definition<I, O> {
  readonly "~declared": { readonly received?: () => Received };
}

/** A method with `@Activity(declared)`. */
export interface ActivityMethod {
  readonly key: string | symbol;
  readonly declared: Definition<never, unknown>;
}

/** The decorator of a method whose types match the declaration. */
export type ActivityDecorator<Received, O> = <
  Method extends (input: Received, ctx: ActivityContext) => O | Promise<O>,
>(
  prototype: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Declares an activity whose function is a method of a Nest provider: `declareActivity<Order, Receipt>("charge")`. With both
 * schemas, the types come from them.
 */
export function declareActivity<Input extends StandardSchema, Output extends StandardSchema>(
  name: string,
  defaults: ActivityDefaults & { readonly input: Input; readonly output: Output },
): DeclaredActivity<SchemaInput<Input>, SchemaOutput<Output>, SchemaOutput<Input>>;
export function declareActivity<I = undefined, O = undefined>(
  name: string,
  defaults?: ActivityDefaults & { readonly input?: undefined },
): DeclaredActivity<I, O>;
export function declareActivity(
  name: string,
  defaults: ActivityDefaults = {},
): DeclaredActivity<never, unknown, unknown> {
  const missing = (): never => {
    const way = "add @Activity(…) to a method of a provider, or register an activity of this name";
    throw new PerdureError("NOT_CONFIGURED", `activity "${name}" has no function: ${way}.`);
  };
  const definition = defineActivity<never, unknown, string>(name, missing, defaults, "activity");
  return Object.freeze({ ...definition, "~declared": {} });
}

/** Binds a method of a provider to a declared activity. The method gets the input and the context of the attempt. */
export function Activity<I, O, Received>(
  declared: DeclaredActivity<I, O, Received>,
): ActivityDecorator<Received, O> {
  if (!isDeclared(declared)) {
    const got = showValue(declared);
    throw invalidArgument(
      `@Activity must be given an activity that declareActivity made; got ${got}.`,
    );
  }
  return (prototype, key) => {
    const own = Object.getOwnPropertyDescriptor(prototype, METHODS)?.value as
      readonly ActivityMethod[] | undefined; // only this function sets the member
    const methods = [...(own ?? []), { key, declared }];
    Object.defineProperty(prototype, METHODS, { value: methods, configurable: true });
  };
}

export function isDeclared(value: unknown): value is DeclaredActivity<never, unknown, unknown> {
  return typeof value === "object" && value !== null && "~declared" in value;
}

/** The methods of a class with `@Activity`, including inherited ones. */
export function activityMethods(prototype: object | null): readonly ActivityMethod[] {
  if (prototype === null) return [];
  const own = Object.getOwnPropertyDescriptor(prototype, METHODS)?.value as
    readonly ActivityMethod[] | undefined; // only the decorator sets the member
  const inherited = activityMethods(Object.getPrototypeOf(prototype) as object | null);
  return own === undefined ? inherited : [...inherited, ...own];
}

/** The declared activity with the method as its function. `instance` is called at each attempt. */
export function boundActivity(
  { key, declared }: ActivityMethod,
  instance: () => object,
): Definition<never, unknown> {
  const handler = (input: never, ctx: ActivityContext): unknown => {
    const provider = instance();
    const method: unknown = Reflect.get(provider, key);
    if (typeof method === "function") return Reflect.apply(method, provider, [input, ctx]);
    throw new PerdureError("NOT_CONFIGURED", `${String(key)} is not a method of its provider.`);
  };
  return Object.freeze({ ...declared, handler });
}
