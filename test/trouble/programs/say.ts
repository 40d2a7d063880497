// How a program tells its test what happened: a line of JSON on stdout, written before anything else goes on.

import { writeSync } from "node:fs";

const STDOUT = 1;

export function say(what: string, details: object = {}): void {
  writeSync(STDOUT, `${JSON.stringify({ what, ...details })}\n`);
}
