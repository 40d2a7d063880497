// Schemas that requests and answers share.
//   - The input type of a schema is the JSON, its output type is what the code uses. Dates are texts in
//        JSON and `Date` objects in code. Users' values have a JSON form (views/values.ts).
//   - Requests are strict: an unknown member is an error. Answers allow unknown members, so that an older
//        client can read the answers of a newer server.

import * as v from "valibot";
import type { ContextInput } from "../../core/context/app-types.ts";
import { checkContext } from "../../core/context/start-context.ts";
import { parseDuration, type Duration } from "../../core/time/duration.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { AttributeValue } from "../../core/define/attributes.ts";
import { attributeFromHttp } from "../wire/attributes.ts";
import { fromHttp, requestedValue } from "../views/values.ts";

export const timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => new Date(text)),
);

/** A user's value in an answer. */
export const value = v.pipe(
  v.unknown(),
  v.description("A value: plain JSON, or a `$perdure…` marker; see docs/http-api.md."),
  v.transform(fromHttp),
);

/** A user's value in a request. */
export const given = v.pipe(
  v.unknown(),
  v.description('A value: plain JSON, or `{ "$perdure": … }` in the codec\'s tagged form.'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    try {
      return requestedValue(dataset.value);
    } catch (error) {
      addIssue({ message: isPerdureError(error) ? error.message : "is not a valid value" });
      return NEVER;
    }
  }),
);

/** The context of a start. The client checks its size. */
export const context = v.pipe(
  v.unknown(),
  v.metadata({
    type: "object",
    description: "The context of the instance: values by name, at most 4 KiB as encoded.",
    additionalProperties: true,
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): ContextInput => {
    try {
      return checkContext(requestedValue(dataset.value), "the start") as ContextInput; // a record
    } catch (error) {
      addIssue({ message: isPerdureError(error) ? error.message : "is not a valid context" });
      return NEVER;
    }
  }),
);

/** A duration; the output is in milliseconds. */
export const duration = v.pipe(
  v.union([v.number(), v.string()]),
  v.description('"250ms", "30s", "5m", "2h", "7d", or milliseconds.'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    try {
      return parseDuration(dataset.value as Duration); // parseDuration validates any text and number
    } catch (error) {
      addIssue({ message: isPerdureError(error) ? error.message : "is not a valid duration" });
      return NEVER;
    }
  }),
);

export const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/**
 * Attributes. A key can have any name, including `__proto__` and `constructor`: keys are data (semantics 29).
 */
export const attributes = v.pipe(
  v.unknown(),
  v.metadata({
    type: "object",
    description:
      'Texts, numbers, booleans and dates; a date is `{ "date": "2030-01-31T12:00:00Z" }`.',
    additionalProperties: {
      anyOf: [
        { type: ["string", "number", "boolean"] },
        {
          type: "object",
          properties: { date: { type: "string", format: "date-time" } },
          required: ["date"],
        },
      ],
    },
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): Record<string, AttributeValue> => {
    const attributes = attributesOf(dataset.value);
    if (attributes !== undefined) return attributes;
    addIssue({
      message: 'must be an object whose values are texts, numbers, booleans or { "date": text }',
    });
    return NEVER;
  }),
);

function attributesOf(value: unknown): Record<string, AttributeValue> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).map(
    ([name, json]) => [name, attributeFromHttp(json)] as const,
  );
  const known = entries.filter(
    (entry): entry is [string, AttributeValue] => entry[1] !== undefined,
  );
  return known.length === entries.length ? Object.fromEntries(known) : undefined;
}

/** A whole number in a query string. */
export function queryWhole({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
  return v.pipe(
    v.string(),
    v.metadata({ type: "integer", minimum: min, maximum: max }),
    v.transform((text) => (/^\d{1,16}$/.test(text) ? Number(text) : NaN)),
    v.number(`must be a whole number from ${min} to ${max}`),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  );
}

export const queryFlag = v.pipe(
  v.picklist(["true", "false"]),
  v.transform((text) => text === "true"),
);

/** A duration in a query string. Digits without a unit are milliseconds. */
export const queryDuration = v.pipe(
  v.string(),
  v.description('"250ms", "30s", "5m", or milliseconds.'),
  v.transform((text) => (/^\d+$/.test(text) ? Number(text) : text)),
  duration,
);

export const STATUSES = [
  "pending",
  "running",
  "paused",
  "completed",
  "failed",
  "cancelled",
  "terminated",
] as const;
export const status = v.picklist(STATUSES);
