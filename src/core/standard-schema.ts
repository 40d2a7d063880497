// The part of the Standard Schema convention (version 1) that Perdure uses: Zod, Valibot, ArkType and others
// implement it, so a user's schema works without an adapter and without a dependency of ours.

import { PerdureError } from "./errors.ts";

/** A schema by the Standard Schema convention: Zod, Valibot, ArkType and others are ones as they are. */
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

/** Refuses what is neither absent nor a schema. */
export function checkSchema(schema: unknown, what: string): void {
  if (schema === undefined || isSchema(schema)) return;
  const message = `The schema of ${what} is none by the Standard Schema convention, as those of Zod, Valibot and ArkType are.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function isSchema(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const { "~standard": standard } = value as Partial<StandardSchema>; // looked at, not believed
  return typeof standard?.validate === "function";
}

/** Validates where waiting is allowed: at the client and at the worker. */
export async function validate(
  schema: StandardSchema,
  value: unknown,
  what: string,
): Promise<unknown> {
  return accept(await schema["~standard"].validate(value), what);
}

/** Validates inside a turn, where a schema that needs to wait cannot be used. */
export function validateNow(schema: StandardSchema, value: unknown, what: string): unknown {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    const message = `The schema of ${what} validates asynchronously; here it must be synchronous.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return accept(result, what);
}

function accept(result: SchemaResult<unknown>, what: string): unknown {
  if (result.issues === undefined) return result.value;
  const list = result.issues.map((issue) => `${pathOf(issue)}${issue.message}`).join("; ");
  throw new PerdureError(
    "INVALID_ARGUMENT",
    `Invalid ${what}: ${list || "refused by its schema"}.`,
  );
}

function pathOf(issue: SchemaIssue): string {
  if (issue.path === undefined || issue.path.length === 0) return "";
  const keys = issue.path.map((part) => String(typeof part === "object" ? part.key : part));
  return `${keys.join(".")}: `;
}
