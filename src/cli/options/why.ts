// The options --reason and --by: the store records them with the change.

import type { Command } from "commander";
import type { Why } from "../../client/handle.ts";
import { defined } from "../../core/values/defined.ts";

export interface WhyOptions {
  readonly reason?: string;
  readonly by?: string;
}

export function addWhyOptions(command: Command): Command {
  return command
    .option("--reason <text>", "the reason; stored with the instance")
    .option("--by <name>", "your name; stored with the instance");
}

export function whyOf({ reason, by }: WhyOptions, otherwise: string): Why {
  return { reason: reason ?? otherwise, ...defined({ by }) };
}
