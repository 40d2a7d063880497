// Log lines of activity threads, sent to the log sink of the runtime.
//   - At most LINES_MAX lines are in flight. If a thread writes faster than the runtime reads, further
//     lines are lost. The thread reports their number with the next line that fits (I12).
//   - Fields are sent as text. A value that the codec can restore exactly arrives unchanged, any other as
//     its description.

import { inspect } from "node:util";
import { defaultCodec } from "../../core/values/codec.ts";
import type { LogFields, LogSink } from "../../core/telemetry/log.ts";
import type { FromThread } from "./thread-messages.ts";

export const LINES_MAX = 10_000;

export type LogMessage = Extract<FromThread, { kind: "log" }>;

export function newLogMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** The log sink in the thread. */
export function lineSender(memory: SharedArrayBuffer, post: (line: LogMessage) => void): LogSink {
  const inFlight = new Int32Array(memory);
  let lost = 0;
  const send: LogSink = (level, message, fields) => {
    Atomics.add(inFlight, 0, 1);
    post({ kind: "log", level, message, fields: encodeFields(fields) });
  };
  return (level, message, fields) => {
    if (Atomics.load(inFlight, 0) >= LINES_MAX) {
      lost++;
      return;
    }
    if (lost > 0) send("warn", `a thread lost ${lost} log lines: it wrote too many at once`, {});
    lost = 0;
    send(level, message, fields);
  };
}

/** The receiving side in the runtime. */
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
