// How a program reports to its test: a line of JSON on stdout, written synchronously.

import { writeSync } from "node:fs";

const STDOUT = 1;

export function say(what: string, details: object = {}): void {
  writeSync(STDOUT, `${JSON.stringify({ what, ...details })}\n`);
}
