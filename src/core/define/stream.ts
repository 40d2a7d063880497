// Definitions of streams: names that carry the type and the schema of their values.

import { checkMembers, invalidArgument, type Members } from "../checks.ts";
import { parseName, showValue } from "../ids/ids.ts";
import { defined } from "../values/defined.ts";
import {
  checkSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../values/standard-schema.ts";

/** The stream of log lines, with the option `log: { stream: true }` of a runtime. */
export const LOG_STREAM = "perdure.log";

/** Options of a stream. */
export interface StreamOptions {
  /** Validates each value where it is written. An orchestration needs a synchronous schema. */
  readonly schema?: StandardSchema;
}
const STREAM_OPTIONS: Members<StreamOptions> = { schema: true };

/** A stream, created by `stream(…)`. `Written` differs from `T` only if the schema transforms the value. */
export interface StreamDef<T, Written = T> {
  readonly kind: "stream";
  readonly name: string;
  readonly schema?: StandardSchema;
  readonly "~types"?: { readonly written: (value: Written) => void; readonly read: () => T };
}
/** Any stream definition. */
export type AnyStream = StreamDef<unknown, never>;
/** The values that code writes to a stream; anything for a stream given by name. */
export type StreamWritten<S> = S extends StreamDef<unknown, infer Written> ? Written : unknown;
/** The values that readers of a stream get; unknown for a stream given by name. */
export type StreamValue<S> = S extends StreamDef<infer T, never> ? T : unknown;

/** Defines a stream: its name, the type of its values, and a schema for them. */
export function stream<Schema extends StandardSchema>(
  name: string,
  options: { readonly schema: Schema },
): StreamDef<SchemaOutput<Schema>, SchemaInput<Schema>>;
export function stream<T>(name: string, options?: StreamOptions): StreamDef<T>;
export function stream(name: string, options: StreamOptions = {}): AnyStream {
  parseName(name, "stream name");
  const what = `stream "${name}"`;
  checkMembers(options, STREAM_OPTIONS, what);
  checkSchema(options.schema, what);
  return Object.freeze({ kind: "stream", name, ...defined({ schema: options.schema }) });
}

/** The name of a stream to write to, given by its definition or its name. */
export function streamName(given: AnyStream | string): string {
  return parseName(nameOf(given), "stream name");
}

/** The name of a stream to read. It may be one of Perdure's own streams. */
export function readableStreamName(given: AnyStream | string): string {
  const name = nameOf(given);
  return name === LOG_STREAM ? name : parseName(name, "stream name");
}

function nameOf(given: unknown): unknown {
  if (typeof given === "string") return given;
  if (typeof given === "object" && given !== null && "kind" in given && given.kind === "stream") {
    return "name" in given ? given.name : undefined;
  }
  const got = showValue(given);
  throw invalidArgument(`A stream must be given by its name or by stream(name); got ${got}.`);
}

/** The error of a write to a stream that the orchestration has closed. */
export function streamClosed(name: string): Error {
  return invalidArgument(`Stream "${name}" is closed; it accepts no further values.`);
}
