// perdure check: replays recorded histories with the code of the config, before that code is deployed.
//   CK1. Read-only: nothing is written to the store, and no activity runs.
//   CK2. What breaks, and what nobody would run any more, ends with exit code 8.

import { readFileSync } from "node:fs";
import { isPerdureError } from "../../core/errors.ts";
import { checkReplay } from "../../runtime/check-replay.ts";
import {
  parseRecorded,
  recordHistory,
  type RecordedHistory,
} from "../../runtime/recorded-history.ts";
import { Registry } from "../../runtime/registry.ts";
import type { PerdureConfig } from "../../config.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { addFilterOptions, filterOf, STATUSES, type FilterOptions } from "../filter-options.ts";
import { wholeNumber } from "../numbers.ts";
import { Progress } from "../progress.ts";
import { checkedOf, ReplayReport } from "../replay-report.ts";
import { pages } from "../selection.ts";
import { neededConfig, Session } from "../session.ts";
import { looksLikeAddress } from "../store-address.ts";

interface CheckOptions extends FilterOptions {
  readonly limit?: number;
  readonly allowUnregistered?: true;
}
interface Source {
  readonly count: number;
  histories(): AsyncIterable<{ readonly recorded: RecordedHistory; readonly file?: string }>;
}

export function addCheck(program: Program): void {
  const command = defineCommand<CheckOptions>(
    program,
    {
      usage: "check [sources...]",
      summary: "replay histories with the config's code, before a deploy",
      description:
        "Replays the histories of a store's live instances, or of files that perdure history --export wrote, with " +
        "the orchestrations that the config registers. Shows which instances would be blocked, where, and what the " +
        "code asks for in place of what was recorded. Nothing is written and nothing runs. Exits with 8 if " +
        "something would break.",
      examples: [
        ["perdure check", "all live instances of the config's store"],
        ["perdure check postgres://replica/orders --name fulfil", "of one orchestration there"],
        ["perdure check histories/*.history", "exported ones: for CI"],
        ["perdure check --status ended --limit 100", "also what has ended, as a test of the code"],
      ],
    },
    async (call) => {
      const { cli, options } = call;
      const { config } = await neededConfig(call);
      const report = new ReplayReport();
      await using opened = await openSource(call);
      const progress = new Progress(cli.err, "replayed", opened.source.count);
      const judge = judgeOf(config, report);
      for await (const { recorded, file } of opened.source.histories()) {
        await judge(recorded, file);
        progress.step();
      }
      progress.end();
      if (options.json === true) cli.out.document(report.toJson());
      else report.tell(cli.out);
      const isLeft = options.allowUnregistered !== true && report.unregistered.length > 0;
      return report.broken.length > 0 || isLeft ? 8 : 0;
    },
  )
    .option("--limit <number>", "at most so many instances", wholeNumber(1))
    .option("--allow-unregistered", "what the config does not register is no finding");
  addFilterOptions(command);
}

function judgeOf(
  { register = [], runtime = {} }: PerdureConfig,
  report: ReplayReport,
): (recorded: RecordedHistory, file: string | undefined) => Promise<void> {
  const { codec, limits, guards, versions } = runtime;
  const registry = new Registry(register, versions === undefined ? {} : { versions });
  const options = {
    ...(codec === undefined ? {} : { codec }),
    ...(limits === undefined ? {} : { limits }),
    ...(guards === undefined ? {} : { guards }),
  };
  return async (recorded, file) => {
    const checked = checkedOf(recorded, file);
    const definition = registry.orchestration(recorded.name, recorded.version);
    if (definition === undefined) return void report.unregistered.push(checked);
    const result = await checkReplay(recorded, definition, options);
    if (result.kind === "ok") report.ok++;
    else report.broken.push({ ...checked, events: result.events, reason: result.reason });
  };
}

async function openSource(call: Call<CheckOptions>): Promise<{ source: Source } & AsyncDisposable> {
  const { args, options } = call;
  const addresses = args.filter(looksLikeAddress);
  const files = args.filter((word) => !looksLikeAddress(word));
  if (files.length === 0 && addresses.length <= 1) {
    const session = await Session.open(call, { given: addresses[0] });
    const source = await storeSource(session, options);
    return { source, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
  }
  if (addresses.length > 0) throw new CliError("USAGE", "Give one store, or files.");
  if (Object.keys(filterOf(options)).length > 0) {
    throw new CliError("USAGE", "Filters choose among a store's instances; files are read whole.");
  }
  return { source: fileSource(files), [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function storeSource({ client, provider }: Session, options: CheckOptions): Promise<Source> {
  const filter = { status: STATUSES.live, ...filterOf(options) };
  const { limit = Infinity } = options;
  return {
    count: Math.min(await client.count(filter), limit),
    async *histories() {
      let left = limit;
      for await (const { id } of pages(client, filter)) {
        if (left-- <= 0) return;
        try {
          yield { recorded: await recordHistory(provider, id) };
        } catch (error) {
          if (!isPerdureError(error, "INSTANCE_NOT_FOUND")) throw error; // deleted meanwhile
        }
      }
    },
  };
}

function fileSource(files: readonly string[]): Source {
  const read = files.flatMap((file) => readHistories(file));
  return {
    count: read.length,
    async *histories() {
      for (const one of read) yield Promise.resolve(one);
    },
  };
}

function readHistories(file: string): { recorded: RecordedHistory; file: string }[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("USAGE", `${file} cannot be read: ${why}.`, { cause });
  }
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [{ recorded: parseRecorded(line), file }];
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CliError("USAGE", `${file}:${index + 1}: ${why}`, { cause });
    }
  });
}
