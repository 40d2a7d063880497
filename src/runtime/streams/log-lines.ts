// Log lines as values of the stream of log lines (`log: { stream: true }`).
//   - A line that cannot be stored, or that is too long, loses its fields, and the message is cut. Logging never
//     throws into user code.
//   - If an activity writes lines faster than the store takes them, further lines are lost. The next line that fits
//     says how many.

import type { StreamSink } from "../../core/attempts/stream-writer.ts";
import { LOG_STREAM } from "../../core/define/stream.ts";
import type { LogFields, LogLevel, LogSink } from "../../core/telemetry/log.ts";
import type { TurnEffects } from "../../core/replay/effects.ts";
import type { BufferedLog } from "../../core/replay/run.ts";
import type { Codec } from "../../core/values/codec.ts";

const MESSAGE_MAX = 8_000;
const LINE_MAX = 64 * 1024;

/** A value of the stream of log lines. */
export interface LogLine {
  /** When the line was written, in milliseconds since 1970. */
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields?: LogFields;
}

/** A log sink that appends the lines of an attempt. */
export function streamedLog(streams: () => StreamSink, codec: Codec, now: () => number): LogSink {
  let lost = 0;
  const append = (level: LogLevel, message: string, fields: LogFields): void => {
    const text = encodeLine(codec, now(), { level, message, fields });
    if (text !== null)
      streams()
        .append(LOG_STREAM, text)
        ?.catch(() => undefined);
  };
  return (level, message, fields) => {
    if (!streams().hasCapacity(LOG_STREAM)) {
      lost++;
      return;
    }
    if (lost > 0)
      append("warn", `${lost} log lines are lost: the activity wrote too many at once`, {});
    lost = 0;
    append(level, message, fields);
  };
}

/** Adds the log lines of a turn to its writes. */
export function addLines(
  effects: TurnEffects,
  lines: readonly BufferedLog[],
  codec: Codec,
  at: number,
): void {
  for (const line of lines) {
    const text = encodeLine(codec, at, line);
    if (text !== null) effects.stream(LOG_STREAM).values.push(text);
  }
}

/** Null: the line cannot be stored. */
export function encodeLine(
  codec: Codec,
  at: number,
  { level, message, fields }: { level: LogLevel; message: string; fields: LogFields },
): string | null {
  const line: LogLine = { at, level, message: String(message).slice(0, MESSAGE_MAX) };
  const text = Object.keys(fields).length === 0 ? null : tryEncode(codec, { ...line, fields });
  return text !== null && text.length <= LINE_MAX ? text : tryEncode(codec, line);
}

/** Fields may hold anything, also functions and sockets, and a message half of a surrogate pair. */
function tryEncode(codec: Codec, line: LogLine): string | null {
  try {
    return codec.encode(line);
  } catch {
    return null;
  }
}
