// Defines a command: its name, options, examples and action.
//   - Every command accepts `--json`, and its help shows examples. A command that uses a store also accepts
//        `--store`, `--config` and `--no-config`.
//   - An action returns the exit code of the command.

import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import type { ExitCode } from "./exit-codes.ts";

export interface CommonOptions {
  readonly json?: true;
  readonly store?: string;
  /** The path of the config file. False: the command does not look for a config file. */
  readonly config?: string | false;
}

export interface CommandHelp {
  /** `name <required> [optional] [many...]`. */
  readonly usage: string;
  readonly summary: string;
  /** The text of the command's own help. Default: the summary. */
  readonly description?: string;
  /** Command lines and what they do. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Whether the command uses a store. Default true. */
  readonly hasStore?: boolean;
}

/** One call of a command: its arguments and options. */
export interface Call<Options> {
  readonly cli: Cli;
  /** The positional arguments, in order. */
  readonly args: readonly string[];
  readonly options: Options & CommonOptions;
}
export type Action<Options> = (call: Call<Options>) => Promise<ExitCode>;

/** Receives the exit code of the action that ran. */
export interface ExitResult {
  code: ExitCode;
}

export interface Program {
  readonly commander: Command;
  readonly cli: Cli;
  readonly exit: ExitResult;
}

export function defineCommand<Options>(
  program: Program,
  help: CommandHelp,
  action: Action<Options>,
): Command {
  const { commander, cli, exit } = program;
  const { usage, summary, description = summary, examples, hasStore = true } = help;
  const command = commander.command(usage).summary(summary).description(description);
  command.option("--json", "print JSON instead of text");
  if (hasStore) {
    command
      .option("--store <address>", "the store, such as sqlite:./orders.db (or set PERDURE_STORE)")
      .option("--config <file>", "the config file; default: the nearest perdure.config.ts")
      .option("--no-config", "ignore config files");
  }
  const width = Math.max(...examples.map(([line]) => line.length));
  const shown = examples.map(([line, meaning]) => `  $ ${line.padEnd(width)}  ${meaning}`);
  command.addHelpText("after", `\nExamples:\n${shown.join("\n")}`);
  command.action(async () => {
    const options = command.opts<Options & CommonOptions>();
    // Commander sets config to true if neither --config nor --no-config was given.
    const { config, ...rest } = options;
    const given = typeof config === "string" || config === false ? { config } : {};
    const call = { cli, args: command.args, options: { ...rest, ...given } };
    exit.code = await action(call as Call<Options>);
  });
  return command;
}
