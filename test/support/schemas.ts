// Schemas for the tests: they convert values, count their calls, and can be asynchronous.

import type {
  SchemaIssue,
  SchemaResult,
  StandardSchema,
} from "../../src/core/values/standard-schema.ts";

export function schemaOf<Input, Output>(
  validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>,
): StandardSchema<Input, Output> {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

export function refusal(message: string, ...path: PropertyKey[]): { issues: SchemaIssue[] } {
  return { issues: [{ message, path }] };
}

export interface Order {
  readonly items: readonly { readonly sku: string }[];
}

/** Accepts an order and trims its article numbers. */
export const order: StandardSchema<Order> = schemaOf((value) => {
  const { items } = value as Order;
  const wrong = items.findIndex(({ sku }) => typeof sku !== "string");
  if (wrong >= 0) return refusal("must be a string", "items", wrong, "sku");
  return { value: { items: items.map(({ sku }) => ({ sku: sku.trim() })) } };
});

/** Accepts digits and returns a number. It refuses its own output. */
export const digits: StandardSchema<string, number> = schemaOf((value) =>
  typeof value === "string" && /^\d+$/.test(value)
    ? { value: Number(value) }
    : refusal(`must be digits, got ${JSON.stringify(value)}`),
);

/** The same as a promise. */
export const digitsLater: StandardSchema<string, number> = schemaOf(async (value) =>
  digits["~standard"].validate(value),
);

/** The schema, with the number of its calls. */
export function counted<Input, Output>(
  schema: StandardSchema<Input, Output>,
): { readonly schema: StandardSchema<Input, Output>; calls: number } {
  const count = {
    calls: 0,
    schema: schemaOf<Input, Output>((value) => {
      count.calls++;
      return schema["~standard"].validate(value);
    }),
  };
  return count;
}
