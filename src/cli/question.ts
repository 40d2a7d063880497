// A question before something that cannot be taken back.
//   QU1. Without a terminal there is nobody to ask, and the answer is no: `--yes` says it beforehand.

import { createInterface } from "node:readline";
import { CliError } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";

export interface Asker {
  readonly err: Screen;
  readonly stdin: NodeJS.ReadStream;
}

/** Returns if the answer is yes, and throws NOT_CONFIRMED otherwise. */
export async function confirm(
  asker: Asker,
  question: string,
  { yes }: { readonly yes: boolean },
): Promise<void> {
  if (yes) return;
  const { err, stdin } = asker;
  if (stdin.isTTY !== true || !err.isTerminal) {
    const message = `${question} There is no terminal to ask on: say --yes if you mean it.`;
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
  throw new CliError("NOT_CONFIRMED", "Nothing was done.");
}
