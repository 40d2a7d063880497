// perdure worker: runs the config's code in one or more processes.

import { defineCommand, type Program } from "../define-command.ts";
import { REPORT_FILES, reportingLoadedFiles } from "../dev/loaded-files.ts";
import { CliError } from "../exit-codes.ts";
import { SUPERVISED } from "../interrupt.ts";
import { logLines } from "../text/log-lines.ts";
import { wholeNumber } from "../options/numbers.ts";
import { openProvider } from "../store/open-provider.ts";
import { neededConfig, sourceOf } from "../store/session.ts";
import { showSource, type StoreSource } from "../store/store-address.ts";
import { parseTimeSpan } from "../text/times.ts";
import { openHealthPort } from "../worker/health-port.ts";
import { runWorker } from "../worker/run-worker.ts";
import { supervise } from "../worker/supervisor.ts";
import { workerArgs } from "../worker/worker-args.ts";

interface WorkerCommandOptions {
  readonly processes: number;
  readonly grace: string;
  readonly healthPort?: number;
  readonly verbose?: true;
}

export function addWorker(program: Program): void {
  defineCommand<WorkerCommandOptions>(
    program,
    {
      usage: "worker [store]",
      summary: "run the config's orchestrations and activities",
      description:
        "Runs what the config registers until SIGTERM or Ctrl+C. Then it waits up to --grace for running work and " +
        "releases the rest to other workers. Use --processes to use more than one core; a process that exits is " +
        "replaced.",
      examples: [
        ["perdure worker", "run one process"],
        ["perdure worker --processes 4", "run four; each is replaced when it exits"],
        ["perdure worker --grace 30s --json", "print JSON log lines, for a log collector"],
        ["perdure worker --health-port 8080", "serve /healthz and /readyz, for an orchestrator"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const graceMs = parseTimeSpan("--grace", options.grace);
      const verbose = options.verbose === true;
      const log = logLines(cli.out, { json: options.json === true, verbose });
      await using health = await openHealthPort(options.healthPort);
      if (health.port !== null) log("info", "health port open", { port: health.port });
      if (options.processes > 1) {
        const { processes } = options;
        return await supervise({ processes, args: workerArgs(call), graceMs, log, health });
      }
      const load = () => neededConfig(call);
      const isWatched = cli.env[REPORT_FILES] !== undefined;
      const config = isWatched ? await reportingLoadedFiles(load) : await load();
      const source = sourceOf(call, config, args[0]);
      if (cli.env[SUPERVISED] !== undefined) mustBeShared(source);
      const open = () => openProvider(source, "apply");
      return await runWorker({ config, open, log, graceMs, health, shown: showSource(source) });
    },
  )
    .option("--processes <number>", "how many worker processes to run", wholeNumber(1, 256), 1)
    .option("--grace <duration>", "time for running work to finish on shutdown", "10s")
    .option(
      "--health-port <port>",
      "serve /healthz and /readyz on this port",
      wholeNumber(0, 65_535),
    )
    .option("-v, --verbose", "also show debug lines");
}

/** Refuses an in-memory store: each process would have a separate one. */
function mustBeShared(source: StoreSource): void {
  if (source.kind !== "address" || source.address !== "sqlite::memory:") return;
  throw new CliError("USAGE", "Several processes cannot share an in-memory store. Use a file.");
}
