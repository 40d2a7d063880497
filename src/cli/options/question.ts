// Asks for confirmation before a change.
//   - Without a terminal the command cannot ask and counts the answer as no. `--yes` confirms in advance.

import { createInterface } from "node:readline";
import { CliError } from "../exit-codes.ts";
import type { Screen } from "../text/screen.ts";

export interface QuestionStreams {
  readonly err: Screen;
  readonly stdin: NodeJS.ReadStream;
}

/** Returns if the answer is yes. Throws NOT_CONFIRMED otherwise. */
export async function confirm(
  streams: QuestionStreams,
  question: string,
  { yes }: { readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  const { err, stdin } = streams;
  if (stdin.isTTY !== true || !err.isTerminal) {
    const message = `${question} There is no terminal to ask on; confirm with --yes.`;
    throw new CliError("NOT_CONFIRMED", message);
  }
  err.verbatim(`${err.render([question])} [y/N] `);
  const reader = createInterface({ input: stdin });
  try {
    const { promise, resolve } = Promise.withResolvers<string>();
    reader.once("line", resolve);
    reader.once("close", () => resolve(""));
    if (/^y(es)?$/i.test((await promise).trim())) return;
  } finally {
    reader.close();
  }
  throw new CliError("NOT_CONFIRMED", "Not confirmed; nothing was changed.");
}
