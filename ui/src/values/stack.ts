// Parses a stack trace into frames.

export interface Frame {
  readonly text: string;
  /** The name of the function. Absent for an anonymous function. */
  readonly call?: string;
  /** The position as `file:line:column`. */
  readonly source?: string;
  /** Whether the frame is application code, not code of Node, the library or a package. */
  readonly isOwn: boolean;
}

/** The lines that begin with "at". The lines before them are the message, which is shown elsewhere. */
export function framesOf(stack: string): readonly Frame[] {
  return stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .map(frameOf);
}

function frameOf(text: string): Frame {
  const rest = text.slice(3);
  const named = /^(?<call>.*?) \((?<source>.*)\)$/.exec(rest)?.groups;
  const source = named?.["source"] ?? rest;
  const isOwn = !/node_modules|^node:|<anonymous>|[/\\]perdure[/\\]dist[/\\]/.test(source);
  const call = named?.["call"];
  return { text, isOwn, source: source.replace(/^file:\/\//, ""), ...(call ? { call } : {}) };
}
