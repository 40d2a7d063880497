// Source lines: finds the lines of a stack that belong to user code.

/**
 * The folder of this file, as URL and as path: a stack names files in either form, depending on the loader.
 */
const CORE = [folderOf(import.meta.url), `${import.meta.dirname}/`];
/** The folder of the whole library: `src/` or `dist/`. */
const LIBRARY = CORE.map((folder) => folderOf(folder.slice(0, -1)));
const FRAME = /^\s+at /;
/** Frames of Node and of built-in functions. */
const NODE_FRAME = /[( ]node:[\w/]+:\d|\(<anonymous>\)$/;

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/**
 * The first stack line outside core: the code that called the context. It may be the interpreter of flows.
 */
export function callerOf(stack: string | undefined): string | undefined {
  const skipped = [...CORE, "node:internal"];
  return firstFrame(stack, (line) => !skipped.some((name) => line.includes(name)));
}

/** The first stack line of the user's code. */
export function userCallerOf(stack: string | undefined): string | undefined {
  return firstFrame(stack, (line) => !isLibraryOrNode(line));
}

function firstFrame(
  stack: string | undefined,
  isWanted: (line: string) => boolean,
): string | undefined {
  const lines = stack?.split("\n").slice(1) ?? [];
  return lines.find(isWanted)?.trim().replace(/^at /, "");
}

/**
 * The stack without the library's frames at its bottom, which called the user's code. A stack without user
 * code stays whole: it shows where the library failed.
 */
export function withoutEngineFrames(stack: string): string {
  const lines = stack.split("\n");
  const last = lines.findLastIndex((line) => FRAME.test(line) && !isLibraryOrNode(line));
  if (last < 0 || !lines.slice(last + 1).some(isLibrary)) return stack;
  return lines.slice(0, last + 1).join("\n");
}

function isLibraryOrNode(line: string): boolean {
  return isLibrary(line) || NODE_FRAME.test(line);
}

function isLibrary(line: string): boolean {
  return FRAME.test(line) && LIBRARY.some((folder) => line.includes(folder));
}
