// A stack trace, frame by frame.

export interface Frame {
  readonly text: string;
  /** Where it was called, as `file:line:column`; absent when the line names none. */
  readonly call?: string;
  readonly source?: string;
  /** Whether it is code of the application, and not of Node, the library or a package. */
  readonly isOwn: boolean;
}

/** The lines that begin with "at"; what stands before them is the message, which is shown elsewhere. */
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
