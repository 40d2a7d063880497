// The part of Standard Schema (version 1) that Perdure uses. Zod, Valibot, ArkType and others implement it,
// so their schemas work without an adapter, and Perdure does not depend on any of them.

import { invalidArgument } from "../checks.ts";
import { errorMessage, isPerdureError } from "../errors/errors.ts";
import { formatPath } from "./path.ts";

/** A schema that implements Standard Schema. The schemas of Zod, Valibot, ArkType and others do. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: describes the input as a JSON Schema. It throws if it cannot. */
    readonly jsonSchema?:
      { readonly input: (options: { readonly target: "draft-2020-12" }) => unknown } | undefined;
  };
}
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type SchemaInput<Schema> =
  Schema extends StandardSchema<infer Input, unknown> ? Input : never;
export type SchemaOutput<Schema> =
  Schema extends StandardSchema<unknown, infer Output> ? Output : never;

/** Throws unless the value is absent or a schema. */
export function checkSchema(schema: unknown, what: string): void {
  if (schema === undefined || isSchema(schema)) return;
  const rule = "must implement Standard Schema (Zod, Valibot and ArkType do)";
  throw invalidArgument(`The schema of ${what} ${rule}.`);
}

function isSchema(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const { "~standard": standard } = value as Partial<StandardSchema>; // checked in the next line
  return typeof standard?.validate === "function";
}

/** Validates outside of a turn, in a client or a worker, where a schema may be asynchronous. */
export async function validate(
  schema: StandardSchema,
  value: unknown,
  what: string,
): Promise<unknown> {
  return accept(await schema["~standard"].validate(value), what);
}

/** A value as it is sent. `isOutput`: a schema has accepted and perhaps changed it, so the receiver need not check it. */
interface SentValue {
  readonly value: unknown;
  readonly isOutput: boolean;
}

/**
 * Validates what a client or a command sends, so that a wrong value fails early. The receiver checks the value
 * again, so a synchronous schema leaves the value as it was given. The output of an asynchronous schema is sent
 * instead: a turn cannot wait for the schema. A promise is returned only for an asynchronous schema.
 */
export function validateToSend(
  schema: StandardSchema | undefined,
  given: unknown,
  what: string,
): SentValue | Promise<SentValue> {
  if (schema === undefined) return { value: given, isOutput: false };
  const result = schema["~standard"].validate(given);
  if (result instanceof Promise) {
    return result.then((settled) => ({ value: accept(settled, what), isOutput: true }));
  }
  accept(result, what);
  return { value: given, isOutput: false };
}

/** What a schema says about a received value. It never throws. */
export type Verdict =
  | { readonly kind: "accepted"; readonly output: unknown }
  | { readonly kind: "refused"; readonly error: Error }
  /** The schema returned a promise, for which a turn cannot wait. */
  | { readonly kind: "asynchronous" };

export function verdictOf(schema: StandardSchema, value: unknown, what: string): Verdict {
  try {
    const result = schema["~standard"].validate(value);
    if (!(result instanceof Promise)) return { kind: "accepted", output: accept(result, what) };
    result.catch(() => undefined);
    return { kind: "asynchronous" };
  } catch (error) {
    if (isPerdureError(error)) return { kind: "refused", error };
    const message = `The schema of ${what} threw an error: ${errorMessage(error)}`;
    return { kind: "refused", error: invalidArgument(message, { cause: error }) };
  }
}

/** Validates inside a turn, where a schema must be synchronous. */
export function validateNow(schema: StandardSchema, value: unknown, what: string): unknown {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw invalidArgument(`The schema of ${what} must be synchronous; it returned a promise.`);
  }
  return accept(result, what);
}

function accept(result: SchemaResult<unknown>, what: string): unknown {
  if (result.issues === undefined) return result.value;
  const list = result.issues.map((issue) => `${pathOf(issue)}${issue.message}`).join("; ");
  const path = formatPath(segmentsOf(result.issues[0]));
  throw invalidArgument(`Invalid ${what}: ${list || "its schema rejected it"}.`, { path });
}

function pathOf(issue: SchemaIssue): string {
  const segments = segmentsOf(issue);
  return segments.length === 0 ? "" : `${segments.join(".")}: `;
}

function segmentsOf(issue: SchemaIssue | undefined): readonly (string | number)[] {
  const keys = (issue?.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return keys.map((key) => (typeof key === "number" ? key : String(key)));
}
