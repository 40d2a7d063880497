// The part of Standard Schema (version 1) that Perdure uses. Zod, Valibot, ArkType and others implement it,
// so their schemas work without an adapter, and Perdure does not depend on any of them.

import { invalidArgument } from "../checks.ts";

/** A schema that implements Standard Schema. The schemas of Zod, Valibot, ArkType and others do. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
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

/** Validates inside a turn, where a schema must be synchronous. */
export function validateNow(schema: StandardSchema, value: unknown, what: string): unknown {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw invalidArgument(`The schema of ${what} must be synchronous; it returned a promise.`);
  }
  return accept(result, what);
}

/**
 * The value to send: the value as given if the schema accepts it. The receiver applies the schema again, and
 * receives its output. An asynchronous schema cannot be applied there, so its output is sent.
 */
export async function checkedForSending(
  schema: StandardSchema | undefined,
  value: unknown,
  what: string,
): Promise<unknown> {
  if (schema === undefined) return value;
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) return accept(await result, what);
  accept(result, what);
  return value;
}

function accept(result: SchemaResult<unknown>, what: string): unknown {
  if (result.issues === undefined) return result.value;
  const list = result.issues.map((issue) => `${pathOf(issue)}${issue.message}`).join("; ");
  throw invalidArgument(`Invalid ${what}: ${list || "its schema rejected it"}.`);
}

function pathOf(issue: SchemaIssue): string {
  if (issue.path === undefined || issue.path.length === 0) return "";
  const keys = issue.path.map((part) => String(typeof part === "object" ? part.key : part));
  return `${keys.join(".")}: `;
}
