// Definitions of requests and of typed values: names that carry types and schemas.
//   - A request is a message with an answer. Asker and receiver use the same definition.
//   - A value is one key of an instance's key-values, its custom status, or one of its attributes.

import { checkChoice, checkMembers, invalidArgument, type Members } from "../checks.ts";
import { parseName, showValue } from "../ids/ids.ts";
import { defined } from "../values/defined.ts";
import {
  checkSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../values/standard-schema.ts";

/** Options of a request. */
export interface RequestOptions {
  /** Validates the input where it is sent and again where it is received. */
  readonly input?: StandardSchema;
  /** Validates the answer where it is given. */
  readonly output?: StandardSchema;
}
const REQUEST_OPTIONS: Members<RequestOptions> = { input: true, output: true };

/**
 * A request, created by `request(…)`. `Sent` and `Answered` differ from `I` and `O` only if a schema transforms
 * its value.
 */
export interface RequestDef<I, O, Sent = I, Answered = O> {
  readonly kind: "request";
  readonly name: string;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
  readonly "~types"?: {
    readonly sent: (input: Sent) => void;
    readonly received: () => I;
    readonly answered: (output: Answered) => void;
    readonly output: () => O;
  };
}
/** Any request definition. */
export type AnyRequest = RequestDef<unknown, unknown, never, never>;

/** Defines a request: its name, the types of input and answer, and schemas for them. */
export function request<In extends StandardSchema, Out extends StandardSchema>(
  name: string,
  options: { readonly input: In; readonly output: Out },
): RequestDef<SchemaOutput<In>, SchemaOutput<Out>, SchemaInput<In>, SchemaInput<Out>>;
export function request<In extends StandardSchema, O = void>(
  name: string,
  options: { readonly input: In; readonly output?: never },
): RequestDef<SchemaOutput<In>, O, SchemaInput<In>>;
export function request<I = undefined, O = void>(
  name: string,
  options?: RequestOptions,
): RequestDef<I, O>;
export function request(name: string, options: RequestOptions = {}): AnyRequest {
  parseName(name, "request name");
  const what = `request "${name}"`;
  checkMembers(options, REQUEST_OPTIONS, what);
  const { input, output } = options;
  checkSchema(input, `input of ${what}`);
  checkSchema(output, `output of ${what}`);
  return Object.freeze({ kind: "request", name, ...defined({ input, output }) });
}

/** The name of a request that is given by its definition or its name. */
export function requestName(given: AnyRequest | string): string {
  return parseName(typeof given === "string" ? given : given?.name, "request name");
}

/** Options of a value. */
export interface ValueOptions {
  /** Validates the value where it is set. It must be synchronous. */
  readonly schema?: StandardSchema;
  /** Where the instance stores the value. Default "key": a key of its key-values. */
  readonly as?: "key" | "status" | "attribute";
}
const VALUE_OPTIONS: Members<ValueOptions> = { schema: true, as: true };

/** A typed value of an instance, created by `value(…)`. */
export interface ValueDef<T> {
  readonly kind: "value";
  readonly name: string;
  readonly as: "key" | "status" | "attribute";
  readonly schema?: StandardSchema;
  readonly "~types"?: { readonly set: (value: T) => void; readonly get: () => T };
}

/** Defines a typed value: code sets it with `ctx.set`, clients read it with `handle.read`. */
export function value<Schema extends StandardSchema>(
  name: string,
  options: ValueOptions & { readonly schema: Schema },
): ValueDef<SchemaOutput<Schema>>;
export function value(
  name: string,
  options: ValueOptions & { readonly as: "attribute"; readonly schema?: undefined },
): ValueDef<string>;
export function value<T>(name: string, options?: ValueOptions): ValueDef<T>;
export function value<T>(name: string, options: ValueOptions = {}): ValueDef<T> {
  parseName(name, "value name");
  const what = `value "${name}"`;
  checkMembers(options, VALUE_OPTIONS, what);
  checkChoice(options.as, ["key", "status", "attribute"], `as of ${what}`);
  checkSchema(options.schema, what);
  const { schema, as = "key" } = options;
  return Object.freeze({ kind: "value", name, as, ...defined({ schema }) });
}

/** Throws unless the argument is a definition that `value(…)` created. */
export function checkValue(value: unknown, what: string): void {
  if (typeof value === "object" && value !== null && "kind" in value && value.kind === "value") {
    return;
  }
  const got = showValue(value);
  throw invalidArgument(`${what} must be given a value, created by value(name); got ${got}.`);
}
