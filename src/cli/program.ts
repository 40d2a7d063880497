// The program: parses the command line, runs the command and prints errors.
//   - An error is printed once, on standard error: as a sentence, or with `--json` as
//        { error: { code, message } }. Only an unexpected error is printed with its stack.
//   - Passwords in error messages are masked. The parser may quote a store's address where it expected
//        another argument.
//   - The parser's help and error texts go through the same Screen objects as all other output.

import { Command, CommanderError } from "commander";
import { isPerdureError, errorMessage } from "../core/errors/errors.ts";
import { maskSecrets } from "../core/values/secrets.ts";
import { packageVersion } from "../server/package-facts.ts";
import type { Cli } from "./cli.ts";
import { inCommandWords } from "./text/command-words.ts";
import { addCommands } from "./commands/index.ts";
import type { ExitResult, Program } from "./define-command.ts";
import { CliError, exitCodeOf, type ExitCode } from "./exit-codes.ts";
import { red } from "./text/screen.ts";

/** Runs one command line and returns its exit code. */
export async function runProgram(cli: Cli, argv: readonly string[]): Promise<ExitCode> {
  const exit: ExitResult = { code: 0 };
  const commander = makeCommander(cli, argv);
  addCommands({ commander, cli, exit } satisfies Program);
  try {
    await commander.parseAsync(argv, { from: "user" });
    return exit.code;
  } catch (error) {
    // Commander throws for --help and --version too, with exit code 0. It has already printed its error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    printError(cli, error, isJson(argv));
    return exitCodeOf(error);
  }
}

function makeCommander(cli: Cli, argv: readonly string[]): Command {
  const commander = new Command("perdure")
    .description("Durable execution: run workers, inspect and repair a store, check a deploy.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.out.verbatim(text),
      writeErr: (text) => cli.err.verbatim(text),
      getOutHelpWidth: () => Math.min(cli.out.columns, HELP_COLUMNS_MAX),
      getErrHelpWidth: () => Math.min(cli.err.columns, HELP_COLUMNS_MAX),
      getOutHasColors: () => cli.out.hasColours,
      getErrHasColors: () => cli.err.hasColours,
      outputError: (text) =>
        printError(cli, new CliError("USAGE", text.replace(/^error: /, "").trim()), isJson(argv)),
    });
  commander.addHelpText(
    "after",
    "\nSet the store with --store, PERDURE_STORE or perdure.config.ts." +
      '\n"perdure <command> --help" shows options and examples. Exit codes: docs/cli.md.',
  );
  return commander;
}

const HELP_COLUMNS_MAX = 110;

function printError(cli: Cli, error: unknown, asJson: boolean): void {
  const code = isPerdureError(error) || error instanceof CliError ? error.code : "INTERNAL";
  const masked = maskSecrets(errorMessage(error));
  const message = isPerdureError(error) ? inCommandWords(masked) : masked;
  if (asJson) return cli.err.record({ error: { code, message } });
  const [first = "", ...rest] = message.split("\n");
  cli.err.line(red("error: "), first, code === "USAGE" || code === "INTERNAL" ? "" : ` (${code})`);
  for (const line of rest) cli.err.line(line);
  if (code === "INTERNAL" && error instanceof Error) cli.err.lines(maskSecrets(error.stack ?? ""));
}

/** Reads argv before commander parses it, so that the parser's own errors are printed as JSON too. */
function isJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? undefined : end).includes("--json");
}
