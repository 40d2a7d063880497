// The program: all commands, and what becomes of what they throw.
//   PR1. An error is told once, on standard error: as a sentence, or with `--json` as { error: { code, message } }.
//        A stack is shown only for what nobody foresaw.
//        Passwords in it are masked: an address may stand where the parser expects something else.
//   PR2. Help and complaints of the parser go through the screens like everything else.

import { Command, CommanderError } from "commander";
import { isPerdureError } from "../core/errors.ts";
import { maskSecrets } from "../core/secrets.ts";
import { packageVersion } from "../server/package-facts.ts";
import type { Cli } from "./cli.ts";
import { inCommandWords } from "./command-words.ts";
import { addCommands } from "./commands/index.ts";
import type { Ending, Program } from "./define-command.ts";
import { CliError, exitCodeOf, type ExitCode } from "./exit-codes.ts";
import { red } from "./screen.ts";

/** Runs one command line; its exit code. */
export async function runProgram(cli: Cli, argv: readonly string[]): Promise<ExitCode> {
  const ending: Ending = { code: 0 };
  const commander = makeCommander(cli, argv);
  addCommands({ commander, cli, ending } satisfies Program);
  try {
    await commander.parseAsync(argv, { from: "user" });
    return ending.code;
  } catch (error) {
    // Help and version end the parsing too, with the code 0; what was wrong has been told.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    tellError(cli, error, isJson(argv));
    return exitCodeOf(error);
  }
}

function makeCommander(cli: Cli, argv: readonly string[]): Command {
  const commander = new Command("perdure")
    .description("Durable execution: look into a store, run its work, check a deploy.")
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
        tellError(cli, new CliError("USAGE", text.replace(/^error: /, "").trim()), isJson(argv)),
    });
  commander.addHelpText(
    "after",
    "\nThe store is given with --store, by PERDURE_STORE, or in perdure.config.ts." +
      '\n"perdure <command> --help" shows options and examples. Exit codes: docs/cli.md.',
  );
  return commander;
}

const HELP_COLUMNS_MAX = 110;

function tellError(cli: Cli, error: unknown, asJson: boolean): void {
  const code = isPerdureError(error) || error instanceof CliError ? error.code : "INTERNAL";
  const said = maskSecrets(error instanceof Error ? error.message : String(error));
  const message = isPerdureError(error) ? inCommandWords(said) : said;
  if (asJson) return cli.err.record({ error: { code, message } });
  const [first = "", ...rest] = message.split("\n");
  cli.err.line(red("error: "), first, code === "USAGE" || code === "INTERNAL" ? "" : ` (${code})`);
  for (const line of rest) cli.err.line(line);
  if (code === "INTERNAL" && error instanceof Error) cli.err.lines(maskSecrets(error.stack ?? ""));
}

/** Before anything is parsed, so that a complaint of the parser has the right form too. */
function isJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? undefined : end).includes("--json");
}
