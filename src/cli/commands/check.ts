// perdure check: replays recorded histories with the code of the config, before that code is deployed.
//   CK1. Read-only: nothing is written to the store, and no activity runs.
//   CK2. What breaks, and what nobody would run any more, ends with exit code 8.

import { isPerdureError } from "../../core/errors.ts";
import { recordHistory } from "../../runtime/recorded-history.ts";
import { historiesInFile, type FoundHistory } from "../../testing/history-sources.ts";
import {
  replayHistories,
  type ReplayHistoriesOptions,
  type ReplayReport,
} from "../../testing/replay-histories.ts";
import type { PerdureConfig } from "../../config.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { addFilterOptions, filterOf, STATUSES, type FilterOptions } from "../filter-options.ts";
import { wholeNumber } from "../numbers.ts";
import { Progress } from "../progress.ts";
import { tellReport } from "../replay-report.ts";
import { neededConfig, Session } from "../session.ts";
import { looksLikeAddress } from "../store-address.ts";

interface CheckOptions extends FilterOptions {
  readonly limit?: number;
  readonly allowUnregistered?: true;
}
interface Source {
  readonly count: number;
  histories(): AsyncIterable<FoundHistory>;
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
      await using opened = await openSource(call);
      const progress = new Progress(cli.err, "replayed", opened.source.count);
      const report = await replayHistories(opened.source.histories(), config.register ?? [], {
        ...replayOptions(config),
        onReplayed: () => progress.step(),
      });
      progress.end();
      if (options.json === true) cli.out.document(jsonOf(report));
      else tellReport(cli.out, report);
      const isLeft = options.allowUnregistered !== true && report.unregistered.length > 0;
      return report.broken.length > 0 || isLeft ? 8 : 0;
    },
  )
    .option("--limit <number>", "at most so many instances", wholeNumber(1))
    .option("--allow-unregistered", "what the config does not register is no finding");
  addFilterOptions(command);
}

/** The diff is for people: it says what `reason` says. */
function jsonOf(report: ReplayReport): object {
  return { ...report, broken: report.broken.map(({ diff: _diff, ...broken }) => broken) };
}

/** The code is replayed under the options that its runtime will have. */
function replayOptions({ runtime = {} }: PerdureConfig): ReplayHistoriesOptions {
  const { codec, limits, guards, versions } = runtime;
  return {
    ...(codec === undefined ? {} : { codec }),
    ...(limits === undefined ? {} : { limits }),
    ...(guards === undefined ? {} : { guards }),
    ...(versions === undefined ? {} : { versions }),
  };
}

async function openSource(call: Call<CheckOptions>): Promise<{ source: Source } & AsyncDisposable> {
  const { args, options } = call;
  const addresses = args.filter(looksLikeAddress);
  const files = args.filter((word) => !looksLikeAddress(word));
  if (files.length === 0 && addresses.length <= 1) {
    const session = await Session.open(call, { given: addresses[0], access: "read" });
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
      for await (const id of client.ids(filter)) {
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
  const read = files.flatMap((file) => historiesInFile(file));
  return {
    count: read.length,
    async *histories() {
      for (const one of read) yield Promise.resolve(one);
    },
  };
}
