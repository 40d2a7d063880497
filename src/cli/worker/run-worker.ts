// One worker in this process: the config's code, running on its store until it is told to leave.
//   RW1. Told once: it takes no more work, lets what runs finish within its grace, hands back the rest.
//   RW2. A worker that a parent looks after also leaves when the parent is gone.

import type { LogSink } from "../../core/log.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { Perdure } from "../../perdure.ts";
import type { LoadedConfig } from "../config-file.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";

export interface WorkerOptions {
  readonly config: LoadedConfig;
  readonly open: () => Promise<Provider>;
  readonly log: LogSink;
  readonly graceMs: number;
  /** The store, for the log. */
  readonly shown: string;
}

/** What a worker tells whoever started it. */
export interface WorkerReady {
  readonly perdureWorker: "ready";
}

export async function runWorker(options: WorkerOptions): Promise<ExitCode> {
  const { config, log, graceMs, shown } = options;
  const { register = [], runtime = {} } = config.config;
  if (register.length === 0) {
    const message = `${config.path} registers nothing: a worker has nothing to run.`;
    throw new CliError("CONFIG_INVALID", message);
  }
  using interruption = new Interruption();
  const provider = await options.open();
  try {
    const perdure = await Perdure.open(provider, { register, runtime: { log, ...runtime } });
    const { activities, orchestrations } = perdure.runtime.registered();
    log("info", "worker ready", {
      runtime: perdure.runtime.id,
      store: shown,
      durability: provider.durability,
      orchestrations: Object.keys(orchestrations).length,
      activities: activities.length,
    });
    const ready: WorkerReady = { perdureWorker: "ready" };
    process.send?.(ready);
    await toldToLeave(interruption);
    log("info", "shutting down", { graceMs });
    await perdure.close({ graceMs });
    log("info", "worker left", {});
  } finally {
    await provider.close();
  }
  return 0;
}

async function toldToLeave(interruption: Interruption): Promise<void> {
  const orphaned = new Promise<void>((resolve) => process.once("disconnect", resolve));
  await Promise.race(
    process.connected === true ? [interruption.came, orphaned] : [interruption.came],
  );
}
