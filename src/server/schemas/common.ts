// The building blocks of every request and answer.
//   SC1. A schema's input is what travels as JSON, its output what code works with: dates are texts on the wire
//        and `Date`s inside, values of users are their HTTP form and the values themselves.
//   SC2. Requests are strict: a member that is not known is refused. Answers are open, so that an older client
//        reads a newer server.

import * as v from "valibot";
import { parseDuration, type Duration } from "../../core/duration.ts";
import { isPerdureError } from "../../core/errors.ts";
import { fromHttp, requestedValue } from "../values.ts";

export const timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => new Date(text)),
);

/** A value of a user, in an answer. */
export const value = v.pipe(
  v.unknown(),
  v.description("A value: plain JSON, or a `$perdure…` marker; see docs/http-api.md."),
  v.transform(fromHttp),
);

/** A value of a user, in a request. */
export const given = v.pipe(
  v.unknown(),
  v.description('A value: plain JSON, or `{ "$perdure": … }` in the codec\'s tagged form.'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    try {
      return requestedValue(dataset.value);
    } catch (error) {
      addIssue({ message: isPerdureError(error) ? error.message : "is no value" });
      return NEVER;
    }
  }),
);

/** Milliseconds inside. */
export const duration = v.pipe(
  v.union([v.number(), v.string()]),
  v.description('"250ms", "30s", "5m", "2h", "7d", or milliseconds.'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    try {
      return parseDuration(dataset.value as Duration); // which judges any text and number
    } catch (error) {
      addIssue({ message: isPerdureError(error) ? error.message : "is no duration" });
      return NEVER;
    }
  }),
);

export const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Own keys of any name, `__proto__` and `constructor` included: they are data (semantics 29). */
export const attributes = v.pipe(
  v.unknown(),
  v.metadata({ type: "object", additionalProperties: { type: "string" } }),
  v.rawTransform(({ dataset, addIssue, NEVER }): Record<string, string> => {
    const texts = textsOf(dataset.value);
    if (texts !== undefined) return texts;
    addIssue({ message: "is an object whose members are texts" });
    return NEVER;
  }),
);

function textsOf(value: unknown): Record<string, string> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return texts.length === entries.length ? Object.fromEntries(texts) : undefined;
}

/** Whole numbers and yes or no, as a query writes them. */
export function queryWhole({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
  return v.pipe(
    v.string(),
    v.metadata({ type: "integer", minimum: min, maximum: max }),
    v.transform((text) => (/^\d{1,16}$/.test(text) ? Number(text) : NaN)),
    v.number(`is a whole number from ${min} to ${max}`),
    v.minValue(min, `is at least ${min}`),
    v.maxValue(max, `is at most ${max}`),
  );
}

export const queryFlag = v.pipe(
  v.picklist(["true", "false"]),
  v.transform((text) => text === "true"),
);

/** A duration in a query: a text of digits is milliseconds. */
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
