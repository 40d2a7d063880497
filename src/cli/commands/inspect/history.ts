// perdure history: prints the events of an execution, or exports histories to a file for `perdure check`.

import { defined } from "../../../core/values/defined.ts";
import { formatRecorded, recordHistory } from "../../../runtime/replay/recorded-history.ts";
import { eventToHttp } from "../../../server/wire/history.ts";
import { defineCommand, type Call, type Program } from "../../define-command.ts";
import { printEvent } from "../../text/event-text.ts";
import { CliError, type ExitCode } from "../../exit-codes.ts";
import { addFilterOptions } from "../../options/filter-options.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { plural } from "../../text/plural.ts";
import { writePrivately } from "../../store/private-file.ts";
import { green } from "../../text/screen.ts";
import { idsOf, select, type SelectionOptions } from "../../options/selection.ts";
import { Session } from "../../store/session.ts";
import { errorMessage } from "../../../core/errors/errors.ts";

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
        "Shows the events of an instance's newest execution. With --export, writes the stored histories of one or " +
        'more instances to a file, one per line. "perdure check" replays them.',
      examples: [
        ["perdure history order-7", "show every event"],
        ["perdure history actor-1 --execution 3", "show an earlier execution"],
        ["perdure history order-7 --export order-7.history", "export for perdure check"],
        ["perdure history --name fulfil --limit 100 --export fulfil.history", "export many"],
        ["perdure history order-7 --export -", "export to standard output"],
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
    .option("--execution <number>", "the execution; default: the newest", wholeNumber(1))
    .option("--export <file>", "write the histories to this file; - for standard output")
    .option("--all", "with --export: export all instances")
    .option("--limit <number>", "with --export: export at most this many", wholeNumber(1));
  addFilterOptions(command);
}

async function showHistory(
  { cli, args, options }: Call<HistoryOptions>,
  { client, codec }: Session,
): Promise<ExitCode> {
  const [id, another] = args;
  if (id === undefined || another !== undefined) {
    throw new CliError("USAGE", "Pass the id of one instance. Use --export for several instances.");
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
    for (const event of events) printEvent(cli.out, event, codec, events[0]?.at ?? event.at);
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
  for await (const id of idsOf(selection)) {
    const which = defined({ execution });
    lines.push(formatRecorded(await recordHistory(provider, id, which)));
  }
  const text = lines.map((line) => `${line}\n`).join("");
  if (file === "-") {
    cli.out.verbatim(text); // safe: JSON escapes control characters
    return 0;
  }
  try {
    writePrivately(file, text);
  } catch (cause) {
    const why = errorMessage(cause);
    throw new CliError("USAGE", `--export: ${why}.`, { cause });
  }
  if (options.json === true) cli.out.document({ file, histories: lines.length });
  else
    cli.out.line(green("✓ "), `${plural(lines.length, "history", "histories")} written to ${file}`);
  return 0;
}
