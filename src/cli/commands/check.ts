// perdure check: replays recorded histories with the config's code, before that code is deployed.
//   - check.1: Read-only: the command writes nothing to the store and runs no activity.
//   - The exit code is 8 if a history does not replay, or if the config does not register its orchestration.

import { isPerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import { recordHistory } from "../../runtime/replay/recorded-history.ts";
import { historiesInFile, type FoundHistory } from "../../testing/history-sources.ts";
import {
  replayHistories,
  type ReplayHistoriesOptions,
  type ReplayReport,
} from "../../testing/replay-histories.ts";
import type { PerdureConfig } from "../../perdure.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import {
  addFilterOptions,
  filterOf,
  STATUSES,
  type FilterOptions,
} from "../options/filter-options.ts";
import { wholeNumber } from "../options/numbers.ts";
import { Progress } from "../text/progress.ts";
import { printReport } from "../text/replay-report.ts";
import { neededConfig, Session } from "../store/session.ts";
import { looksLikeAddress } from "../store/store-address.ts";

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
      summary: "replay histories with the config's code before a deploy",
      description:
        "Replays the histories of a store's live instances, or of files written by perdure history --export, with " +
        "the orchestrations that the config registers. Shows which instances would be blocked, at which event, and " +
        "how the code differs from the recording. Writes nothing and runs no activities. Exits with 8 if an " +
        "instance would be blocked or is not registered.",
      examples: [
        ["perdure check", "all live instances of the config's store"],
        ["perdure check postgres://replica/orders --name fulfil", "instances of one orchestration"],
        ["perdure check histories/*.history", "exported histories, for CI"],
        ["perdure check --status ended --limit 100", "ended instances, to test the code"],
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
      else printReport(cli.out, report);
      const isLeft = options.allowUnregistered !== true && report.unregistered.length > 0;
      return report.broken.length > 0 || isLeft ? 8 : 0;
    },
  )
    .option("--limit <number>", "check at most this many instances", wholeNumber(1))
    .option("--allow-unregistered", "accept orchestrations that the config does not register");
  addFilterOptions(command);
}

/** Omits the diff: it repeats `reason` as text for people. */
function jsonOf(report: ReplayReport): object {
  return { ...report, broken: report.broken.map(({ diff: _diff, ...broken }) => broken) };
}

/** Replays the code with the options that the runtime will have. */
function replayOptions({ runtime = {} }: PerdureConfig): ReplayHistoriesOptions {
  const { codec, limits, guards, versions } = runtime;
  return defined({ codec, limits, guards, versions });
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
  if (addresses.length > 0) throw new CliError("USAGE", "Pass one store or files, not both.");
  if (Object.keys(filterOf(options)).length > 0) {
    throw new CliError(
      "USAGE",
      "Filters apply only to a store; files are always checked completely.",
    );
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
