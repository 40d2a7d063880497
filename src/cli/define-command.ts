// A command: its name, its options, its examples, and what it does.
//   DC1. Every command takes `--json`, `--store`, `--config` and `--no-config`, and shows examples in its help.
//   DC2. What an action returns is the exit code.

import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import type { ExitCode } from "./exit-codes.ts";

export interface CommonOptions {
  readonly json?: true;
  readonly store?: string;
  /** A path; false: none is looked for. */
  readonly config?: string | false;
}

export interface CommandHelp {
  /** `name <required> [optional] [many...]`. */
  readonly usage: string;
  readonly summary: string;
  /** More than the summary, where that is not enough. */
  readonly description?: string;
  /** What to type, and what that does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Whether it is about a store. Default true. */
  readonly hasStore?: boolean;
}

/** An action's view of its command line. */
export interface Call<Options> {
  readonly cli: Cli;
  /** What is no option, in order. */
  readonly args: readonly string[];
  readonly options: Options & CommonOptions;
}
export type Action<Options> = (call: Call<Options>) => Promise<ExitCode>;

/** Where an action's exit code goes. */
export interface Ending {
  code: ExitCode;
}

export interface Program {
  readonly commander: Command;
  readonly cli: Cli;
  readonly ending: Ending;
}

export function defineCommand<Options>(
  program: Program,
  help: CommandHelp,
  action: Action<Options>,
): Command {
  const { commander, cli, ending } = program;
  const { usage, summary, description = summary, examples, hasStore = true } = help;
  const command = commander.command(usage).summary(summary).description(description);
  command.option("--json", "print JSON in place of text");
  if (hasStore) {
    command
      .option("--store <address>", "the store, such as sqlite:./orders.db (or PERDURE_STORE)")
      .option("--config <file>", "the config file, in place of the nearest perdure.config.ts")
      .option("--no-config", "look for no config file");
  }
  const width = Math.max(...examples.map(([line]) => line.length));
  const shown = examples.map(([line, meaning]) => `  $ ${line.padEnd(width)}  ${meaning}`);
  command.addHelpText("after", `\nExamples:\n${shown.join("\n")}`);
  command.action(async () => {
    const options = command.opts<Options & CommonOptions>();
    // Commander says true where no config was named and none was forbidden.
    const { config, ...rest } = options;
    const given = typeof config === "string" || config === false ? { config } : {};
    const call = { cli, args: command.args, options: { ...rest, ...given } };
    ending.code = await action(call as Call<Options>);
  });
  return command;
}
