// perdure worker: runs the config's code, in one process or in several.

import { defineCommand, type Program } from "../define-command.ts";
import { REPORT_FILES, reportLoadedFiles } from "../dev/loaded-files.ts";
import { CliError } from "../exit-codes.ts";
import { SUPERVISED } from "../interrupt.ts";
import { logLines } from "../log-lines.ts";
import { wholeNumber } from "../numbers.ts";
import { openProvider } from "../open-provider.ts";
import { neededConfig, sourceOf } from "../session.ts";
import { showSource, type StoreSource } from "../store-address.ts";
import { parseTimeSpan } from "../times.ts";
import { runWorker } from "../worker/run-worker.ts";
import { supervise } from "../worker/supervisor.ts";
import { workerArgs } from "../worker/worker-args.ts";

interface WorkerCommandOptions {
  readonly processes: number;
  readonly grace: string;
  readonly verbose?: true;
}

export function addWorker(program: Program): void {
  defineCommand<WorkerCommandOptions>(
    program,
    {
      usage: "worker [store]",
      summary: "run the config's orchestrations and activities",
      description:
        "Runs what the config registers until SIGTERM or Ctrl+C; then finishes what it is doing within its grace and " +
        "hands back the rest. Several processes use several cores; one that dies is replaced.",
      examples: [
        ["perdure worker", "one process"],
        ["perdure worker --processes 4", "four, each replaced when it dies"],
        ["perdure worker --grace 30s --json", "log lines as JSON, for a log collector"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const graceMs = parseTimeSpan("--grace", options.grace);
      const verbose = options.verbose === true;
      const log = logLines(cli.out, { json: options.json === true, verbose });
      if (options.processes > 1) {
        const { processes } = options;
        return supervise({ processes, args: workerArgs(call), graceMs, log });
      }
      if (cli.env[REPORT_FILES] !== undefined) reportLoadedFiles();
      const config = await neededConfig(call);
      const source = sourceOf(call, config, args[0]);
      if (cli.env[SUPERVISED] !== undefined) mustBeShared(source);
      const open = () => openProvider(source, "apply");
      return runWorker({ config, open, log, graceMs, shown: showSource(source) });
    },
  )
    .option("--processes <number>", "worker processes", wholeNumber(1, 256), 1)
    .option("--grace <duration>", "how long running work may take at shutdown", "10s")
    .option("-v, --verbose", "show debug lines too");
}

/** A store in memory would be another one in every process. */
function mustBeShared(source: StoreSource): void {
  if (source.kind !== "address" || source.address !== "sqlite::memory:") return;
  throw new CliError("USAGE", "A store in memory belongs to one process: give it a file.");
}
