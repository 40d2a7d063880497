// Why something was done, and by whom: written into the store with the deed.

import type { Command } from "commander";
import type { Why } from "../client/handle.ts";

export interface WhyOptions {
  readonly reason?: string;
  readonly by?: string;
}

export function addWhyOptions(command: Command): Command {
  return command
    .option("--reason <text>", "why, for whoever looks at it later")
    .option("--by <name>", "who");
}

export function whyOf({ reason, by }: WhyOptions, otherwise: string): Why {
  return { reason: reason ?? otherwise, ...(by === undefined ? {} : { by }) };
}
