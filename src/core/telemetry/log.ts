// Logging: the levels, the logger that user code and the engine write to, and the sink that receives the
// lines.

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
/** The severity of a log line, from `trace` to `error`. */
export type LogLevel = (typeof LOG_LEVELS)[number];
/** Fields of a log line, for machines. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines: a message, and fields for machines. */
export interface Logger {
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Receives log lines. If a sink throws, the line is not written again. */
export type LogSink = (level: LogLevel, message: string, fields: LogFields) => void;

/**
 * A logger that adds fixed fields to every line. A user field of the same name does not replace a fixed
 * field.
 */
export function makeLogger(sink: LogSink, fields: LogFields = {}): Logger {
  const write =
    (level: LogLevel) =>
    (message: string, more?: LogFields): void =>
      sink(level, message, more === undefined ? fields : { ...more, ...fields });
  return {
    trace: write("trace"),
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  };
}
