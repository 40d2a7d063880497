// Converts failures to JSON and, in the HTTP client, back.

import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import { toFailure, type Failure } from "../../core/errors/failure.ts";
import { isEncodedValue, type EncodedValue } from "../../core/errors/failure-record.ts";
import { readableFailure } from "../../core/errors/failure-seal.ts";
import type { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import type * as v from "valibot";
import { defined } from "../../core/values/defined.ts";
import type { briefEnding, ending } from "../schemas/failure.ts";
import type { CauseShape, FailureShape } from "../schemas/shapes.ts";
import { payloadToHttp } from "../views/values.ts";

export function failureToHttp(stored: Failure, codec: Codec): FailureShape {
  const failure = readableFailure(stored, codec);
  const { kind, code, type, stack, data, thrown, cause, errors } = failure;
  return {
    name: failure.name,
    message: failure.message,
    category: failure.category,
    retryable: failure.retryable,
    ...defined({
      kind,
      code,
      type,
      stack,
      data: data === undefined ? undefined : payloadToHttp(data, codec),
      thrown: thrown === undefined ? undefined : payloadToHttp(thrown, codec),
      cause: cause && causeToHttp(cause, codec),
      errors: errors?.map((one) => causeToHttp(one, codec)),
    }),
  };
}

function causeToHttp(cause: Failure | EncodedValue, codec: Codec): CauseShape {
  if (!isEncodedValue(cause)) return failureToHttp(cause, codec);
  const value = payloadToHttp(cause.encoded, codec);
  return defined({ value });
}

export function endingToHttp(error: OrchestrationError, codec: Codec): v.InferInput<typeof ending> {
  const { kind, code, failure } = error;
  const compensations = compensationErrors(error).map((one) =>
    failureToHttp(toFailure(one), defaultCodec),
  );
  return {
    kind,
    code,
    failure: failureToHttp(failure, codec),
    ...(compensations.length === 0 ? {} : { compensationFailures: compensations }),
  };
}

function compensationErrors(error: OrchestrationError): readonly unknown[] {
  return "compensationErrors" in error && Array.isArray(error.compensationErrors)
    ? (error.compensationErrors as readonly unknown[])
    : [];
}

export function briefEndingToHttp(error: OrchestrationError): v.InferInput<typeof briefEnding> {
  return { kind: error.kind, name: error.failure.name, message: cut(error.failure.message) };
}

/** Converts a failure from JSON to the library's form, so that the client restores the same error classes. */
export function failureFromHttp(shape: FailureShape): Failure {
  const { data, thrown, cause, errors, category, kind, ...rest } = shape;
  return {
    ...rest,
    category: isCategory(category) ? category : "application",
    ...(isKind(kind) ? { kind } : {}),
    ...(data === undefined ? {} : { data: defaultCodec.encode(data) }),
    ...("thrown" in shape ? { thrown: defaultCodec.encode(thrown) } : {}),
    ...defined({ cause: cause && causeFromHttp(cause), errors: errors?.map(causeFromHttp) }),
  };
}

function causeFromHttp(cause: CauseShape): Failure | EncodedValue {
  return "name" in cause ? failureFromHttp(cause) : { encoded: defaultCodec.encode(cause.value) };
}

function isCategory(category: string): category is Failure["category"] {
  return ["application", "infrastructure", "configuration", "poison"].includes(category);
}

function isKind(kind: string | undefined): kind is NonNullable<Failure["kind"]> {
  return kind === "timeout" || kind === "cancelled" || kind === "terminated";
}

const BRIEF_CHARS = 500;

function cut(message: string): string {
  return message.length > BRIEF_CHARS ? `${message.slice(0, BRIEF_CHARS)}…` : message;
}
