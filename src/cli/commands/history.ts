// perdure history: the events of an execution, or histories in a file that `perdure check` reads.

import { formatRecorded, recordHistory } from "../../runtime/recorded-history.ts";
import { eventToHttp } from "../../server/wire/history.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { tellEvent } from "../event-text.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { addFilterOptions } from "../filter-options.ts";
import { wholeNumber } from "../numbers.ts";
import { plural } from "../plural.ts";
import { writePrivately } from "../private-file.ts";
import { green } from "../screen.ts";
import { select, type SelectionOptions } from "../selection.ts";
import { Session } from "../session.ts";

interface HistoryOptions extends SelectionOptions {
  readonly execution?: number;
  readonly export?: string;
}

export function addHistory(program: Program): void {
  const command = defineCommand<HistoryOptions>(
    program,
    {
      usage: "history [ids...]",
      summary: "show the events of an instance, or export histories",
      description:
        "Shows the events of an instance's newest execution. With --export, writes the histories of one or more " +
        'instances to a file, one a line, as they are stored: "perdure check" replays them.',
      examples: [
        ["perdure history order-7", "event by event"],
        ["perdure history actor-1 --execution 3", "of an earlier execution"],
        ["perdure history order-7 --export order-7.history", "for perdure check"],
        ["perdure history --name fulfil --limit 100 --export fulfil.history", "of many"],
        ["perdure history order-7 --export -", "to standard output"],
      ],
    },
    async (call) => {
      await using session = await Session.open(call, { access: "read" });
      const { options } = call;
      return options.export === undefined
        ? await showHistory(call, session)
        : await exportHistories(call, session, options.export);
    },
  )
    .option("--execution <number>", "another execution than the newest", wholeNumber(1))
    .option("--export <file>", "write the histories there; - for standard output")
    .option("--all", "with --export: of all instances")
    .option("--limit <number>", "with --export: of at most so many", wholeNumber(1));
  addFilterOptions(command);
}

async function showHistory(
  { cli, args, options }: Call<HistoryOptions>,
  { client, codec }: Session,
): Promise<ExitCode> {
  const [id, another] = args;
  if (id === undefined || another !== undefined) {
    throw new CliError("USAGE", "Give the id of one instance; several can be exported.");
  }
  const handle = client.get(id);
  const execution = options.execution ?? (await handle.describe()).execution;
  const events = await handle.history({ execution });
  if (events.length === 0 && options.execution !== undefined) {
    throw new CliError("NOT_FOUND", `Instance "${id}" has no execution ${execution}.`);
  }
  if (options.json === true) {
    cli.out.document({ id, execution, events: events.map((event) => eventToHttp(event, codec)) });
  } else {
    for (const event of events) tellEvent(cli.out, event, codec, events[0]?.at ?? event.at);
  }
  return 0;
}

async function exportHistories(
  { cli, args, options }: Call<HistoryOptions>,
  { client, provider }: Session,
  file: string,
): Promise<ExitCode> {
  const selection = await select(client, args, options, [{}]);
  const { execution } = options;
  const lines: string[] = [];
  for await (const id of selection.ids()) {
    const which = execution === undefined ? {} : { execution };
    lines.push(formatRecorded(await recordHistory(provider, id, which)));
  }
  const text = lines.map((line) => `${line}\n`).join("");
  if (file === "-") {
    cli.out.verbatim(text); // JSON, whose control characters are escaped
    return 0;
  }
  try {
    writePrivately(file, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("USAGE", `--export: ${why}.`, { cause });
  }
  if (options.json === true) cli.out.document({ file, histories: lines.length });
  else cli.out.line(green("✓ "), `${plural(lines.length, "history", "histories")} in ${file}`);
  return 0;
}
