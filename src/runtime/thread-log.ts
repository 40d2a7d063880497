// Log lines of activity threads, on their way to the runtime's sink.
//   TL1. At most LINES_MAX are on their way; a thread that writes faster than the runtime reads loses the others, and
//        says how many as soon as there is room again (I12).
//   TL2. Fields cross as texts: what the codec restores exactly comes as it was, anything else as its description.

import { inspect } from "node:util";
import { defaultCodec } from "../core/codec.ts";
import type { LogFields, LogSink } from "../core/log.ts";
import type { FromThread } from "./thread-messages.ts";

export const LINES_MAX = 10_000;

export type LogMessage = Extract<FromThread, { kind: "log" }>;

export function newLogMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** The thread's sink. */
export function lineSender(memory: SharedArrayBuffer, post: (line: LogMessage) => void): LogSink {
  const onTheWay = new Int32Array(memory);
  let lost = 0;
  const send: LogSink = (level, message, fields) => {
    Atomics.add(onTheWay, 0, 1);
    post({ kind: "log", level, message, fields: encodeFields(fields) });
  };
  return (level, message, fields) => {
    if (Atomics.load(onTheWay, 0) >= LINES_MAX) {
      lost++;
      return;
    }
    if (lost > 0) send("warn", `${lost} log lines of a thread were lost: there were too many`, {});
    lost = 0;
    send(level, message, fields);
  };
}

/** The runtime's end. */
export function receiveLine(memory: SharedArrayBuffer, line: LogMessage, sink: LogSink): void {
  Atomics.sub(new Int32Array(memory), 0, 1);
  sink(line.level, line.message, defaultCodec.decode(line.fields) as LogFields); // written above
}

function encodeFields(fields: LogFields): string {
  const texts = Object.entries(fields).map(([name, value]) => [name, encodable(value)]);
  return defaultCodec.encode(Object.fromEntries(texts));
}

function encodable(value: unknown): unknown {
  try {
    defaultCodec.encode(value);
    return value;
  } catch {
    return inspect(value);
  }
}
